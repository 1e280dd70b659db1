#include "vm/gpu/emulator/shim.h"
#include "vm/gpu/emulator/runtime.h"

namespace tl::emulator {
namespace {

#define TL_TEXT_OF(...) #__VA_ARGS__
#define TL_TEXT(...) TL_TEXT_OF(__VA_ARGS__)

constexpr const char* kWords = R"SHIM(
#define TL_EMULATED 1
#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// One block runs at a time, so what its threads share is static. It is .bss, which is filled anew for each block.
#define __shared__ static
#ifdef TL_RACECHECK
#define TL_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define TL_UNSEEN
#endif

extern "C" __attribute__((visibility("hidden"))) char __bss_start[], _end[];
static tl_runtime* tl_emulator __attribute__((section(".data"))) = nullptr;
extern "C" TL_UNSEEN __attribute__((visibility("default"))) void tl_emulator_bind(tl_runtime* runtime, char** begin,
                                                                                char** end) {
  tl_emulator = runtime;
  *begin = __bss_start;
  *end = _end;
}

#define TL_KERNEL(name, type)                                                                                \
  static void name##_tl_body(const type& a);                                                                 \
  extern "C" __attribute__((visibility("default"))) tl_kernel name##_tl_kernel = {                           \
      [](const void* arguments) { name##_tl_body(*(const type*)arguments); }, sizeof(type)};                 \
  static void name##_tl_body(const type& a)

// Behind an address that the program holds.
inline void* tl_behind(unsigned long long x) {
  return x - tl_emulator->memory < tl_emulator->memory_bytes ? (void*)(x + tl_emulator->to_host)
                                                             : tl_emulator->elsewhere(x);
}
template <class T> inline T* tl_at(T* address) { return (T*)tl_behind((unsigned long long)address); }
template <class T> inline T* tl_at(unsigned long long address) { return (T*)tl_behind(address); }
inline void* tl_dynamic_shared() { return tl_emulator->shared; }

#define threadIdx (tl_emulator->thread)
#define blockIdx (tl_emulator->block)
#define blockDim (tl_emulator->block_size)
#define gridDim (tl_emulator->grid_size)
#define warpSize 32

#define __syncthreads() ((void)tl_emulator->barrier(__LINE__, 0))
#define __syncthreads_or(predicate) ((int)(tl_emulator->barrier(__LINE__, (predicate) != 0) != 0))
#define __syncthreads_and(predicate) ((int)(tl_emulator->barrier(__LINE__, (predicate) == 0) == 0))
#define __syncthreads_count(predicate) ((int)tl_emulator->barrier(__LINE__, (predicate) != 0))
#define __syncwarp(...) (tl_emulator->vote(__LINE__, tl_mask(__VA_ARGS__), 0), tl_emulator->warp_fence())
#define __ballot_sync(mask, predicate) tl_emulator->vote(__LINE__, mask, (predicate) != 0)
#define __any_sync(mask, predicate) ((int)(__ballot_sync(mask, predicate) != 0))
#define __all_sync(mask, predicate) ((int)(__ballot_sync(mask, (predicate) == 0) == 0))
#define __shfl_sync(...) tl_shuffle(__LINE__, 0, __VA_ARGS__)
#define __shfl_up_sync(...) tl_shuffle(__LINE__, 1, __VA_ARGS__)
#define __shfl_down_sync(...) tl_shuffle(__LINE__, 2, __VA_ARGS__)
#define __shfl_xor_sync(...) tl_shuffle(__LINE__, 3, __VA_ARGS__)
inline unsigned tl_mask(unsigned mask = 0xffffffffu) { return mask; }
template <class T> T tl_shuffle(int line, int kind, unsigned mask, T value, int by, int width = 32) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  unsigned lane = threadIdx.x % 32, first = lane / width * width, from = lane;
  if (kind == 0) from = first + (unsigned)by % width;
  if (kind == 1) from = (int)lane - by < (int)first ? lane : lane - by;
  if (kind == 2) from = lane + by >= first + width ? lane : lane + by;
  if (kind == 3) from = (lane ^ by) >= first + width ? lane : lane ^ by;
  unsigned long long word = 0;
  __builtin_memcpy(&word, &value, sizeof(T));
  word = tl_emulator->exchange(line, mask, word, from);
  __builtin_memcpy(&value, &word, sizeof(T));
  return value;
}

// Atomic for the host too, which may look at the same memory.
TL_UNSEEN inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
template <class T> struct tl_same { typedef T type; };
template <class T> TL_UNSEEN T atomicCAS(T* at, typename tl_same<T>::type before, typename tl_same<T>::type after) {
  bool done = __atomic_compare_exchange_n(at, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  tl_emulator->atomic(!done);
  return before;
}
template <class T, class Next> TL_UNSEEN T tl_atomic(T* at, Next next) {
  T before = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(at, &before, next(before), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
  tl_emulator->atomic(0);
  return before;
}
#define TL_ATOMIC(name, next)                                                                                \
  template <class T> T name(T* at, typename tl_same<T>::type value) {                                        \
    return tl_atomic(at, [value](T before) -> T { return next; });                                           \
  }
TL_ATOMIC(atomicExch, (before, value))
TL_ATOMIC(atomicMin, before < value ? before : value)
TL_ATOMIC(atomicMax, before < value ? value : before)
TL_ATOMIC(atomicAnd, before & value)
TL_ATOMIC(atomicOr, before | value)
TL_ATOMIC(atomicXor, before ^ value)
// Integers alone: the order in which floats are added is no order.
#define TL_ATOMIC_ADD(T)                                                                                     \
  inline T atomicAdd(T* at, T value) { return tl_atomic(at, [value](T before) -> T { return before + value; }); }   \
  inline T atomicSub(T* at, T value) { return tl_atomic(at, [value](T before) -> T { return before - value; }); }
TL_ATOMIC_ADD(int) TL_ATOMIC_ADD(unsigned) TL_ATOMIC_ADD(unsigned long long)

#define TL_BITS(name, To, From)                                                                              \
  inline To name(From x) { To y; __builtin_memcpy(&y, &x, sizeof y); return y; }
TL_BITS(__int_as_float, float, int) TL_BITS(__uint_as_float, float, unsigned)
TL_BITS(__float_as_int, int, float) TL_BITS(__float_as_uint, unsigned, float)
TL_BITS(__longlong_as_double, double, long long) TL_BITS(__double_as_longlong, long long, double)
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
  return y;
}
template <class T> inline T __ldg(const T* at) { return *at; }
inline void __trap() { __builtin_trap(); }
template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }

// Halves as bits: to nearest, ties to even; a NaN becomes a quiet one.
inline float tl_from_f16(unsigned short x) {
  float y;
  __asm__("vmovd %1, %0\n\tvcvtph2ps %0, %0" : "=x"(y) : "r"((unsigned)x));
  return y;
}
inline unsigned short tl_to_f16(float x) {
  unsigned y;
  float bits;
  __asm__("vcvtps2ph $0, %2, %1\n\tvmovd %1, %0" : "=r"(y), "=&x"(bits) : "x"(x));
  return (unsigned short)y;
}

typedef decltype(sizeof 0) size_t;
extern "C" {
void* memcpy(void*, const void*, size_t) noexcept;
void* memset(void*, int, size_t) noexcept;
#define TL_MATH1(name) double name(double) noexcept; float name##f(float) noexcept;
#define TL_MATH2(name) double name(double, double) noexcept; float name##f(float, float) noexcept;
TL_MATH1(sqrt) TL_MATH1(fabs) TL_MATH1(floor) TL_MATH1(ceil) TL_MATH1(rint) TL_MATH1(nearbyint) TL_MATH1(trunc)
TL_MATH1(round) TL_MATH2(copysign) TL_MATH2(fmin) TL_MATH2(fmax) TL_MATH2(fmod)
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
}

#define TL_VECTOR2(T, name, bytes)                                                                           \
  struct __align__(bytes) name { T x, y; };                                                                  \
  inline name make_##name(T x, T y) { return {x, y}; }
#define TL_VECTOR4(T, name, bytes)                                                                           \
  struct __align__(bytes) name { T x, y, z, w; };                                                            \
  inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
TL_VECTOR2(char, char2, 2) TL_VECTOR2(unsigned char, uchar2, 2) TL_VECTOR2(short, short2, 4)
TL_VECTOR2(unsigned short, ushort2, 4) TL_VECTOR2(int, int2, 8) TL_VECTOR2(unsigned, uint2, 8)
TL_VECTOR2(float, float2, 8) TL_VECTOR2(double, double2, 16) TL_VECTOR2(long long, longlong2, 16)
TL_VECTOR2(unsigned long long, ulonglong2, 16)
TL_VECTOR4(char, char4, 4) TL_VECTOR4(unsigned char, uchar4, 4) TL_VECTOR4(short, short4, 8)
TL_VECTOR4(unsigned short, ushort4, 8) TL_VECTOR4(int, int4, 16) TL_VECTOR4(unsigned, uint4, 16)
TL_VECTOR4(float, float4, 16)
typedef tl_index uint3;

#ifdef TL_RACECHECK // what -fsanitize=thread has the compiler call, without that sanitizer's library
extern "C" {
#define TL_SEEN(name, parameters, bytes, write)                                                              \
  TL_UNSEEN __attribute__((visibility("hidden"))) void __tsan_##name parameters {                            \
    tl_emulator->access(at, bytes, write);                                                                   \
  }
#define TL_SEEN_BYTES(bytes)                                                                                 \
  TL_SEEN(read##bytes, (void* at), bytes, 0) TL_SEEN(write##bytes, (void* at), bytes, 1)                     \
  TL_SEEN(unaligned_read##bytes, (void* at), bytes, 0) TL_SEEN(unaligned_write##bytes, (void* at), bytes, 1)
TL_SEEN_BYTES(1) TL_SEEN_BYTES(2) TL_SEEN_BYTES(4) TL_SEEN_BYTES(8) TL_SEEN_BYTES(16)
TL_SEEN(read_range, (void* at, unsigned long bytes), (unsigned)bytes, 0)
TL_SEEN(write_range, (void* at, unsigned long bytes), (unsigned)bytes, 1)
#define TL_IGNORED TL_UNSEEN __attribute__((visibility("hidden")))
TL_IGNORED void __tsan_init() {}
TL_IGNORED void __tsan_func_entry(void*) {}
TL_IGNORED void __tsan_func_exit() {}
TL_IGNORED void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  tl_emulator->access(from, (unsigned)bytes, 0);
  tl_emulator->access(to, (unsigned)bytes, 1);
  return memcpy(to, from, bytes);
}
TL_IGNORED void* __tsan_memset(void* to, int value, unsigned long bytes) {
  tl_emulator->access(to, (unsigned)bytes, 1);
  return memset(to, value, bytes);
}
}
#endif
)SHIM";

} // namespace

const std::string& shim() {
  static const std::string text = std::string(TL_TEXT(TL_EMULATOR_RUNTIME)) + kWords + "#line 1 \"kernel.cu\"\n";
  return text;
}

} // namespace tl::emulator
