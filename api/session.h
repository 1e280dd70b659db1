// A session: calls of functions, with settings. Where the functions come from, classes derived from it know.
#pragma once
#include "abi/declaration.h"
#include "api/error.h"
#include "api/tl.h"
#include "api/value.h"
#include "driver/flags.h"
#include "vm/devices.h"
#include "vm/vm.h"
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

struct tl_function;

namespace tl::api {

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

// Declarations as C has them.
struct Shown {
  explicit Shown(std::vector<std::shared_ptr<const Declaration>> of);
  const std::vector<std::shared_ptr<const Declaration>> held;
  std::deque<std::vector<tl_parameter>> parameters;
  std::vector<tl_signature> all;
};

class Session {
public:
  Session();
  virtual ~Session(); // of one that close() was called for
  Session(const Session&) = delete;

  bool is_forked() const { return process_ != current_process(); } // has the process been forked since?
  virtual void check_process();                                    // throws Failed if it is

  void set(const char* flag, const char* value);
  void set_output(tl_output output, void* context);
  void interrupt(); // may be called from a signal handler

  std::pair<const tl_signature*, size_t> declarations();
  // A struct, also of a module that the source imports ("nn.Linear").
  const tl_signature* record(const char* source, const std::string& name);
  tl_function& function(const char* source, const std::string& expression, const char* like);

  std::shared_ptr<const Environment> environment(); // as the settings are now
  // Has `work` done after all that was handed over before, of which at most kMostStarted wait: else this waits. It is
  // told whether the session is closed, and it is not to begin any more.
  using Work = std::function<void(bool is_closed)>;
  void enqueue(Work work);

protected:
  // What follows is called with the mutex held.
  virtual driver::RunSetup& setup() = 0;
  virtual std::string source_named(const char* source) const = 0; // null: the last one. Throws Failed
  virtual std::unique_ptr<tl_function> make_function(const std::string& source, const std::string& expression,
                                                     std::shared_ptr<const Declaration> like) = 0;

  void close(); // ends what was started and has not been done
  // In a process that was forked, where the threads are not that used it: it is as if it were new.
  void renew();

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Declaration>> declarations_;
  std::vector<std::shared_ptr<const Declaration>> imported_; // structs of modules, under the names of the sources
  std::map<std::string, std::unique_ptr<tl_function>> functions_;
  std::vector<std::unique_ptr<tl_function>> replaced_; // of sources that others have replaced: somebody may use them

private:
  friend class Running;
  OutputSink sink(bool is_error) const; // for runs that begin from now on
  void work();
  static int current_process();

  static constexpr size_t kMostRuns = 256;   // at a time that can be interrupted
  static constexpr size_t kMostStarted = 64; // at a time that wait
  struct Slot {
    std::atomic<bool> used{false}, stop{false};
  };
  // What threads wait for.
  struct Calls {
    std::array<Slot, kMostRuns> runs;
    std::mutex mutex; // of what follows
    std::condition_variable queued, room, ended;
    std::deque<Work> queue;
    bool closing = false, has_ended = false;
    std::thread worker;
  };
  std::unique_ptr<Calls> calls_ = std::make_unique<Calls>();

  std::atomic<int> process_;
  std::shared_ptr<const Environment> environment_; // null: to be made, by the next call
  tl_output output_ = nullptr;
  void* output_context_ = nullptr;
  std::unique_ptr<Shown> shown_;
  std::map<std::shared_ptr<const Declaration>, std::unique_ptr<Shown>> shown_records_;
};

} // namespace tl::api

struct tl_session {
  std::shared_ptr<tl::api::Session> session;
};
