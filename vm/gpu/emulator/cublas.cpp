// Handles, descriptions and the checks of cuBLASLt; products.cpp computes.
#include "vm/gpu/emulator/cublas.h"
#include "vm/gpu/emulator/hash.h"
#include "vm/gpu/emulator/products.h"
#include "vm/gpu/emulator/world.h"
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace tl::emulator {
namespace {

using namespace cuda;

// What an algorithm was found for, in the words that the program carries about.
struct Choice {
  uint64_t kind, problem, alignment, workspace;
};
constexpr uint64_t kKind = 0x746c2063686f6963;

// With a seed, cuBLASLt does without some products, as it may: it finds nothing for one in eight, and of what it has
// found it runs one in eight not.
enum class Mood { Fine, FindsNothing, RunsNothing };
Mood mood(const World& world, uint64_t problem) {
  if (world.options.seed == 0) return Mood::Fine;
  const uint64_t seed = world.options.seed;
  const uint64_t choice = hash({reinterpret_cast<const char*>(&seed), sizeof seed}, problem) % 8;
  return choice == 0 ? Mood::FindsNothing : choice == 1 ? Mood::RunsNothing : Mood::Fine;
}

CublasStatus refuse(const Call& call, CublasStatus status, std::string_view why) {
  call.fail(0, why);
  return status;
}

bool are_types(const CublasDesc desc, int a, int b, int d) {
  if (a != b) return false;
  switch (desc->compute) {
  case kCompute64: return desc->scale == kReal64 && a == kReal64 && d == kReal64;
  case kComputeTf32: return desc->scale == kReal32 && a == kReal32 && d == kReal32;
  case kCompute32:
    return desc->scale == kReal32 && (a == kReal32 || a == kReal16 || a == kRealB16) && (d == a || d == kReal32);
  default: return false;
  }
}

// The product that the descriptions say, or what is wrong with them.
CublasStatus read(const Call& call, CublasDesc desc, CublasLayout a, CublasLayout b, CublasLayout c, CublasLayout d,
                  Product& p) {
  const World& world = call.world;
  if (!world.cublas_descs.count(desc)) return refuse(call, kCublasInvalidValue, "no description of a product");
  for (CublasLayout layout : {a, b, c, d})
    if (!world.cublas_layouts.count(layout)) return refuse(call, kCublasInvalidValue, "no layout of a matrix");
  p = {desc->compute, desc->transpose_a, desc->transpose_b, a->matrix, b->matrix, d->matrix, 1, 0};
  const Matrix &result = d->matrix, &before = c->matrix;
  if (!are_types(desc, p.a.type, p.b.type, result.type))
    return refuse(call, kCublasNotSupported,
                  fmt::format("types {}, {} and {} with compute type {}", p.a.type, p.b.type, result.type, p.compute));
  if (before.type != result.type || before.rows != result.rows || before.columns != result.columns ||
      before.leading != result.leading || before.batch != result.batch || before.stride != result.stride)
    return refuse(call, kCublasNotSupported, "layouts of C and D that differ");
  for (const Matrix* m : {&std::as_const(p.a), &std::as_const(p.b), &result}) {
    if (m->rows <= 0 || m->columns <= 0 || m->leading < m->rows)
      return refuse(call, kCublasInvalidValue,
                    fmt::format("a matrix of {} rows and {} columns, {} apart", m->rows, m->columns, m->leading));
    for (int64_t size : {m->rows, m->columns, m->leading})
      if (size > std::numeric_limits<int32_t>::max()) return kCublasNotSupported;
    if (m->batch != result.batch || m->batch < 1 || m->stride < 0)
      return refuse(call, kCublasInvalidValue, fmt::format("batches of {} and {}", m->batch, result.batch));
  }
  if (result.batch > 1 && result.stride < result.columns * result.leading)
    return refuse(call, kCublasInvalidValue, "results of a batch that overlap");
  if (result.rows != p.rows() || result.columns != p.columns() || p.inner() != (p.transpose_b ? p.b.columns : p.b.rows))
    return refuse(call, kCublasInvalidValue,
                  fmt::format("a result of {} by {} from {} by {} times {} by {}", result.rows, result.columns,
                              p.rows(), p.inner(), p.transpose_b ? p.b.columns : p.b.rows, p.columns()));
  return kCublasSuccess;
}

uint64_t hash_of(const Product& p) {
  int64_t all[3 * 6 + 3] = {p.compute, p.transpose_a, p.transpose_b};
  int64_t* at = all + 3;
  for (const Matrix* m : {&p.a, &p.b, &p.d})
    for (int64_t part : {int64_t{m->type}, m->rows, m->columns, m->leading, m->batch, m->stride})
      *at++ = part;
  return hash({reinterpret_cast<const char*>(all), sizeof all});
}

// Of handles of one kind.
template <class T> CublasStatus destroy_one(const Call& call, Owned<T>& all, T* which) {
  if (!all.erase(which)) return refuse(call, kCublasInvalidValue, "what is to go was not made, or is gone");
  return kCublasSuccess;
}
template <class T> CublasStatus add(Owned<T>& all, T** to, T made) {
  auto owned = std::make_unique<T>(made);
  *to = owned.get();
  all.emplace(*to, std::move(owned));
  return kCublasSuccess;
}

// A value of an attribute, if it has the right size.
template <class T> bool take(T& to, const void* value, size_t bytes) {
  if (!value || bytes != sizeof to) return false;
  std::memcpy(&to, value, bytes);
  return true;
}

namespace table { // by the names of TL_CUBLAS_FUNCTIONS

CublasStatus create(CublasHandle* handle) {
  Call call("cublasLtCreate");
  if (!handle) return kCublasInvalidValue;
  if (call.context()) return kCublasNotInitialized;
  return add(call.world.cublas, handle, OpaqueCublas{Call::current()});
}

CublasStatus destroy(CublasHandle handle) {
  Call call("cublasLtDestroy");
  call.world.force_all(Call::current());
  return destroy_one(call, call.world.cublas, handle);
}

CublasStatus create_desc(CublasDesc* desc, int compute, int scale) {
  Call call("cublasLtMatmulDescCreate");
  if (!desc) return kCublasInvalidValue;
  return add(call.world.cublas_descs, desc, OpaqueCublasDesc{compute, scale, false, false});
}

CublasStatus destroy_desc(CublasDesc desc) {
  Call call("cublasLtMatmulDescDestroy");
  return destroy_one(call, call.world.cublas_descs, desc);
}

CublasStatus set_desc(CublasDesc desc, int attribute, const void* value, size_t bytes) {
  Call call("cublasLtMatmulDescSetAttribute");
  if (!call.world.cublas_descs.count(desc)) return refuse(call, kCublasInvalidValue, "no description of a product");
  int32_t how = -1;
  if (!take(how, value, bytes) || (how != kAsItIs && how != kTransposed))
    return refuse(call, kCublasInvalidValue, fmt::format("attribute {} of {} bytes, {}", attribute, bytes, how));
  if (attribute == kTransposeA) return desc->transpose_a = how != kAsItIs, kCublasSuccess;
  if (attribute == kTransposeB) return desc->transpose_b = how != kAsItIs, kCublasSuccess;
  return refuse(call, kCublasInvalidValue, fmt::format("attribute {} is not emulated", attribute));
}

CublasStatus create_layout(CublasLayout* layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  Call call("cublasLtMatrixLayoutCreate");
  if (!layout) return kCublasInvalidValue;
  return add(call.world.cublas_layouts, layout,
             OpaqueCublasLayout{{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading, 1, 0}});
}

CublasStatus destroy_layout(CublasLayout layout) {
  Call call("cublasLtMatrixLayoutDestroy");
  return destroy_one(call, call.world.cublas_layouts, layout);
}

CublasStatus set_layout(CublasLayout layout, int attribute, const void* value, size_t bytes) {
  Call call("cublasLtMatrixLayoutSetAttribute");
  if (!call.world.cublas_layouts.count(layout)) return refuse(call, kCublasInvalidValue, "no layout of a matrix");
  int32_t count = 0;
  if (attribute == kBatchCount && take(count, value, bytes)) return layout->matrix.batch = count, kCublasSuccess;
  if (attribute == kBatchStride && take(layout->matrix.stride, value, bytes)) return kCublasSuccess;
  return refuse(call, kCublasInvalidValue, fmt::format("attribute {} of {} bytes", attribute, bytes));
}

CublasStatus create_preference(CublasPreference* preference) {
  Call call("cublasLtMatmulPreferenceCreate");
  if (!preference) return kCublasInvalidValue;
  return add(call.world.cublas_preferences, preference, OpaqueCublasPreference{});
}

CublasStatus destroy_preference(CublasPreference preference) {
  Call call("cublasLtMatmulPreferenceDestroy");
  return destroy_one(call, call.world.cublas_preferences, preference);
}

CublasStatus set_preference(CublasPreference preference, int attribute, const void* value, size_t bytes) {
  Call call("cublasLtMatmulPreferenceSetAttribute");
  if (!call.world.cublas_preferences.count(preference)) return refuse(call, kCublasInvalidValue, "no preference");
  uint32_t number = 0;
  if (attribute == kMaxWorkspace && take(preference->workspace, value, bytes)) return kCublasSuccess;
  if (attribute == kReductionSchemes && take(number, value, bytes)) return kCublasSuccess;
  if (attribute >= kMinAlignmentA && attribute <= kMinAlignmentD && take(number, value, bytes) && number > 0)
    return preference->alignment[attribute - kMinAlignmentA] = number, kCublasSuccess;
  return refuse(call, kCublasInvalidValue, fmt::format("attribute {} of {} bytes", attribute, bytes));
}

CublasStatus heuristic(CublasHandle handle, CublasDesc desc, CublasLayout a, CublasLayout b, CublasLayout c,
                       CublasLayout d, CublasPreference preference, int wanted, CublasHeuristic* found, int* count) {
  Call call("cublasLtMatmulAlgoGetHeuristic");
  if (!call.world.cublas.count(handle)) return refuse(call, kCublasNotInitialized, "no handle");
  if (!found || !count || wanted < 1 || !call.world.cublas_preferences.count(preference))
    return refuse(call, kCublasInvalidValue, "nothing to find, or nowhere to put it");
  *count = 0;
  Product product;
  if (CublasStatus status = read(call, desc, a, b, c, d, product)) return status;
  const uint64_t problem = hash_of(product);
  if (mood(call.world, problem) == Mood::FindsNothing) return kCublasNotSupported;
  Choice choice{kKind, problem, 0, product.inner() < 64 ? 0 : std::min<uint64_t>(preference->workspace, 1 << 16)};
  for (int k = 0; k < 4; ++k)
    choice.alignment |= uint64_t{preference->alignment[k]} << (16 * k);
  *found = {};
  static_assert(sizeof choice <= sizeof found->algorithm);
  std::memcpy(&found->algorithm, &choice, sizeof choice);
  found->workspace = choice.workspace;
  *count = 1;
  return kCublasSuccess;
}

CublasStatus multiply(CublasHandle handle, CublasDesc desc, const void* alpha, const void* a, CublasLayout a_layout,
                      const void* b, CublasLayout b_layout, const void* beta, const void* c, CublasLayout c_layout,
                      void* d, CublasLayout d_layout, const CublasAlgorithm* algorithm, void* workspace,
                      size_t workspace_bytes, Stream stream) {
  Call call("cublasLtMatmul");
  if (call.stream(stream)) return kCublasExecutionFailed;
  if (!call.world.cublas.count(handle)) return refuse(call, kCublasNotInitialized, "no handle");
  if (handle->context != stream->context) return refuse(call, kCublasInvalidValue, "a stream of another device");
  if (!alpha || !beta || !a || !b || !d || !algorithm) return refuse(call, kCublasInvalidValue, "a null pointer");
  Product product;
  if (CublasStatus status = read(call, desc, a_layout, b_layout, c_layout, d_layout, product)) return status;
  auto scale = [&](const void* at) {
    double wide;
    float narrow;
    if (desc->scale == kReal64) return std::memcpy(&wide, at, sizeof wide), wide;
    return std::memcpy(&narrow, at, sizeof narrow), static_cast<double>(narrow);
  };
  product.alpha = scale(alpha);
  product.beta = scale(beta);
  Choice choice;
  std::memcpy(&choice, algorithm, sizeof choice);
  const uint64_t problem = hash_of(product);
  if (choice.kind != kKind || choice.problem != problem)
    return refuse(call, kCublasInvalidValue, "an algorithm that was found for another product");
  if (mood(call.world, problem) == Mood::RunsNothing) return kCublasNotSupported;

  struct Operand {
    const char* name;
    const void* at;
    int64_t bytes;
  };
  const Operand operands[] = {{"A", a, product.a.bytes()},
                              {"B", b, product.b.bytes()},
                              {"C", product.beta != 0 ? c : d, product.d.bytes()},
                              {"D", d, product.d.bytes()},
                              {"the workspace", workspace, static_cast<int64_t>(choice.workspace)}};
  const Operand& result = operands[3];
  auto begin = [](const Operand& o) { return reinterpret_cast<uint64_t>(o.at); };
  auto end = [&](const Operand& o) { return begin(o) + static_cast<uint64_t>(o.bytes); };
  for (size_t k = 0; k < std::size(operands); ++k) {
    const Operand& o = operands[k];
    if (o.bytes == 0) continue;
    const uint64_t alignment = k < 4 ? choice.alignment >> (16 * k) & 0xffff : 16;
    if (begin(o) % alignment != 0)
      return refuse(call, kCublasInvalidValue,
                    fmt::format("{} at {:#x}, with an algorithm for multiples of {}", o.name, begin(o), alignment));
    if (call.range(stream->context, begin(o), static_cast<uint64_t>(o.bytes))) return kCublasExecutionFailed;
    if (k != 2 && k != 3 && begin(o) < end(result) && begin(result) < end(o))
      return refuse(call, kCublasInvalidValue, fmt::format("D overlaps {}", o.name));
  }
  if (choice.workspace > workspace_bytes) return refuse(call, kCublasInvalidValue, "too small a workspace");

  const uint64_t offset = call.world.window.offset();
  auto on_host = [offset](const void* at) { return reinterpret_cast<char*>(reinterpret_cast<uint64_t>(at) + offset); };
  stream->queue.add({[=, bytes = choice.workspace, before = operands[2].at] {
                       if (bytes) std::memset(on_host(workspace), kPoison, bytes);
                       emulator::multiply(product, on_host(a), on_host(b), on_host(before), on_host(d));
                     },
                     nullptr});
  return kCublasSuccess;
}

} // namespace table

size_t version() { return 130100; }

const char* error_text(CublasStatus status) {
  switch (status) {
  case kCublasSuccess: return "success";
  case kCublasNotInitialized: return "the library was not initialized";
  case kCublasAllocFailed: return "the resource allocation failed";
  case kCublasInvalidValue: return "an unsupported value or parameter was passed to the function";
  case kCublasExecutionFailed: return "the GPU program failed to execute";
  case kCublasNotSupported: return "the requested functionality is not supported";
  default: return "an unknown status";
  }
}

} // namespace

void* cublas_symbol(const char* name) {
#define TL_ENTRY(member, symbol, parameters)                                                                           \
  if (std::strcmp(name, symbol) == 0) {                                                                                \
    CublasStatus(*function) parameters = table::member;                                                                \
    return reinterpret_cast<void*>(function);                                                                          \
  }
  TL_CUBLAS_FUNCTIONS(TL_ENTRY)
#undef TL_ENTRY
  if (std::strcmp(name, "cublasLtGetVersion") == 0) return reinterpret_cast<void*>(&version);
  if (std::strcmp(name, "cublasLtGetStatusString") == 0) return reinterpret_cast<void*>(&error_text);
  return nullptr;
}

} // namespace tl::emulator
