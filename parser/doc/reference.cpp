#include "parser/doc/reference.h"
#include "abi/scalar_op.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace tl {
namespace {

// "E is V", "E is about V", or E alone.
Example read_example(std::string_view text) {
  size_t is = text.rfind(" is ");
  if (is == std::string_view::npos) return {std::string(text), {}, false};
  std::string_view value = text.substr(is + 4);
  bool about = value.starts_with("about ");
  return {std::string(text.substr(0, is)), std::string(value.substr(about ? 6 : 0)), about};
}

// The text between backticks at the front, which is taken off.
std::optional<std::string> quoted(std::string_view& text) {
  if (!text.starts_with('`')) return std::nullopt;
  size_t end = text.find('`', 1);
  if (end == std::string_view::npos) return std::nullopt;
  std::string inside(text.substr(1, end - 1));
  text.remove_prefix(end + 1);
  return inside;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// All of "`E` is `V`", "`E` is about V" and "`E` passes" in a comment. Line breaks are blanks.
std::vector<Example> examples_in(std::string doc) {
  std::replace(doc.begin(), doc.end(), '\n', ' ');
  std::vector<Example> found;
  std::string_view rest = doc;
  while (true) {
    size_t tick = rest.find('`');
    if (tick == std::string_view::npos) return found;
    rest.remove_prefix(tick);
    std::optional<std::string> code = quoted(rest);
    if (!code) return found;
    if (take(rest, " passes")) {
      found.push_back({*code, {}, false});
    } else if (take(rest, " is ")) {
      bool about = take(rest, "about ");
      std::optional<std::string> value = quoted(rest);
      if (!value) { // a number without backticks, to the end of the sentence
        value = std::string(rest.substr(0, rest.find(' ')));
        while (!value->empty() && (value->back() == '.' || value->back() == ','))
          value->pop_back();
        if (value->empty() || value->find_first_not_of("0123456789.e+-") != std::string::npos) continue;
      }
      found.push_back({*code, *value, about});
    }
  }
}

// How an elementwise operation is written: its symbol, or "" for a function.
std::string_view symbol(ScalarOp op) {
  switch (op) {
  case ScalarOp::Not: return "not";
  case ScalarOp::Add: return "+";
  case ScalarOp::Sub: return "-";
  case ScalarOp::Mul: return "*";
  case ScalarOp::Div: return "/";
  case ScalarOp::FloorDiv: return "//";
  case ScalarOp::Mod: return "%";
  case ScalarOp::And: return "and";
  case ScalarOp::Or: return "or";
  case ScalarOp::Eq: return "==";
  case ScalarOp::Ne: return "!=";
  case ScalarOp::Lt: return "<";
  case ScalarOp::Le: return "<=";
  case ScalarOp::Gt: return ">";
  case ScalarOp::Ge: return ">=";
  default: return "";
  }
}

std::string elementwise_signature(ScalarOp op) {
  const ScalarOpInfo& row = info(op);
  std::string_view symbol_text = symbol(op);
  const auto call = [&](std::string_view bound, std::string_view parameters, std::string_view result) {
    return fmt::format("{}{}({}) -> {}", row.name, bound, parameters, result);
  };
  std::string_view bound, element = "T", result = "T[..s]";
  switch (row.rule) {
  case TypeRule::NumSame: bound = "<T: num>"; break;
  case TypeRule::FloatSame: bound = "<T: float>"; break;
  case TypeRule::IntSame: bound = "<T: int>"; break;
  case TypeRule::EqBool: bound = "<T: any>", result = "bool[..s]"; break;
  case TypeRule::OrdBool: bound = "<T: num>", result = "bool[..s]"; break;
  case TypeRule::FloatBool: bound = "<T: float>", result = "bool[..s]"; break;
  case TypeRule::BoolSame: element = "bool", result = "bool[..s]"; break;
  case TypeRule::Select: return call("<T: any>", "c: bool[..s], a: T[..s], b: T[..s]", "T[..s]");
  case TypeRule::Bits: return call("", "k: key[..s], i: i64[..s]", "i64[..s]");
  case TypeRule::KeyFold: return call("", "k: key[..s], i: i64[..s]", "key[..s]");
  }
  if (!symbol_text.empty())
    return row.arity == 1 ? fmt::format("{} x: {}[..s] -> {}", symbol_text, element, result)
                          : fmt::format("x: {0}[..s] {1} y: {0}[..s] -> {2}", element, symbol_text, result);
  static constexpr std::string_view kNames[][3] = {{"x"}, {"x", "y"}, {"x", "lo", "hi"}};
  std::string parameters;
  for (int i = 0; i < row.arity; ++i)
    parameters +=
        fmt::format("{}{}: {}[..s]", i ? ", " : "", kNames[row.arity - 1][op == ScalarOp::Atan2 ? 1 - i : i], element);
  return call(bound, parameters, result);
}

} // namespace

std::string on_one_line(const std::string& text) {
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      line += text[i];
      continue;
    }
    const size_t next = text.find_first_not_of(" \n", i);
    if (next == std::string::npos) break;
    const bool closes = text[next] == ')' || text[next] == ']';
    if (closes && line.ends_with(','))
      line.pop_back();
    else if (!closes && text[next] != '.' && !line.ends_with('(') && !line.ends_with('['))
      line += ' ';
    i = next - 1;
  }
  return line;
}

std::string signature_text(std::string_view text) {
  take(text, "export ");
  take(text, "fn ");
  int depth = 0;
  bool past_name = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '(' || c == '[') past_name = true;
    if (c == '(' || c == '[' || (c == '<' && !past_name)) ++depth;
    if (c == ')' || c == ']' || (c == '>' && depth > 0 && !past_name)) --depth;
    if (depth == 0 && (c == '{' || c == '=')) {
      text = text.substr(0, i);
      break;
    }
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n'))
    text.remove_suffix(1);
  std::string signature(text);
  if (size_t bare = signature.find(", .., "); bare != std::string::npos) signature.erase(bare, 4);
  if (size_t bare = signature.find("(.., "); bare != std::string::npos) signature.erase(bare + 1, 4);
  return signature;
}

std::vector<Documented> documented_structs(const std::string& module, const ast::File& file,
                                           const SourceManager& sources) {
  const std::string prefix = module == "prelude" ? "" : module + ".";
  std::vector<Documented> all;
  for (const ast::Stmt* statement : file.statements) {
    const auto* structure = ast::as<ast::Struct>(statement);
    if (!structure) continue;
    std::string_view text = sources.text(statement->span);
    take(text, "struct ");
    Documented entry{prefix + structure->name.text, {"struct " + prefix + std::string(text)}, structure->doc, {}};
    std::vector<std::string> state;
    for (const ast::StructField& field : structure->fields) {
      if (!field.doc.empty()) entry.doc += fmt::format("\n{}: {}", field.name.text, field.doc);
      if (field.is_state) state.push_back(field.name.text);
    }
    if (!state.empty())
      entry.doc += fmt::format("\nNot trained, but carried along (`state`): {}.", fmt::join(state, ", "));
    all.push_back(std::move(entry));
  }
  return all;
}

std::vector<Documented> documented(const std::string& module, const ast::File& file, const SourceManager& sources) {
  const std::string prefix = module == "prelude" ? "" : module + ".";
  std::vector<Documented> all;
  auto is_here = [&](std::string_view name) {
    return prefix.empty() ? name.find('.') == std::string_view::npos : name.starts_with(prefix);
  };
#define TL_ELEMENTWISE(Enum, name, arity, Rule, lo, hi, ulp, doc, example)                                             \
  if (is_here(name)) all.push_back({name, {elementwise_signature(ScalarOp::Enum)}, doc, {read_example(example)}});
#include "abi/ops.def"
  std::vector<Documented> declared = documented_functions(module, file, sources);
  std::move(declared.begin(), declared.end(), std::back_inserter(all));
  return all;
}

std::vector<Documented> documented_functions(const std::string& module, const ast::File& file,
                                             const SourceManager& sources) {
  const std::string prefix = module == "prelude" ? "" : module + ".";
  std::vector<Documented> all;
  for (const ast::Stmt* statement : file.statements) {
    const auto* function = ast::as<ast::Function>(statement);
    if (!function) continue;
    const std::string name = prefix + function->name.text;
    auto entry = std::find_if(all.begin(), all.end(), [&](const Documented& d) { return d.name == name; });
    if (entry == all.end()) entry = all.insert(all.end(), Documented{name, {}, {}, {}});
    entry->signatures.push_back(prefix + signature_text(sources.text(statement->span)));
    if (function->doc.empty()) continue;
    if (!entry->doc.empty()) entry->doc += '\n';
    entry->doc += function->doc;
    for (Example& example : examples_in(function->doc))
      entry->examples.push_back(std::move(example));
  }
  return all;
}

} // namespace tl
