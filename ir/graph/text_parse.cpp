#include "abi/limits.h"
#include "ir/graph/op_info.h"
#include "ir/graph/text.h"
#include "ir/graph/text_scalar.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace tl::ir {
namespace {

struct Token {
  enum class Kind { End, Word, String, Value, Function, Punct } kind = Kind::End;
  std::string text; // words include numbers; values and functions come without % and @
  int line = 0;
  size_t quoted = 0; // how much of a function's name stood in quotes
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      line_ += text_[at_++] == '\n';
    Token token{Token::Kind::End, {}, line_};
    if (at_ >= text_.size()) return token;
    char c = text_[at_];
    if (c == '"') {
      token.kind = Token::Kind::String;
      token.text = string();
    } else if (c == '%') {
      ++at_;
      token.kind = Token::Kind::Value;
      token.text = word();
    } else if (c == '@') {
      ++at_;
      token.kind = Token::Kind::Function;
      if (at_ < text_.size() && text_[at_] == '"') {
        token.text = string();
        token.quoted = token.text.size();
        if (at_ < text_.size() && text_[at_] == '.') token.text += word(); // "name".3
      } else {
        token.text = word();
      }
    } else if (is_word(c) || (c == '-' && at_ + 1 < text_.size() && is_word(text_[at_ + 1]))) {
      token.kind = Token::Kind::Word;
      token.text = word();
    } else {
      token.kind = Token::Kind::Punct;
      token.text = std::string(1, c);
      ++at_;
    }
    return token;
  }

  size_t left() const { return text_.size() - at_ + 1; } // characters from the last token on

private:
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

  std::string word() {
    size_t begin = at_;
    auto in_word = [&](char c) {
      if (is_word(c)) return true;
      // signs at the front and in exponents: -1e-05
      return (c == '-' || c == '+') && (at_ == begin || (text_[at_ - 1] == 'e' && number_starts(begin)));
    };
    while (at_ < text_.size() && in_word(text_[at_]))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool number_starts(size_t at) const {
    if (text_[at] == '-') ++at;
    return std::isdigit(static_cast<unsigned char>(text_[at])) != 0;
  }

  std::string string() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      char c = text_[at_];
      if (c == '\n') ++line_;
      if (c != '\\' || at_ + 1 >= text_.size()) {
        out += c;
        continue;
      }
      c = text_[++at_];
      if (c == 'n')
        out += '\n';
      else if (c == 't')
        out += '\t';
      else if (c == 'x') {
        unsigned char code = 0;
        const char* first = text_.data() + at_ + 1;
        const char* last = first + std::min<size_t>(2, text_.size() - at_ - 1);
        if (std::from_chars(first, last, code, 16).ptr != first + 2)
          throw std::runtime_error(fmt::format("line {}: \\x is followed by two hexadecimal digits", line_));
        out += static_cast<char>(code);
        at_ += 2;
      } else
        out += c;
    }
    if (at_ >= text_.size()) throw std::runtime_error(fmt::format("line {}: a string does not end", line_));
    ++at_;
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

class Parser {
public:
  explicit Parser(std::string_view text) : lexer_(text) { token_ = lexer_.next(); }

  Module module() {
    while (token_.kind != Token::Kind::End)
      item();
    for (const auto& call : calls_)
      resolve(call);
    if (!entry_.empty()) module_.entry = function_index(entry_, entry_line_);
    return std::move(module_);
  }

private:
  struct CallSite {
    uint32_t function;
    NodeId node;
    std::string callee;
    int line;
  };

  [[noreturn]] void fail(const std::string& message) const { fail(message, last_line_); }
  [[noreturn]] static void fail(const std::string& message, int line) {
    throw std::runtime_error(fmt::format("line {}: {}", line, message));
  }

  Token take() {
    Token token = std::move(token_);
    last_line_ = token.line;
    token_ = lexer_.next();
    return token;
  }
  bool is(std::string_view text) const {
    return token_.text == text && (token_.kind == Token::Kind::Word || token_.kind == Token::Kind::Punct);
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail(fmt::format("expected {}, not {}", text, token_.text.empty() ? "the end" : token_.text), token_.line);
  }
  std::string expect(Token::Kind kind, std::string_view what) {
    if (token_.kind != kind)
      fail(fmt::format("expected {}, not {}", what, token_.text.empty() ? "the end" : token_.text), token_.line);
    return take().text;
  }
  std::string string() { return expect(Token::Kind::String, "a string"); }

  int64_t integer(const std::string& text) const {
    try {
      size_t used = 0;
      int64_t value = std::stoll(text, &used);
      if (used == text.size()) return value;
    } catch (const std::exception&) {
    }
    fail("expected an integer, not " + text);
  }
  int64_t integer() { return integer(expect(Token::Kind::Word, "an integer")); }
  uint32_t index() {
    int64_t value = integer();
    if (value < 0 || value > UINT32_MAX) fail("an index is out of range");
    return static_cast<uint32_t>(value);
  }
  LocId loc() { return {static_cast<uint32_t>(integer(expect(Token::Kind::Function, "@ and a location")))}; }

  std::vector<int64_t> int_list() {
    std::vector<int64_t> values;
    expect("[");
    while (!is("]")) {
      values.push_back(integer());
      if (!accept(",")) break;
    }
    expect("]");
    return values;
  }

  DType dtype() {
    std::string name = expect(Token::Kind::Word, "an element type");
    auto type = dtype_from_name(name);
    if (!type) fail("no element type is named " + name);
    return *type;
  }

  void item() {
    std::string word = expect(Token::Kind::Word, "a declaration");
    if (word == "location")
      location();
    else if (word == "site")
      site();
    else if (word == "tensor")
      tensor();
    else if (word == "doc")
      module_.interface.doc = string();
    else if (word == "param")
      param();
    else if (word == "result")
      result();
    else if (word == "func")
      function();
    else if (word == "entry") {
      entry_line_ = token_.line;
      entry_ = expect(Token::Kind::Function, "a function");
    } else
      fail("unknown declaration " + word);
  }

  void location() {
    Location l;
    if (index() != module_.locations.size()) fail("locations are not numbered in order");
    l.file = string();
    l.line = index();
    expect(":");
    l.column = index();
    // 10..14 is one word
    std::string range = expect(Token::Kind::Word, "begin..end");
    size_t dots = range.find("..");
    if (dots == std::string::npos) fail("expected begin..end");
    l.begin = static_cast<uint32_t>(integer(range.substr(0, dots)));
    l.end = static_cast<uint32_t>(integer(range.substr(dots + 2)));
    expect("in");
    l.function = string();
    expect("caller");
    l.caller = {index()};
    module_.locations.push_back(std::move(l));
  }

  void site() {
    ErrorSite s;
    if (index() != module_.sites.size()) fail("sites are not numbered in order");
    s.kind = string();
    s.message = string();
    expect("hint");
    s.hint = string();
    s.loc = loc();
    while (accept("note")) {
      std::string note = string();
      s.notes.emplace_back(std::move(note), loc());
    }
    module_.sites.push_back(std::move(s));
  }

  void tensor() {
    if (index() != module_.tensors.size()) fail("tensors are not numbered in order");
    DType type = dtype();
    std::vector<int64_t> dims = int_list();
    const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
    int64_t count = 1, most = static_cast<int64_t>(lexer_.left()); // each number takes a character
    for (int64_t d : dims) {
      if (d < 0 || d > kLongestAxis) fail("a size is out of range");
      if (!empty && (__builtin_mul_overflow(count, d, &count) || count > most))
        fail("the tensor has more numbers than the text");
    }
    HostTensor t = HostTensor::make(type, std::move(dims));
    expect("=");
    for (int64_t k = 0; k < t.count(); ++k)
      t.set(k, scalar(type));
    module_.tensors.push_back(std::move(t));
  }

  Scalar scalar(DType type) {
    std::string text = expect(Token::Kind::Word, "a number");
    auto value = scalar_from_text(type, text);
    if (!value) fail(fmt::format("{} is not a {}", text, name_of(type)));
    return *value;
  }

  void param() {
    ParamInfo p;
    p.name = string();
    if (accept("str"))
      p.kind = ParamInfo::Kind::Str;
    else if (accept("list"))
      p.kind = ParamInfo::Kind::List;
    else
      p.dtype = dtype();
    if (accept("tensor")) {
      p.kind = ParamInfo::Kind::Tensor;
      p.rank = index();
    }
    expect("type");
    p.type_text = string();
    expect("doc");
    p.doc = string();
    p.has_default = accept("default");
    if (p.has_default) p.default_text = string();
    module_.interface.params.push_back(std::move(p));
  }

  void result() {
    ResultInfo r;
    if (accept("str"))
      r.is_str = true;
    else if (accept("list"))
      r.is_list = true;
    else {
      r.dtype = dtype();
      r.is_scalar = !is("tensor");
      if (accept("tensor")) r.rank = index();
    }
    module_.interface.results.push_back(r);
  }

  void function() {
    Function f;
    const size_t quoted = token_.quoted;
    f.name = expect(Token::Kind::Function, "a function's name");
    function_names_.push_back(f.name);
    // "name.3": the number only tells functions of one name apart
    size_t dot = f.name.rfind('.');
    if (dot != std::string::npos && dot >= quoted && f.name.substr(dot + 1) == std::to_string(module_.functions.size()))
      f.name.resize(dot);
    values_.clear();
    function_ = &f;
    f.body = region();
    function_ = nullptr;
    module_.functions.push_back(std::move(f));
  }

  // (%a: type, …) or results: declared first, then typed, since a type may refer to its neighbours. The types are read
  // with unknown sizes named in `pending` and resolved at the end of the list.
  std::vector<ValueId> definitions(NodeId producer) {
    std::vector<ValueId> ids;
    std::vector<std::vector<std::pair<size_t, Token>>> sizes; // per value: axis and the size's name
    do {
      int line = token_.line;
      std::string name = expect(Token::Kind::Value, "a value");
      ValueId id{static_cast<uint32_t>(function_->values.size())};
      if (!values_.emplace(name, id).second) fail("%" + name + " is defined twice", line);
      Value value{{}, producer, static_cast<uint32_t>(ids.size()), user_name(name)};
      expect(":");
      sizes.emplace_back();
      value.type = type(sizes.back());
      function_->values.push_back(std::move(value));
      ids.push_back(id);
    } while (accept(","));
    for (size_t i = 0; i < ids.size(); ++i)
      for (auto& [axis, token] : sizes[i])
        (*function_)[ids[i]].type.dims[axis] = Dim::of(lookup(token.text, token.line));
    return ids;
  }

  static std::string user_name(const std::string& name) {
    if (std::isdigit(static_cast<unsigned char>(name[0]))) return {};
    return name.substr(0, name.find('.'));
  }

  Type type(std::vector<std::pair<size_t, Token>>& sizes) {
    if (accept("token")) return Type::token();
    if (accept("str")) return Type::str();
    if (accept("list")) {
      Type list = Type::list();
      if (!accept("(")) return list;
      do {
        std::vector<std::pair<size_t, Token>> none;
        list.elements.push_back(type(none));
      } while (accept(","));
      expect(")");
      return list;
    }
    Type t = Type::scalar(dtype());
    if (!accept("[")) return t;
    while (!is("]")) {
      if (token_.kind == Token::Kind::Value) {
        sizes.emplace_back(t.dims.size(), take());
        t.dims.push_back(Dim::of(0));
      } else {
        t.dims.push_back(Dim::of(integer()));
      }
      if (!accept(",")) break;
    }
    expect("]");
    return t;
  }

  ValueId lookup(const std::string& name, int line) const {
    auto found = values_.find(name);
    if (found == values_.end()) fail("%" + name + " is not defined", line);
    return found->second;
  }

  std::vector<ValueId> value_list() {
    std::vector<ValueId> ids;
    // On the line of the operation: the next line may begin with a value too.
    int line = last_line_;
    while (token_.kind == Token::Kind::Value && token_.line == line) {
      Token token = take();
      ids.push_back(lookup(token.text, token.line));
      if (!accept(",")) break;
    }
    return ids;
  }

  Region region() {
    Region r;
    if (accept("(")) {
      if (!is(")")) r.params = definitions({});
      expect(")");
    }
    expect("{");
    while (!is("yield"))
      r.nodes.push_back(node());
    expect("yield");
    r.yields = value_list();
    expect("}");
    return r;
  }

  NodeId node() {
    // Regions inside add nodes of their own: the node takes its place first and is filled at the end.
    NodeId id{static_cast<uint32_t>(function_->nodes.size())};
    function_->nodes.emplace_back();
    Node node{};
    if (token_.kind == Token::Kind::Value) {
      node.results = definitions(id);
      expect("=");
    }
    std::string name = expect(Token::Kind::Word, "an operation");
    if (auto scalar = scalar_from_name(name)) {
      node.op = Op::Elementwise;
      node.attrs = ElementwiseAttrs{*scalar};
    } else if (auto op = op_from_name(name)) {
      node.op = *op;
      node.attrs = info(*op).default_attrs();
    } else {
      fail("no operation is named " + name);
    }
    if (node.op == Op::Constant) {
      DType type = dtype();
      node.as<ConstantAttrs>().literal = scalar(type);
    }
    if (node.op == Op::ConstStr) node.as<ConstStrAttrs>().text = string();
    node.operands = value_list();
    attrs(node, id);
    if (node.op == Op::Contract && !node.operands.empty()) { // the text has the labels of both in one list
      auto& [lhs, rhs, result] = node.as<ContractAttrs>();
      const size_t rank = std::min(lhs.size(), (*function_)[node.operands[0]].type.dims.size());
      rhs.assign(lhs.begin() + static_cast<long>(rank), lhs.end());
      lhs.resize(rank);
    }
    if (has_regions(node.op))
      while (is("(") || is("{"))
        node.regions.push_back(region());
    if (token_.kind == Token::Kind::Function && token_.line == last_line_) node.loc = loc();
    (*function_)[id] = std::move(node);
    return id;
  }

  static bool has_regions(Op op) {
    return op == Op::Map || op == Op::If || op == Op::For || op == Op::While || op == Op::Kernel;
  }

  void attrs(Node& node, NodeId id) {
    std::set<std::string, std::less<>> given;
    if (is("{") && (!has_regions(node.op) || node.op == Op::Kernel)) {
      take();
      while (!is("}")) {
        std::string key = expect(Token::Kind::Word, "an attribute");
        expect("=");
        if (key == "function" && token_.kind == Token::Kind::Function) {
          int line = token_.line;
          calls_.push_back({static_cast<uint32_t>(module_.functions.size()), id, take().text, line});
        } else
          attribute(node, key);
        given.insert(std::move(key));
        if (!accept(",")) break;
      }
      expect("}");
    }
    each_field(node.attrs, [&](std::string_view key, const auto&... fields) {
      if (key == "ints" && (... || !is_list(fields)) && !given.contains(key))
        fail(fmt::format("{} has no {}", name_of(node), key));
    });
  }

  void attribute(Node& node, std::string_view key) {
    bool found = false;
    each_field(node.attrs, [&](std::string_view name, auto&... fields) {
      if (name != key) return;
      found = true;
      if (key == "ints" || key == "labels") {
        const std::vector<int64_t> ints = int_list();
        auto at = ints.begin();
        (take_ints(at, ints.end(), fields), ...);
        if (at != ints.end()) fail(fmt::format("{} has too many {}", name_of(node), key));
      } else
        (read(fields), ...);
    });
    if (!found) fail(fmt::format("no attribute is named {}", key));
  }

  template <class T> static bool is_list(const T&) { return false; }
  template <class T> static bool is_list(const std::vector<T>&) { return true; }

  using Ints = std::vector<int64_t>::const_iterator;
  template <class T> void take_ints(Ints& at, Ints end, T& number) const {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      if (at == end) fail("too few ints");
      number = narrowed<T>(*at++);
    }
  }
  void take_ints(Ints& at, Ints end, std::vector<int64_t>& rest) const { rest.assign(std::exchange(at, end), end); }
  void take_ints(Ints& at, Ints end, std::vector<LeafAxis>& rest) const {
    while (at != end) {
      take_ints(at, end, rest.emplace_back().leaf);
      take_ints(at, end, rest.back().axis);
    }
  }
  template <class T> T narrowed(int64_t value) const {
    const T number = static_cast<T>(value);
    if (static_cast<int64_t>(number) != value) fail("an index is out of range");
    return number;
  }

  template <class T> void read(T& number) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) number = narrowed<T>(integer());
  }
  void read(ReduceOp& op) {
    std::string name = expect(Token::Kind::Word, "a reduction");
    auto reduce = reduce_from_name(name);
    if (!reduce) fail("no reduction is named " + name);
    op = *reduce;
  }
  void read(UpdateMode& mode) { mode = accept("add") ? UpdateMode::Add : (expect("set"), UpdateMode::Set); }
  void read(KernelKind& kind) {
    std::string name = expect(Token::Kind::Word, "a kind of kernel");
    int number = 0;
    while (number < kKernelKindCount && name_of(static_cast<KernelKind>(number)) != name)
      ++number;
    if (number == kKernelKindCount) fail("no kind of kernel is named " + name);
    kind = static_cast<KernelKind>(number);
  }
  void read(FormatTemplate& format) {
    expect("[");
    for (bool literal = true; !is("]"); literal = !literal) {
      (literal ? format.literals : format.specs).push_back(string());
      if (!accept(",")) break;
    }
    expect("]");
  }

  uint32_t function_index(const std::string& name, int line) const {
    for (uint32_t i = 0; i < function_names_.size(); ++i)
      if (function_names_[i] == name) return i;
    fail("no function is named @" + name, line);
  }

  void resolve(const CallSite& call) {
    Function& caller = module_.functions[call.function];
    caller[call.node].as<CallAttrs>().function = function_index(call.callee, call.line);
  }

  Lexer lexer_;
  Token token_;
  int last_line_ = 1; // of the last token taken
  Module module_;
  Function* function_ = nullptr;
  std::map<std::string, ValueId> values_;
  std::vector<std::string> function_names_; // as printed, by index
  std::vector<CallSite> calls_;
  std::string entry_;
  int entry_line_ = 0;
};

} // namespace

Module parse_text(std::string_view text) { return Parser(text).module(); }

} // namespace tl::ir
