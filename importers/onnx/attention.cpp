// Attention as ONNX Runtime's tools for optimizing transformers write it (the domain com.microsoft): each operator is
// ONNX's own Attention, with what comes before and behind it.
#include "importers/onnx/fused.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tl::onnx {
namespace {

std::string list_of(const std::vector<int64_t>& numbers) { // of a node's attribute
  return fmt::format("{},", fmt::join(numbers, ","));
}

// A call of which nodes are written, and what is known of its inputs.
class Written {
public:
  Written(Importer& in, const Node& call, std::string_view inputs)
      : op(in, call, 1), inputs_(inputs), names_(words_of(inputs)) {
    add("nought = Constant value_int=0; one = Constant value_int=1; first = Constant value_ints=0,; "
        "second = Constant value_ints=1,; inner = Constant value_ints=1,2; last = Constant value_ints=-1,; "
        "zero = Constant value_float=0.0");
    count_ = op.integer("num_heads", 0);
    if (count_ < 1) op.refuse("it does not say how many heads it has");
  }

  Op op;
  int64_t heads() const { return count_; }
  void add(const std::string& nodes) { nodes_ += (nodes_.empty() ? "" : "; ") + nodes; }
  bool has(std::string_view name) const { return op.has(place(name)); }
  Value& value(std::string_view name) { return op[place(name)]; }
  int64_t last_size(std::string_view name) {
    const Dims& dims = value(name).dims;
    if (dims.empty() || !dims.back().is_constant()) op.refuse(fmt::format("the last axis of {} is open", name));
    return dims.back().constant();
  }
  void refuse_if(std::string_view name) {
    if (has(name)) op.refuse(fmt::format("it has {}, which is not read", name));
  }
  void refuse_unless_zero(const char* attribute) {
    if (op.integer(attribute, 0) != 0) op.refuse(fmt::format("it has {}, which is not read", attribute));
  }
  void split(const std::string& from, const std::string& into, const std::vector<int64_t>& sizes, int axis = -1) {
    add(fmt::format("{0}_sizes = Constant value_ints={2}; {1} = Split {0} {0}_sizes axis={3}", from, into,
                    list_of(sizes), axis));
  }
  // [b, t, heads * d] to [b, heads, t, d], and back.
  void by_heads(const std::string& from, const std::string& to, int64_t count) {
    add(fmt::format("{1}_shape = Constant value_ints=0,0,{2},-1; {1}_rows = Reshape {0} {1}_shape; "
                    "{1} = Transpose {1}_rows perm=0,2,1,3",
                    from, to, count));
  }
  void side_by_side(const std::string& from, const std::string& to) {
    add(fmt::format("{0}_rows = Transpose {0} perm=0,2,1,3; {0}_shape = Constant value_ints=0,0,-1; "
                    "{1} = Reshape {0}_rows {0}_shape",
                    from, to));
  }
  // "name = …" of the size of a tensor's axis, [1].
  void size(const std::string& name, const std::string& of, int axis) {
    add(fmt::format("{} = Shape {} start={} end={}", name, of, axis, axis + 1));
  }

  // "mask = …", what is added to the scores; gives whether there is any. `rows` and `keys` are the numbers of them,
  // `before` that of the keys that came earlier, all [1].
  bool add_mask(const std::string& kept, const std::string& bias) {
    std::vector<std::string> parts;
    const double off = op.real("mask_filter_value", -10000);
    const bool is_causal = op.integer("unidirectional", 0) != 0;
    add(fmt::format("off = Constant value_float={:.9e}", off));
    const bool by_ends = has(kept) && value(kept).rank() == 1;
    if (is_causal || by_ends) add("all_keys = Squeeze keys; at = Range nought all_keys one");
    if (has(kept)) {
      if (by_ends)
        add_ends(kept);
      else
        add(fmt::format("seen = Cast {} to=9", kept));
      if (value(kept).rank() > 3) op.refuse("its mask has more than three axes");
      add(fmt::format("seen_by_heads = Unsqueeze seen {}; kept = Where seen_by_heads zero off",
                      value(kept).rank() == 3 ? "second" : "inner"));
      parts.emplace_back("kept");
    }
    if (is_causal) {
      add("all_rows = Squeeze rows; row = Range nought all_rows one; place = Add row before; "
          "places = Unsqueeze place second; is_earlier = LessOrEqual at places; never = Constant value_float=-3.4e38; "
          "earlier = Where is_earlier zero never");
      parts.emplace_back("earlier");
    }
    if (has(bias)) parts.push_back(bias);
    if (parts.empty()) return false;
    add(fmt::format("mask = Sum {}", fmt::join(parts, " ")));
    return true;
  }

  Function function(const std::string& outputs) { return function_of(op.node, inputs_, nodes_, outputs); }

private:
  // "seen = …" of the number of keys that each batch has, perhaps with those before its first.
  void add_ends(const std::string& kept) {
    const Size count = value(kept).dims[0], batch = op[0].dims[0];
    const bool has_starts = count == batch * Size(2);
    if (!has_starts && count == batch * Size(3) + Size(2)) op.refuse("its mask says where sequences begin");
    add(fmt::format("ends = Cast {} to=7", kept));
    if (has_starts) add("end starts = Split ends num_outputs=2; start = Unsqueeze starts second");
    add(fmt::format("end_of = Unsqueeze {} second; {} = Less at end_of", has_starts ? "end" : "ends",
                    has_starts ? "before_end" : "seen"));
    if (has_starts) add("behind_start = GreaterOrEqual at start; seen = And before_end behind_start");
  }
  size_t place(std::string_view name) const {
    return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }

  std::string inputs_;
  std::vector<std::string> names_;
  std::string nodes_;
  int64_t count_ = 0;
};

std::string attention_of(const Written& w, bool masked, const std::string& before, const std::string& results) {
  return fmt::format("{0} = Attention q k v {1}{2} q_num_heads={3} kv_num_heads={3} scale=@scale", results,
                     masked ? "mask" : "_", before, w.heads());
}

// What QAttention and Attention do with "all", the queries, keys and values side by side.
void attend_to_itself(Written& w) {
  const std::vector<int64_t> given = w.op.integers("qkv_hidden_sizes").value_or(std::vector<int64_t>());
  const int64_t third = w.last_size("w") / 3;
  w.refuse_unless_zero("do_rotary");
  w.split("all", "q k v", given.size() == 3 ? given : std::vector<int64_t>(3, third));
  w.size("rows", "x", 1);
  if (w.has("past")) {
    w.add("past_key = Gather past nought axis=0; past_value = Gather past one axis=0");
    w.size("before", "past", 3);
    w.add("keys = Add rows before");
  } else {
    w.add("before = Identity first; keys = Identity rows");
  }
  const bool masked = w.add_mask("kept_rows", "bias_of_scores");
  w.add(attention_of(w, masked, w.has("past") ? " past_key past_value" : "", "y present_key present_value"));
  w.add("key1 = Unsqueeze present_key first; value1 = Unsqueeze present_value first; "
        "present = Concat key1 value1 axis=0");
}

Function attention(Importer& in, const Node& call) {
  Written w(in, call, "x w b kept_rows past bias_of_scores past_sequence_length");
  w.refuse_if("past_sequence_length");
  w.add("products = MatMul x w; all = Add? products b");
  attend_to_itself(w);
  return w.function("y present");
}

Function quantized_attention(Importer& in, const Node& call) {
  Written w(in, call, "x w b xs ws kept_rows xz wz past");
  w.add("whole = MatMulInteger x w xz wz; real = Cast whole to=1; by = Mul xs ws; products = Mul real by; "
        "all = Add products b");
  attend_to_itself(w);
  return w.function("y present");
}

// "q", "k" and "v", [b, heads, t, d]; keys and values may have come as such.
void add_operands(Written& w) {
  const int64_t n = w.heads();
  if (w.value("query").rank() != 3) w.op.refuse("its query has other axes than those that are read");
  if (!w.has("key")) w.op.refuse("it has no key");
  const bool is_split = w.value("key").rank() == 4;
  if (w.value("key").rank() == 5) w.op.refuse("its keys and values are one tensor");
  std::string q = "query", k = "key", v = "value";
  if (w.has("b")) {
    const int64_t all = w.last_size("b"), d = w.last_size("query");
    w.split("b", "bq bk bv", {d, d, all - 2 * d});
    w.add("query_b = Add query bq");
    q = "query_b";
    if (!is_split) {
      w.add("key_b = Add key bk; value_b = Add value bv");
      k = "key_b", v = "value_b";
    }
  }
  w.by_heads(q, "q", n);
  if (is_split) return w.add("k = Identity key; v = Identity value");
  w.by_heads(k, "k", n);
  w.by_heads(v, "v", n);
}

Function multi_head_attention(Importer& in, const Node& call) {
  Written w(in, call, "query key value b kept_rows bias_of_scores past_key past_value past_sequence_length cache");
  w.refuse_if("past_sequence_length");
  w.refuse_if("cache");
  add_operands(w);
  w.size("rows", "q", 2);
  w.size("new_keys", "k", 2);
  const bool has_past = w.has("past_key");
  if (has_past) w.size("before", "past_key", 2);
  w.add(has_past ? "keys = Add new_keys before" : "before = Identity first; keys = Identity new_keys");
  const bool masked = w.add_mask("kept_rows", "bias_of_scores");
  w.add(attention_of(w, masked, has_past ? " past_key past_value" : "", "each present_key present_value"));
  w.side_by_side("each", "y");
  return w.function("y present_key present_value");
}

// Keys and values are written behind those that there are, in a tensor that may be longer; each row sees those up to
// itself.
Function grouped_query_attention(Importer& in, const Node& call) {
  Written w(in, call,
            "query key value past_key past_value last_keys all_keys cosines sines positions bias_of_scores sink");
  w.refuse_if("sink");
  for (const char* attribute : {"smooth_softmax", "qk_output"})
    w.refuse_unless_zero(attribute);
  const int64_t n = w.heads(), few = w.op.integer("kv_num_heads", n);
  const bool is_packed = !w.has("key");
  if (is_packed) {
    const int64_t d = w.last_size("query") / (n + 2 * few);
    w.split("query", "query_of key_of value_of", {n * d, few * d, few * d});
  }
  w.by_heads(is_packed ? "query_of" : "query", "q_there", n);
  w.by_heads(is_packed ? "key_of" : "key", "k_there", few);
  w.by_heads(is_packed ? "value_of" : "value", "v", few);
  w.size("rows", "query", 1);
  w.add("all_rows = Squeeze rows; row = Range nought all_rows one; last_key = Cast last_keys to=7; "
        "flat = Reshape last_key last; end = Add flat one; begun = Sub end all_rows; begin = Max begun nought; "
        "begins = Unsqueeze begin second; places = Add begins row");
  if (w.op.integer("do_rotary", 0) != 0) {
    const int64_t turned = 2 * w.last_size("cosines");
    const std::string how = fmt::format("{} interleaved=@rotary_interleaved rotary_embedding_dim={}",
                                        w.has("positions") ? "positions" : "places", turned);
    w.add(fmt::format("q = RotaryEmbedding q_there cosines sines {0}; k = RotaryEmbedding k_there cosines sines {0}",
                      how));
  } else {
    w.add("q = Identity q_there; k = Identity k_there");
  }
  if (w.has("past_key")) {
    w.size("before", "past_key", 2);
    w.add("all = Cast all_keys to=7; total = Reshape all last; lacks = Sub total before; room = Max lacks first; "
          "third = Constant value_ints=2,; margins = Concat first room axis=0");
    for (const char* what : {"key", "value"})
      w.add(
          fmt::format("{0}_room = Pad past_{0} margins _ third; present_{0} = TensorScatter {0}_room {1} begin axis=2",
                      what, *what == 'k' ? "k" : "v"));
  } else {
    w.add("present_key = Identity k; present_value = Identity v");
  }
  w.size("keys", "present_key", 2);
  w.add("key_count = Squeeze keys; at = Range nought key_count one; place = Unsqueeze places last; "
        "is_earlier = LessOrEqual at place");
  const int64_t window = w.op.integer("local_window_size", -1);
  if (window >= 0)
    w.add(fmt::format("window = Constant value_int={}; oldest = Sub place window; is_near = Greater at oldest; "
                      "is_seen = And is_earlier is_near",
                      window));
  w.add(fmt::format("seen = Unsqueeze {} second", window >= 0 ? "is_seen" : "is_earlier"));
  if (w.has("bias_of_scores"))
    w.add("never = Constant value_float=-3.4e38; off = Where seen zero never; mask = Add off bias_of_scores");
  w.add(fmt::format("each = Attention q present_key present_value {} scale=@scale softcap=@softcap",
                    w.has("bias_of_scores") ? "mask" : "seen"));
  w.side_by_side("each", "y");
  return w.function("y present_key present_value");
}

// Positions are given, or but the first one.
Function rotary(Importer& in, const Node& call) {
  Op op(in, call, 1);
  const bool is_first = op.rank(1) == 1;
  int64_t count = op.integer("num_heads", 0);
  const Dims &x = op[0].dims, &cache = op[2].dims;
  if (op.integer("is_packed_batching", 0) != 0) op.refuse("its batches are packed");
  const bool is_open = x.empty() || !x.back().is_constant() || cache.empty() || !cache.back().is_constant();
  if (x.size() == 3 && count == 0) {
    if (is_open) op.refuse("its last axis is open");
    count = x.back().constant() / std::max<int64_t>(2 * cache.back().constant(), 1);
  }
  std::string nodes;
  if (is_first)
    nodes = fmt::format("length = Shape x start={0} end={1}; rows = Squeeze length; nought = Constant value_int=0; "
                        "one = Constant value_int=1; row = Range nought rows one; place = Add row p; "
                        "axis = Constant value_ints=0,; row1 = Unsqueeze place axis; batches = Shape x start=0 end=1; "
                        "both = Concat batches length axis=0; places = Expand row1 both; ",
                        x.size() == 4 ? 2 : 1, x.size() == 4 ? 3 : 2);
  nodes += fmt::format("y = RotaryEmbedding x c s {} num_heads={} interleaved=@interleaved "
                       "rotary_embedding_dim=@rotary_embedding_dim",
                       is_first ? "places" : "p", count);
  return function_of(call, "x p c s", nodes, "y");
}

// Words, positions and kinds, and how many rows of each batch the mask keeps.
Function embedded(Importer& in, const Node& call) {
  Op op(in, call, 1);
  std::string nodes = op.has(8)
                          ? "place = Gather places at; "
                          : "rows = Shape ids start=1 end=2; count = Squeeze rows; nought = Constant value_int=0; "
                            "one = Constant value_int=1; row = Range nought count one; place = Gather places row; ";
  nodes += "word = Gather words ids; both = Add word place; ";
  nodes += op.has(1) ? "kind = Gather kinds kind_ids; sum = Add both kind; " : "sum = Identity both; ";
  nodes += "y = LayerNormalization sum scale shift epsilon=@epsilon:1e-12; ";
  nodes += op.has(7) ? "kept = Identity mask; " : "shape = Shape ids; kept = ConstantOfShape shape; ";
  nodes += "small = Cast kept to=6; axis = Constant value_ints=1,; ends = ReduceSum small axis keepdims=0";
  return function_of(call, "ids kind_ids words places kinds scale shift mask at", nodes, "y ends sum");
}

} // namespace

std::optional<Function> attention_function(Importer& in, const Node& call) {
  static const std::map<std::string_view, Function (*)(Importer&, const Node&)> kAttention = {
      {"Attention", attention},
      {"EmbedLayerNormalization", embedded},
      {"GroupQueryAttention", grouped_query_attention},
      {"MultiHeadAttention", multi_head_attention},
      {"QAttention", quantized_attention},
      {"RotaryEmbedding", rotary},
  };
  const auto found = kAttention.find(call.op);
  return found == kAttention.end() ? std::nullopt : std::optional(found->second(in, call));
}

} // namespace tl::onnx
