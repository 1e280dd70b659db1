// A session of sources, whose functions are compiled when they are called.
#pragma once
#include "api/session.h"
#include "compiler/session.h"

namespace tl::api {

using namespace compiler;

class CompiledSession : public Session {
public:
  ~CompiledSession() override { close(); }

  void add_source(const std::string& name, const std::string& text);
  void add_file(const std::string& path);
  RunFlags flags() const; // as they are now
  // The sources' texts by their names, and those of the files that this one imports, as they were when it was added.
  std::map<std::string, std::string> texts(const std::string& source) const;

  // ---- a program in pieces (pieces.cpp) ----
  void run_piece(const std::string& name, const std::string& text);
  void bind(const std::string& name, const tl_argument& value);
  Content lookup(const std::string& name);
  std::vector<std::string> bound_names();
  void set_display(tl_display display, void* context);
  struct Completions {
    size_t begin;
    std::vector<std::string> texts;
  };
  Completions complete(const std::string& text, size_t cursor);
  std::string help(const std::string& name);

protected:
  RunSetup& setup() override { return flags_; }
  std::string source_named(const char* source) const override;
  std::unique_ptr<tl_function> make_function(const std::string& source, const std::string& expression,
                                             std::shared_ptr<const Declaration> like) override;

private:
  struct Pieces;
  Pieces& pieces();

  RunFlags flags_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, std::map<std::string, std::string>> imported_texts_; // by source
  std::string last_source_;
  std::mutex pieces_mutex_;
  std::shared_ptr<Pieces> pieces_;
  tl_display display_ = nullptr;
  void* display_context_ = nullptr;
};

std::shared_ptr<CompiledSession> compiled(tl_session* session); // throws Failed

} // namespace tl::api
