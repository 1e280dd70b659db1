// What the extension module of a Python package calls in place of libtl: the functions of api/tl.h over the programs
// that `tl build` compiled. Those that would compile say so. The rest of them is api/tl.cpp.
#include "api/session.h"
#include "../kernels.h"
#include "api/call.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::api {
namespace {

Built& built() {
  static auto* all = new Built; // calls may come while the process ends
  return *all;
}

[[noreturn]] void needs_compiler(const std::string& what) {
  usage(kWrongValue, fmt::format("{} needs the compiler, and this package has none", what),
        "load the program with the package tl: tl.load");
}

class PackagedSession;

// Compiled for the types that its calls may have.
class PackagedFunction : public tl_function {
public:
  PackagedFunction(PackagedSession& session, std::string expression, std::shared_ptr<const Declaration> like);
  Content call(const tl_argument* arguments, size_t count) override;
  const char* result_type(const tl_argument* arguments, size_t count) override;

protected:
  std::shared_ptr<const Instance> instance(const std::vector<Given>& arguments) override;

private:
  // Arguments in the order of the parameters, with the values of those that are left to their defaults.
  struct Ordered {
    std::vector<tl_argument> arguments;
    std::deque<tl_value> values;
  };
  void order(const tl_argument* arguments, size_t count, Ordered& to) const;

  PackagedSession& session_;
  std::vector<std::shared_ptr<const Instance>> instances_;
};

class PackagedSession : public Session {
public:
  PackagedSession() {
    for (const Declaration& declaration : built().declarations) {
      // Of a module, and not of the program.
      const bool is_imported = declaration.name.find('.') != std::string::npos;
      (is_imported ? imported_ : declarations_).push_back(std::make_shared<const Declaration>(declaration));
    }
  }
  ~PackagedSession() override { close(); }

  void check_process() override { // nothing of it is only in the process that opened it
    if (is_forked()) renew();
  }

protected:
  RunSetup& setup() override { return setup_; }
  std::string source_named(const char* source) const override { return source ? source : ""; }
  std::unique_ptr<tl_function> make_function(const std::string&, const std::string& expression,
                                             std::shared_ptr<const Declaration> like) override {
    return std::make_unique<PackagedFunction>(*this, expression, std::move(like));
  }

private:
  RunSetup setup_;
};

PackagedFunction::PackagedFunction(PackagedSession& session, std::string expression,
                                   std::shared_ptr<const Declaration> like)
    : tl_function(session, std::move(expression), std::move(like)), session_(session) {
  Built& all = built();
  for (const ProgramCall& call : all.calls) {
    if (call.expression != expression_) continue;
    auto made = std::make_shared<Instance>();
    made->program = &all.programs.at(call.program);
    made->kernels = &all;
    made->sources = &all.sources;
    made->main = all.main;
    made->name = call.function;
    made->own_end = all.sources.text(all.main).size();
    made->set_interface(made->program->interface);
    instances_.push_back(std::move(made));
  }
  if (instances_.empty()) needs_compiler(fmt::format("`{}`", expression_));
}

// May a program with this interface be called so?
bool fits(const ProgramInterface& interface, const std::vector<Given>& arguments) {
  size_t next = 0;
  for (const Given& own : arguments) {
    if (next >= interface.params.size()) return false;
    const ParamInfo& param = interface.params[next++];
    const bool is_text = param.record.empty() && param.kind == ParamInfo::Kind::Str;
    if (is_number(own.argument->kind)) {
      if (!param.record.empty() || param.kind != ParamInfo::Kind::Scalar) return false;
    } else if (own.rank >= 0) {
      if (!param.record.empty() || is_text || param.dtype != own.dtype || static_cast<int32_t>(param.rank) != own.rank)
        return false;
    } else if (!own.content || own.content->kind() == TL_TEXT) {
      if (!is_text) return false;
    } else {
      if (param.record != own.content->info->record) return false;
      next += own.content->leaves.size() - 1;
    }
  }
  return next == interface.params.size();
}

std::shared_ptr<const Instance> PackagedFunction::instance(const std::vector<Given>& arguments) {
  if (instances_.size() == 1) return instances_[0]; // what is wrong is found when arguments are converted
  for (const auto& one : instances_)
    if (fits(one->program->interface, arguments)) return one;
  std::string types;
  for (const Given& own : arguments)
    types += (types.empty() ? "" : ", ") + own.type;
  needs_compiler(fmt::format("`{}` of ({})", expression_, types));
}

void PackagedFunction::order(const tl_argument* arguments, size_t count, Ordered& to) const {
  const std::vector<const Declared*> of = parameters_of(arguments, count);
  if (!like_) {
    to.arguments.assign(arguments, arguments + count);
    return;
  }
  for (const Declared& parameter : like_->parameters) {
    const auto at = std::find(of.begin(), of.end(), &parameter);
    if (at != of.end()) {
      to.arguments.push_back(arguments[at - of.begin()]);
    } else {
      tl_function& value = session_.function(nullptr, fmt::format("{}({})", like_->name, parameter.name), nullptr);
      to.values.emplace_back(value.call(nullptr, 0));
      to.arguments.push_back({nullptr, TL_VALUE, {}});
      to.arguments.back().as.value = &to.values.back();
    }
    to.arguments.back().name = nullptr;
  }
}

Content PackagedFunction::call(const tl_argument* arguments, size_t count) {
  Ordered all;
  order(arguments, count, all);
  return tl_function::call(all.arguments.data(), all.arguments.size());
}

const char* PackagedFunction::result_type(const tl_argument* arguments, size_t count) {
  Ordered all;
  order(arguments, count, all);
  return tl_function::result_type(all.arguments.data(), all.arguments.size());
}

int refuse(const char* what) {
  return guarded([&] { needs_compiler(what); });
}

} // namespace

extern "C" {

int tl_session_open(tl_session** session) {
  return guarded([&] { *session = new tl_session{std::make_shared<PackagedSession>()}; });
}
int tl_session_add_source(tl_session*, const char*, const char*) { return refuse("another program"); }
int tl_session_add_file(tl_session*, const char*) { return refuse("another program"); }
int tl_session_run(tl_session*, const char*, const char*) { return refuse("a program in pieces"); }
int tl_session_bind(tl_session*, const char*, const tl_argument*) { return refuse("a program in pieces"); }
int tl_session_lookup(tl_session*, const char*, tl_value**) { return refuse("a program in pieces"); }
int tl_session_names(tl_session*, const char**) { return refuse("a program in pieces"); }
int tl_session_set_display(tl_session*, tl_display, void*) { return refuse("a program in pieces"); }
int tl_session_complete(tl_session*, const char*, size_t, size_t*, const char**) {
  return refuse("a program in pieces");
}
int tl_session_help(tl_session*, const char*, const char**) { return refuse("a program in pieces"); }
int tl_is_incomplete(const char*, size_t*) { return 0; }

} // extern "C"
} // namespace tl::api
