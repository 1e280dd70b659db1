#include "importers/onnx/blocks.h"
#include "importers/onnx/importer.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string_view>

namespace tl::onnx {
namespace {

constexpr size_t kMostLines = 8000, kLongestBlock = 400, kShortestBlock = 5, kLeastSaved = 10;
constexpr int kMostFunctions = 16;

struct Token {
  enum class Kind : uint8_t { Text, Name, Weight };
  Kind kind = Kind::Text;
  std::string text;
};

struct Line {
  std::string text; // with its comment
  std::vector<Token> tokens;
  std::vector<std::string> defined;
  bool is_plain = false; // a `let` that may stand in a function
  size_t form = 0;       // equal for lines that are alike but for names
};

// `let name =` and `let (name, name): (f32, f32) =`.
std::vector<std::string> names_defined(const std::string& line) {
  std::vector<std::string> names;
  if (!line.starts_with("let ")) return names;
  const std::string_view left = std::string_view(line).substr(0, line.find_first_of("=:"));
  for (size_t i = 4; i < left.size(); ++i) {
    size_t end = i;
    while (end < left.size() && is_word(left[end]))
      ++end;
    if (end > i && left.substr(i, end - i) != "_") names.emplace_back(left.substr(i, end - i));
    i = end;
  }
  return names;
}

// A line without names that nothing reads; nothing: it is not needed.
std::optional<std::string> with_read_names(std::string line, const std::set<std::string>& read) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::vector<std::string> names = names_defined(line.substr(indent));
  const std::string_view code = std::string_view(line).substr(0, line.find("  # "));
  auto count = [&](char c) { return std::count(code.begin(), code.end(), c); };
  const bool is_whole = count('(') == count(')') && count('[') == count(']') && count('{') == count('}');
  const bool is_read = std::any_of(names.begin(), names.end(), [&](const std::string& n) { return read.contains(n); });
  if (names.empty() || !is_whole) return line;
  if (!is_read) return std::nullopt;
  const bool is_tuple = std::string_view(line).substr(indent).starts_with("let (");
  for (size_t at = indent + 5; const std::string& name : names) {
    if (!is_tuple) break;
    while (is_word(line[at - 1]) || std::string_view(line).substr(at, name.size()) != name ||
           is_word(line[at + name.size()]))
      ++at;
    const bool is_named = read.contains(name);
    if (!is_named) line.replace(at, name.size(), "_");
    at += is_named ? name.size() : 1;
  }
  return line;
}

// Without its comment.
std::vector<Token> tokens_of(const std::string& line, const std::set<std::string>& names) {
  std::vector<Token> tokens;
  auto add_text = [&](std::string_view text) {
    if (tokens.empty() || tokens.back().kind != Token::Kind::Text) tokens.push_back({Token::Kind::Text, ""});
    tokens.back().text += text;
  };
  int depth = 0;
  for (size_t i = 0; i < line.size();) {
    if (line[i] == '"') {
      size_t end = i + 1;
      while (end < line.size() && line[end] != '"')
        end += line[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, line.size());
      add_text(std::string_view(line).substr(i, end - i));
      i = end;
      continue;
    }
    if (std::string_view(line).substr(i).starts_with("  # ")) break;
    if (!is_word(line[i])) {
      depth += line[i] == '(' || line[i] == '[' ? 1 : line[i] == ')' || line[i] == ']' ? -1 : 0;
      add_text(std::string_view(line).substr(i++, 1));
      continue;
    }
    size_t end = i;
    while (end < line.size() && is_word(line[end]))
      ++end;
    const std::string word = line.substr(i, end - i);
    const bool is_field = i > 0 && line[i - 1] == '.';
    if (word == "w" && !is_field && end < line.size() && line[end] == '.') {
      size_t last = end + 1;
      while (last < line.size() && is_word(line[last]))
        ++last;
      tokens.push_back({Token::Kind::Weight, line.substr(end + 1, last - end - 1)});
      i = last;
      continue;
    }
    const bool is_argument = depth > 0 && std::string_view(line).substr(end).starts_with(" = "); // by name
    if (!is_field && !is_argument && names.contains(word))
      tokens.push_back({Token::Kind::Name, word});
    else
      add_text(word);
    i = end;
  }
  return tokens;
}

struct Block {
  std::string form; // equal for blocks that differ in names alone
  std::vector<std::string> free, weights, defined;
};

class Finder {
public:
  Finder(Statements& statements, const std::function<std::string(const std::string&)>& fresh_name)
      : given_(statements), fresh_name_(fresh_name) {
    std::set<std::string> names;
    for (const auto& [name, type] : given_.types)
      names.insert(name);
    for (const std::string& line : given_.lines)
      for (const std::string& name : names_defined(line))
        names.insert(name);
    for (const std::string& line : given_.lines)
      lines_.push_back(line_of(line, names));
    Line last;
    last.tokens = tokens_of(given_.results, names);
    results_ = std::move(last);
  }

  Functions run() {
    for (int k = 0; k < kMostFunctions && lines_.size() <= kMostLines && replace_one(); ++k) {
    }
    for (Line& line : lines_)
      made_.lines.push_back(std::move(line.text));
    return std::move(made_);
  }

private:
  struct Choice {
    size_t first = 0, length = 0, count = 0;
    size_t saved() const { return count < 2 ? 0 : (count - 1) * length; }
  };

  Line line_of(const std::string& text, const std::set<std::string>& names) {
    Line line;
    line.text = text;
    line.defined = names_defined(text);
    line.tokens = tokens_of(text, names);
    const auto has = [&](const char* what) { return text.find(what) != std::string::npos; };
    line.is_plain = !line.defined.empty() && !has("\n") && !has("|") && !has(" for ") && !has(": List");
    std::string form;
    for (const Token& token : line.tokens) {
      if (token.kind == Token::Kind::Text)
        form += token.text;
      else
        form += token.kind == Token::Kind::Name ? "$" : "%" + given_.weights[token.text];
    }
    if (!line.is_plain) form = fmt::format("#{}", lines_.size()); // like no other
    line.form = forms_.emplace(form, forms_.size()).first->second;
    return line;
  }

  Block block(size_t first, size_t length) const {
    Block result;
    std::map<std::string, std::string> known, fields;
    for (size_t i = first; i < first + length; ++i) {
      for (const std::string& name : lines_[i].defined) {
        known[name] = fmt::format("L{}", result.defined.size());
        result.defined.push_back(name);
      }
      for (const Token& token : lines_[i].tokens) {
        if (token.kind == Token::Kind::Text) {
          result.form += token.text;
          continue;
        }
        const bool is_weight = token.kind == Token::Kind::Weight;
        auto [at, is_new] = (is_weight ? fields : known).try_emplace(token.text);
        if (is_new) {
          std::vector<std::string>& among = is_weight ? result.weights : result.free;
          const auto& types = is_weight ? given_.weights : given_.types;
          const auto type = types.find(token.text);
          at->second = fmt::format("{}{}:{}", is_weight ? "W" : "F", among.size(),
                                   type == types.end() ? "?" + token.text : type->second);
          among.push_back(token.text);
        }
        result.form += "`" + at->second + "`";
      }
      result.form += "\n";
    }
    return result;
  }

  // Which values of a block are read behind it, by their positions among those that it defines.
  std::set<size_t> read_behind(const Block& block, size_t end) const {
    std::set<size_t> result;
    std::map<std::string, size_t> position;
    for (size_t i = 0; i < block.defined.size(); ++i)
      position[block.defined[i]] = i;
    auto look = [&](const Line& line) {
      for (const Token& token : line.tokens)
        if (token.kind == Token::Kind::Name)
          if (auto at = position.find(token.text); at != position.end()) result.insert(at->second);
    };
    for (size_t i = end; i < lines_.size(); ++i)
      look(lines_[i]);
    look(results_);
    return result;
  }

  // The most that can be saved.
  std::optional<Choice> best() {
    Choice best;
    for (size_t length = kShortestBlock; length <= std::min(kLongestBlock, lines_.size() / 2); ++length) {
      size_t alike = 0;
      for (size_t i = 0; i + length <= lines_.size(); ++i) {
        const bool same = i + length < lines_.size() && lines_[i].form == lines_[i + length].form;
        if (same) {
          ++alike;
          continue;
        }
        const Choice choice{i - alike, length, alike / length + 1};
        if (alike >= length && choice.saved() >= kLeastSaved && choice.saved() > best.saved() &&
            !refused_.contains({choice.first, choice.length}))
          best = choice;
        alike = 0;
      }
    }
    return best.count ? std::optional(best) : std::nullopt;
  }

  bool replace_one() {
    while (const std::optional<Choice> choice = best()) {
      if (replace(*choice)) return true;
      if (refused_.size() > 64) return false;
      refused_.insert({choice->first, choice->length});
    }
    return false;
  }

  // Of the places where the blocks may begin, that with the fewest values going in and out.
  bool replace(const Choice& choice) {
    const size_t n = choice.length;
    std::optional<std::pair<size_t, size_t>> found; // values, first line
    size_t count = 0;
    for (size_t turn = 0; turn < n; ++turn) {
      const size_t first = choice.first + turn;
      const Block one = block(first, n);
      size_t blocks = 1;
      std::set<size_t> out = read_behind(one, first + n);
      for (; first + (blocks + 1) * n <= lines_.size(); ++blocks) {
        const Block other = block(first + blocks * n, n);
        if (other.form != one.form) break;
        out.merge(read_behind(other, first + (blocks + 1) * n));
      }
      if (blocks < 2 || blocks < count) continue;
      const std::pair values{one.free.size() + 2 * out.size(), first};
      if (!found || blocks > count || values < *found) found = values;
      count = blocks;
    }
    return found && (count - 1) * n >= kLeastSaved && write(found->second, n, count);
  }

  static std::string prefix_of(const std::vector<std::string>& names) {
    if (names.empty()) return "";
    std::string prefix = names[0];
    for (const std::string& name : names)
      prefix.resize(static_cast<size_t>(std::mismatch(prefix.begin(), prefix.end(), name.begin(), name.end()).first -
                                        prefix.begin()));
    const size_t last = prefix.rfind('_');
    return last == std::string::npos ? "" : prefix.substr(0, last + 1);
  }

  bool write(size_t first, size_t n, size_t count) {
    std::vector<Block> blocks;
    std::set<size_t> out;
    for (size_t k = 0; k < count; ++k) {
      blocks.push_back(block(first + k * n, n));
      out.merge(read_behind(blocks.back(), first + (k + 1) * n));
    }
    const Block& one = blocks[0];
    if (out.empty()) return false;
    for (size_t at : out) {
      const auto type = given_.types.find(one.defined[at]);
      if (type == given_.types.end() || type->second == "i64") return false;
      for (const Block& other : blocks) {
        const auto its = given_.types.find(other.defined[at]);
        if (its == given_.types.end() || its->second != type->second) return false;
      }
    }
    for (const std::string& name : one.free)
      if (!given_.types.contains(name)) return false;
    // Weights that all blocks share are given; the others have to be a block's alone.
    std::vector<bool> is_shared(one.weights.size());
    std::map<std::string, std::set<size_t>> readers;
    for (size_t i = 0; i < lines_.size(); ++i)
      for (const Token& token : lines_[i].tokens)
        if (token.kind == Token::Kind::Weight)
          readers[token.text].insert(i >= first && i < first + count * n ? 1 + (i - first) / n : 0);
    for (size_t k = 0; k < one.weights.size(); ++k) {
      is_shared[k] =
          std::all_of(blocks.begin(), blocks.end(), [&](const Block& b) { return b.weights[k] == one.weights[k]; });
      for (const Block& b : blocks)
        if (!is_shared[k] && readers[b.weights[k]].size() != 1) return false;
    }
    // Names: what the weights of the first have in common, and without it.
    std::vector<std::string> own;
    for (size_t k = 0; k < one.weights.size(); ++k)
      if (!is_shared[k]) own.push_back(one.weights[k]);
    const std::string common = own.size() > 1 ? prefix_of(own) : "";
    std::string base = common;
    while (!base.empty() && (base.back() == '_' || std::isdigit(static_cast<unsigned char>(base.back()))))
      base.pop_back();
    if (base.empty()) base = "block";
    const std::string function = fresh_name_(base);
    std::string record = function;
    record[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(record[0])));
    std::map<std::string, std::string> names, fields; // in the function
    const std::string local = prefix_of(one.defined);
    for (const std::string& name : one.defined)
      names[name] = local.empty() ? name : fresh_name_(name.substr(local.size()));
    std::string members, parameters, results, types;
    std::set<std::string> bound;
    for (size_t k = 0; k < one.weights.size(); ++k) {
      if (is_shared[k]) continue;
      std::string field = one.weights[k].substr(common.size());
      if (field.empty() || is_reserved(field) || std::isdigit(static_cast<unsigned char>(field[0])))
        field = "w_" + field;
      for (const auto& [weight, other] : fields)
        if (other == field) return false;
      fields[one.weights[k]] = field;
      members += fmt::format("  {}: {},\n", field, given_.weights[one.weights[k]]);
    }
    if (!own.empty()) parameters = fmt::format("w: {}", record);
    auto add_parameter = [&](const std::string& name, const std::string& type) {
      parameters += fmt::format("{}{}: {}", parameters.empty() ? "" : ", ", name, type);
      for (const std::string& size : sizes_in(type))
        bound.insert(size);
    };
    for (const std::string& name : one.free)
      if (given_.types[name] != "i64") add_parameter(name, given_.types[name]);
    std::vector<size_t> given_sizes;
    for (size_t k = 0; k < one.free.size(); ++k) {
      if (given_.types[one.free[k]] != "i64") continue;
      bool is_bound = bound.contains(one.free[k]);
      for (const Block& other : blocks)
        is_bound &= other.free[k] == one.free[k];
      if (is_bound) continue;
      if (bound.contains(one.free[k])) return false; // once a size of a tensor, and once another one
      given_sizes.push_back(k);
    }
    for (size_t k : given_sizes)
      add_parameter(one.free[k], "i64");
    for (size_t k : given_sizes)
      bound.insert(one.free[k]);
    for (size_t k = 0; k < one.weights.size(); ++k) {
      if (!is_shared[k]) continue;
      const std::string name = fresh_name_(one.weights[k]);
      fields[one.weights[k]] = name;
      add_parameter(name, given_.weights[one.weights[k]]);
    }
    for (size_t at : out) {
      results += fmt::format("{}{}", results.empty() ? "" : ", ", names[one.defined[at]]);
      types += fmt::format("{}{}", types.empty() ? "" : ", ", result_type(given_.types[one.defined[at]], bound));
    }
    if (out.size() > 1) results = "(" + results + ")", types = "(" + types + ")";
    std::string body;
    for (size_t i = first; i < first + n; ++i) {
      for (const Token& token : lines_[i].tokens) {
        if (token.kind == Token::Kind::Weight) {
          const auto shared = std::find(own.begin(), own.end(), token.text) == own.end();
          body += (shared ? "" : "w.") + fields[token.text];
        } else {
          const auto renamed = names.find(token.text);
          body += token.kind == Token::Kind::Name && renamed != names.end() ? renamed->second : token.text;
        }
      }
      body += "\n";
    }
    if (!own.empty()) made_.text += fmt::format("struct {} {{\n{}}}\n\n", record, members);
    made_.text += fmt::format("fn {}({}) -> {} {{\n{}{}\n}}\n\n", function, parameters, types, body, results);
    // The calls.
    std::vector<Line> calls;
    for (size_t k = 0; k < count; ++k) {
      const Block& b = blocks[k];
      std::string arguments, left;
      if (!own.empty()) {
        const std::string field = fresh_name_(fmt::format("{}_{}", base, k + 1));
        made_.fields.push_back(fmt::format("{}: {}", field, record));
        arguments = "w." + field;
        for (size_t i = 0; i < b.weights.size(); ++i)
          if (!is_shared[i]) made_.renamed[b.weights[i]] = fmt::format("{}.{}", field, fields[one.weights[i]]);
      }
      auto add_argument = [&](const std::string& text) { arguments += (arguments.empty() ? "" : ", ") + text; };
      for (size_t i = 0; i < b.free.size(); ++i)
        if (given_.types[one.free[i]] != "i64") add_argument(b.free[i]);
      for (size_t i : given_sizes)
        add_argument(b.free[i]);
      for (size_t i = 0; i < b.weights.size(); ++i)
        if (is_shared[i]) add_argument("w." + b.weights[i]);
      for (size_t at : out)
        left += fmt::format("{}{}", left.empty() ? "" : ", ", b.defined[at]);
      Line call;
      call.text = fmt::format("let {} = {}({})", out.size() > 1 ? "(" + left + ")" : left, function, arguments);
      for (size_t at : out)
        call.defined.push_back(b.defined[at]);
      for (const std::string& name : b.free)
        call.tokens.push_back({Token::Kind::Name, name});
      for (size_t i = 0; i < b.weights.size(); ++i)
        if (is_shared[i]) call.tokens.push_back({Token::Kind::Weight, b.weights[i]});
      call.form = forms_.emplace(fmt::format("#call {}", forms_.size()), forms_.size()).first->second;
      calls.push_back(std::move(call));
    }
    const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(first);
    lines_.erase(begin, begin + static_cast<std::ptrdiff_t>(n * count));
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(first), std::make_move_iterator(calls.begin()),
                  std::make_move_iterator(calls.end()));
    refused_.clear();
    return true;
  }

  // Names in "f32[batch, 3, width]".
  static std::vector<std::string> sizes_in(const std::string& type) {
    std::vector<std::string> sizes;
    const size_t open = type.find('[');
    for (size_t i = open; i < type.size(); ++i) {
      size_t end = i;
      while (end < type.size() && is_word(type[end]))
        ++end;
      if (end > i && !std::isdigit(static_cast<unsigned char>(type[i])) && type.substr(i, end - i) != "_")
        sizes.push_back(type.substr(i, end - i));
      i = std::max(i, end);
    }
    return sizes;
  }

  // Sizes that no parameter has are left open.
  static std::string result_type(std::string type, const std::set<std::string>& bound) {
    const size_t open = type.find('[');
    if (open == std::string::npos) return type;
    std::string result = type.substr(0, open + 1);
    for (size_t i = open + 1; i < type.size();) {
      size_t end = i;
      while (end < type.size() && is_word(type[end]))
        ++end;
      if (end == i) {
        result += type[i++];
        continue;
      }
      const std::string size = type.substr(i, end - i);
      result += std::isdigit(static_cast<unsigned char>(size[0])) || bound.contains(size) ? size : "_";
      i = end;
    }
    return result;
  }

  Statements& given_;
  const std::function<std::string(const std::string&)>& fresh_name_;
  std::map<std::string, size_t> forms_;
  std::vector<Line> lines_;
  Line results_;
  std::set<std::pair<size_t, size_t>> refused_;
  Functions made_;
};

} // namespace

std::set<std::string> drop_unread(std::vector<std::string>& lines, const std::string& results) {
  std::set<std::string> read;
  auto note_words = [&](std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const size_t from = i;
      while (i < text.size() && is_word(text[i]))
        ++i;
      if (i > from) read.emplace(text.substr(from, i - from));
    }
  };
  note_words(results);
  std::vector<std::string> kept;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    std::vector<std::string> parts; // of a statement of more than one line, from the last on
    for (size_t end = line->size() + 1; end > 0;) {
      const size_t from = end < 2 ? std::string::npos : line->rfind('\n', end - 2);
      const size_t begin = from == std::string::npos ? 0 : from + 1;
      std::string part = line->substr(begin, end - 1 - begin);
      end = begin;
      if (const std::optional<std::string> left = with_read_names(part, read)) {
        note_words(std::string_view(*left).substr(0, left->find("  # ")));
        parts.push_back(*left);
      }
    }
    std::reverse(parts.begin(), parts.end());
    if (!parts.empty()) kept.push_back(fmt::format("{}", fmt::join(parts, "\n")));
  }
  lines.assign(kept.rbegin(), kept.rend());
  return read;
}

Functions with_functions(Statements statements, const std::function<std::string(const std::string&)>& fresh_name) {
  return Finder(statements, fresh_name).run();
}

} // namespace tl::onnx
