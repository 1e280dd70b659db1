#include "abi/program/program_file.h"
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

namespace tl {
namespace {

// Changes whenever what is written here does. Nothing reads a program of another build on purpose.
constexpr char kBuild[] = "tl program 6";
constexpr size_t kAlignment = 64;

// Whole numbers take seven bits a byte, the lowest first (LEB128, signed ones with the sign as the lowest bit); a text
// that stood before is its number.
class Writer {
public:
  static constexpr bool reads = false;
  std::string out;

  void raw(const void* data, size_t bytes) { out.append(static_cast<const char*>(data), bytes); }
  void number(uint64_t& n) {
    uint64_t rest = n;
    for (; rest >= 0x80; rest >>= 7)
      out += static_cast<char>(rest | 0x80);
    out += static_cast<char>(rest);
  }
  void text(std::string& x) {
    uint64_t known = texts_.try_emplace(x, texts_.size()).first->second;
    const bool is_new = known == written_;
    number(known);
    if (!is_new) return;
    ++written_;
    length(x.size());
    raw(x.data(), x.size());
  }
  uint64_t length(uint64_t n) {
    number(n);
    return n;
  }
  // Its bytes: those of a tensor before it, or here.
  void tensor(HostTensor& x) {
    const std::string_view bytes(reinterpret_cast<const char*>(x.data()), static_cast<size_t>(x.byte_count()));
    auto [known, is_new] = tensors_.try_emplace(bytes, 0);
    if (is_new) {
      out += '\0';
      out.resize((out.size() + kAlignment - 1) / kAlignment * kAlignment);
      known->second = out.size();
      raw(bytes.data(), bytes.size());
    } else {
      out += '\1';
      number(known->second);
    }
  }

private:
  std::unordered_map<std::string_view, uint64_t> tensors_; // where the bytes of each are
  std::unordered_map<std::string, uint64_t> texts_;
  uint64_t written_ = 0;
};

class Reader {
public:
  static constexpr bool reads = true;
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  const std::byte* take(uint64_t count) {
    if (count > bytes_.size() - at_) throw std::runtime_error("the program in this file is cut off");
    at_ += count;
    return bytes_.data() + (at_ - count);
  }
  void raw(void* data, size_t bytes) { std::memcpy(data, take(bytes), bytes); }
  void number(uint64_t& n) {
    n = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint64_t>(*take(1));
      if (shift < 64) n |= (byte & 0x7f) << shift;
      if (byte < 0x80) return;
    }
  }
  void text(std::string& x) {
    uint64_t known = 0;
    number(known);
    if (known < texts_.size()) {
      x = texts_[known];
      return;
    }
    const uint64_t size = length(0);
    x.assign(reinterpret_cast<const char*>(take(size)), size);
    texts_.emplace_back(x);
  }
  uint64_t length(uint64_t) {
    uint64_t n = 0;
    number(n);
    if (n > bytes_.size()) broken();
    return n;
  }
  void tensor(HostTensor& x) {
    const uint64_t count = bytes_of(x);
    const std::byte* data = nullptr;
    if (*take(1) == std::byte{0}) {
      take((kAlignment - at_ % kAlignment) % kAlignment);
      data = take(count);
    } else {
      uint64_t at = 0;
      number(at);
      if (at > bytes_.size() || count > bytes_.size() - at) broken();
      data = bytes_.data() + at;
    }
    // The bytes belong to the executable; its pages are the system's, like those of a mapped file.
    x.bytes = std::shared_ptr<std::byte[]>(const_cast<std::byte*>(data), [](std::byte*) {});
    x.mapped = true;
  }

private:
  [[noreturn]] static void broken() { throw std::runtime_error("the program in this file is broken"); }

  // HostTensor::byte_count of a type and sizes that may be anything.
  static uint64_t bytes_of(const HostTensor& x) {
    if (static_cast<int>(x.dtype) >= kDTypeCount) broken();
    auto bytes = static_cast<uint64_t>(size_of(x.dtype));
    for (int64_t size : x.dims)
      if (size < 0) broken();
    for (int64_t size : x.dims)
      if (size == 0) return 0;
    for (int64_t size : x.dims)
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) broken();
    return bytes;
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  std::vector<std::string> texts_;
};

// ---- the places that are left

// Only those that the program can name: inlining leaves many that it cannot.
template <class Visit> void each_place(Program& program, Visit visit) {
  for (BcFunction& function : program.functions)
    for (Instruction& i : function.code)
      visit(i.loc);
  for (ErrorSite& site : program.sites) {
    visit(site.loc);
    for (auto& note : site.notes)
      visit(note.second);
  }
}

void drop_unused_places(Program& program) {
  const std::vector<Location> all = std::move(program.locations);
  std::vector<bool> used(all.size());
  each_place(program, [&](LocId& loc) {
    for (LocId at = loc; at.index < all.size() && !used[at.index]; at = all[at.index].caller)
      used[at.index] = true;
  });
  if (!used.empty()) used[0] = true; // nowhere
  std::vector<LocId> now(all.size());
  program.locations.clear();
  for (size_t i = 0; i < all.size(); ++i)
    if (used[i]) {
      now[i].index = static_cast<uint32_t>(program.locations.size());
      program.locations.push_back(all[i]);
    }
  for (Location& place : program.locations)
    place.caller = now[place.caller.index];
  each_place(program, [&](LocId& loc) { loc = now[loc.index]; });
}

// ---- each structure once, for both directions

template <class A, class... T> void all(A& a, T&... parts);

template <class A, class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
void fields(A& a, T& x) {
  if constexpr (std::is_same_v<T, bool>) {
    auto byte = static_cast<uint8_t>(x);
    a.raw(&byte, 1);
    if constexpr (A::reads) x = byte != 0;
  } else if constexpr (std::is_floating_point_v<T> || sizeof(T) == 1) {
    a.raw(&x, sizeof x);
  } else {
    auto wide = static_cast<int64_t>(x);
    auto n = static_cast<uint64_t>(wide);
    if constexpr (std::is_signed_v<T>) n = n << 1 ^ static_cast<uint64_t>(wide >> 63);
    a.number(n);
    if constexpr (A::reads && std::is_signed_v<T>) n = n >> 1 ^ (0 - (n & 1));
    if constexpr (A::reads) x = static_cast<T>(n);
  }
}
template <class A> void fields(A& a, std::string& x) { a.text(x); }
template <class A, class T> void fields(A& a, std::vector<T>& x);
template <class A, class T> void fields(A& a, std::optional<T>& x);
template <class A, class T, class U> void fields(A& a, std::pair<T, U>& x) { all(a, x.first, x.second); }

// A structure's members by position: one more of them does not compile until it is here.
#define TL_FIELDS(Struct, ...)                                                                                         \
  template <class A> void fields(A& a, Struct& x) {                                                                    \
    auto& [__VA_ARGS__] = x;                                                                                           \
    all(a, __VA_ARGS__);                                                                                               \
  }
TL_FIELDS(LocId, index)
TL_FIELDS(Slot, index)
TL_FIELDS(Scalar, bits)
TL_FIELDS(Operand, slot, last_use)
TL_FIELDS(SizeRef, is_slot, constant, slot)
TL_FIELDS(Suffers, sites, inputs)
TL_FIELDS(OutputDesc, dtype, dims, mode, alias, kind, device_of, suffers)
TL_FIELDS(Instruction, op, scalar, host_op, dtype, dtype2, loc, index, target, site, imm, in, out, outputs, ints,
          decides)
TL_FIELDS(BcFunction, name, slot_count, params, code)
TL_FIELDS(FormatTemplate, literals, specs)
TL_FIELDS(ErrorSite, kind, message, hint, loc, notes)
TL_FIELDS(Location, file, line, column, begin, end, caller, function)
TL_FIELDS(FileLeaf, name, dtype, rank, is_list, element)
TL_FIELDS(ParamInfo, kind, name, doc, type_text, dtype, rank, has_default, default_text, leaf, is_list, is_text, record,
          element)
TL_FIELDS(ResultInfo, is_str, is_scalar, is_list, dtype, rank, value, leaf, is_printed, record, type_text, element)
TL_FIELDS(ValueInfo, kind, dtype, rank, type, record, names, parts)
TL_FIELDS(ProgramInterface, doc, params, results, value)
template <class A> void fields(A& a, HostTensor& x) {
  all(a, x.dtype, x.dims);
  a.tensor(x);
}
TL_FIELDS(Program, interface, functions, entry, kernel_count, tensors, strings, formats, sites, locations)
TL_FIELDS(SizeFormula::Step, op, value)
TL_FIELDS(SizeFormula, steps)
template <class A> void fields(A& a, KernelPhase& x) {
  auto& [function, tiles, grain] = x; // the function is the linker's
  static_cast<void>(function);
  all(a, tiles, grain);
}
TL_FIELDS(CompiledKernel, name, phases, shared_bytes, local_bytes)
TL_FIELDS(ProgramSource, name, text)
TL_FIELDS(KernelVariant, features, kernels, first_function)
TL_FIELDS(Declared, name, type, default_value, doc, has_type, has_default, is_closed, element_type, of)
TL_FIELDS(Declaration, name, text, result, doc, source, has_result, is_struct, is_generic, parameters)
TL_FIELDS(ProgramCall, expression, function, program)
TL_FIELDS(ProgramFile, programs, sources, declarations, calls, variants)
#undef TL_FIELDS

template <class A, class T> void fields(A& a, std::vector<T>& x) {
  x.resize(a.length(x.size()));
  for (T& element : x)
    fields(a, element);
}
template <class A, class T> void fields(A& a, std::optional<T>& x) {
  bool there = x.has_value();
  fields(a, there);
  if constexpr (A::reads) x = there ? std::optional(T{}) : std::nullopt;
  if (x) fields(a, *x);
}
template <class A, class... T> void all(A& a, T&... parts) { (fields(a, parts), ...); }

} // namespace

std::string write_program(const ProgramFile& file) {
  Writer writer;
  std::string build = kBuild;
  fields(writer, build);
  ProgramFile copy = file; // tensors share their bytes
  for (Program& program : copy.programs)
    drop_unused_places(program);
  fields(writer, copy);
  return std::move(writer.out);
}

ProgramFile read_program(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  std::string build;
  try {
    fields(reader, build);
  } catch (const std::runtime_error&) {
    build.clear();
  }
  if (build != kBuild) throw std::runtime_error("this program was built by another version of tl");
  ProgramFile file;
  fields(reader, file);
  return file;
}

} // namespace tl
