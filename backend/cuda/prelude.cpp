#include "backend/cuda/prelude.h"

namespace tl {

// Orders of summation: abi/orders.h. A block folds one chunk per warp, a thread on its own all lanes one after the
// other.
const std::string_view kCudaPrelude = R"CUDA(typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef signed char i8;

#ifndef TL_EMULATED
#define TL_UNSEEN // by what looks for races
#define TL_KERNEL(name, arguments) extern "C" __global__ void name(const __grid_constant__ arguments a)
// Behind an address that the program holds.
template <class T> __device__ inline T* tl_at(T* address) { return address; }
__device__ inline float tl_from_f16(u16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
__device__ inline u16 tl_to_f16(float x) { u16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
// Not fabsf: ptxas 13.0 takes fabsf(x) >= 0 for true, whatever x is.
__device__ inline float tl_abs(float x) {
  u32 y; asm("and.b32 %0, %1, 0x7fffffff;" : "=r"(y) : "r"(__float_as_uint(x))); return __uint_as_float(y);
}
__device__ inline double tl_abs(double x) {
  i64 y; asm("and.b64 %0, %1, 0x7fffffffffffffff;" : "=l"(y) : "l"(__double_as_longlong(x)));
  return __longlong_as_double(y);
}
// Copies an element to shared memory, zeros unless it is there, while the thread goes on.
template <class T> __device__ inline void tl_copy_async(T* to, const T* from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from),
               "n"(sizeof(T)), "r"(there ? u32(sizeof(T)) : 0u) : "memory");
}
__device__ inline void tl_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All but the last groups that were committed are there.
template <int Last> __device__ inline void tl_arrived() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Last) : "memory");
}
#else
template <class T> __device__ inline void tl_copy_async(T* to, const T* from, bool there) {
  *to = there ? *from : T(0);
}
__device__ inline void tl_commit() {}
template <int> __device__ inline void tl_arrived() {}
__device__ inline float tl_abs(float x) { return fabsf(x); }
__device__ inline double tl_abs(double x) { return fabs(x); }
#endif

// A failure of one site, that of the least element; zeros: none. Where all elements fail, all but a few see that a
// lesser one is recorded and leave the lock alone: an element only becomes less once `there` is set. `failed` is a word
// of the host, across the bus, which the first failure of a site sets.
struct tl_errors { u32 lock, there; i64 element, a, b; };
__device__ TL_UNSEEN void tl_record(tl_errors* errors, u32* failed, int slot, i64 element, i64 a, i64 b) {
  tl_errors* record = tl_at(errors) + slot;
  volatile tl_errors* e = record;
  do {
    if (e->there) {
      __threadfence();
      if (e->element <= element) return;
    }
  } while (atomicCAS(&record->lock, 0u, 1u) != 0u);
  __threadfence();
  if (!e->there || element < e->element) {
    e->element = element; e->a = a; e->b = b;
    if (!e->there) {
      __threadfence();
      e->there = 1u;
      *(volatile u32*)tl_at(failed) = 1u;
    }
  }
  __threadfence();
  atomicExch(&record->lock, 0u);
}

// 16-bit floats live as f32 and as two bytes in memory.
__device__ inline float tl_from_bf16(u16 x) { return __uint_as_float(u32(x) << 16); }
__device__ inline u16 tl_to_bf16(float x) {
  u32 bits = __float_as_uint(x);
  if (x != x) return u16((bits >> 16) | 0x40u);
  return u16((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
__device__ inline float tl_round_f16(float x) { return tl_from_f16(tl_to_f16(x)); }
__device__ inline float tl_round_bf16(float x) { return tl_from_bf16(tl_to_bf16(x)); }

// Integers wrap; division floors and is total.
template <class T> __device__ inline T tl_add(T a, T b) { return T(u64(a) + u64(b)); }
template <class T> __device__ inline T tl_sub(T a, T b) { return T(u64(a) - u64(b)); }
template <class T> __device__ inline T tl_mul(T a, T b) { return T(u64(a) * u64(b)); }
template <class T> __device__ inline T tl_floor_div(T a, T b) {
  if (b == T(0)) return T(0);
  if (T(-1) < T(0) && b == T(-1)) return tl_sub(T(0), a);
  T q = T(a / b);
  return T(a % b) != T(0) && (a < T(0)) != (b < T(0)) ? T(q - T(1)) : q;
}
template <class T> __device__ inline T tl_mod(T a, T b) {
  if (b == T(0) || (T(-1) < T(0) && b == T(-1))) return T(0);
  T r = T(a % b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
}
// Of numbers that are not negative: few instructions where they fit into 32 bits, as they nearly always do.
__device__ inline i64 tl_udiv(i64 a, i64 b) {
  return (u64(a) | u64(b)) >> 32 ? i64(u64(a) / u64(b)) : i64(u32(a) / u32(b));
}
__device__ inline i64 tl_urem(i64 a, i64 b) {
  return (u64(a) | u64(b)) >> 32 ? i64(u64(a) % u64(b)) : i64(u32(a) % u32(b));
}
template <class T> __device__ inline T tl_shl(T a, T n) { return T(u64(a) << u64(n)); }

// Float to integer truncates and saturates; NaN is 0.
template <class To, class From> __device__ inline To tl_saturate(From x, From lo, From past, To least, To greatest) {
  if (x != x) return To(0);
  return x <= lo ? least : x >= past ? greatest : To(x);
}

// Four elements side by side, in one access where they lie at a multiple of their size.
template <class T> struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) tl_quad { T at[4]; };
template <class T> __device__ inline tl_quad<T> tl_load_quad(const T* from) {
  if (u64(from) % alignof(tl_quad<T>) == 0) return *(const tl_quad<T>*)from;
  tl_quad<T> x;
#pragma unroll
  for (int q = 0; q < 4; ++q) x.at[q] = from[q];
  return x;
}
template <class T> __device__ inline void tl_store_quad(T* to, tl_quad<T> x) {
  if (u64(to) % alignof(tl_quad<T>) == 0) { *(tl_quad<T>*)to = x; return; }
#pragma unroll
  for (int q = 0; q < 4; ++q) to[q] = x.at[q];
}

template <class A, class B> struct tl_pair { A first; B second; };
template <class T> struct tl_element { T value; bool taken; };

// Reductions: identity, fold of two, and the total type in which chunks combine.
template <class T> struct tl_total { typedef T type; };
template <> struct tl_total<float> { typedef double type; };
template <class T> __device__ inline T tl_plus(T a, T b) { return tl_add(a, b); }
template <> __device__ inline float tl_plus(float a, float b) { return a + b; }
template <> __device__ inline double tl_plus(double a, double b) { return a + b; }
template <class T> __device__ inline T tl_times(T a, T b) { return tl_mul(a, b); }
template <> __device__ inline float tl_times(float a, float b) { return a * b; }
template <> __device__ inline double tl_times(double a, double b) { return a * b; }
template <class T> struct tl_is_exact { enum { value = true }; };
template <> struct tl_is_exact<float> { enum { value = false }; };
template <> struct tl_is_exact<double> { enum { value = false }; };
// follow(a, b): a fold where b comes after a. associative: neighbours may be folded first.
template <class T> struct tl_sum {
  typedef T acc; typedef typename tl_total<T>::type total;
  enum { associative = tl_is_exact<T>::value };
  static __device__ T identity() { return T(-0.0); }
  template <class U> static __device__ U fold(U a, U b) { return tl_plus(a, b); }
  static __device__ T follow(T a, T b) { return tl_plus(a, b); }
};
template <class T> struct tl_prod {
  typedef T acc; typedef typename tl_total<T>::type total;
  enum { associative = tl_is_exact<T>::value };
  static __device__ T identity() { return T(1); }
  template <class U> static __device__ U fold(U a, U b) { return tl_times(a, b); }
  static __device__ T follow(T a, T b) { return tl_times(a, b); }
};
template <class T> struct tl_bounds;
#define TL_BOUNDS(T, least, greatest) \
  template <> struct tl_bounds<T> { \
    static __device__ T lo() { return least; } \
    static __device__ T hi() { return greatest; } \
  };
TL_BOUNDS(bool, false, true)
TL_BOUNDS(u8, 0, 255) TL_BOUNDS(i8, -128, 127) TL_BOUNDS(u16, 0, 65535) TL_BOUNDS(short, -32768, 32767)
TL_BOUNDS(u32, 0u, 0xffffffffu) TL_BOUNDS(int, -2147483647 - 1, 2147483647)
TL_BOUNDS(u64, 0ull, 0xffffffffffffffffull) TL_BOUNDS(i64, -9223372036854775807ll - 1, 9223372036854775807ll)
TL_BOUNDS(float, __int_as_float(0xff800000), __int_as_float(0x7f800000))
TL_BOUNDS(double, __longlong_as_double(0xfff0000000000000ull), __longlong_as_double(0x7ff0000000000000ull))
template <class T> struct tl_min {
  typedef T acc; typedef T total;
  enum { associative = true };
  static __device__ T identity() { return tl_bounds<T>::hi(); }
  static __device__ T fold(T a, T b) { return b != b ? b : (b < a ? b : a); }
  static __device__ T follow(T a, T b) { return fold(a, b); }
};
template <class T> struct tl_max {
  typedef T acc; typedef T total;
  enum { associative = true };
  static __device__ T identity() { return tl_bounds<T>::lo(); }
  static __device__ T fold(T a, T b) { return b != b ? b : (a < b ? b : a); }
  static __device__ T follow(T a, T b) { return fold(a, b); }
};
template <class T> struct tl_any {
  typedef T acc; typedef T total;
  enum { associative = true };
  static __device__ T identity() { return false; }
  static __device__ T fold(T a, T b) { return a || b; }
  static __device__ T follow(T a, T b) { return fold(a, b); }
};
template <class T> struct tl_all {
  typedef T acc; typedef T total;
  enum { associative = true };
  static __device__ T identity() { return true; }
  static __device__ T fold(T a, T b) { return a && b; }
  static __device__ T follow(T a, T b) { return fold(a, b); }
};
// A value and where it is, nowhere: -1; the first of equals, and a NaN before everything.
template <class T> struct tl_place { T value; i64 at; };
template <class T, bool Least> struct tl_best {
  typedef tl_place<T> acc; typedef tl_place<T> total;
  enum { associative = true };
  static __device__ acc identity() { return {Least ? tl_bounds<T>::hi() : tl_bounds<T>::lo(), -1}; }
  static __device__ acc fold(acc a, acc b) {
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    bool better = Least ? b.value < a.value : a.value < b.value, equal = a.value == b.value;
    if (a_nan || b_nan) { better = !a_nan; equal = a_nan && b_nan; }
    return better || (equal && u64(b.at) < u64(a.at)) ? b : a;
  }
  static __device__ acc follow(acc a, acc b) {
    bool stays = Least ? a.value <= b.value : a.value >= b.value;
    return (!stays && a.value == a.value) || a.at < 0 ? b : a;
  }
};
template <class T> struct tl_argmin : tl_best<T, true> {};
template <class T> struct tl_argmax : tl_best<T, false> {};

// A value of another lane of the warp, of any type: word by word.
template <class T, class Move> __device__ inline T tl_moved(T x, Move move) {
  int words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &x, sizeof(T));
  for (int& word : words) word = move(word);
  memcpy(&x, words, sizeof(T));
  return x;
}
template <class T> __device__ inline T tl_shuffle_down(T x, int step) {
  return tl_moved(x, [&](int word) { return __shfl_down_sync(0xffffffffu, word, step); });
}
template <class T> __device__ inline T tl_from_first(T x) {
  return tl_moved(x, [](int word) { return __shfl_sync(0xffffffffu, word, 0); });
}

// Chunk results folded like elements: chunk number `count` goes into lane count % 32 of its level; a level that is
// full, or the last, goes as one result to the level above. The value of push is the whole where `last`. By one thread:
template <class Op> struct tl_levels {
  typedef typename Op::total total;
  total lane[3][32];
  __device__ tl_levels() {
    for (int level = 0; level < 3; ++level)
      for (int l = 0; l < 32; ++l) lane[level][l] = total(Op::identity());
  }
  __device__ total push(i64 count, total value, bool last) {
    for (int level = 0;; ++level, count /= 4096) {
      total* lanes = lane[level];
      int position = int(count % 4096);
      value = lanes[position % 32] = Op::fold(lanes[position % 32], value);
      if (last ? count == 0 : position != 4095) return value;
      for (int step = 16; step > 0; step /= 2)
        for (int l = 0; l < step; ++l) lanes[l] = Op::fold(lanes[l], lanes[l + step]);
      value = lanes[0];
      for (int l = 0; l < 32; ++l) lanes[l] = total(Op::identity());
    }
  }
};
// By a warp, each lane of which has its own, with the same arguments:
template <class Op> struct tl_warp_levels {
  typedef typename Op::total total;
  total lane[3];
  __device__ tl_warp_levels() { lane[0] = lane[1] = lane[2] = total(Op::identity()); }
  __device__ total push(i64 count, total value, bool last) {
    int me = threadIdx.x % 32;
#pragma unroll
    for (int level = 0; level < 3; ++level) {
      int position = int(count % 4096);
      if (me == position % 32) lane[level] = Op::fold(lane[level], value);
      if (!last && position != 4095) return value;
      value = lane[level];
      if (last && count == 0) break;
      for (int step = 16; step > 0; step /= 2) {
        total other = tl_shuffle_down(value, step);
        if (me < step) value = Op::fold(value, other);
      }
      value = tl_from_first(value);
      lane[level] = total(Op::identity());
      count /= 4096;
    }
    return tl_from_first(value);
  }
};

// By one thread: [begin, end) in chunks of 4096, 32 lanes, halved.
template <class Op, class Load>
__device__ typename Op::total tl_reduce_thread(i64 begin, i64 end, bool* any, Load load) {
  typedef typename Op::acc acc; typedef typename Op::total total;
  total result = total(Op::identity());
  tl_levels<Op> levels;
  for (i64 chunk = begin; chunk < end; chunk += 4096) {
    i64 stop = chunk + 4096 < end ? chunk + 4096 : end;
    acc lanes[32];
    for (int l = 0; l < 32; ++l) lanes[l] = Op::identity();
    for (i64 k = chunk; k < stop; ++k) {
      tl_element<acc> e = load(k);
      *any |= e.taken;
      if (e.taken) lanes[(k - chunk) % 32] = Op::fold(lanes[(k - chunk) % 32], e.value);
    }
    for (int step = 16; step > 0; step /= 2)
      for (int l = 0; l < step; ++l) lanes[l] = Op::fold(lanes[l], lanes[l + step]);
    result = levels.push((chunk - begin) / 4096, total(lanes[0]), stop == end);
  }
  return result;
}

// The warps of a launch, by number.
__device__ inline i64 tl_warp() { return i64(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; }
__device__ inline i64 tl_warps() { return i64(gridDim.x) * (blockDim.x / 32); }

// One lane of a chunk: first, first + 32, … before stop. Several loads at a time: they wait for each other only here.
template <class Op, class Load>
__device__ inline typename Op::acc tl_lane(i64 first, i64 stop, bool* taken, Load load) {
  typedef typename Op::acc acc;
  acc mine = Op::identity();
  i64 k = first;
  for (; k + 224 < stop; k += 256) {
    tl_element<acc> e[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) e[j] = load(k + 32 * j);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      *taken |= e[j].taken;
      if (e[j].taken) mine = Op::follow(mine, e[j].value);
    }
  }
  for (; k < stop; k += 32) {
    tl_element<acc> e = load(k);
    *taken |= e.taken;
    if (e.taken) mine = Op::follow(mine, e.value);
  }
  return mine;
}
// The lanes of a chunk, one in each thread of a warp, as one: in the first of them.
template <class Op> __device__ inline typename Op::acc tl_halved(typename Op::acc mine) {
  for (int step = 16; step > 0; step /= 2) {
    typename Op::acc other = tl_shuffle_down(mine, step);
    if (threadIdx.x % 32 < step) mine = Op::fold(mine, other);
  }
  return mine;
}

// By a warp: every thread gets the result.
template <class Op, class Load>
__device__ typename Op::total tl_reduce_warp(i64 begin, i64 end, bool* any, Load load) {
  typedef typename Op::total total;
  total result = total(Op::identity());
  tl_warp_levels<Op> levels;
  bool taken = false;
  for (i64 chunk = begin; chunk < end; chunk += 4096) {
    i64 stop = chunk + 4096 < end ? chunk + 4096 : end;
    auto mine = tl_halved<Op>(tl_lane<Op>(chunk + threadIdx.x % 32, stop, &taken, load));
    result = levels.push((chunk - begin) / 4096, total(tl_from_first(mine)), stop == end);
  }
  *any |= __any_sync(0xffffffffu, taken) != 0;
  return result;
}

// By a block of whole warps, at most 32: every thread gets the result. All of them load what a single chunk has, which
// the first warp folds; of several, warp w takes the chunks w, w + warps, …
enum { kTlScratch = 16384 }; // bytes of shared memory
template <class T> struct tl_part { T value; bool taken; };
template <class Op, class Load>
__device__ typename Op::total tl_reduce_block(unsigned char* scratch, i64 begin, i64 end, bool* any, Load load) {
  typedef typename Op::acc acc; typedef typename Op::total total;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  total result = total(Op::identity());
  bool taken = false;
  if (Op::associative && end - begin <= 4096) { // each warp takes a part of every lane
    tl_part<acc>* part = (tl_part<acc>*)scratch;
    tl_part<total>* whole = (tl_part<total>*)(scratch + kTlScratch - sizeof(tl_part<total>));
    const i64 section = (end - begin + 32 * warps - 1) / (32 * warps) * 32, first = begin + warp * section;
    acc mine = tl_lane<Op>(first + lane, first + section < end ? first + section : end, &taken, load);
    part[threadIdx.x] = {mine, taken};
    __syncthreads();
    if (warp == 0) {
      for (int w = 1; w < warps; ++w) {
        mine = Op::fold(mine, part[w * 32 + lane].value);
        taken |= part[w * 32 + lane].taken;
      }
      mine = tl_halved<Op>(mine);
      taken = __any_sync(0xffffffffu, taken) != 0;
      if (lane == 0) *whole = {total(mine), taken};
    }
    __syncthreads();
    result = whole->value;
    *any |= whole->taken;
    __syncthreads();
    return result;
  }
  if (end - begin <= 4096) {
    const i64 slab = sizeof(acc) > 8 ? 512 : sizeof(acc) > 4 ? 1024 : 2048;
    acc* slot = (acc*)scratch;
    total* whole = (total*)(scratch + kTlScratch - sizeof(total));
    acc mine = Op::identity();
    for (i64 first = begin; first < end; first += slab) {
      i64 stop = first + slab < end ? first + slab : end;
#pragma unroll 4
      for (i64 k = first + threadIdx.x; k < stop; k += blockDim.x) {
        tl_element<acc> e = load(k);
        taken |= e.taken;
        slot[k - first] = e.taken ? e.value : Op::identity();
      }
      __syncthreads();
      if (warp == 0)
        for (i64 k = lane; k < stop - first; k += 32) mine = Op::fold(mine, slot[k]);
      __syncthreads();
    }
    if (warp == 0) {
      mine = tl_halved<Op>(mine);
      if (lane == 0) *whole = total(mine);
    }
    *any |= __syncthreads_or(taken) != 0;
    result = *whole;
    __syncthreads();
    return result;
  }
  total* part = (total*)scratch;
  tl_warp_levels<Op> levels; // of each warp, all alike
  for (i64 round = begin; round < end; round += i64(warps) * 4096) {
    i64 chunk = round + i64(warp) * 4096;
    if (chunk < end) {
      i64 stop = chunk + 4096 < end ? chunk + 4096 : end;
      acc mine = tl_halved<Op>(tl_lane<Op>(chunk + lane, stop, &taken, load));
      if (lane == 0) part[warp] = total(mine);
    }
    __syncthreads();
    for (int w = 0; w < warps && round + i64(w) * 4096 < end; ++w)
      result = levels.push((round - begin) / 4096 + w, part[w], round + i64(w + 1) * 4096 >= end);
    __syncthreads();
  }
  *any |= __syncthreads_or(taken) != 0;
  return result;
}

// By a block that shares `width` columns, 1, 2, 4 or 8: thread t takes lane t / width of column t % width. Every thread
// gets the result of its column.
__device__ inline int tl_width(i64 columns) { return columns > 4 ? 8 : columns > 2 ? 4 : int(columns); }
template <class Op, class Load>
__device__ typename Op::total tl_reduce_column(unsigned char* scratch, int width, i64 begin, i64 end, bool* any,
                                               Load load) {
  typedef typename Op::acc acc; typedef typename Op::total total;
  int column = int(threadIdx.x) % width, lane = int(threadIdx.x) / width;
  tl_part<total>* whole = (tl_part<total>*)scratch;
  tl_part<acc>* part = (tl_part<acc>*)(scratch + 8 * sizeof(tl_part<total>));
  if (end - begin <= 4096) {
    if (lane < 32) {
      bool taken = false;
      acc mine = tl_lane<Op>(begin + lane, end, &taken, load);
      part[threadIdx.x] = {mine, taken};
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      // Four threads of each column, each with eight lanes: l, l + 4, l + 8, …
      tl_part<acc> mine[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) mine[i] = part[lane < 4 ? (lane + 4 * i) * width + column : 0];
#pragma unroll
      for (int step = 4; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < step; ++i) {
          mine[i].value = Op::fold(mine[i].value, mine[i + step].value);
          mine[i].taken |= mine[i + step].taken;
        }
      for (int step = 2; step > 0; step /= 2) {
        tl_part<acc> other = tl_shuffle_down(mine[0], step * width);
        if (lane < step) {
          mine[0].value = Op::fold(mine[0].value, other.value);
          mine[0].taken |= other.taken;
        }
      }
      if (lane == 0) whole[column] = {total(mine[0].value), mine[0].taken};
    }
  } else if (lane == 0) { // the chunks of more than 16 million rows, one after the other
    bool taken = false;
    total result = tl_reduce_thread<Op>(begin, end, &taken, load);
    whole[column] = {result, taken};
  }
  __syncthreads();
  tl_part<total> mine = whole[column];
  __syncthreads();
  *any |= mine.taken;
  return mine.value;
}

// ---- scatters (KOp::Scatter): by blocks of 256 threads
enum { kTlWarps = 8 };

// Of the threads of a block with lesser numbers, the values together; and of all.
__device__ inline i64 tl_before(i64* of_warp, i64 value, i64* all) {
  i64 sum = value;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int step = 1; step < 32; step *= 2) {
    i64 other = tl_moved(sum, [&](int word) { return __shfl_up_sync(0xffffffffu, word, step); });
    if (lane >= step) sum += other;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  *all = 0;
  for (int w = 0; w < kTlWarps; ++w) {
    if (w < warp) sum += of_warp[w];
    *all += of_warp[w];
  }
  __syncthreads();
  return sum - value;
}
// The bucket of a row, at least kTlBuckets for what is no row: that of a program that has failed.
__device__ inline u32 tl_bucket(i64 row, i64 part) {
  i64 bucket = tl_udiv(row, part * kTlParts);
  return u64(bucket) < kTlBuckets ? u32(bucket) : kTlBuckets;
}
template <class Key>
__device__ void tl_scatter_count(unsigned char* scratch, i64 n, i64 chunk, i64 chunks, i64 part, i64* counts, Key key) {
  u32* of = (u32*)scratch;
  of[threadIdx.x] = 0;
  __syncthreads();
  i64 first = chunk * kTlChunk + threadIdx.x;
  u32 bucket[kTlChunk / 256];
#pragma unroll
  for (int i = 0; i < kTlChunk / 256; ++i) {
    i64 j = first + 256 * i;
    bucket[i] = j < n ? tl_bucket(key(j), part) : u32(kTlBuckets);
  }
#pragma unroll
  for (int i = 0; i < kTlChunk / 256; ++i)
    if (bucket[i] < kTlBuckets) atomicAdd(&of[bucket[i]], 1u);
  __syncthreads();
  counts[threadIdx.x * chunks + chunk] = of[threadIdx.x];
  __syncthreads();
}
__device__ inline void tl_scatter_add(unsigned char* scratch, i64 bucket, i64 chunks, i64* counts, i64* totals) {
  i64 total = 0;
  for (i64 first = 0; first < chunks; first += 256) {
    i64 chunk = first + threadIdx.x, *at = counts + bucket * chunks + chunk, all;
    i64 before = total + tl_before((i64*)scratch, chunk < chunks ? *at : 0, &all);
    if (chunk < chunks) *at = before;
    total += all;
  }
  if (threadIdx.x == 0) totals[bucket] = total;
}
template <class Key>
__device__ void tl_scatter_move(unsigned char* scratch, i64 n, i64 chunk, i64 chunks, i64 part, const i64* counts,
                                const i64* totals, i64* lists, Key key) {
  __shared__ i64 starts[kTlBuckets], of_warps[kTlWarps];
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32* lanes = (u32*)scratch + warp * kTlBuckets;                        // of a bucket that have an element now
  u32* of = (u32*)scratch + (kTlWarps + warp) * kTlBuckets;              // how many before, in this chunk
  i64 all;
  i64 start = tl_before(of_warps, totals[threadIdx.x], &all) + counts[threadIdx.x * chunks + chunk];
  starts[threadIdx.x] = start;
  for (int w = 0; w < 2 * kTlWarps; ++w) ((u32*)scratch)[w * kTlBuckets + threadIdx.x] = 0;
  __syncthreads();
  enum { kItems = kTlChunk / 256 };
  i64 first = chunk * kTlChunk + warp * (kItems * 32) + lane;
  u32 bucket[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    i64 j = first + 32 * i;
    bucket[i] = j < n ? tl_bucket(key(j), part) : u32(kTlBuckets);
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i)
    if (bucket[i] < kTlBuckets) atomicAdd(&of[bucket[i]], 1u);
  __syncthreads();
  u32 sum = 0;
  for (int w = 0; w < kTlWarps; ++w) {
    u32* at = (u32*)scratch + (kTlWarps + w) * kTlBuckets + threadIdx.x;
    u32 more = *at;
    *at = sum;
    sum += more;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    bool there = bucket[i] < kTlBuckets;
    if (there) atomicOr(&lanes[bucket[i]], 1u << lane);
    __syncwarp();
    u32 same = there ? lanes[bucket[i]] : 0, before = there ? of[bucket[i]] : 0;
    __syncwarp();
    if (there) lists[starts[bucket[i]] + before + __popc(same & ((1u << lane) - 1u))] = first + 32 * i;
    if (same >> lane == 1u) {
      of[bucket[i]] = before + __popc(same);
      lanes[bucket[i]] = 0;
    }
    __syncwarp();
  }
  __syncthreads();
}
// Those j that a part's bucket has, in order: list[k], or k where there are few.
struct tl_entries { i64 count; const i64* list; };
__device__ inline tl_entries tl_scatter_entries(unsigned char* scratch, i64 n, i64 lo, i64 part, const i64* totals,
                                                const i64* lists) {
  if (n <= kTlFew) return {n, 0};
  i64 bucket = tl_udiv(lo, part * kTlParts), before;
  tl_before((i64*)scratch, int(threadIdx.x) < bucket ? totals[threadIdx.x] : 0, &before);
  return {totals[bucket], lists + before};
}

// For each j of the entries in ascending order whose row, key(j), is in [lo, hi): what is at row * width + c becomes
// fold(what is there, value(j, c)). All threads look at the rows; what is in range waits in a queue, where that of one
// row is linked, and is then done by a warp, or of single elements by a thread.
template <class T, bool Adds, class Key, class Value, class Fold, class Load, class Store>
__device__ void tl_scatter(unsigned char* scratch, tl_entries entries, i64 lo, i64 hi, i64 width, Key key, Value value,
                           Fold fold, Load load, Store store) {
  const int queue = 256, t = int(threadIdx.x), warp = t / 32, lane = t % 32, warps = int(blockDim.x) / 32;
  i64* from = (i64*)scratch;
  i64* row = from + queue;
  T* single = (T*)(row + queue);
  int* next = (int*)(scratch + 24 * queue);
  int* is_first = next + queue;
  int* found = is_first + queue; // by each warp, for two rounds in turn
  int* head = found + 64;        // of a list of what is in the queue, by the last bits of its row; -1: nothing
  enum { kHeads = 1024 };
  for (int h = t; h < kHeads; h += int(blockDim.x)) head[h] = -1;
  int count = 0;
  auto flush = [&] {
    __syncthreads();
    if (t < count) {
      is_first[t] = atomicExch(&head[int(row[t] % kHeads)], t); // for now the list
      if (width == 1) single[t] = value(from[t], 0);
    }
    __syncthreads();
    int follower = count, first = 1, last = -1;
    if (t < count) {
      last = head[int(row[t] % kHeads)];
      for (int q = last; q >= 0; q = is_first[q])
        if (row[q] == row[t]) {
          if (q > t && q < follower) follower = q;
          if (q < t) first = 0;
        }
    }
    __syncthreads();
    if (t < count) {
      next[t] = follower;
      is_first[t] = first;
      if (last == t) head[int(row[t] % kHeads)] = -1;
    }
    __syncthreads();
    if (width == 1) {
      if (t < count && is_first[t]) {
        T x = Adds ? load(row[t]) : T(0);
        for (int q = t; q < count; q = next[q]) x = fold(x, single[q]);
        store(row[t], x);
      }
    } else {
      for (int e = warp; e < count; e += warps)
        for (i64 c = is_first[e] ? lane : width; c < width; c += 32) {
          T x = Adds ? load(row[e] * width + c) : T(0);
          for (int q = e; q < count; q = next[q]) x = fold(x, value(from[q], c));
          store(row[e] * width + c, x);
        }
    }
    __syncthreads();
    count = 0;
  };
  for (i64 first = 0; first < entries.count; first += 4 * i64(blockDim.x)) {
    i64 rows[4], js[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      i64 k = first + u * i64(blockDim.x) + t;
      js[u] = k < entries.count && entries.list ? entries.list[k] : k;
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) rows[u] = first + u * i64(blockDim.x) + t < entries.count ? key(js[u]) : lo - 1;
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      bool taken = lo <= rows[u] && rows[u] < hi;
      u32 votes = __ballot_sync(0xffffffffu, taken);
      int* of_round = found + (u % 2) * 32;
      if (lane == 0) of_round[warp] = __popc(votes);
      __syncthreads();
      int before = 0, all = 0;
      for (int w = 0; w < warps; ++w) {
        before += w < warp ? of_round[w] : 0;
        all += of_round[w];
      }
      if (count + all > queue) flush();
      if (taken) {
        int at = count + before + __popc(votes & ((1u << lane) - 1));
        from[at] = js[u];
        row[at] = rows[u];
      }
      count += all;
    }
  }
  flush();
}

// Sum of products: chunks of 512, each one chain of fused multiply-adds.
__device__ inline float tl_fma(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double tl_fma(double a, double b, double c) { return fma(a, b, c); }
template <class T> __device__ inline T tl_fma(T a, T b, T c) { return tl_add(tl_mul(a, b), c); }
// Products k, k + 1, … of the sums of 4 by 8 elements that a thread has of a tile.
template <int Unroll, class T>
__device__ inline void tl_multiply(int count, const T (*a)[68], const T (*b)[128], int below, int right, T (*acc)[8]) {
#pragma unroll Unroll
  for (int q = 0; q < count; ++q) {
    T x[4], y[8];
#pragma unroll
    for (int r = 0; r < 4; ++r) x[r] = a[q][4 * below + r];
#pragma unroll
    for (int c = 0; c < 8; ++c) y[c] = b[q][64 * (c / 4) + 4 * right + c % 4];
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int c = 0; c < 8; ++c) acc[r][c] = tl_fma(x[r], y[c], acc[r][c]);
  }
}
template <class T, class Load> __device__ T tl_contract(i64 n, Load load) {
  T result = T(0);
  for (i64 chunk = 0; chunk < n; chunk += 512) {
    i64 stop = chunk + 512 < n ? chunk + 512 : n;
    T acc = T(0);
    for (i64 k = chunk; k < stop; ++k) {
      tl_pair<T, T> e = load(k);
      acc = tl_fma(e.first, e.second, acc);
    }
    result = chunk == 0 ? acc : tl_plus(result, acc);
  }
  return result;
}
)CUDA";

} // namespace tl
