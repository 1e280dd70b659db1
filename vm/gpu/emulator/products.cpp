#include "vm/gpu/emulator/products.h"
#include "abi/scalar_op.h"
#include <cstring>
#include <vector>

namespace tl::emulator {
namespace {

template <class Real> Real read(const char* at, int type) {
  if (type == cuda::kReal64 || type == cuda::kReal32) {
    if (type == cuda::kReal64) {
      double x;
      std::memcpy(&x, at, sizeof x);
      return static_cast<Real>(x);
    }
    float x;
    std::memcpy(&x, at, sizeof x);
    return static_cast<Real>(x);
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return static_cast<Real>(type == cuda::kReal16 ? f16_to_float(bits) : bf16_to_float(bits));
}

template <class Real> void write(char* at, int type, Real x) {
  if (type == cuda::kReal64 || type == cuda::kReal32) {
    std::memcpy(at, &x, sizeof x);
    return;
  }
  const auto value = static_cast<float>(x);
  const uint16_t bits = type == cuda::kReal16 ? float_to_f16(value) : float_to_bf16(value);
  std::memcpy(at, &bits, sizeof bits);
}

// The 10 bits of fraction that TF32 has, to nearest, ties away from zero.
float to_tf32(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & ~0x1fffu;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

// One factor of a batch, a vector of `inner` elements for each of `count`.
template <class Real>
std::vector<Real> packed(const char* at, const Matrix& m, bool vectors_are_columns, int64_t count, int64_t inner,
                         bool tf32) {
  std::vector<Real> to(static_cast<size_t>(count * inner));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t q = 0; q < inner; ++q) {
      const int64_t element = vectors_are_columns ? i * m.leading + q : q * m.leading + i;
      Real x = read<Real>(at + element * m.bytes_of_element(), m.type);
      if (tf32) x = static_cast<Real>(to_tf32(static_cast<float>(x)));
      to[static_cast<size_t>(i * inner + q)] = x;
    }
  return to;
}

template <class Real> Real dot(const Real* x, const Real* y, int64_t n) {
  constexpr int kSums = 8;
  Real sums[kSums] = {};
  int64_t q = 0;
  for (; q + kSums <= n; q += kSums)
    for (int s = 0; s < kSums; ++s)
      sums[s] += x[q + s] * y[q + s];
  for (int s = 0; q < n; ++q, ++s)
    sums[s] += x[q] * y[q];
  for (int half = kSums / 2; half > 0; half /= 2)
    for (int s = 0; s < half; ++s)
      sums[s] += sums[s + half];
  return sums[0];
}

template <class Real> void run(const Product& p, const char* a, const char* b, const char* c, char* d) {
  const int64_t rows = p.rows(), columns = p.columns(), inner = p.inner();
  const bool tf32 = p.compute == cuda::kComputeTf32;
  const auto alpha = static_cast<Real>(p.alpha), beta = static_cast<Real>(p.beta);
  for (int64_t l = 0; l < p.d.batch; ++l) {
    const auto x = packed<Real>(a + l * p.a.stride * p.a.bytes_of_element(), p.a, p.transpose_a, rows, inner, tf32);
    const auto y = packed<Real>(b + l * p.b.stride * p.b.bytes_of_element(), p.b, !p.transpose_b, columns, inner, tf32);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t at = (l * p.d.stride + j * p.d.leading + i) * p.d.bytes_of_element();
        Real sum = alpha * dot(&x[static_cast<size_t>(i * inner)], &y[static_cast<size_t>(j * inner)], inner);
        if (beta != 0) sum += beta * read<Real>(c + at, p.d.type);
        write<Real>(d + at, p.d.type, sum);
      }
  }
}

} // namespace

void multiply(const Product& product, const void* a, const void* b, const void* c, void* d) {
  auto of = [&](auto real) {
    run<decltype(real)>(product, static_cast<const char*>(a), static_cast<const char*>(b), static_cast<const char*>(c),
                        static_cast<char*>(d));
  };
  product.compute == cuda::kCompute64 ? of(double{}) : of(float{});
}

} // namespace tl::emulator
