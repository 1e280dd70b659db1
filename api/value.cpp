#include "api/value.h"
#include "driver/foreign.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace tl::api {

std::string tensor_type(DType dtype, size_t rank) {
  std::string type(name_of(dtype));
  for (size_t k = 0; k < rank; ++k)
    type += k == 0 ? "[_" : ", _";
  return rank == 0 ? type : type + "]";
}

HostTensor scalar_tensor(DType dtype, Scalar bits) {
  HostTensor x = HostTensor::make(dtype, {});
  x.set(0, bits);
  return x;
}

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
    values.back().paths.push_back(info.leaf);
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

Content content_of(const tl_argument& given) {
  Content content;
  auto tensor = [&](HostTensor x) {
    content.kind = TL_TENSOR;
    content.type = tensor_type(x.dtype, x.dims.size());
    content.leaves.emplace_back(std::move(x));
    return content;
  };
  switch (given.kind) {
  case TL_INT: return tensor(scalar_tensor(DType::I64, Scalar::of(given.as.integer)));
  case TL_FLOAT: return tensor(scalar_tensor(DType::F32, Scalar::of(static_cast<float>(given.as.real))));
  case TL_BOOL: return tensor(scalar_tensor(DType::Bool, Scalar::of<uint8_t>(given.as.integer != 0)));
  case TL_TEXT:
    if (!given.as.text) usage(kWrongType, "the text is null");
    content.kind = TL_TEXT;
    content.type = "str";
    content.leaves.emplace_back(std::string(given.as.text));
    return content;
  case TL_VALUE:
    if (!given.as.value) usage(kWrongType, "the value is null");
    return given.as.value->get();
  case TL_TENSOR: {
    if (!given.as.tensor) usage(kWrongType, "the tensor is null");
    const auto* x = reinterpret_cast<const driver::Tensor*>(given.as.tensor);
    const auto dtype = dtype_of(x->type);
    if (!dtype) usage(kWrongType, "tl has no " + name_of_type(x->type));
    ParamInfo param;
    param.name = "the value";
    param.type_text = "a tensor";
    param.dtype = *dtype;
    param.rank = static_cast<uint32_t>(std::max(0, x->rank));
    return tensor(copy_of(tensor_argument(x, param)));
  }
  default: usage(kWrongValue, fmt::format("there is no kind {} of arguments", given.kind));
  }
}

Content list_of(std::vector<Content> elements) {
  if (elements.empty()) usage(kWrongValue, "the type of a list without elements is not known");
  const Content& first = elements[0];
  if (first.kind == TL_NOTHING || first.kind == TL_TUPLE)
    usage(kWrongType, fmt::format("a list cannot have elements of the type {}", first.kind ? first.type : "()"));
  auto list = std::make_shared<ListArgument>();
  list->width = first.leaves.size();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].type != first.type || elements[i].record != first.record ||
        elements[i].leaves.size() != list->width)
      usage(kWrongType,
            fmt::format("element {} of the list is {}, and the first is {}", i, elements[i].type, first.type));
    for (Argument& leaf : elements[i].leaves)
      list->values.push_back(leaf);
  }
  Content content;
  content.kind = TL_LIST;
  content.type = fmt::format("List<{}>", first.type);
  content.source = first.source;
  content.record = "List_";
  if (!first.record.empty()) {
    content.record += first.record;
  } else if (first.kind == TL_TEXT) {
    content.record += "str";
  } else {
    const auto& x = std::get<HostTensor>(first.leaves[0]);
    content.record += name_of(x.dtype);
    if (!x.dims.empty()) content.record += fmt::format("_{}d", x.dims.size());
  }
  content.leaves.emplace_back(std::shared_ptr<const ListArgument>(std::move(list)));
  return content;
}

std::optional<Content> field_of(const Content& record, const std::string& name) {
  const auto at = std::find(record.paths.begin(), record.paths.end(), name);
  if (at == record.paths.end()) return std::nullopt;
  const Argument& leaf = record.leaves[static_cast<size_t>(at - record.paths.begin())];
  Content field;
  field.source = record.source;
  if (const auto* x = std::get_if<HostTensor>(&leaf)) {
    field.kind = TL_TENSOR;
    field.type = tensor_type(x->dtype, x->dims.size());
  } else if (std::holds_alternative<std::string>(leaf)) {
    field.kind = TL_TEXT;
    field.type = "str";
  } else {
    return std::nullopt;
  }
  field.leaves.push_back(leaf);
  return field;
}

static const ListArgument& elements_of(const Content& list) {
  return *std::get<std::shared_ptr<const ListArgument>>(list.leaves.at(0));
}

size_t length_of(const Content& list) {
  const ListArgument& all = elements_of(list);
  return all.values.size() / std::max<size_t>(all.width, 1);
}

Content element_of(const Content& list, size_t index) {
  const ListArgument& all = elements_of(list);
  const auto first = all.values.begin() + static_cast<std::ptrdiff_t>(index * all.width);
  Content element;
  element.type = list.type.substr(5, list.type.size() - 6); // List<…>
  element.source = list.source;
  element.leaves.assign(first, first + static_cast<std::ptrdiff_t>(all.width));
  const std::string name = element.type.substr(0, element.type.find('['));
  element.kind = element.type == "str"               ? TL_TEXT
                 : element.type.starts_with("List<") ? TL_LIST
                 : dtype_from_name(name)             ? TL_TENSOR
                                                     : TL_STRUCT;
  if (element.kind == TL_LIST || element.kind == TL_STRUCT) element.record = list.record.substr(5); // List_…
  return element;
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
