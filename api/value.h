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

class Session;

// One value of the language. Immutable once made, but that take_tensor may move its tensor out.
struct Content {
  tl_kind kind = TL_NOTHING;
  std::string type;               // with open sizes, as a parameter of the program could have it
  std::string record;             // of a struct or list: as in ParamInfo
  std::string source;             // of the session, where its type has that name
  std::vector<std::string> paths; // of a struct, where they are known: what its leaves are, "w", "layers.0.w"
  std::vector<Argument> leaves;   // of a tensor, text, struct or list
  std::vector<Content> elements;  // of a tuple
};

std::string tensor_type(DType dtype, size_t rank); // "f32", "f32[_, _]"
HostTensor scalar_tensor(DType dtype, Scalar bits);

// The values that a call with this interface gave, of a function of this source.
Content content_of(const ProgramInterface& interface, const std::string& source, std::vector<Argument> results);

// What an argument is by itself, without a parameter: numbers are i64, f32 and bool. Tensors are copied. Throws Failed.
Content content_of(const tl_argument& argument);
// A list of elements that are all of one type. Throws Failed.
Content list_of(std::vector<Content> elements);
// Of a struct, a field that is a tensor or text. Nothing: it is no such field, or that is not known here.
std::optional<Content> field_of(const Content& record, const std::string& name);
// Of a list.
size_t length_of(const Content& list);
Content element_of(const Content& list, size_t index);

} // namespace tl::api

// Pending until its call is done.
struct tl_value {
  explicit tl_value(std::weak_ptr<tl::api::Session> of) : session(std::move(of)) {}
  tl_value(std::weak_ptr<tl::api::Session> of, tl::api::Content made)
      : session(std::move(of)), pending(false), content(std::move(made)) {}

  void finish(tl::api::Content made);
  void finish(tl::api::Error failure);
  void wait(); // throws Failed as its call failed
  bool is_pending();
  // What it is, once it is computed. Nothing: its tensor was taken.
  const tl::api::Content& get();
  // Its tensor, for the caller; it is empty from then on.
  tl::HostTensor take();

  const std::weak_ptr<tl::api::Session> session; // whose call gave it
  std::atomic<size_t> references{1};

private:
  std::mutex mutex;
  std::condition_variable done;
  std::atomic<bool> pending{true};
  bool taken = false;
  std::optional<tl::api::Error> error;
  tl::api::Content content;
};
