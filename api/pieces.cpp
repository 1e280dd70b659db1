// A program in pieces: the REPL's session, with values by name in and out.
#include "api/session.h"
#include "driver/foreign.h"
#include <fmt/format.h>

namespace tl::api {

// Made with the first piece.
struct Session::Pieces {
  explicit Pieces(Session& session) : flags(session.flags()), running(session), session(flags, running.interrupt()) {
    this->session.set_output(session.sink(false), session.sink(true));
  }
  std::mutex mutex; // one piece after the other
  const RunFlags flags;
  Running running;
  compiler::Session session;

  // Compiles and runs a piece; what it says is thrown.
  void run(const std::string& text, const std::string& name) {
    running.begin();
    const KeptMessages messages;
    switch (session.run(text, name)) {
    case compiler::Session::End::Done: return;
    case compiler::Session::End::Rejected: throw Failed(error_of(kRejected, messages));
    case compiler::Session::End::Exited: {
      Error error;
      error.status = kRuntimeError;
      error.kind = "Exit";
      error.message = error.text = fmt::format("the program called exit({})", session.exit_code());
      throw Failed(std::move(error));
    }
    case compiler::Session::End::Failed: break;
    }
    Error error = error_of(kRuntimeError, messages);
    if (error.text.empty()) {
      error.status = TL_INTERRUPTED;
      error.kind = "Interrupted";
      error.message = error.text = "interrupted";
    }
    throw Failed(std::move(error));
  }
};

Session::Pieces& Session::pieces() {
  std::lock_guard lock(pieces_mutex_);
  if (!pieces_) pieces_ = std::make_shared<Pieces>(*this);
  return *pieces_;
}

void Session::run_piece(const std::string& name, const std::string& text) {
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  own.run(text, name);
}

namespace {

// A value of this type, whose elements are not looked at.
std::string placeholder(DType dtype, const std::vector<int64_t>& dims) {
  const std::string element = dtype == DType::Bool ? "false" : is_float(dtype) ? "0.0" : "0";
  if (dims.empty()) return element;
  if (dtype != DType::Bool) return fmt::format("zeros([{}])", fmt::join(dims, ", "));
  std::string ranges;
  for (size_t k = 0; k < dims.size(); ++k)
    ranges += fmt::format("{}i{} in 0..{}", k ? ", " : "", k, dims[k]);
  return fmt::format("[false for {}]", ranges);
}

struct Binding {
  std::string type, placeholder;
  Argument value;
};

Binding binding_of(const tl_argument& given) {
  auto tensor = [](HostTensor x) {
    const std::string sizes = x.dims.empty() ? "" : fmt::format("[{}]", fmt::join(x.dims, ", "));
    return Binding{std::string(name_of(x.dtype)) + sizes, placeholder(x.dtype, x.dims), std::move(x)};
  };
  auto scalar = [&](DType dtype, Scalar bits) {
    HostTensor x = HostTensor::make(dtype, {});
    x.set(0, bits);
    return tensor(std::move(x));
  };
  switch (given.kind) {
  case TL_INT: return scalar(DType::I64, Scalar::of(given.as.integer));
  case TL_FLOAT: return scalar(DType::F32, Scalar::of(static_cast<float>(given.as.real)));
  case TL_BOOL: return scalar(DType::Bool, Scalar::of<uint8_t>(given.as.integer != 0));
  case TL_TEXT:
    if (!given.as.text) usage(kWrongType, "the text is null");
    return {"str", "\"\"", std::string(given.as.text)};
  case TL_VALUE: {
    if (!given.as.value) usage(kWrongType, "the value is null");
    const Content& content = given.as.value->get();
    if (content.kind == TL_TEXT) return {"str", "\"\"", content.leaves.at(0)};
    if (content.kind != TL_TENSOR)
      usage(kWrongType, fmt::format("a {} cannot be bound for pieces, which do not see its type", content.type));
    return tensor(std::get<HostTensor>(content.leaves.at(0)));
  }
  case TL_TENSOR: {
    if (!given.as.tensor) usage(kWrongType, "the tensor is null");
    const auto* x = reinterpret_cast<const driver::Tensor*>(given.as.tensor);
    const auto dtype = dtype_of(x->type);
    if (!dtype) usage(kWrongType, "tl has no " + name_of_type(x->type));
    ParamInfo param;
    param.name = "the value";
    param.dtype = *dtype;
    param.rank = static_cast<uint32_t>(std::max(0, x->rank));
    param.type_text = "a tensor";
    HostTensor read = tensor_argument(x, param);
    HostTensor own = HostTensor::make(read.dtype, read.dims);
    std::memcpy(own.data(), read.data(), static_cast<size_t>(own.byte_count()));
    return tensor(std::move(own));
  }
  default: usage(kWrongValue, fmt::format("there is no kind {} of arguments", given.kind));
  }
}

} // namespace

void Session::bind(const std::string& name, const tl_argument& value) {
  Binding binding = binding_of(value);
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  own.run(fmt::format("let {}: {} = {}", name, binding.type, binding.placeholder), "<value>");
  std::vector<Argument> leaves;
  leaves.push_back(std::move(binding.value));
  own.session.replace(own.session.bound(name).value().var, std::move(leaves));
}

Content Session::lookup(const std::string& name) {
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  const auto bound = own.session.bound(name);
  if (!bound) usage(kWrongValue, fmt::format("'{}' is not bound to a value", name));
  Content content;
  content.kind = bound->type.is_str()      ? TL_TEXT
                 : bound->type.is_struct() ? TL_STRUCT
                 : bound->type.is_list()   ? TL_LIST
                                           : TL_TENSOR;
  content.type = bound->open_type;
  content.record = bound->record;
  content.leaves = own.session.leaves(bound->var);
  return content;
}

std::vector<std::string> Session::bound_names() {
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  return own.session.bound_names();
}

} // namespace tl::api
