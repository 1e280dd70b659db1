#include "package.h"
#include "compiler/declarations.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tl::cli {

std::optional<BuildProgram> exported_program(Frontend& frontend, const std::string& function, const RunFlags& flags) {
  frontend.restart();
  typed::Program typed = check_source(frontend, false, function);
  std::optional<ir::Module> module;
  if (!frontend.diagnostics.has_errors()) module = lower_source(frontend, typed, flags);
  if (!module) return std::nullopt;
  module = optimise(std::move(*module), flags);
  Scheduled scheduled = schedule(*module);
  std::vector<kir::Kernel> kernels = kernels_of(*module, scheduled);
  return BuildProgram{std::move(scheduled.program), std::move(kernels)};
}

namespace {

class Packager {
public:
  Packager(const Frontend& whole, const RunFlags& flags) : whole_(whole), flags_(flags) {
    for (const ast::Stmt* statement : whole.tree.statements)
      if (const auto* record = ast::as<ast::Struct>(statement))
        structs_.push_back(declaration_of(whole.sources, *record));
    for (Declaration& declaration : imported_structs(whole))
      structs_.push_back(std::move(declaration));
    while (whole.text.find(word_) != std::string::npos)
      word_ += "_";
  }

  bool add_function(const ast::Function& function) {
    Declaration declaration = declaration_of(whole_.sources, function);
    Frontend frontend;
    set(frontend, "");
    std::optional<BuildProgram> program = exported_program(frontend, declaration.name, flags_);
    if (!program) {
      show(frontend.diagnostics, frontend.sources);
      return false;
    }
    if (program->program.interface.value) add_structs(*program->program.interface.value);
    for (Declared& parameter : declaration.parameters) {
      // A default may be any expression. One that is none outside of its function is the caller's to give.
      if (parameter.has_default)
        parameter.has_default =
            add(fmt::format("{}({})", declaration.name, parameter.name),
                fmt::format("() {{\n  let value: {} = {}\n  value\n}}", open(parameter.type), parameter.default_value));
      add_type(parameter.type);
    }
    result_.calls.push_back({declaration.name, declaration.name, static_cast<uint32_t>(result_.programs.size())});
    result_.programs.push_back(std::move(*program));
    result_.declarations.push_back(std::move(declaration));
    return true;
  }

  PackagePrograms take() { return std::move(result_); }

private:
  // The program with a function of ours behind it.
  void set(Frontend& frontend, const std::string& more) const {
    frontend.name = whole_.name;
    frontend.text = whole_.text + more;
    frontend.is_called = true;
  }
  std::string function(const std::string& rest) const { return fmt::format("\nexport fn {}{}\n", word_, rest); }

  // A type with sizes that a `let` leaves open: "f32[n, 3]" -> "f32[_, _]", as python/module/arguments.cpp has it.
  static std::string open(const std::string& type) {
    std::string out;
    for (size_t i = 0; i < type.size(); ++i) {
      out += type[i];
      if (type[i] != '[') continue;
      int depth = 1;
      std::string sizes = "_";
      while (++i < type.size() && depth) {
        depth += type[i] == '[' || type[i] == '(';
        depth -= type[i] == ']' || type[i] == ')';
        if (depth == 1 && type[i] == ',') sizes += ", _";
      }
      --i;
      out += sizes + "]";
    }
    return out;
  }

  // What `rest`, the parameters and the body of a function, makes of `expression`; false where it is no program.
  bool add(const std::string& expression, const std::string& rest) {
    Frontend frontend;
    set(frontend, function(rest));
    std::optional<BuildProgram> program = exported_program(frontend, word_, flags_);
    if (!program) return false;
    result_.calls.push_back({expression, word_, static_cast<uint32_t>(result_.programs.size())});
    result_.programs.push_back(std::move(*program));
    return true;
  }

  // What a package evaluates for arguments of a type as the program writes it: lists without elements, seeds of keys in
  // lists. And the structs in it: the checker knows which.
  void add_type(const std::string& type) {
    if (type.empty() || !types_.insert(type).second) return;
    for (size_t at = type.find("List<"); at != std::string::npos; at = type.find("List<", at + 1)) {
      int depth = 0;
      size_t end = at + 4;
      do
        depth += (type[end] == '<') - (type[end] == '>');
      while (depth > 0 && ++end < type.size());
      const std::string list = open(type.substr(at, end + 1 - at));
      if (!types_.insert("list " + list).second) continue;
      add(fmt::format("|| {{ let xs: {} = list(); xs }}", list),
          fmt::format("() {{\n  let xs: {} = list()\n  xs\n}}", list));
      if (list == "List<key>") add("key", "(seed: i64) = key(seed)");
    }
    Frontend frontend;
    set(frontend, function(fmt::format("(value: {}) = value", type)));
    frontend.restart();
    const typed::Program typed = check_source(frontend, false, word_);
    if (!frontend.diagnostics.has_errors() && typed.interface.value) add_structs(*typed.interface.value);
  }

  void add_structs(const ValueInfo& info) {
    for (const ValueInfo& part : info.parts)
      add_structs(part);
    if (info.kind != ValueInfo::Kind::Struct || !types_.insert("struct " + info.type).second) return;
    const std::string name = info.type.substr(0, info.type.find_first_of("<["));
    const auto declared =
        std::find_if(structs_.begin(), structs_.end(), [&](const Declaration& one) { return one.name == name; });
    if (declared == structs_.end()) return; // it has no name in this program
    std::string parameters, fields;
    for (size_t i = 0; i < info.parts.size(); ++i) {
      const Declared& field = declared->parameters.at(i);
      auto append = [](std::string& list, const std::string& text) { list += (list.empty() ? "" : ", ") + text; };
      append(parameters, fmt::format("{}: {}", field.name, field.is_closed ? field.type : info.parts[i].type));
      append(fields, fmt::format("{0} = {0}", field.name));
      if (field.type.find("List<") != std::string::npos) add_type(field.type);
    }
    if (!add(name, fmt::format("({}) = {}({})", parameters, name, fields))) return;
    // As class Struct of the package asks for them (python/tl/_program.py).
    add(fmt::format("|path: str| {{ let value: {} = load(path); value }}", name),
        fmt::format("(path: str) {{\n  let value: {} = load(path)\n  value\n}}", info.type));
    add("|value, path: str| save(path, value)",
        fmt::format("(value: {}, path: str) {{\n  save(path, value)\n}}", info.type));
    if (std::none_of(result_.declarations.begin(), result_.declarations.end(),
                     [&](const Declaration& one) { return one.is_struct && one.name == name; }))
      result_.declarations.push_back(*declared);
  }

  const Frontend& whole_;
  const RunFlags& flags_;
  std::vector<Declaration> structs_;
  std::string word_ = "call"; // that the program does not have
  std::set<std::string> types_;
  PackagePrograms result_;
};

} // namespace

std::optional<PackagePrograms> package_of(const Frontend& whole, const std::vector<const ast::Function*>& exported,
                                          const RunFlags& flags) {
  Packager packager(whole, flags);
  for (const ast::Function* function : exported)
    if (!packager.add_function(*function)) return std::nullopt;
  return packager.take();
}

} // namespace tl::cli
