// The functions of a library that `tl build --lib` makes: arguments from C come in, results go out. The functions that
// C sees are a few instructions each (backend/aot/library.cpp), which call tl_library_call.
#include "driver/flags.h"
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

// As DLPack has them (DLTensor and DLManagedTensor of its version 0.x), so that every library that knows DLPack takes
// and gives them.
struct TensorType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  int32_t device_type, device_id; // 1, 0: the CPU
  int32_t rank;
  TensorType type;
  int64_t* shape;
  int64_t* strides; // in elements; null: rows behind each other
  uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

// A struct outside of the library.
struct Handle {
  std::string record;
  std::vector<Argument> leaves;
};

constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6;

TensorType type_of(DType type) {
  const auto bits = static_cast<uint8_t>(8 * size_of(type));
  switch (type) {
  case DType::Bool: return {kBool, 8, 1};
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64: return {kInt, bits, 1};
  case DType::BF16: return {kBfloat, bits, 1};
  case DType::F16:
  case DType::F32:
  case DType::F64: return {kFloat, bits, 1};
  default: return {kUint, bits, 1};
  }
}

std::string name_of_type(TensorType type) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const TensorType other = type_of(static_cast<DType>(i));
    if (other.code == type.code && other.bits == type.bits && type.lanes == 1)
      return std::string(name_of(static_cast<DType>(i)));
  }
  return fmt::format("elements of DLPack's type {}, {} bits, {} lanes", type.code, type.bits, type.lanes);
}

// The flags of the library: what configure() has set.
struct Settings {
  std::mutex mutex;
  RunSetup setup;
  std::shared_ptr<const Devices> devices; // whose memory all calls share
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

// Elements of any strides, one behind the other.
void copy_dense(const std::byte* from, const Tensor& x, int axis, size_t width, std::byte*& to) {
  if (axis == x.rank) {
    std::memcpy(to, from, width);
    to += width;
    return;
  }
  for (int64_t i = 0; i < x.shape[axis]; ++i)
    copy_dense(from + i * x.strides[axis] * static_cast<int64_t>(width), x, axis + 1, width, to);
}

HostTensor tensor_argument(const Tensor* x, const ParamInfo& param) {
  const TensorType wanted = type_of(param.dtype);
  if (!x) throw UsageError(fmt::format("{}: {} is wanted, and this is null", param.name, param.type_text));
  if (x->type.code != wanted.code || x->type.bits != wanted.bits || x->type.lanes != 1 ||
      x->rank != static_cast<int32_t>(param.rank))
    throw UsageError(fmt::format("{}: {} is wanted, and this has rank {} and elements of type {}", param.name,
                                 param.type_text, x->rank, name_of_type(x->type)));
  if (x->device_type != 1) throw UsageError(fmt::format("{}: the tensor is not in the memory of the CPU", param.name));
  if (!x->shape && x->rank > 0) throw UsageError(fmt::format("{}: the tensor has no shape", param.name));
  HostTensor result;
  result.dtype = param.dtype;
  for (int k = 0; k < x->rank; ++k) {
    if (x->shape[k] < 0) throw UsageError(fmt::format("{}: axis {} has a negative size", param.name, k));
    result.dims.push_back(x->shape[k]);
  }
  const auto width = static_cast<size_t>(size_of(param.dtype));
  int64_t count = 1;
  bool empty = false, overflow = false;
  for (int64_t size : result.dims) {
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count);
  }
  if (overflow || count > INT64_MAX / 8) throw UsageError(fmt::format("{}: the sizes are too large", param.name));
  if (empty) count = 0;
  auto* data = static_cast<std::byte*>(x->data) + x->byte_offset;
  if (!x->data && count > 0) throw UsageError(fmt::format("{}: the tensor has no data", param.name));
  bool dense = true;
  if (x->strides) {
    int64_t stride = 1;
    for (int k = x->rank - 1; k >= 0; --k) {
      if (x->shape[k] != 1 && x->strides[k] != stride) dense = false;
      stride *= x->shape[k];
    }
  }
  if (count == 0 || (dense && reinterpret_cast<uintptr_t>(data) % width == 0)) {
    result.bytes = std::shared_ptr<std::byte[]>(data, [](std::byte*) {}); // the caller's, as long as the call lasts
    result.mapped = true;                                                 // it takes no memory of ours
    if (!data) result = HostTensor::make(param.dtype, result.dims);
    return result;
  }
  result = HostTensor::make(param.dtype, result.dims);
  std::byte* to = result.data();
  if (dense)
    std::memcpy(to, data, static_cast<size_t>(result.byte_count()));
  else
    copy_dense(data, *x, 0, width, to);
  return result;
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

void copy_to_own(HostTensor& x) {
  HostTensor copy = HostTensor::make(x.dtype, x.dims);
  std::memcpy(copy.data(), x.data(), static_cast<size_t>(x.byte_count()));
  x = std::move(copy);
}

// A part of a handle must not be what the caller has lent. It may be a part of another handle, or a constant: nobody
// writes to those.
void own(Argument& value, const std::vector<HostTensor>& lent) {
  if (auto* list = std::get_if<std::shared_ptr<const ListArgument>>(&value)) {
    auto copy = std::make_shared<ListArgument>(**list);
    for (Argument& element : copy->values)
      own(element, lent);
    *list = std::move(copy);
  }
  auto* x = std::get_if<HostTensor>(&value);
  if (!x) return;
  for (const HostTensor& from : lent)
    if (std::less_equal<>()(from.data(), x->data()) && std::less<>()(x->data(), from.data() + from.byte_count()))
      return copy_to_own(*x);
}

// A tensor with what holds its memory, which is the caller's alone: he may write to it.
struct Given {
  ManagedTensor managed;
  HostTensor tensor;
};

ManagedTensor* give(HostTensor tensor) {
  auto given = std::make_unique<Given>(Given{{}, std::move(tensor)});
  HostTensor& x = given->tensor;
  if (x.bytes.use_count() != 1) copy_to_own(x); // an argument's, a constant's, another result's
  given->managed.tensor = {x.data(),      1,       0, static_cast<int32_t>(x.dims.size()), type_of(x.dtype),
                           x.dims.data(), nullptr, 0};
  given->managed.context = given.get();
  given->managed.deleter = [](ManagedTensor* self) { delete static_cast<Given*>(self->context); };
  return &given.release()->managed;
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
    if (!own.devices) own.devices = std::make_shared<const Devices>(make_devices(options));
    devices = own.devices;
  }
  options.listens = false;
  auto print = [](std::FILE* file) {
    return [file](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), file);
      std::fflush(file); // it may be shared with a language that has buffers of its own
    };
  };
  std::vector<HostTensor> lent;
  std::vector<Argument> arguments = arguments_of(program.interface, cells, lent);
  Outcome outcome =
      run(program, all, std::move(arguments), options, print(stdout), print(stderr), nullptr, devices.get());
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
  const RunFlag* flag = name ? find_run_flag(name) : nullptr;
  if (!flag || flag->looks || flag->name == "stats" || flag->name == "message-format" || flag->name == "root" ||
      flag->name == "no-files") // of the whole process, which is somebody else's
    throw UsageError(fmt::format("a library has no setting '{}'", name ? name : ""));
  Settings& own = settings();
  std::lock_guard lock(own.mutex);
  RunSetup changed = own.setup;
  flag->set(changed, value ? value : "true");
  own.setup = changed;
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
