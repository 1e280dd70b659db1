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

tl_kind Content::kind() const {
  if (!info || (info->kind == ValueInfo::Kind::Tuple && info->parts.empty())) return TL_NOTHING;
  switch (info->kind) {
  case ValueInfo::Kind::Tensor: return TL_TENSOR;
  case ValueInfo::Kind::Str: return TL_TEXT;
  case ValueInfo::Kind::Struct: return TL_STRUCT;
  case ValueInfo::Kind::Tuple: return TL_TUPLE;
  case ValueInfo::Kind::List: return TL_LIST;
  }
  return TL_NOTHING;
}

HostTensor Content::outside(HostTensor leaf) const {
  if (info && is_complex(info->dtype)) {
    leaf.dtype = info->dtype;
    leaf.dims.pop_back();
  }
  return leaf;
}

const std::string& Content::type() const {
  static const std::string nothing = "()";
  return info ? info->type : nothing;
}

namespace {

ValueInfo tensor_info(DType dtype, size_t rank) {
  ValueInfo info;
  info.kind = ValueInfo::Kind::Tensor;
  info.dtype = dtype;
  info.rank = static_cast<uint32_t>(rank);
  info.type = tensor_type(dtype, rank);
  return info;
}

// As the checker names what is of a list or tuple (record_name).
std::string name_in_record(const ValueInfo& info) {
  if (info.kind == ValueInfo::Kind::Str) return "str";
  if (info.kind != ValueInfo::Kind::Tensor) return info.record;
  const std::string name(name_of(info.dtype));
  return info.rank ? fmt::format("{}_{}d", name, info.rank) : name;
}

size_t leaf_count(const ValueInfo& info) {
  if (info.kind != ValueInfo::Kind::Struct && info.kind != ValueInfo::Kind::Tuple) return 1;
  size_t count = 0;
  for (const ValueInfo& part : info.parts)
    count += leaf_count(part);
  return count;
}

// One of the parts of a struct or tuple.
Content part_of(const Content& whole, size_t index) {
  size_t first = 0;
  for (size_t i = 0; i < index; ++i)
    first += leaf_count(whole.info->parts[i]);
  Content part;
  part.info = {whole.info, &whole.info->parts[index]};
  const auto begin = whole.leaves.begin() + static_cast<std::ptrdiff_t>(first);
  part.leaves.assign(begin, begin + static_cast<std::ptrdiff_t>(leaf_count(*part.info)));
  return part;
}

void check_element(const Content& element, const char* whole) {
  if (element.kind() == TL_NOTHING) usage(kWrongType, fmt::format("a {} cannot have elements of the type ()", whole));
}

} // namespace

Content content_of(const tl_argument& given) {
  Content content;
  auto tensor_like = [&](DType dtype, size_t rank, HostTensor leaf) {
    content.info = std::make_shared<ValueInfo>(tensor_info(dtype, rank));
    content.leaves.emplace_back(std::move(leaf));
    return content;
  };
  auto tensor = [&](HostTensor x) { return tensor_like(x.dtype, x.dims.size(), std::move(x)); };
  switch (given.kind) {
  case TL_INT: return tensor(scalar_tensor(DType::I64, Scalar::of(given.as.integer)));
  case TL_FLOAT: return tensor(scalar_tensor(DType::F32, Scalar::of(static_cast<float>(given.as.real))));
  case TL_BOOL: return tensor(scalar_tensor(DType::Bool, Scalar::of<uint8_t>(given.as.integer != 0)));
  case TL_TEXT: {
    if (!given.as.text) usage(kWrongType, "the text is null");
    ValueInfo info;
    info.kind = ValueInfo::Kind::Str;
    info.type = "str";
    content.info = std::make_shared<ValueInfo>(std::move(info));
    content.leaves.emplace_back(std::string(given.as.text));
    return content;
  }
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
    return tensor_like(*dtype, param.rank, copy_of(tensor_argument(x, param)));
  }
  default: usage(kWrongValue, fmt::format("there is no kind {} of arguments", given.kind));
  }
}

Content list_of(std::vector<Content> elements) {
  if (elements.empty()) usage(kWrongValue, "the type of a list without elements is not known");
  const Content& first = elements[0];
  check_element(first, "list");
  auto list = std::make_shared<ListArgument>();
  list->width = first.leaves.size();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].type() != first.type() || !elements[i].info || elements[i].info->record != first.info->record ||
        elements[i].leaves.size() != list->width)
      usage(kWrongType,
            fmt::format("element {} of the list is {}, and the first is {}", i, elements[i].type(), first.type()));
    for (Argument& leaf : elements[i].leaves)
      list->values.push_back(leaf);
  }
  ValueInfo info;
  info.kind = ValueInfo::Kind::List;
  info.type = fmt::format("List<{}>", first.type());
  info.record = "List_" + name_in_record(*first.info);
  info.parts.push_back(*first.info);
  Content content;
  content.info = std::make_shared<ValueInfo>(std::move(info));
  content.leaves.emplace_back(std::shared_ptr<const ListArgument>(std::move(list)));
  return content;
}

Content tuple_of(std::vector<Content> elements) {
  if (elements.empty()) usage(kWrongValue, "a tuple without elements is no value");
  ValueInfo info;
  info.record = fmt::format("Tuple{}", elements.size());
  Content content;
  for (Content& element : elements) {
    check_element(element, "tuple");
    info.type += (info.parts.empty() ? "(" : ", ") + element.type();
    info.record += "_" + name_in_record(*element.info);
    info.parts.push_back(*element.info);
    for (Argument& leaf : element.leaves)
      content.leaves.push_back(std::move(leaf));
  }
  info.type += elements.size() == 1 ? ",)" : ")";
  content.info = std::make_shared<ValueInfo>(std::move(info));
  return content;
}

std::optional<Content> field_of(const Content& record, const std::string& name) {
  const std::vector<std::string>& names = record.info->names;
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return part_of(record, static_cast<size_t>(at - names.begin()));
}

static const ListArgument& elements_of(const Content& list) {
  return *std::get<std::shared_ptr<const ListArgument>>(list.leaves.at(0));
}

size_t length_of(const Content& whole) {
  if (whole.kind() != TL_LIST) return whole.info->parts.size();
  const ListArgument& all = elements_of(whole);
  return all.values.size() / std::max<size_t>(all.width, 1);
}

Content element_of(const Content& whole, size_t index) {
  if (whole.kind() != TL_LIST) return part_of(whole, index);
  const ListArgument& all = elements_of(whole);
  const auto first = all.values.begin() + static_cast<std::ptrdiff_t>(index * all.width);
  Content element;
  element.info = {whole.info, &whole.info->parts.at(0)};
  element.leaves.assign(first, first + static_cast<std::ptrdiff_t>(all.width));
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
  if (content.kind() != TL_TENSOR) usage(kWrongType, "the value is no tensor but " + content.type());
  taken = true;
  return content.outside(std::move(std::get<tl::HostTensor>(content.leaves.at(0))));
}
