// A vector for what few have: one pointer while it has never held anything.
#pragma once
#include <memory>
#include <vector>

namespace tl {

template <class T> class RareVector {
public:
  RareVector() = default;
  RareVector(std::vector<T> items) { // NOLINT: it is a vector
    if (!items.empty()) items_ = std::make_unique<std::vector<T>>(std::move(items));
  }
  operator const std::vector<T>&() const { // NOLINT: it is a vector
    static const std::vector<T> none;
    return items_ ? *items_ : none;
  }
  bool empty() const { return size() == 0; }
  size_t size() const { return items_ ? items_->size() : 0; }
  T* begin() { return items_ ? items_->data() : nullptr; }
  T* end() { return begin() + size(); }
  const T* begin() const { return items_ ? items_->data() : nullptr; }
  const T* end() const { return begin() + size(); }
  void push_back(T item) {
    if (!items_) items_ = std::make_unique<std::vector<T>>();
    items_->push_back(std::move(item));
  }
  void clear() { items_.reset(); }

private:
  std::unique_ptr<std::vector<T>> items_;
};

} // namespace tl
