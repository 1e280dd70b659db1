// Values on the heap, for variants whose alternatives are not all as large as the largest.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace tl {

// A value on the heap, which is copied and compared as the value is.
template <class T> class Boxed {
public:
  Boxed(T value = {}) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : Boxed(*other.value_) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  bool operator==(const Boxed& other) const { return *value_ == *other.value_; }

private:
  std::unique_ptr<T> value_;
};

// What a variant holds of a T: those that are larger than this are boxed.
template <class T, size_t largest> using Held = std::conditional_t<sizeof(T) <= largest, T, Boxed<T>>;

template <class T> T& unboxed(T& value) { return value; }
template <class T> T& unboxed(Boxed<T>& value) { return *value; }
template <class T> const T& unboxed(const Boxed<T>& value) { return *value; }

} // namespace tl
