// What comes after something that may leave: return, break and continue.
//
// The rule. Whatever holds a jump is lowered together with its continuation, `then`: all that is evaluated after it, up
// to the end of the block, branch or iteration that it is in. `then` is lowered
//   (1) at most once, and
//   (2) at a place that control reaches exactly if what comes before it has finished and has not left.
// Nothing else is lowered behind something that may have left. The places are made in three ways only:
//   - a jump itself has no continuation: jump() sets its flag, and `then` is dropped;
//   - where one branch of an `if` never ends and the other does, `then` is inside the other (if_expression);
//   - where several ways meet again (behind an `if` whose branches both may end, behind a loop, in the test of a loop),
//     `then` follows a test of the flags (unless_exited), which is left out where all are known to be down.
// All the rest follows from the order of evaluation: the parts of a statement or an expression are evaluated one after
// the other, each being the continuation of the one before (with_children), and the operation itself is the
// continuation of the last. So it does not matter whether a jump is in a statement, an operand, a condition, a
// bound or a target, nor what is next to it.
//
// A value that the continuation uses is known where it is, because it is inside. What is read where ways meet -
// variables, the value of an `if`, the flags - passes through the results of the node (merge, Carried). Of a way on
// which the function has returned nobody looks at variables any more (Flow::Returns): there they are given any value of
// the right type.
#include "ir/lower/function.h"
#include <algorithm>
#include <utility>

namespace tl::ir {
namespace {

enum : unsigned { kLeavesLoop = 1, kLeavesFunction = 2 };

// Which jumps lead out of it; what has some is put into `jumping`.
struct JumpFinder {
  std::set<const void*>& jumping;

  template <class Tree> unsigned parts(const Tree& tree) {
    unsigned found = 0;
    each_child(tree, [&](const typed::Expr& e) { found |= expr(e); }, [&](const typed::Stmt& s) { found |= stmt(s); });
    return found;
  }
  unsigned expr(const typed::Expr& e) {
    unsigned found = parts(e);
    if (found) jumping.insert(&e);
    return found;
  }
  unsigned stmt(const typed::Stmt& s) {
    unsigned found = 0;
    switch (s.kind) {
    case typed::StmtKind::Return: found = kLeavesFunction; break;
    case typed::StmtKind::Break:
    case typed::StmtKind::Continue: found = kLeavesLoop; break;
    default: break;
    }
    if (s.kind == typed::StmtKind::For) { // what it goes over is evaluated outside of it
      found |= expr(*s.value) | (parts(s.body) & ~unsigned{kLeavesLoop});
    } else {
      found |= parts(s);
      if (s.kind == typed::StmtKind::While) found &= ~unsigned{kLeavesLoop};
    }
    if (found) jumping.insert(&s);
    return found;
  }
};

} // namespace

void FunctionLowerer::find_jumps(const typed::Block& body) { JumpFinder{jumping_}.parts(body); }

VarKey FunctionLowerer::new_flag() {
  VarKey key = new_pseudo();
  env_[key] = {here().constant(DType::Bool, {})};
  return key;
}

// ---- values, and what comes after them

Leaves FunctionLowerer::with_value(const typed::Expr& e, const Use& use) {
  if (!may_leave(e)) return use(expr(e));
  if (e.is<typed::IfExpr>()) return if_expression(e, use);
  if (e.is<typed::BlockExpr>()) return block_expression(e, use);
  return with_children(children(e), 0, [&] { return use(expr(e)); });
}

void FunctionLowerer::remember(const Child& child, const Leaves& value) {
  evaluated_[child.expr] = value;
  if (child.atom.valid()) bind_atom(child.atom, value.at(0));
}

void FunctionLowerer::evaluate(const Child& child) {
  ValueId outer = placing_;
  if (child.is_index) placing_ = {};
  Leaves value = expr(*child.expr);
  placing_ = outer;
  remember(child, value);
}

Leaves FunctionLowerer::with_children(const std::vector<Child>& list, size_t from, const Rest& rest, bool all) {
  size_t end = list.size();
  while (!all && end > from && !may_leave(*list[end - 1].expr))
    --end;
  Leaves result;
  size_t i = from;
  for (; i < end && !may_leave(*list[i].expr); ++i)
    evaluate(list[i]);
  if (i == end) {
    result = rest();
  } else {
    ValueId outer = placing_, inner = list[i].is_index ? ValueId{} : placing_;
    placing_ = inner;
    result = with_value(*list[i].expr, [&](const Leaves& value) {
      placing_ = outer;
      remember(list[i], value);
      Leaves after = with_children(list, i + 1, rest, all);
      placing_ = inner; // there may be other ways
      return after;
    });
    placing_ = outer;
  }
  for (size_t k = from; k < end; ++k)
    evaluated_.erase(list[k].expr);
  return result;
}

size_t FunctionLowerer::binds_of(const Size& size, std::span<const typed::SizeBind> binds) const {
  std::vector<AtomId> atoms;
  shared_.atoms.collect(size, atoms);
  size_t count = 0;
  for (size_t i = 0; i < binds.size(); ++i)
    for (AtomId atom : atoms)
      if (binds[i].atom == atom) count = i + 1;
  return count;
}

size_t FunctionLowerer::binds_before(const typed::Expr& operand, const typed::Expr& e,
                                     std::span<const typed::SizeBind> binds) const {
  auto inside = [&](Span span) {
    return span.file == e.span.file && span.begin >= e.span.begin && span.end <= e.span.end;
  };
  const typed::Expr& number = operand.is<typed::ConvertExpr>() ? *operand.operands[0] : operand;
  const auto* size = number.get_if<typed::SizeExpr>();
  size_t count = size ? binds_of(size->size, binds) : 0;
  if (!e.is<typed::BuiltinExpr>() || !inside(operand.span)) return count;
  while (count < binds.size() && inside(binds[count].value->span) &&
         binds[count].value->span.begin < operand.span.begin)
    ++count;
  return count;
}

void FunctionLowerer::add_subscripts(const std::vector<typed::Subscript>& items, std::span<const typed::SizeBind> binds,
                                     std::vector<Child>& into) const {
  auto take = [&](size_t count) {
    for (const typed::SizeBind& bind : binds.first(count))
      into.push_back({bind.value.get(), bind.atom});
    binds = binds.subspan(count);
  };
  for (const typed::Subscript& item : items) {
    if (item.kind == typed::Subscript::Kind::Slice)
      take(std::max(binds_of(item.start, binds), binds_of(item.length, binds)));
    if (item.value) into.push_back({item.value.get(), {}, true});
  }
  take(binds.size());
}

std::vector<FunctionLowerer::Child> FunctionLowerer::children(const typed::Expr& e) const {
  std::vector<Child> result;
  std::span<const typed::SizeBind> binds = e.binds;
  auto take = [&](size_t count) {
    for (const typed::SizeBind& bind : binds.first(count))
      result.push_back({bind.value.get(), bind.atom});
    binds = binds.subspan(count);
  };
  if (e.is<typed::IfExpr, typed::BlockExpr>()) return {}; // only the condition, for which see if_expression
  if (e.is<typed::ComprehensionExpr>()) return {};        // cannot be left
  if (const auto* index = e.get_if<typed::IndexExpr>()) {
    result.push_back({e.operands[0].get(), {}});
    add_subscripts(index->subscripts, binds, result);
    return result;
  }
  for (const typed::ExprPtr& operand : e.operands) {
    take(binds_before(*operand, e, binds));
    result.push_back({operand.get(), {}});
  }
  take(binds.size());
  return result;
}

// What the subscripts of its target need has been evaluated by statements before it.
std::vector<FunctionLowerer::Child> FunctionLowerer::children(const typed::Stmt& assignment) const {
  std::vector<Child> result;
  for (const typed::Place& place : assignment.targets)
    add_subscripts(place.subscripts, {}, result);
  result.push_back({assignment.value.get(), {}});
  return result;
}

// ---- flags

bool FunctionLowerer::surely_down(VarKey flag) {
  if (!flag) return true;
  ValueId value = env_.at(flag)[0];
  NodeId producer = f_[value].producer;
  bool is_false =
      producer.valid() && f_[producer].op == Op::Constant && f_[producer].as<ConstantAttrs>().literal == Scalar{};
  return is_false || known_down_.contains(value);
}

std::vector<VarKey> FunctionLowerer::flags_up() {
  const Callee& callee = callees_.back();
  std::vector<VarKey> flags{callee.returned};
  if (!callee.loops.empty()) flags.insert(flags.end(), {callee.loops.back().broke, callee.loops.back().continued});
  std::erase_if(flags, [&](VarKey flag) { return surely_down(flag); });
  return flags;
}

std::optional<ValueId> FunctionLowerer::exited() {
  std::optional<ValueId> any;
  for (VarKey flag : flags_up()) {
    ValueId value = env_.at(flag)[0];
    any = any ? scalar(ScalarOp::Or, {*any, value}) : value;
  }
  return any;
}

Leaves FunctionLowerer::unless_exited(const Rest& rest, Span span) {
  if (flow_ != Flow::Goes) return {};
  std::optional<ValueId> left = exited();
  if (!left) return rest();
  std::vector<VarKey> flags = flags_up();
  bool only_returned = flags == std::vector<VarKey>{callees_.back().returned};
  auto inside = [&] {
    std::vector<ValueId> down; // which flags are, in there
    for (VarKey flag : flags)
      if (ValueId value = env_.at(flag)[0]; known_down_.insert(value).second) down.push_back(value);
    Leaves value = rest();
    for (ValueId flag : down)
      known_down_.erase(flag);
    return value;
  };
  auto outside = [&] {
    flow_ = only_returned ? Flow::Returns : Flow::Leaves;
    return Leaves();
  };
  return merge(scalar(ScalarOp::Not, {*left}), inside, outside, loc(span));
}

void FunctionLowerer::jump(const typed::Stmt& stmt, Leaves result) {
  Callee& callee = callees_.back();
  VarKey flag = callee.returned;
  if (stmt.kind == typed::StmtKind::Break) flag = callee.loops.back().broke;
  if (stmt.kind == typed::StmtKind::Continue) flag = callee.loops.back().continued;
  bool returns = stmt.kind == typed::StmtKind::Return;
  if (returns) env_[callee.result] = as_type(std::move(result), *callee.result_type);
  env_[flag] = {here().constant(DType::Bool, Scalar::of(uint8_t{1}))};
  flow_ = returns ? Flow::Returns : Flow::Leaves;
}

} // namespace tl::ir
