// A function of a session's program: an instance for each combination of types that it is called with.
#pragma once
#include "api/session.h"
#include <shared_mutex>
#include <unordered_map>

namespace tl::api {

bool is_word(char c); // may it stand in a name?

// A program that does one call.
struct Instance {
  Executable executable;
  SourceManager sources;
  FileId main;
  std::string name;                       // of the function in `main` that makes the call
  size_t own_end = 0;                     // of the program's text in the file `main`; the call stands behind it
  std::vector<bool> passes;               // whether argument k is one of the call: else it stands in its text
  std::string result_type;                // tl_result_type
  std::shared_ptr<const ValueInfo> value; // what it gives
};

} // namespace tl::api

struct tl_function {
  tl_function(tl::api::Session& session, std::string source, std::string text, std::string expression,
              std::shared_ptr<const tl::api::Declaration> like)
      : session_(session), source_(std::move(source)), text_(std::move(text)), expression_(std::move(expression)),
        like_(std::move(like)) {}

  // Throws Failed.
  tl::api::Content call(const tl_argument* arguments, size_t count);
  tl_value* start(const tl_argument* arguments, size_t count);
  const char* result_type(const tl_argument* arguments, size_t count);
  tl::api::Session& session() const { return session_; }

private:
  struct Given; // an argument with what it is of
  std::vector<const tl::api::Declared*> parameters_of(const tl_argument* arguments, size_t count) const;
  std::vector<Given> given(const tl_argument* arguments, size_t count) const;
  std::shared_ptr<const tl::api::Instance> instance(const std::vector<Given>& arguments);
  std::shared_ptr<const tl::api::Instance> compile(const std::vector<Given>& arguments, bool numbers_as_text) const;

  tl::api::Error said_of(tl::api::Error error, const std::string& call) const;

  tl::api::Session& session_;
  const std::string source_, text_, expression_;
  const std::shared_ptr<const tl::api::Declaration> like_;
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const tl::api::Instance>> instances_;
};
