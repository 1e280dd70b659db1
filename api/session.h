// A session: the sources of a program, the functions that were asked for, and settings.
#pragma once
#include "api/error.h"
#include "api/tl.h"
#include "api/value.h"
#include "compiler/session.h"
#include "vm/devices.h"
#include "vm/vm.h"
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

struct tl_function;

namespace tl::api {

// A parameter of a function, or a field of a struct, as it is written.
struct Declared {
  std::string name, type, default_value, doc;
  bool has_type = false, has_default = false;
  bool is_closed = false;   // its type names no type parameter, function or `..s`: a parameter elsewhere may have it
  std::string element_type; // the type parameter that is its element type, or nothing
  std::optional<DType> of;  // what its elements are, where that is written: `f32[..s]`
};
struct Declaration {
  std::string name, text, result, doc, source;
  bool has_result = false, is_struct = false, is_generic = false;
  std::vector<Declared> parameters;
};

class Session;

// A run's place in its session: what ends it.
class Running {
public:
  explicit Running(Session& session);
  ~Running();
  Running(const Running&) = delete;
  const std::atomic<bool>* interrupt() const { return flag_; } // null: it cannot be ended
  void begin() {                                               // another run, which was not ended yet
    if (flag_) *flag_ = false;
  }

private:
  std::atomic<bool>* flag_ = nullptr;
  std::atomic<bool>* used_ = nullptr;
};

// What calls run in.
struct Environment {
  RunOptions run;
  Devices devices; // whose memory all calls share
  OutputSink out, err;
};

class Session {
public:
  Session();
  ~Session(); // ends what was started and has not been done
  // The process ends: nothing of this session runs from here on, but calls of other threads.
  void end();

  bool is_forked() const;     // has the process been forked since?
  void check_process() const; // throws Failed if it is

  void set(const char* flag, const char* value);
  void set_output(tl_output output, void* context);
  void add_source(const std::string& name, const std::string& text);
  void add_file(const std::string& path);
  void interrupt(); // may be called from a signal handler

  std::pair<const tl_signature*, size_t> declarations();
  // A struct, also of a module that the source imports ("nn.Linear").
  const tl_signature* record(const char* source, const std::string& name);
  tl_function& function(const char* source, const std::string& expression, const char* like);

  RunFlags flags() const;                           // as they are now
  std::shared_ptr<const Environment> environment(); // as the settings are now
  // Has `work` done after all that was handed over before, of which at most kMostStarted wait: else this waits. It is
  // told whether the session is closed, and it is not to begin any more.
  using Work = std::function<void(bool is_closed)>;
  void enqueue(Work work);
  // The sources' texts by their names, for imports.
  std::map<std::string, std::string> texts() const;

  // ---- a program in pieces (pieces.cpp) ----
  void run_piece(const std::string& name, const std::string& text);
  void bind(const std::string& name, const tl_argument& value);
  Content lookup(const std::string& name);
  std::vector<std::string> bound_names();

private:
  friend class Running;
  struct Pieces;
  Pieces& pieces();
  OutputSink sink(bool is_error) const; // for runs that begin from now on
  void work();
  void stop_worker();
  std::string source_named(const char* source) const; // null: the last one

  static constexpr size_t kMostRuns = 256;   // at a time that can be interrupted
  static constexpr size_t kMostStarted = 64; // at a time that wait
  struct Slot {
    std::atomic<bool> used{false}, stop{false};
  };
  std::array<Slot, kMostRuns> runs_;

  const int process_;
  mutable std::mutex mutex_;
  RunFlags flags_;
  std::shared_ptr<const Environment> environment_; // null: to be made, by the next call
  tl_output output_ = nullptr;
  void* output_context_ = nullptr;
  std::map<std::string, std::string> texts_;
  std::string last_source_;
  std::vector<std::shared_ptr<const Declaration>> declarations_;
  std::vector<std::shared_ptr<const Declaration>> imported_; // structs of modules, under the names of the sources
  struct Shown;                                              // declarations as C has them
  std::unique_ptr<Shown> shown_;
  std::map<std::shared_ptr<const Declaration>, std::unique_ptr<Shown>> shown_records_;
  std::map<std::string, std::unique_ptr<tl_function>> functions_;
  std::vector<std::unique_ptr<tl_function>> replaced_; // of sources that others have replaced: somebody may use them
  std::mutex pieces_mutex_;
  std::shared_ptr<Pieces> pieces_;

  std::mutex queue_mutex_;
  std::condition_variable queued_, room_, ended_;
  std::deque<Work> queue_;
  bool closing_ = false, has_ended_ = false;
  std::thread worker_;
};

} // namespace tl::api
