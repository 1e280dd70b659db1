// A program in pieces: the REPL's session, with values by name in and out.
#include "api/session.h"
#include <fmt/format.h>

namespace tl::api {

// Made with the first piece.
struct Session::Pieces {
  explicit Pieces(Session& session) : flags(session.flags()), running(session), session(flags, running.interrupt()) {}
  std::mutex mutex; // one piece after the other
  const RunFlags flags;
  Running running;
  compiler::Session session;

  // Compiles and runs a piece; what it says is thrown.
  void run(const Environment& environment, const std::string& text, const std::string& name) {
    running.begin();
    session.set_output(environment.out, environment.err);
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
  own.run(*environment(), text, name);
}

namespace {

// A value of this type, whose elements are not looked at.
std::string placeholder(DType dtype, const std::vector<int64_t>& dims) {
  std::string element = dtype == DType::Bool ? "false" : is_float(dtype) ? "0.0" : "0";
  if (dims.empty()) return element;
  if (dtype != DType::Bool) return fmt::format("zeros([{}])", fmt::join(dims, ", "));
  std::string ranges;
  for (size_t k = 0; k < dims.size(); ++k)
    ranges += fmt::format("{}i{} in 0..{}", k ? ", " : "", k, dims[k]);
  return fmt::format("[false for {}]", ranges);
}

// The leaves of a value of this type.
void add_paths(const Type& type, const std::string& path, std::vector<std::string>& paths) {
  if (!type.is_aggregate()) return paths.push_back(path);
  for (size_t i = 0; i < type.elements.size(); ++i) {
    const std::string step = type.is_struct() ? type.record->fields[i].name : std::to_string(i);
    add_paths(type.elements[i], path.empty() ? step : path + "." + step, paths);
  }
}

} // namespace

void Session::bind(const std::string& name, const tl_argument& value) {
  Content content = content_of(value);
  std::string type = content.type, some = "\"\"";
  if (content.kind == TL_TENSOR) {
    const auto& x = std::get<HostTensor>(content.leaves[0]);
    type = name_of(x.dtype);
    if (!x.dims.empty()) type += fmt::format("[{}]", fmt::join(x.dims, ", "));
    some = placeholder(x.dtype, x.dims);
  } else if (content.kind != TL_TEXT) {
    usage(kWrongType, fmt::format("a {} cannot be bound for pieces, which do not see its type", content.type));
  }
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  own.run(*environment(), fmt::format("let {}: {} = {}", name, type, some), "<value>");
  own.session.replace(own.session.bound(name).value().var, std::move(content.leaves));
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
  add_paths(bound->type, "", content.paths);
  return content;
}

std::vector<std::string> Session::bound_names() {
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  return own.session.bound_names();
}

} // namespace tl::api
