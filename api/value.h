// What a call gives: leaves as the VM has them, with what they make together.
#pragma once
#include "abi/interface.h"
#include "abi/outcome.h"
#include "api/error.h"
#include "api/tl.h"
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tl::api {

// One value of the language. Immutable once made, but that take_tensor may move its tensor out.
struct Content {
  std::shared_ptr<const ValueInfo> info; // null: nothing
  std::vector<Argument> leaves;

  tl_kind kind() const;
  const std::string& type() const; // as a parameter of the program could have it
  HostTensor tensor() const { return outside(std::get<HostTensor>(leaves.at(0))); }
  // A tensor that is its leaf, as C has it: complex numbers are tensors of their parts inside, with an axis of 2 more.
  HostTensor outside(HostTensor leaf) const;
};

std::string tensor_type(DType dtype, size_t rank); // "f32", "f32[_, _]"
HostTensor scalar_tensor(DType dtype, Scalar bits);

// What an argument is by itself, without a parameter: numbers are i64, f32 and bool. Tensors are copied. Throws Failed.
Content content_of(const tl_argument& argument);
// A list of elements that are all of one type; a tuple of any. Throw Failed.
Content list_of(std::vector<Content> elements);
Content tuple_of(std::vector<Content> elements);
// Of a struct: its field of that name; nothing where it has none.
std::optional<Content> field_of(const Content& record, const std::string& name);
// Of a list, tuple or struct.
size_t length_of(const Content& whole);
Content element_of(const Content& whole, size_t index);

} // namespace tl::api

// Pending until its call is done.
struct tl_value {
  tl_value() = default;
  explicit tl_value(tl::api::Content made) : pending(false), content(std::move(made)) {}

  void finish(tl::api::Content made);
  void finish(tl::api::Error failure);
  void wait(); // throws Failed as its call failed
  bool is_pending();
  // What it is, once it is computed. Nothing: its tensor was taken.
  const tl::api::Content& get();
  // Its tensor, for the caller; it is empty from then on.
  tl::HostTensor take();

  std::atomic<size_t> references{1};

private:
  std::mutex mutex;
  std::condition_variable done;
  std::atomic<bool> pending{true};
  bool taken = false;
  std::optional<tl::api::Error> error;
  tl::api::Content content;
};
