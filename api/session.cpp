#include "api/session.h"
#include "api/call.h"
#include "vm/interrupt.h"
#include "vm/io/io.h"
#include "vm/io/mapping.h"
#include <chrono>
#include <fmt/format.h>
#include <new>
#include <pthread.h>

namespace tl::api {

// Counts forks: a session knows by it whether the process is still the one that opened it.
static std::atomic<int> process{0};

int Session::current_process() { return process; }

Shown::Shown(std::vector<std::shared_ptr<const Declaration>> of) : held(std::move(of)) {
  for (const auto& d : held) {
    std::vector<tl_parameter>& own = parameters.emplace_back();
    for (const Declared& p : d->parameters)
      own.push_back({p.name.c_str(), p.has_type ? p.type.c_str() : nullptr,
                     p.has_default ? p.default_value.c_str() : nullptr, p.doc.c_str()});
    all.push_back({d->name.c_str(), d->text.c_str(), d->has_result ? d->result.c_str() : nullptr, d->doc.c_str(),
                   d->source.c_str(), d->is_generic, d->is_struct, own.size(), own.data()});
  }
}

Running::Running(Session& session) {
  for (Session::Slot& slot : session.calls_->runs) {
    bool free = false;
    if (!slot.used.compare_exchange_strong(free, true)) continue;
    slot.stop = false;
    used_ = &slot.used;
    flag_ = &slot.stop;
    return;
  }
}
Running::~Running() {
  if (used_) *used_ = false;
}

static std::mutex renewing; // nobody's after a fork

Session::Session() : process_(current_process()) {
  static const bool prepared = [] {
    leave_signals_alone();
    return ::pthread_atfork([] { renewing.lock(); }, [] { renewing.unlock(); },
                            [] {
                              renewing.unlock();
                              ++process;
                            }) == 0;
  }();
  (void)prepared;
}

Session::~Session() = default;

// What waits is told so, and what runs is interrupted until it has ended.
void Session::close() {
  {
    std::unique_lock lock(calls_->mutex);
    calls_->closing = true;
    calls_->queued.notify_all();
    calls_->room.notify_all();
    while (calls_->worker.joinable() &&
           !calls_->ended.wait_for(lock, std::chrono::milliseconds(2), [&] { return calls_->has_ended; }))
      interrupt();
  }
  if (calls_->worker.joinable()) calls_->worker.join();
}

void Session::check_process() {
  if (is_forked())
    usage(kWrongValue, "the process was forked after this session was opened",
          "open another one here, or start processes by spawn");
}

void Session::set(const char* name, const char* value) {
  std::lock_guard lock(mutex_);
  RunSetup changed = setup();
  set_for_library(changed, name, value);
  if (changed.device != "cpu")
    usage(kWrongValue, fmt::format("--device {}: a session runs on the CPU", changed.device));
  setup() = changed;
  environment_.reset(); // calls that run keep the one they have
}

void Session::set_output(tl_output output, void* context) {
  std::lock_guard lock(mutex_);
  output_ = output;
  output_context_ = context;
  environment_.reset();
}

void Session::renew() {
  std::lock_guard lock(renewing);
  if (!is_forked()) return;
  (void)calls_.release(); // threads seem to wait for it for ever
  calls_ = std::make_unique<Calls>();
  (void)new std::shared_ptr<const Environment>(std::move(environment_));
  new (&mutex_) std::mutex; // another thread may have held it
  process_ = current_process();
}

std::shared_ptr<const Environment> Session::environment() {
  std::lock_guard lock(mutex_);
  if (!environment_) {
    RunOptions run = setup().run;
    run.listens = false;
    if (run.threads == 0) run.threads = cores(); // asked once
    environment_ = std::make_shared<const Environment>(run, make_devices(run), sink(false), sink(true));
  }
  return environment_;
}

OutputSink Session::sink(bool is_error) const {
  if (output_)
    return [output = output_, context = output_context_, is_error](std::string_view text) {
      output(context, is_error ? 1 : 0, text.data(), text.size());
    };
  return flushed_output(is_error ? stderr : stdout);
}

void Session::interrupt() {
  for (Slot& slot : calls_->runs)
    if (slot.used) slot.stop = true;
  interrupt_kernels();
}

std::pair<const tl_signature*, size_t> Session::declarations() {
  std::lock_guard lock(mutex_);
  shown_ = std::make_unique<Shown>(declarations_);
  return {shown_->all.data(), shown_->all.size()};
}

const tl_signature* Session::record(const char* source, const std::string& name) {
  std::lock_guard lock(mutex_);
  const std::string from = source_named(source);
  for (const auto* all : {&declarations_, &imported_})
    for (const auto& d : *all)
      if (d->source == from && d->name == name && d->is_struct) {
        std::unique_ptr<Shown>& shown = shown_records_[d];
        if (!shown) shown = std::make_unique<Shown>(std::vector{d});
        return shown->all.data();
      }
  usage(kWrongValue, fmt::format("'{}' has no struct '{}'", from, name));
}

tl_function& Session::function(const char* source, const std::string& expression, const char* like) {
  std::lock_guard lock(mutex_);
  const std::string from = source_named(source);
  const std::string key = from + '\0' + expression + '\0' + (like ? like : "");
  if (auto it = functions_.find(key); it != functions_.end()) return *it->second;
  std::shared_ptr<const Declaration> declaration;
  for (const auto* all : {&imported_, &declarations_})
    for (const auto& d : *all)
      if (d->source == from && d->name == (like ? like : expression)) declaration = d;
  if (like && !declaration) usage(kWrongValue, fmt::format("'{}' has no function or struct '{}'", from, like));
  return *(functions_[key] = make_function(from, expression, std::move(declaration)));
}

void Session::enqueue(Work work) {
  {
    std::unique_lock lock(calls_->mutex);
    // What a call prints to may start another one, and must not wait for itself.
    const bool is_worker = calls_->worker.get_id() == std::this_thread::get_id();
    calls_->room.wait(lock, [&] { return is_worker || calls_->closing || calls_->queue.size() < kMostStarted; });
    calls_->queue.push_back(std::move(work));
    if (!calls_->worker.joinable()) calls_->worker = std::thread([this] { this->work(); });
  }
  calls_->queued.notify_one();
}

void Session::work() {
  while (true) {
    Work next;
    bool is_closed;
    {
      std::unique_lock lock(calls_->mutex);
      calls_->queued.wait(lock, [&] { return calls_->closing || !calls_->queue.empty(); });
      if (calls_->queue.empty()) {
        calls_->has_ended = true;
        calls_->ended.notify_all();
        return;
      }
      next = std::move(calls_->queue.front());
      calls_->queue.pop_front();
      is_closed = calls_->closing;
    }
    calls_->room.notify_one();
    next(is_closed);
  }
}

} // namespace tl::api
