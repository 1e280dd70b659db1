#include "completion.h"
#include "abi/scalar_op.h"
#include "compiler/programs.h"
#include "lang/typed.h"
#include "parser/doc/library.h"
#include "parser/syntax/cursor.h"
#include <algorithm>
#include <optional>
#include <set>

namespace tl::cli {
namespace {

using compiler::Session;

struct Found {
  std::string_view word;
  std::vector<std::string> texts;
  void consider(std::string_view name) {
    if (name.starts_with(word) && name != word) texts.emplace_back(name);
  }
};

void add_files(std::string_view typed, bool only_programs, Found& found) {
  for (const std::string& name : compiler::files_beginning(typed, only_programs))
    found.consider(name);
}

// Nothing where the path does not lead to a struct.
const ValueInfo* value_at(const ValueInfo& value, std::string_view path) {
  const ValueInfo* at = &value;
  while (!path.empty()) {
    path.remove_prefix(1); // the dot
    const std::string_view name = path.substr(0, path.find('.'));
    path.remove_prefix(name.size());
    auto it = std::find(at->names.begin(), at->names.end(), name);
    if (it == at->names.end()) return nullptr;
    at = &at->parts[static_cast<size_t>(it - at->names.begin())];
  }
  return at;
}

void add_names(const Session& session, Found& found) {
  for (std::string_view name : kKeywords)
    found.consider(name);
  for (const std::string& name : session.names())
    if (!is_inner(name)) found.consider(name);
  for (int i = 0; i < kBuiltinCount; ++i)
    if (!is_inner(kBuiltins[i].name)) found.consider(kBuiltins[i].name);
  for (int i = 0; i < kScalarOpCount; ++i)
    found.consider(kScalarOps[i].name);
}

// The name that a module of the library has in it, whatever the program calls it.
std::string own_name(const Session& session, const std::string& module) {
  const std::map<std::string, std::string> modules = session.library_modules();
  auto at = modules.find(module);
  return at == modules.end() ? module : at->second;
}

// Behind a dot: what a module has, or the fields of a value and the functions that may take it.
void add_members(const Session& session, std::string_view word, Found& found) {
  const size_t dot = word.rfind('.'), first_dot = word.find('.');
  const std::string base(word.substr(0, dot)), root(word.substr(0, first_dot));
  const std::string own = own_name(session, base);
  for (const DocumentedModule& module : documented_library())
    if (module.name == own)
      for (const Documented& function : module.functions)
        if (!is_inner(function.name)) found.consider(base + function.name.substr(own.size()));
  for (const Documented& entry : session.declared())
    if (entry.name.starts_with(base + ".")) found.consider(entry.name);
  if (!found.texts.empty()) return;
  const auto bound = session.bound(root);
  if (bound)
    if (const ValueInfo* value = value_at(bound->value, std::string_view(base).substr(root.size())))
      for (const std::string& name : value->names)
        found.consider(base + "." + name);
  if (!found.texts.empty()) return; // functions would bury them
  Found methods{word.substr(dot + 1), {}};
  if (methods.word.empty()) return;
  add_names(session, methods);
  for (const std::string& name : methods.texts)
    if (name.find('.') == std::string::npos) found.texts.push_back(base + "." + name);
}

// The names of arguments that a call may have, and does not have yet: `axis = `.
void add_arguments(const Session& session, std::string_view before, size_t bracket, Found& found) {
  const size_t begin = word_begin(before.substr(0, bracket), true);
  std::string callee(before.substr(begin, bracket - begin));
  if (callee.empty()) return;
  if (const size_t dot = callee.find('.'); dot != std::string::npos)
    callee.replace(0, dot, own_name(session, callee.substr(0, dot)));
  const std::string_view given = before.substr(bracket + 1);
  const std::string method = callee.substr(callee.rfind('.') + 1);
  std::set<std::string> names;
  auto consider = [&](const Documented& entry) {
    if (entry.name != callee && entry.name != method) return;
    for (const std::string& signature : entry.signatures)
      for (std::string& name : parameter_names(signature))
        names.insert(std::move(name));
  };
  for (const Documented& entry : session.declared())
    consider(entry);
  if (names.empty())
    for (const DocumentedModule& module : documented_library())
      std::for_each(module.functions.begin(), module.functions.end(), consider);
  for (const std::string& name : names)
    if (given.find(name + " =") == std::string_view::npos && given.find(name + "=") == std::string_view::npos)
      found.consider(name + " = ");
}

editor::Completion sorted(size_t begin, Found found) {
  std::sort(found.texts.begin(), found.texts.end());
  found.texts.erase(std::unique(found.texts.begin(), found.texts.end()), found.texts.end());
  return {begin, std::move(found.texts)};
}

// The commands, and what behind one of them is a file.
std::optional<editor::Completion> complete_command(const std::vector<LineCommand>& commands, std::string_view before) {
  if (before.empty() || before[0] != ':') return std::nullopt;
  const size_t blank = before.find(' ');
  Found found{before, {}};
  if (blank == std::string_view::npos) {
    for (const LineCommand& command : commands)
      found.consider(std::string(command.name) + (command.argument.empty() ? "" : " "));
    return sorted(0, std::move(found));
  }
  for (const LineCommand& command : commands)
    if (command.name == before.substr(0, blank) && command.argument.find("FILE") != std::string_view::npos) {
      const size_t begin = std::min(before.find_first_not_of(' ', blank), before.size());
      found.word = before.substr(begin);
      add_files(found.word, command.name != ":save", found);
      return sorted(begin, std::move(found));
    }
  return std::nullopt;
}

} // namespace

std::vector<std::string> parameter_names(std::string_view signature) {
  std::vector<std::string> names;
  const bool is_struct = signature.starts_with("struct ");
  size_t at = is_struct ? signature.find('{') : 0;
  for (int angles = 0; !is_struct && at < signature.size(); ++at) {
    if (signature[at] == '<') ++angles;
    if (signature[at] == '>') --angles;
    if (signature[at] == '(' && angles == 0) break;
  }
  if (at >= signature.size()) return names;
  int depth = 0;
  bool is_begin = true;
  for (++at; at < signature.size() && depth >= 0; ++at) {
    const char c = signature[at];
    if (c == '#') at = std::min(signature.find('\n', at), signature.size() - 1);
    if (c == '(' || c == '[' || c == '{' || (c == '<')) ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && signature[at - 1] != '-')) --depth;
    if (depth == 0 && (c == ',' || c == ';' || c == '\n' || c == '#')) is_begin = true;
    if (!is_begin || !is_word(c)) continue;
    size_t end = at;
    while (end < signature.size() && is_word(signature[end]))
      ++end;
    std::string name(signature.substr(at, end - at));
    if (name == "state") { // of a field
      at = end - 1;
      continue;
    }
    names.push_back(std::move(name));
    is_begin = false;
    at = end - 1;
  }
  return names;
}

editor::Completion complete(const Session& session, const std::vector<LineCommand>& commands, const std::string& text,
                            size_t cursor) {
  const std::string_view before = std::string_view(text).substr(0, cursor);
  if (auto completion = complete_command(commands, before)) return *completion;
  const Around around = around_end(before);
  if (around.quote) {
    Found found{before.substr(*around.quote + 1), {}};
    add_files(found.word, follows_import(before.substr(0, *around.quote)), found);
    return sorted(*around.quote + 1, std::move(found));
  }
  const size_t begin = word_begin(before, true);
  Found found{before.substr(begin), {}};
  if (follows_import(before.substr(0, begin))) {
    for (const DocumentedModule& module : documented_library())
      if (module.name != "prelude") found.consider(module.name);
    return sorted(begin, std::move(found));
  }
  if (found.word.find('.') != std::string_view::npos) {
    add_members(session, found.word, found);
  } else {
    const size_t last = before.substr(0, begin).find_last_not_of(" \t\n");
    const bool begins_argument = around.call && (before[last] == '(' || before[last] == ',');
    if (begins_argument) add_arguments(session, before, *around.call, found);
    if (found.texts.empty() && !found.word.empty()) add_names(session, found);
  }
  return sorted(begin, std::move(found));
}

} // namespace tl::cli
