#include "api/value.h"
#include "driver/foreign.h"

namespace tl::api {

Content content_of(const ProgramInterface& interface, const std::string& source, std::vector<Argument> results) {
  std::vector<Content> values;
  for (size_t i = 0; i < results.size(); ++i) {
    const ResultInfo& info = interface.results[i];
    if (info.value == values.size()) {
      Content& value = values.emplace_back();
      value.type = info.open_type;
      value.record = info.record;
      value.source = source;
      value.kind = info.is_str ? TL_TEXT : TL_TENSOR;
      if (!info.record.empty()) value.kind = info.is_list && info.leaf.empty() ? TL_LIST : TL_STRUCT;
    }
    values.back().leaves.push_back(std::move(results[i]));
  }
  if (values.size() == 1) return std::move(values[0]);
  Content whole;
  if (values.empty()) return whole;
  whole.kind = TL_TUPLE;
  for (const Content& value : values)
    whole.type += (whole.type.empty() ? "(" : ", ") + value.type;
  whole.type += ")";
  whole.elements = std::move(values);
  return whole;
}

} // namespace tl::api

using namespace tl::api;

void tl_value::finish(Content made) {
  {
    std::lock_guard lock(mutex);
    content = std::move(made);
    pending = false;
  }
  done.notify_all();
}

void tl_value::finish(Error failure) {
  {
    std::lock_guard lock(mutex);
    error = std::move(failure);
    pending = false;
  }
  done.notify_all();
}

void tl_value::wait() {
  if (pending.load(std::memory_order_acquire)) {
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return !pending; });
  }
  if (error) throw Failed(*error);
}

bool tl_value::is_pending() { return pending; }

const Content& tl_value::get() {
  wait();
  std::lock_guard lock(mutex);
  if (taken) usage(kWrongValue, "the tensor of this value was taken");
  return content;
}

tl::HostTensor tl_value::take() {
  wait();
  std::lock_guard lock(mutex);
  if (taken) usage(kWrongValue, "the tensor of this value was taken");
  if (content.kind != TL_TENSOR) usage(kWrongType, "the value is no tensor but " + content.type);
  taken = true;
  return std::move(std::get<tl::HostTensor>(content.leaves.at(0)));
}
