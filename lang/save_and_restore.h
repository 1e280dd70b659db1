// Gives a variable back its value at the end of a scope (as LLVM's class of that name).
#pragma once
#include <utility>

namespace tl {

template <class T> class [[nodiscard]] SaveAndRestore {
public:
  explicit SaveAndRestore(T& variable) : variable_(variable), saved_(variable) {}
  SaveAndRestore(T& variable, T value) : variable_(variable), saved_(std::exchange(variable, std::move(value))) {}
  ~SaveAndRestore() { variable_ = std::move(saved_); }
  SaveAndRestore(const SaveAndRestore&) = delete;
  SaveAndRestore& operator=(const SaveAndRestore&) = delete;

  const T& saved() const { return saved_; } // what it was

private:
  T& variable_;
  T saved_;
};

} // namespace tl
