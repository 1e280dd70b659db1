// The functions of a library that `tl build --lib` makes: arguments from C come in, results go out. The functions that
// C sees are a few instructions each (backend/aot/library.cpp), which call tl_library_call.
#include "driver/flags.h"
#include "driver/foreign.h"
#include "driver/messages.h"
#include "driver/usage.h"
#include "kernels.h"
#include "vm/devices.h"
#include "vm/io/io.h"
#include "vm/io/mapping.h"
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <mutex>

namespace tl::driver {
namespace {

// The flags of the library: what configure() has set.
struct Settings {
  std::mutex mutex;
  RunSetup setup;
  std::shared_ptr<const Devices> devices; // whose memory all calls share
  int cores = 0;                          // 0: not asked for yet
};
Settings& settings() {
  static auto* all = new Settings; // calls may come while the process ends
  return *all;
}
Built& built() {
  static auto* all = (leave_signals_alone(), new Built);
  return *all;
}

thread_local std::string message;

// In place: C evaluates arguments in any order, so somebody may print the message of the call before.
int fail(int status, std::string_view text) {
  message.reserve(4096);
  message = text;
  return status;
}

// What comes in, one cell for each parameter of C: a scalar's bits, or a pointer. `lent`: what is the caller's memory.
std::vector<Argument> arguments_of(const ProgramInterface& interface, const uint64_t* cells,
                                   std::vector<HostTensor>& lent) {
  std::vector<Argument> values;
  for (size_t i = 0; i < interface.params.size(); ++i) {
    const ParamInfo& param = interface.params[i];
    if (!param.record.empty()) {
      const auto* handle = reinterpret_cast<const Handle*>(*cells++);
      if (!handle || handle->record != param.record)
        throw UsageError(fmt::format("{}: a {} is wanted, and this is {}", param.name, param.record,
                                     handle ? "a " + handle->record : "null"));
      for (const Argument& leaf : handle->leaves) {
        values.push_back(leaf);
        if (auto* x = std::get_if<HostTensor>(&values.back())) x->mapped = true; // it is counted where it was made
      }
      i += handle->leaves.size() - 1;
      continue;
    }
    const uint64_t cell = *cells++;
    if (param.kind == ParamInfo::Kind::Str) {
      if (!cell) throw UsageError(fmt::format("{}: a text is wanted, and this is null", param.name));
      values.emplace_back(std::string(reinterpret_cast<const char*>(cell)));
    } else if (param.kind == ParamInfo::Kind::Tensor) {
      HostTensor x = tensor_argument(reinterpret_cast<const Tensor*>(cell), param);
      if (x.mapped) lent.push_back(x);
      values.emplace_back(std::move(x));
    } else {
      HostTensor x = HostTensor::make(param.dtype, {});
      x.set(0, Scalar{cell});
      values.emplace_back(std::move(x));
    }
  }
  return values;
}

// What goes out, to one address for each result; null where it is not wanted.
void deliver(const ProgramInterface& interface, std::vector<Argument>&& values, void* const* to) {
  for (size_t i = 0; i < interface.results.size(); ++i) {
    const ResultInfo& result = interface.results[i];
    void* place = to[result.value];
    if (!result.record.empty()) {
      auto handle = std::make_unique<Handle>();
      handle->record = result.record;
      for (; i < interface.results.size() && interface.results[i].value == result.value; ++i)
        handle->leaves.push_back(std::move(values[i]));
      --i;
      if (place) *static_cast<Handle**>(place) = handle.release();
      continue;
    }
    if (!place) continue;
    if (result.is_str) {
      const auto& text = std::get<std::string>(values[i]);
      auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
      if (!copy) throw std::bad_alloc();
      std::memcpy(copy, text.c_str(), text.size() + 1);
      *static_cast<char**>(place) = copy;
    } else if (result.is_scalar) {
      const HostTensor& x = std::get<HostTensor>(values[i]);
      std::memcpy(place, x.data(), static_cast<size_t>(size_of(x.dtype)));
    } else {
      *static_cast<ManagedTensor**>(place) = give(std::move(std::get<HostTensor>(values[i])));
    }
  }
}

// Nothing a library does may end the process or throw into C.
template <class F> int guarded_call(F&& call) {
  try {
    return call();
  } catch (const UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kRuntimeError, "there is no memory left");
  } catch (const std::exception& error) {
    return fail(kInternal, fmt::format("internal error: {}; this is a fault of tl, not of the program", error.what()));
  } catch (...) {
    return fail(kInternal, "internal error; this is a fault of tl, not of the program");
  }
}

int call(uint32_t function, const uint64_t* cells, void* const* results) {
  Built& all = built();
  const Program& program = all.programs.at(function);
  RunOptions options;
  std::shared_ptr<const Devices> devices;
  {
    Settings& own = settings();
    std::lock_guard lock(own.mutex);
    options = own.setup.run;
    if (options.threads == 0) {
      if (own.cores == 0) own.cores = cores();
      options.threads = own.cores;
    }
    if (!own.devices) own.devices = std::make_shared<const Devices>(make_devices(options));
    devices = own.devices;
  }
  options.listens = false;
  std::vector<HostTensor> lent;
  std::vector<Argument> arguments = arguments_of(program.interface, cells, lent);
  Outcome outcome = run(program, all, std::move(arguments), options, flushed_output(stdout), flushed_output(stderr),
                        nullptr, devices.get());
  if (outcome.error)
    return fail(kRuntimeError,
                render(diagnostic_of(*outcome.error, program.locations, all.sources, all.main), all.sources));
  if (outcome.exit_code != 0 || outcome.results.size() != program.interface.results.size())
    return fail(kRuntimeError, fmt::format("the program called exit({})", outcome.exit_code));
  for (size_t i = 0; i < outcome.results.size(); ++i)
    if (!program.interface.results[i].record.empty()) own(outcome.results[i], lent);
  deliver(program.interface, std::move(outcome.results), results);
  return kFine;
}

int configure(const char* name, const char* value) {
  Settings& own = settings();
  std::lock_guard lock(own.mutex);
  set_for_library(own.setup, name, value);
  own.devices.reset(); // calls that run keep the ones they have
  return kFine;
}

} // namespace
} // namespace tl::driver

using namespace tl::driver;

extern "C" {

int tl_library_call(uint32_t function, const uint64_t* arguments, void* const* results) {
  return guarded_call([&] { return call(function, arguments, results); });
}
const char* tl_library_error() { return message.c_str(); }
int tl_library_configure(const char* name, const char* value) {
  return guarded_call([&] { return configure(name, value); });
}
void tl_library_close(void* handle) { delete static_cast<Handle*>(handle); }

} // extern "C"
