// The state of an import, and what a row of the table of operators (operators.h) sees of it: Op.
#pragma once
#include "importers/onnx/import.h"
#include "importers/onnx/value.h"
#include "lang/size.h"
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tl::onnx {

inline constexpr size_t kMostNodes = 200'000; // with functions and loops of the model written out

// Why a node cannot be expressed; caught around each node.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Branches of an `If` may differ in their number of axes, and its condition be known only when the program runs; mostly
// the rest of the model fits one of them alone, as exporters write a squeeze. Then that one is taken, and the program
// asserts what it takes for granted. Which one it is, whole imports tell: these are the choices of one of them.
struct Choices {
  std::vector<bool> made; // is it the first branch?
  size_t next = 0;
};
// With these choices the rest does not fit.
struct WrongChoice {};

bool is_reserved(std::string_view word);       // a keyword, or a name that every program has
bool is_word(char c);                          // of an identifier
std::string short_name(std::string_view name); // the last two parts of a path as an identifier

// Statements in the order in which they are written, and the names that computed sizes have in them.
struct Block {
  std::vector<std::string> lines;
  std::map<Size, std::string> sizes;
  std::set<std::string> modules;
  bool is_constant = false; // what is computed when importing
};

// The values of a graph by the model's names; those of the graphs around it are seen too.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string, ValuePtr> values;
  std::map<std::string, int> uses;            // how often each name is read, by nodes and as a result
  std::map<std::string, const Node*> readers; // the last node that reads it
  std::map<std::string, const Node*> makers;  // the node whose result it is
  ValuePtr find(const std::string& name) const {
    auto at = values.find(name);
    return at != values.end() ? at->second : outer ? outer->find(name) : nullptr;
  }
};

class Importer {
public:
  Importer(const Model& model, const ImportOptions& options, Choices* choices = nullptr);
  Imported run();
  bool needs_choices() const { return needs_choices_; } // some are to be made, and it was refused
  size_t nodes() const { return nodes_; }               // that were written

  // ---- names and texts
  std::string fresh_name(std::string_view wish); // an identifier that nothing else has where it is written
  std::string text(Value& value);                // binds as tightly as a name
  std::string size_text(const Size& size);
  std::string dims_text(const Dims& dims); // "[n, 3]"
  std::string type_text(DType dtype,
                        const Dims& dims) const; // "f32[n, 3, _]": what is neither a name nor a number is open
  std::string literal(DType dtype, const Contents& contents);
  std::string typed_text(Value& value);                       // where nothing around says its type
  std::string list_type(const Sequence& sequence);            // "List<f32[_, 3]>"
  std::string number_text(DType dtype, const Number& number); // as an operand next to others of its type

  // ---- statements
  void write(std::string line) { block_->lines.push_back(std::move(line)); }
  void use_module(std::string_view name) { (block_->is_constant ? constants_ : main_).modules.emplace(name); }
  // The sizes that numpy's rule gives; where that depends on sizes, the program asserts that they are equal.
  Dims broadcast(const Dims& a, const Dims& b);
  // Asserts it, unless it is known; what they may do instead of being equal is said where it fails.
  void require_equal(const Size& a, const Size& b, bool may_stretch = false);
  Dims looked_up(const std::string& name, Dims dims);                     // name.shape[i] where a size is not known
  void note_type(const std::string& name, DType dtype, const Dims& dims); // of a name of the program
  void note_size(const std::string& name) { types_[name] = "i64"; }

  // ---- values
  ValuePtr constant(DType dtype, Contents contents); // known elements
  const Contents* contents(Value& value);            // where they are known, few, and no text is needed
  const HostTensor* elements(Value& value);          // of a constant; computes it where it must be
  // An expression of constants, computed when importing.
  std::string constant_text(Value& value); // in such an expression
  ValuePtr folded(std::string_view wish, const std::string& expression, DType dtype, Dims dims);
  ValuePtr find(const std::string& name) const;
  // A constant, one that a later node of the same graph makes of constants too; null: it is none.
  ValuePtr find_constant(const std::string& name);

  // ---- graphs inside nodes
  struct Body {
    Block block;
    std::vector<ValuePtr> results;
  };
  // Writes a graph whose inputs have these values. What it sees of the graphs around it is theirs.
  Body body(const Graph& graph, const std::vector<ValuePtr>& inputs);
  // Writes more into a block.
  template <class F> void within(Block& block, const F& write) {
    Block* const before = block_;
    block_ = &block;
    try {
      write();
    } catch (...) {
      block_ = before;
      throw;
    }
    block_ = before;
  }
  // Writes its nodes into the block that is being written, with names of its own.
  std::vector<ValuePtr> inlined(const Graph& graph, const std::vector<ValuePtr>& inputs);
  // Is it made of the first `atoms` atoms alone, those that a block which came later sees from outside?
  bool holds_outside(const Size& size, size_t atoms) const;
  // An attempt at writing something in another way.
  // Which of the branches that differ in rank. Throws Refused where none is to be chosen.
  bool choose_first();
  // What is refused meanwhile is tried in another way.
  template <class F> void attempt(const F& write) {
    ++attempts_;
    try {
      write();
    } catch (...) {
      --attempts_;
      throw;
    }
    --attempts_;
  }
  struct Mark {
    size_t names, refusals, lines;
    std::map<Size, std::string> sizes;
    SizeFacts facts;
  };
  Mark mark() const;
  void go_back_to(const Mark& mark);

  // The size that the file has for an axis that was opened (ImportOptions::axes), where this is that axis's.
  std::optional<int64_t> fixed_size_of(const Size& opened) const;
  bool has_opened(const Size& size) const; // is it made of such ones?
  SizeAtoms& sizes() { return sizes_; }
  const SizeFacts& facts() const { return facts_; }
  Scope& scope() { return *scope_; }
  Block& block() { return *block_; }
  const Model& model() const { return model_; }
  const ImportOptions& options() const { return options_; }
  void skip(const Node& node) { done_.insert(&node); } // another node's row has written it

private:
  friend class Op;
  void declare_inputs();
  void add_initializers(const Graph& graph, Scope& scope);
  void count_uses(const Graph& graph, Scope& scope);
  void add_nodes(const std::vector<Node>& nodes);
  void add_node(const Node& node);
  void add_call(const Node& node, const Function& function);
  Dims dims_of_input(const ValueInfo& input);
  ValuePtr fixed_input(const Value& input, const std::string& text); // --input
  bool fold_node(const Node& node, const struct Row& row, int64_t version);
  void compute_constants();
  std::string weight(Value& value);
  std::string program(const std::vector<ValuePtr>& outputs);
  std::string struct_text(const std::vector<std::string>& blocks) const;
  std::string formatted(const std::string& text) const;
  int64_t opset(const std::string& domain) const;
  std::string stretching_hint(const Size& a, const Size& b) const;

  struct Parameter {
    std::string name, type;
  };
  struct Weight {
    std::string name; // in the program; empty: it is not used there
    ValuePtr value;
    std::string constant_name; // a parameter of what is computed when importing, once it was
    bool in_constants = false; // is it, this time?
  };

  const Model& model_;
  const ImportOptions& options_;
  using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>; // domain, name, overload
  std::map<FunctionKey, const Function*> functions_;
  std::set<std::string> unused_options_; // of dims and inputs: the names that were not met
  SizeAtoms sizes_;
  SizeFacts facts_;
  std::map<std::string, Size> named_sizes_; // by the model's names
  std::map<AtomId, int64_t> opened_;        // what the file has for them
  struct Names {
    std::set<std::string> taken;
    std::map<std::string, int> suffixes; // the last one that a name that is taken was given
    std::vector<std::string> given;      // in order
  };
  std::string fresh_name(std::string_view wish, Names& among);
  Names names_, constant_names_; // of the program, and of what is computed when importing
  Block main_, constants_;
  Block* block_ = &main_;
  Scope top_;
  Scope* scope_ = &top_;
  std::vector<Parameter> parameters_;
  std::map<std::string, std::string> types_;   // of names of the program, as parameters have them
  std::map<std::string, std::string> renamed_; // weights that are in a struct of their own: "layer_1.q"
  std::vector<Weight> weights_;
  std::map<const Value*, size_t> weight_of_;
  std::multimap<uint64_t, size_t> weights_by_content_;
  std::vector<ValuePtr> pending_;          // constants that are written and not computed
  std::map<std::string, ValuePtr> folded_; // by expression
  std::vector<Refusal> refusals_;
  std::set<const Node*> done_;
  size_t nodes_ = 0;
  Choices* choices_;
  bool needs_choices_ = false;
  int attempts_ = 0;
  std::vector<std::shared_ptr<const Graph>> written_out_; // of functions: nodes are known by their addresses
  std::vector<const Function*> calls_;                    // being inlined
  const std::map<std::string, int64_t>* opsets_;
};

// One node, for the row that writes it.
class Op {
public:
  Op(Importer& importer, const Node& node, int64_t version) : in(importer), node(node), version(version) {}

  Importer& in;
  const Node& node;
  const int64_t version; // of the operator set

  // ---- inputs
  size_t inputs() const { return node.inputs.size(); }
  bool has(size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  ValuePtr value(size_t i);     // a tensor. Refused where it is left out
  ValuePtr any_value(size_t i); // or a sequence, or an optional value that is not there
  Value& operator[](size_t i) { return *value(i); }
  std::string text(size_t i) { return in.text(*value(i)); }
  // Next to another operand of so many axes: one element that is known is written without its axes.
  std::string operand(size_t i, size_t rank);
  size_t rank(size_t i) { return value(i)->rank(); }
  // The sizes of all inputs together. What is taken to be one element and to stretch gets that size.
  Dims broadcast();
  void require_axes(size_t i, size_t least); // Refused where it has fewer
  // Gives input i these sizes, which its own have to be equal to: a function sees it in its arguments' types alone.
  void retype(size_t i, const Dims& dims);
  const Contents* contents(size_t i) { return has(i) ? in.contents(*value(i)) : nullptr; }
  // Integers of a known number that may be computed by the program: sizes where they are known, else `text` has them.
  std::vector<Size> integers_of(size_t i, std::optional<size_t> number = {});
  Size integer_of(size_t i);                                  // one
  std::optional<std::vector<int64_t>> constants_of(size_t i); // known integers

  // ---- attributes
  const Attribute* attribute(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t missing) const;
  double real(std::string_view name, double missing) const;
  std::string string(std::string_view name, const std::string& missing) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name, const std::vector<int64_t>& missing) const;
  // An attribute that later versions made an input: whichever there is, as integers that are known.
  std::optional<std::vector<int64_t>> integers(std::string_view name, size_t input);
  int64_t axis(int64_t axis, size_t rank) const; // counted from the first; Refused where there is none

  // ---- outputs
  bool wants(size_t output) const;
  // Its name. An unknown_size() among the sizes is looked up.
  std::string define(size_t output, const std::string& expression, DType dtype, const Dims& dims);
  struct Result {
    DType dtype;
    Dims dims;
  };
  void define_all(const std::string& expression, const std::vector<Result>& results); // of a tuple
  void know(size_t output, DType dtype, Contents contents);
  void alias(size_t output, ValuePtr value);

  [[noreturn]] void refuse(const std::string& reason) const { throw Refused(reason); }

private:
  void set_reshaped(size_t i, const Dims& dims);
  bool is_unseen(const std::string& expression) const; // its sizes, or those that it is made of
};

} // namespace tl::onnx
