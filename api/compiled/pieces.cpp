// A program in pieces: the REPL's session, with values by name in and out.
#include "api/compiled/session.h"
#include "cli/completion.h"
#include "cli/documentation.h"
#include "cli/shown_values.h"
#include "vm/plot/plot.h"
#include <fmt/format.h>

namespace tl::api {

// Made with the first piece.
struct CompiledSession::Pieces {
  explicit Pieces(CompiledSession& session)
      : flags(session.flags()), running(session), display(session.display_), display_context(session.display_context_),
        session(flags, running.interrupt(), display != nullptr) {}
  std::mutex mutex; // one piece after the other
  const RunFlags flags;
  Running running;
  const tl_display display;
  void* const display_context;
  compiler::Session session;

  OutputSink output(OutputSink text) const {
    if (!display) return text;
    auto show = [to = display, context = display_context](const std::string& value, const std::string& type) {
      std::string shown = cli::shown_value(value, type, {});
      shown.pop_back(); // the end of its line
      to(context, "text/plain", shown.c_str(), type.c_str());
    };
    return PageOutput{cli::without_values(std::move(text), show),
                      [to = display, context = display_context](const std::string& svg) {
                        to(context, "image/svg+xml", svg.c_str(), "");
                      }};
  }

  // Compiles and runs a piece; what it says is thrown.
  void run(const Environment& environment, const std::string& text, const std::string& name) {
    running.begin();
    session.set_output(output(environment.out), environment.err);
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

CompiledSession::Pieces& CompiledSession::pieces() {
  std::lock_guard lock(pieces_mutex_);
  if (!pieces_) pieces_ = std::make_shared<Pieces>(*this);
  return *pieces_;
}

void CompiledSession::run_piece(const std::string& name, const std::string& text) {
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  own.run(*environment(), text, name);
}

namespace {

// A value of the type of these leaves, as it is written, and some value of it.
struct Written {
  std::string type, value;
};
Written written_of(const ValueInfo& info, const Argument*& leaf) {
  if (info.kind == ValueInfo::Kind::Tuple) {
    Written all;
    for (const ValueInfo& part : info.parts) {
      const Written one = written_of(part, leaf);
      all.type += (all.type.empty() ? "(" : ", ") + one.type;
      all.value += (all.value.empty() ? "(" : ", ") + one.value;
    }
    const char* end = info.parts.size() == 1 ? ",)" : ")";
    return {all.type + end, all.value + end};
  }
  const Argument& own = *leaf++;
  if (info.kind == ValueInfo::Kind::Str) return {"str", "\"\""};
  if (info.kind != ValueInfo::Kind::Tensor)
    usage(kWrongType, fmt::format("a {} cannot be bound for pieces, which do not see its type", info.type));
  std::vector<int64_t> dims = std::get<HostTensor>(own).dims;
  dims.resize(info.rank); // without the parts of complex numbers
  const std::string type(name_of(info.dtype));
  const std::string element = info.dtype == DType::Bool       ? "false"
                              : info.dtype == DType::Key      ? "key(0)"
                              : is_float(part_of(info.dtype)) ? "0.0"
                                                              : "0";
  if (dims.empty()) return {type, element};
  Written tensor{fmt::format("{}[{}]", type, fmt::join(dims, ", ")), fmt::format("zeros([{}])", fmt::join(dims, ", "))};
  if (is_num(part_of(info.dtype))) return tensor;
  std::string ranges;
  for (size_t k = 0; k < dims.size(); ++k)
    ranges += fmt::format("{}i{} in 0..{}", k ? ", " : "", k, dims[k]);
  tensor.value = fmt::format("[{} for {}]", element, ranges);
  return tensor;
}

// A session holds complex numbers as two tensors, the world outside as one, with the parts side by side.
bool is_pair(const ValueInfo& info) { return info.kind == ValueInfo::Kind::Tensor && is_complex(info.dtype); }

void leaves_of(const ValueInfo& info, std::vector<const ValueInfo*>& leaves) {
  if (info.kind != ValueInfo::Kind::Struct && info.kind != ValueInfo::Kind::Tuple) return leaves.push_back(&info);
  for (const ValueInfo& part : info.parts)
    leaves_of(part, leaves);
}

std::vector<Argument> apart(const Content& content) {
  std::vector<const ValueInfo*> infos;
  leaves_of(*content.info, infos);
  std::vector<Argument> all;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!is_pair(*infos[i])) {
      all.push_back(content.leaves.at(i));
      continue;
    }
    const auto& pairs = std::get<HostTensor>(content.leaves.at(i));
    const std::vector<int64_t> dims(pairs.dims.begin(), pairs.dims.end() - 1);
    for (int64_t part = 0; part < 2; ++part) {
      HostTensor own = HostTensor::make(pairs.dtype, dims);
      for (int64_t k = 0; k < own.count(); ++k)
        own.set(k, pairs.get(2 * k + part));
      all.emplace_back(std::move(own));
    }
  }
  return all;
}

std::vector<Argument> together(const ValueInfo& info, const std::vector<Argument>& all) {
  std::vector<const ValueInfo*> infos;
  leaves_of(info, infos);
  std::vector<Argument> leaves;
  auto next = all.begin();
  for (const ValueInfo* leaf : infos) {
    if (!is_pair(*leaf)) {
      leaves.push_back(*next++);
      continue;
    }
    const HostTensor parts[] = {std::get<HostTensor>(*next++), std::get<HostTensor>(*next++)};
    std::vector<int64_t> dims = parts[0].dims;
    dims.push_back(2);
    HostTensor pairs = HostTensor::make(parts[0].dtype, dims);
    for (int64_t k = 0; k < pairs.count(); ++k)
      pairs.set(k, parts[k % 2].get(k / 2));
    leaves.emplace_back(std::move(pairs));
  }
  return leaves;
}

} // namespace

void CompiledSession::bind(const std::string& name, const tl_argument& value) {
  Content content = content_of(value);
  if (content.kind() == TL_NOTHING) usage(kWrongType, "there is no value in this");
  const Argument* leaf = content.leaves.data();
  const Written some = written_of(*content.info, leaf);
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  own.run(*environment(), fmt::format("let {}: {} = {}", name, some.type, some.value), "<value>");
  const auto bound = own.session.bound(name);
  if (!bound) usage(kWrongValue, fmt::format("'{}' is no name that a value can be bound to", name));
  own.session.replace(bound->var, apart(content));
}

Content CompiledSession::lookup(const std::string& name) {
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  const auto bound = own.session.bound(name);
  if (!bound) usage(kWrongValue, fmt::format("'{}' is not bound to a value", name));
  return {std::make_shared<const ValueInfo>(bound->value), together(bound->value, own.session.leaves(bound->var))};
}

std::vector<std::string> CompiledSession::bound_names() {
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  std::vector<std::string> names = own.session.bound_names();
  std::erase(names, "_"); // what was shown last
  return names;
}

void CompiledSession::set_display(tl_display display, void* context) {
  std::lock_guard lock(pieces_mutex_);
  if (pieces_) usage(kWrongValue, "the session has run pieces already");
  display_ = display;
  display_context_ = context;
}

CompiledSession::Completions CompiledSession::complete(const std::string& text, size_t cursor) {
  if (cursor > text.size())
    usage(kWrongValue, fmt::format("the cursor is at byte {} of a text of {}", cursor, text.size()));
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  editor::Completion found = cli::complete(own.session, {}, text, cursor);
  return {found.begin, std::move(found.texts)};
}

std::string CompiledSession::help(const std::string& name) {
  Pieces& own = pieces();
  std::lock_guard lock(own.mutex);
  const KeptMessages messages;
  const auto text = cli::help_on(own.session, name);
  if (!text) usage(kWrongValue, fmt::format("there is no documentation of '{}'", name));
  return *text;
}

} // namespace tl::api
