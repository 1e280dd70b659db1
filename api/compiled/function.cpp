// A call is compiled as a program of its own: the source's text, and behind it an exported function with the types of
// the arguments, which calls what was asked for. So whatever the language can say is a function here, and what is
// checked, inferred and derived is what it would be in a file.
#include "api/compiled/function.h"
#include "lang/deep_stack.h"
#include "parser/syntax/cursor.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::api {

namespace {

struct CompiledInstance : Instance {
  Executable executable;
  SourceManager own_sources;
};

bool has_word(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

bool is_path(const std::string& expression) { // a name, or one of a module
  return !expression.empty() && !std::isdigit(static_cast<unsigned char>(expression[0])) &&
         std::all_of(expression.begin(), expression.end(), [](char c) { return is_word(c) || c == '.'; });
}

std::string literal(const tl_argument& number) {
  if (number.kind == TL_BOOL) return number.as.integer ? "true" : "false";
  return number.as.integer < 0 ? fmt::format("({})", number.as.integer) : std::to_string(number.as.integer);
}

} // namespace

std::shared_ptr<const Instance> CompiledFunction::compile(const std::vector<Given>& arguments,
                                                          bool numbers_as_text) const {
  std::string name = "call";
  while (has_word(text_, name) || has_word(expression_, name))
    name += "_";
  auto made = std::make_shared<CompiledInstance>();
  std::string parameters, words;
  auto add = [](std::string& list, const std::string& text) { list += (list.empty() ? "" : ", ") + text; };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Given& own = arguments[i];
    const Declared* declared = own.declared;
    std::string parameter = declared ? declared->name : own.argument->name ? own.argument->name : fmt::format("a{}", i);
    const std::string before = own.argument->name ? parameter + " = " : "";
    const int kind = own.argument->kind;
    const bool is_text = numbers_as_text && (kind == TL_INT || kind == TL_BOOL) && !(declared && declared->is_closed);
    made->in_text += is_text ? '1' : '0';
    if (is_text) {
      add(words, before + literal(*own.argument));
      continue;
    }
    while (has_word(expression_, parameter)) // or it would hide what the expression names
      parameter += "_";
    add(parameters, parameter + ": " + (declared && declared->is_closed ? declared->type : own.type));
    add(words, before + parameter);
  }
  const std::string callee = is_path(expression_) ? expression_ : "(" + expression_ + ")";
  const std::string call = fmt::format("\nexport fn {}({}) = {}({})\n", name, parameters, callee, words);

  const std::map<std::string, std::string> held = session_.texts(source_);
  const RunFlags flags = session_.flags();
  on_deep_stack([&] {
    Frontend frontend;
    frontend.name = source_;
    frontend.text = text_ + call;
    frontend.held = &held;
    frontend.is_called = true;
    made->own_end = text_.size();
    frontend.restart();
    const typed::Program typed = check_source(frontend, false, name);
    std::optional<ir::Module> module;
    if (!frontend.diagnostics.has_errors()) module = lower_source(frontend, typed, flags);
    if (!module) {
      Error error = error_of(kRejected, frontend.diagnostics, frontend.sources, frontend.file, made->own_end);
      if (error.kind == "WrongArguments" && error.file.empty()) { // of the call itself
        error.status = kUsage;
        error.kind = kWrongType;
      }
      throw Failed(said_of(std::move(error), name));
    }
    made->name = name;
    made->executable = make_executable(optimise(std::move(*module), flags), flags);
    made->own_sources = std::move(frontend.sources);
    made->main = frontend.file;
  });
  made->program = &made->executable.program;
  made->kernels = made->executable.kernels.get();
  made->sources = &made->own_sources;
  made->set_interface(made->program->interface);
  return made;
}

std::shared_ptr<const Instance> CompiledFunction::instance(const std::vector<Given>& arguments) {
  std::string key;
  for (const Given& own : arguments) {
    if (own.argument->name) key += own.declared ? own.declared->name : std::string(own.argument->name);
    key += ':';
    // A closed type is what it is, whatever comes; a wrong argument is found when it is converted.
    if (!own.declared || !own.declared->is_closed) key += own.type;
    key += ';';
  }
  std::string with_numbers; // the key of the instance that has them in its text
  auto add_numbers = [&] {
    with_numbers = key;
    for (const Given& own : arguments)
      if (own.argument->kind == TL_INT || own.argument->kind == TL_BOOL)
        with_numbers += fmt::format("{}|", own.argument->as.integer);
  };
  {
    std::shared_lock lock(mutex_);
    if (auto it = instances_.find(key); it != instances_.end()) {
      if (it->second) return it->second;
      add_numbers();
      if (auto other = instances_.find(with_numbers); other != instances_.end()) return other->second;
    }
  }
  std::unique_lock lock(mutex_); // what is called meanwhile waits: it may be the same
  if (auto it = instances_.find(key); it == instances_.end()) {
    try {
      return instances_[key] = compile(arguments, false);
    } catch (const Failed&) {
      // An integer may have to be known when compiling (an axis), or be a literal that takes another type.
      const bool has_open_number = std::any_of(arguments.begin(), arguments.end(), [](const Given& own) {
        return (own.argument->kind == TL_INT || own.argument->kind == TL_BOOL) &&
               !(own.declared && own.declared->is_closed);
      });
      if (!has_open_number) throw;
      add_numbers();
      std::shared_ptr<const Instance> made;
      try {
        made = compile(arguments, true);
      } catch (const Failed&) { // what was wrong at first is what is said
        made = nullptr;
      }
      if (!made) throw;
      instances_[key] = nullptr; // from now on their numbers are looked at
      return instances_[with_numbers] = std::move(made);
    }
  } else if (it->second) {
    return it->second;
  }
  if (with_numbers.empty()) add_numbers();
  if (auto it = instances_.find(with_numbers); it != instances_.end() && it->second) return it->second;
  return instances_[with_numbers] = compile(arguments, true);
}

} // namespace tl::api
