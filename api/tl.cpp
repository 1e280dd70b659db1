// Functions of tl.h for all sessions: each calls one of the classes here, and no exception leaves it.
#include "api/tl.h"
#include "api/call.h"
#include "api/session.h"
#include "api/value.h"
#include "driver/foreign.h"
#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>

namespace tl::api {
namespace {

template <class T> T& checked(T* pointer, const char* what) {
  if (!pointer) usage(kWrongValue, fmt::format("the {} is null", what));
  return *pointer;
}
Session& session_of(tl_session* session) {
  Session& own = *checked(session, "session").session;
  own.check_process();
  return own;
}
tl_function& function_of(tl_function* function) {
  tl_function& own = checked(function, "function");
  own.session().check_process();
  return own;
}
const char* text_of(const char* text, const char* what) {
  if (!text) usage(kWrongValue, fmt::format("the {} is null", what));
  return text;
}

template <class T> void give_to(T* to, const T& what) {
  if (to) *to = what;
}

std::vector<Content> contents_of(const tl_argument* elements, size_t count) {
  std::vector<Content> parts;
  for (size_t i = 0; i < count; ++i)
    parts.push_back(content_of(elements[i]));
  return parts;
}

} // namespace

extern "C" {

const tl_error* tl_last_error() {
  static thread_local tl_error shown;
  const Error& error = last_error();
  shown = {error.status,       error.kind.c_str(), error.message.c_str(), error.hint.c_str(),
           error.file.c_str(), error.line,         error.column,          error.text.c_str()};
  return &shown;
}

const char* tl_version() { return TL_VERSION; }

void tl_session_close(tl_session* session) {
  // Of a process that was forked: threads wait in it that are not there.
  if (session && session->session->is_forked()) new std::shared_ptr<Session>(session->session);
  delete session;
}

int tl_session_set(tl_session* session, const char* flag, const char* value) {
  return guarded([&] { session_of(session).set(flag, value); });
}
int tl_session_set_output(tl_session* session, tl_output output, void* context) {
  return guarded([&] { session_of(session).set_output(output, context); });
}
void tl_session_interrupt(tl_session* session) {
  if (session) session->session->interrupt();
}
int tl_session_declarations(tl_session* session, const tl_signature** first, size_t* count) {
  return guarded([&] {
    const auto [all, number] = session_of(session).declarations();
    give_to(first, all);
    give_to(count, number);
  });
}

int tl_session_struct(tl_session* session, const char* source, const char* name, const tl_signature** signature) {
  return guarded([&] { give_to(signature, session_of(session).record(source, text_of(name, "name"))); });
}

int tl_value_kind(tl_value* value, int* kind) {
  return guarded([&] { give_to(kind, static_cast<int>(checked(value, "value").get().kind())); });
}
int tl_value_type(tl_value* value, const char** type) {
  return guarded([&] { give_to(type, checked(value, "value").get().type().c_str()); });
}
int tl_value_take_tensor(tl_value* value, tl_managed_tensor** tensor) {
  return guarded([&] {
    auto& place = checked(tensor, "place for the tensor");
    HostTensor own = checked(value, "value").take();
    place = reinterpret_cast<tl_managed_tensor*>(give(std::move(own)));
  });
}
int tl_value_view_tensor(tl_value* value, tl_managed_tensor** tensor) {
  return guarded([&] {
    const Content& content = checked(value, "value").get();
    if (content.kind() != TL_TENSOR) usage(kWrongType, "the value is no tensor but " + content.type());
    auto& place = checked(tensor, "place for the tensor");
    place = reinterpret_cast<tl_managed_tensor*>(lend(content.tensor()));
  });
}
int tl_value_scalar(tl_value* value, tl_dtype* dtype, uint64_t* bits) {
  return guarded([&] {
    const Content& content = checked(value, "value").get();
    const auto* x = content.kind() == TL_TENSOR ? &std::get<HostTensor>(content.leaves.at(0)) : nullptr;
    if (!x || !x->dims.empty()) usage(kWrongType, "the value is no scalar of 64 bits at most but " + content.type());
    const TensorType type = type_of(x->dtype);
    give_to(dtype, tl_dtype{type.code, type.bits, type.lanes});
    give_to(bits, x->get(0).bits);
  });
}
int tl_value_text(tl_value* value, const char** text) {
  return guarded([&] {
    const Content& content = checked(value, "value").get();
    if (content.kind() != TL_TEXT) usage(kWrongType, "the value is no text but " + content.type());
    give_to(text, std::get<std::string>(content.leaves.at(0)).c_str());
  });
}
int tl_value_count(tl_value* value, size_t* count) {
  return guarded([&] {
    const Content& content = checked(value, "value").get();
    if (content.kind() != TL_LIST && content.kind() != TL_TUPLE && content.kind() != TL_STRUCT)
      usage(kWrongType, "the value is no list, tuple or struct but " + content.type());
    give_to(count, length_of(content));
  });
}
int tl_value_at(tl_value* value, size_t index, tl_value** element) {
  return guarded([&] {
    tl_value& whole = checked(value, "value");
    size_t count = 0;
    if (const int status = tl_value_count(value, &count)) throw Failed((void(status), last_error()));
    if (index >= count)
      usage(kWrongValue, fmt::format("the value has {} element{}, and no {}", count, count == 1 ? "" : "s", index));
    auto& place = checked(element, "place for the element");
    place = new tl_value(element_of(whole.get(), index));
  });
}
int tl_value_name(tl_value* value, size_t index, const char** name) {
  return guarded([&] {
    const Content& content = checked(value, "value").get();
    if (content.kind() != TL_STRUCT) usage(kWrongType, "the value is no struct but " + content.type());
    if (index >= content.info->names.size())
      usage(kWrongValue, fmt::format("{} has no field {}", content.type(), index));
    give_to(name, content.info->names[index].c_str());
  });
}
int tl_value_field(tl_value* value, const char* name, tl_value** field) {
  return guarded([&] {
    const Content& content = checked(value, "value").get();
    if (content.kind() != TL_STRUCT) usage(kWrongType, "the value is no struct but " + content.type());
    std::optional<Content> own = field_of(content, text_of(name, "name"));
    if (!own)
      usage(kWrongValue, fmt::format("{} has no field '{}'", content.type(), name),
            fmt::format("it has {}", fmt::join(content.info->names, ", ")));
    auto& place = checked(field, "place for the field");
    place = new tl_value(std::move(*own));
  });
}
int tl_value_is_pending(tl_value* value) { return value && value->is_pending() ? 1 : 0; }
int tl_value_wait(tl_value* value) {
  return guarded([&] { checked(value, "value").wait(); });
}
void tl_value_retain(tl_value* value) {
  if (value) ++value->references;
}
void tl_value_release(tl_value* value) {
  if (value && --value->references == 0) delete value;
}

int tl_function_get(tl_session* session, const char* source, const char* expression, const char* like,
                    tl_function** function) {
  return guarded([&] {
    tl_function& found = session_of(session).function(source, text_of(expression, "expression"), like);
    auto& place = checked(function, "place for the function");
    place = &found;
  });
}
int tl_call(tl_function* function, const tl_argument* arguments, size_t count, tl_value** result) {
  return guarded([&] {
    tl_function& own = function_of(function);
    Content content = own.call(arguments, count);
    if (result) *result = new tl_value(std::move(content));
  });
}
int tl_start(tl_function* function, const tl_argument* arguments, size_t count, tl_value** result) {
  return guarded([&] {
    tl_value* pending = function_of(function).start(arguments, count);
    if (result)
      *result = pending;
    else
      tl_value_release(pending);
  });
}
int tl_result_type(tl_function* function, const tl_argument* arguments, size_t count, const char** type) {
  return guarded([&] { give_to(type, function_of(function).result_type(arguments, count)); });
}

int tl_list(tl_session* session, const tl_argument* elements, size_t count, tl_value** list) {
  return guarded([&] {
    auto& place = checked(list, "place for the list");
    session_of(session);
    place = new tl_value(list_of(contents_of(elements, count)));
  });
}

int tl_tuple(tl_session* session, const tl_argument* elements, size_t count, tl_value** tuple) {
  return guarded([&] {
    auto& place = checked(tuple, "place for the tuple");
    session_of(session);
    place = new tl_value(tuple_of(contents_of(elements, count)));
  });
}

} // extern "C"
} // namespace tl::api
