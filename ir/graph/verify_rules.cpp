#include "abi/linalg_op.h"
#include "abi/sort_op.h"
#include "abi/text_op.h"
#include "ir/graph/verify_checker.h"
#include <set>

namespace tl::ir {

constexpr int kLookBack = 64; // so many operations are followed back at most

// The value of a scalar that constants alone determine.
std::optional<Scalar> Checker::known(ValueId value, int depth) const {
  const NodeId producer = f_[value].producer;
  if (!producer.valid() || depth == 0) return std::nullopt;
  const Node& n = f_[producer];
  if (n.op == Op::Constant) return n.as<ConstantAttrs>().literal;
  if (n.op == Op::Guard || n.op == Op::Await) return known(n.operands[0], depth - 1);
  if ((n.op != Op::Elementwise && n.op != Op::Convert) || !type(value).is_scalar()) return std::nullopt;
  const bool all = n.is(ScalarOp::And);
  const bool any = n.is(ScalarOp::Or);
  Scalar operands[3];
  bool complete = true;
  for (size_t i = 0; i < n.operands.size(); ++i) {
    const std::optional<Scalar> operand = known(n.operands[i], depth - 1);
    if (operand && (all || any) && operand->as<bool>() == any) return operand; // it decides alone
    complete = complete && operand;
    if (operand) operands[i] = *operand;
  }
  if (!complete) return std::nullopt;
  const DType from = type(n.operands[n.is(ScalarOp::Where) ? 1 : 0]).dtype;
  if (n.op == Op::Convert) return convert_scalar(from, type(value).dtype, operands[0]);
  return eval_scalar(n.as<ElementwiseAttrs>().op, from, {operands, n.operands.size()});
}

// Does no run have this value, as a Guard on the way to it is known to fail?
bool Checker::never(ValueId value) const {
  std::vector<ValueId> work{value};
  std::set<ValueId> seen;
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (!seen.insert(v).second) continue;
    for (const Dim& d : type(v).dims)
      if (!d.is_constant()) work.push_back(d.value);
    if (!f_[v].producer.valid()) continue;
    const Node& n = f_[f_[v].producer];
    if (n.op == Op::Kernel) work.push_back(n.regions[0].yields[f_[v].result]);
    if (kind_of(n.op) != OpKind::Value && kind_of(n.op) != OpKind::Fallible) continue;
    if (n.op == Op::Guard)
      if (const std::optional<Scalar> holds = known(n.operands[1], kLookBack); holds && !holds->as<bool>()) return true;
    work.insert(work.end(), n.operands.begin(), n.operands.end());
  }
  return false;
}

// The results from `first` on are the sizes of the tensor before them.
void Checker::sizes_beside(size_t first) {
  const Type& t = out(first - 1);
  if (!check(t.is_tensor() && node_->results.size() == first + t.dims.size(), "gives not one size per axis")) return;
  for (size_t i = 0; i < t.dims.size(); ++i) {
    result(Type::scalar(DType::I64), first + i);
    check(t.dims[i] == Dim::of(node_->results[first + i]), "the tensor's sizes are not the results beside it");
  }
}

void Checker::list_get() {
  const std::vector<LeafAxis>& own = node_->as<ListGetAttrs>().sizes;
  if (!check(node_->operands.size() == 2 && node_->results.size() > own.size(), "has a wrong form")) return;
  want(0, Type::list());
  want_i64(1, 2);
  size_t width = node_->results.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i) {
    result(Type::scalar(DType::I64), width + i);
    auto leaf = static_cast<size_t>(own[i].leaf), axis = static_cast<size_t>(own[i].axis);
    if (!check(leaf < width && axis < out(leaf).dims.size(), "names an axis that is not there")) return;
    check(!out(leaf).dims[axis].is_constant(), "gives a size that is a constant");
  }
}

void Checker::list_operation() {
  switch (node_->op) {
  case Op::ListMake: {
    const auto& a = node_->as<ListMakeAttrs>();
    if (!check(a.width > 0 && a.count >= 0, "has no width and count")) return;
    if (counts(static_cast<size_t>(a.width * a.count), 1)) result(Type::list());
    return;
  }
  case Op::ListLength:
    if (!counts(1, 1)) return;
    want(0, Type::list());
    return result(Type::scalar(DType::I64));
  case Op::ListGet: return list_get();
  case Op::ListSet:
    if (!at_least(3, 1)) return;
    want(0, Type::list());
    want_i64(1, 2);
    return result(Type::list());
  case Op::ListAppend:
    if (!at_least(2, 1)) return;
    check(node_->as<ListAppendAttrs>().width == static_cast<int64_t>(node_->operands.size()) - 1, "has a wrong width");
    want(0, Type::list());
    return result(Type::list());
  case Op::ListConcat:
    if (!counts(2, 1)) return;
    want(0, Type::list());
    want(1, Type::list());
    return result(Type::list());
  case Op::ListSlice: {
    const auto& bounds = node_->as<ListSliceAttrs>();
    if (!counts(size_t{1} + bounds.first + bounds.last + bounds.step, 1)) return;
    want(0, Type::list());
    want_i64(1, node_->operands.size());
    return result(Type::list());
  }
  case Op::ListJoin:
    if (!check(node_->operands.size() == 1 && node_->results.size() >= 1, "has a wrong form")) return;
    want(0, Type::list());
    site_exists(node_->as<ListJoinAttrs>().site);
    return sizes_beside(1);
  default: return;
  }
}

void Checker::sort() {
  const SortOp op = node_->as<SortAttrs>().op;
  if (!check(static_cast<int>(op) < kSortOpCount, "names no way to sort") || !counts(1, 1)) return;
  if (!check(in(0).is_tensor() && !in(0).dims.empty() && in(0).dtype != DType::Key, "does not sort rows")) return;
  std::vector<Dim> dims = in(0).dims;
  if (op == SortOp::Top && out(0).dims.size() == dims.size()) dims.back() = out(0).dims.back();
  result(Type::tensor(op == SortOp::Values ? in(0).dtype : DType::I64, std::move(dims)));
}

void Checker::linalg() {
  const auto& a = node_->as<LinalgAttrs>();
  if (!check(static_cast<int>(a.op) < kLinalgOpCount, "names no decomposition")) return;
  const LinalgOpInfo& row = info(a.op);
  if (!counts(static_cast<size_t>(row.operands), static_cast<size_t>(row.results))) return;
  site_exists(a.site);
  const size_t rank = in(0).dims.size();
  if (!check(in(0).is_tensor() && rank >= 2 && (in(0).dtype == DType::F32 || in(0).dtype == DType::F64),
             "is not of matrices of f32 or f64"))
    return;
  auto fits = [&](const Type& t) { // the leading axes are those of the first operand
    check(t.is_tensor() && t.dims.size() + 1 >= rank && t.dims.size() <= rank, "has a value of another rank");
    for (size_t i = 0; i + 2 < rank && i < t.dims.size(); ++i)
      check(same(t.dims[i], in(0).dims[i]), "has a value of other leading axes");
  };
  for (size_t i = 0; i < node_->operands.size(); ++i)
    fits(in(i));
  for (size_t i = 0; i < node_->results.size(); ++i)
    fits(out(i));
}

void Checker::text_operation() {
  const TextOp op = node_->as<TextAttrs>().op;
  if (!check(static_cast<int>(op) < kTextOpCount, "is no operation on text")) return;
  const TextOpInfo& row = info(op);
  size_t given = 0;
  bool optional = false;
  for (char kind : row.operands) {
    optional = optional || kind == '(';
    if (kind == '(' || kind == ')' || (optional && given == node_->operands.size())) continue;
    if (!check(given < node_->operands.size(), "has too few operands")) return;
    if (kind == 's') want(given, Type::str());
    if (kind == 'l') want(given, Type::list());
    if (kind == 'i') want(given, Type::scalar(DType::I64));
    if (kind == 'b') check(in(given).is_tensor() && in(given).dtype == DType::U8, "wants u8 elements");
    ++given;
  }
  if (!check(given == node_->operands.size(), "has too many operands") ||
      !check(!node_->results.empty(), "has no result"))
    return;
  switch (row.result[0]) {
  case 's': return result(Type::str());
  case 'l': return result(Type::list());
  case 'i': return result(Type::scalar(DType::I64));
  case 'b': return sizes_beside(1);
  default: check(out().is_scalar(), "gives no number");
  }
}

// Tokens go through effects, one in and one out, and through what has regions or calls.
void Checker::tokens_fit() {
  auto is_token = [&](ValueId v) { return type(v).kind == Type::Kind::Token; };
  const auto &operands = node_->operands, &results = node_->results;
  switch (kind_of(node_->op)) {
  case OpKind::Control: return;
  case OpKind::Value:
  case OpKind::Fallible:
    check(std::none_of(operands.begin(), operands.end(), is_token) &&
              std::none_of(results.begin(), results.end(), is_token),
          "has a token, though it is no effect");
    return;
  case OpKind::Effect:
    check(!operands.empty() && !results.empty() && is_token(operands[0]) && is_token(results[0]) &&
              std::none_of(operands.begin() + 1, operands.end(), is_token) &&
              std::none_of(results.begin() + 1, results.end(), is_token),
          "does not take a token first and give one first");
  }
}

void Checker::format(const FormatTemplate& t, size_t values) {
  check(t.literals.size() == t.specs.size() + 1 && t.specs.size() == values, "its template does not fit its values");
}

void Checker::const_tensor() {
  const uint32_t tensor = node_->as<ConstTensorAttrs>().tensor;
  if (!counts(0, 1) || !check(tensor < module_.tensors.size(), "its tensor does not exist")) return;
  const HostTensor& t = module_.tensors[tensor];
  std::vector<Dim> dims;
  for (int64_t d : t.dims)
    dims.push_back(Dim::of(d));
  result(Type::tensor(t.dtype, dims));
}

void Checker::elementwise() {
  ScalarOp op = node_->as<ElementwiseAttrs>().op;
  if (!counts(static_cast<size_t>(info(op).arity), 1)) return;
  bool shaped = false;
  for (size_t i = 0; i < node_->operands.size(); ++i) {
    if (!check(in(i).is_tensor(), "has an operand that is not a tensor")) return;
    check(in(i).dims.empty() || same(in(i).dims, out().dims),
          [&] { return fmt::format("operand {} is {}, the result is {}", i, text(in(i)), text(out())); });
    shaped = shaped || in(i).dims.size() == out().dims.size();
  }
  check(shaped, "no operand has the result's sizes");
  DType t = in(op == ScalarOp::Where ? 1 : 0).dtype;
  auto operands_are = [&](std::vector<DType> types) {
    for (size_t i = 0; i < types.size(); ++i)
      check(in(i).dtype == types[i],
            [&] { return fmt::format("operand {} is of {}, not {}", i, name_of(in(i).dtype), name_of(types[i])); });
  };
  bool type_fits = true;
  switch (info(op).rule) {
  case TypeRule::NumSame:
  case TypeRule::OrdBool: type_fits = is_num(t); break;
  case TypeRule::FloatSame:
  case TypeRule::FloatBool: type_fits = is_float(t); break;
  case TypeRule::IntSame: type_fits = is_int(t); break;
  case TypeRule::BoolSame: type_fits = t == DType::Bool; break;
  case TypeRule::EqBool: break;
  case TypeRule::Select: operands_are({DType::Bool, t, t}); break;
  case TypeRule::Bits:
  case TypeRule::KeyFold: operands_are({DType::Key, DType::I64}); break;
  }
  check(type_fits, [&] { return fmt::format("is not for {}", name_of(t)); });
  if (op != ScalarOp::Where && op != ScalarOp::KeyBits && op != ScalarOp::KeyFold)
    operands_are(std::vector<DType>(node_->operands.size(), t));
  check(out().is_tensor() && out().dtype == result_type(op, t), "has a wrong element type");
}

void Checker::broadcast() {
  if (!counts(1, 1)) return;
  const std::vector<int64_t>& axes = node_->as<AxesAttrs>().axes;
  if (!check(in(0).is_tensor() && out().is_tensor() && in(0).dtype == out().dtype, "changes the element type")) return;
  if (!check(axes.size() == in(0).dims.size(), "has a wrong number of axes") || !ascending(axes, out().dims.size()))
    return;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& from = in(0).dims[i];
    check(from == Dim::of(1) || same(from, out().dims[static_cast<size_t>(axes[i])]),
          [&] { return fmt::format("{} does not stretch to {}", text(in(0)), text(out())); });
  }
}

void Checker::reshape() {
  if (!counts(1, 1)) return;
  check(in(0).is_tensor() && out().is_tensor() && in(0).dtype == out().dtype, "changes the element type");
  auto count = [](const Type& t) {
    int64_t n = 1;
    for (const Dim& d : t.dims)
      if (!d.is_constant() || __builtin_mul_overflow(n, d.constant, &n)) return int64_t{-1};
    return n;
  };
  int64_t before = count(in(0)), after = count(out());
  // Sizes that differ for certain have been asked about before: by a Guard, or by what chose this branch.
  check(before < 0 || after < 0 || before == after || in_branch_ || never(node_->operands[0]),
        [&] { return fmt::format("{} to {}", text(in(0)), text(out())); });
}

void Checker::transpose() {
  if (!counts(1, 1)) return;
  const std::vector<int64_t>& axes = node_->as<AxesAttrs>().axes;
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (!check(sorted.size() == in(0).dims.size(), "has a wrong number of axes") || !ascending(sorted, sorted.size()))
    return;
  Type t = in(0);
  for (size_t i = 0; i < axes.size(); ++i)
    t.dims[i] = in(0).dims[static_cast<size_t>(axes[i])];
  result(t);
}

void Checker::slice() {
  if (!at_least(1, 1) || !counts(1 + in(0).dims.size(), 1)) return;
  want_i64(1, node_->operands.size());
  const std::vector<int64_t>& steps = node_->as<StepsAttrs>().steps;
  check(steps.size() == in(0).dims.size(), "has a wrong number of steps");
  for (int64_t step : steps)
    check(step != 0, "has a step of 0");
  check(out().is_tensor() && out().dtype == in(0).dtype && out().dims.size() == in(0).dims.size(),
        "has a wrong result");
}

void Checker::pad() {
  if (!at_least(2, 1) || !counts(2 + in(0).dims.size(), 1)) return;
  want(1, Type::scalar(in(0).dtype));
  want_i64(2, node_->operands.size());
  check(out().is_tensor() && out().dtype == in(0).dtype && out().dims.size() == in(0).dims.size(),
        "has a wrong result");
}

void Checker::concat() {
  if (!at_least(1, 1) || !is_axis(node_->as<AxisAttrs>().axis, in(0).dims.size())) return;
  const auto axis = static_cast<size_t>(node_->as<AxisAttrs>().axis);
  for (size_t i = 0; i < node_->operands.size(); ++i) {
    Type t = in(i);
    if (!check(t.dims.size() == out().dims.size(), "joins different ranks")) return;
    t.dims[axis] = out().dims[axis];
    result(t);
  }
}

void Checker::index() {
  if (!at_least(1, 1) || !check(node_->operands.size() - 1 <= in(0).dims.size(), "has too many indices")) return;
  want_i64(1, node_->operands.size());
  Type t = in(0);
  t.dims.erase(t.dims.begin(), t.dims.begin() + static_cast<long>(node_->operands.size() - 1));
  result(t);
}

void Checker::gather() {
  const int64_t axis = node_->as<AxisAttrs>().axis;
  if (!counts(2, 1) || !is_axis(axis, in(0).dims.size())) return;
  check(in(1).is_tensor() && in(1).dtype == DType::I64, "the index is not i64");
  Type t = in(0);
  auto at = t.dims.erase(t.dims.begin() + axis);
  t.dims.insert(at, in(1).dims.begin(), in(1).dims.end());
  result(t);
}

void Checker::scatter() {
  if (!counts(3, 1) || !check(in(0).is_tensor() && !in(0).dims.empty(), "x has no axis")) return;
  check(in(1).is_tensor() && in(1).dtype == DType::I64 && in(1).dims.size() == 1, "the index is not i64[n]");
  Type value = in(0);
  value.dims[0] = in(1).dims.empty() ? value.dims[0] : in(1).dims[0];
  want(2, value);
  result(in(0));
}

void Checker::update() {
  if (!at_least(2, 1) || !counts(2 + in(0).dims.size(), 1)) return;
  want_i64(2, node_->operands.size());
  check(in(1).is_tensor() && in(1).dtype == in(0).dtype, "value and tensor have different element types");
  const std::vector<int64_t>& steps = node_->as<UpdateAttrs>().steps;
  if (in(1).dims.empty())
    check(steps.empty(), "an element update has steps");
  else
    check(in(1).dims.size() == in(0).dims.size() && steps.size() == in(0).dims.size(), "the value has a wrong rank");
  for (int64_t step : steps)
    check(step != 0, "has a step of 0");
  result(in(0));
}

void Checker::reduce() {
  if (!at_least(1, 1) || !check(node_->operands.size() <= 2, "has too many operands")) return;
  const auto& [op, axes] = node_->as<ReduceAttrs>();
  if (!check(in(0).is_tensor(), "is not of a tensor") || !ascending(axes, in(0).dims.size())) return;
  if (node_->operands.size() == 2) want(1, Type::tensor(DType::Bool, in(0).dims));
  DType t = in(0).dtype;
  bool fits = is_num(t);
  if (op == ReduceOp::Any || op == ReduceOp::All) fits = t == DType::Bool;
  if (is_wide(op)) fits = fits && t != DType::F16 && t != DType::BF16;
  check(fits, [&] { return fmt::format("{} is not for {}", name_of(op), name_of(t)); });
  Type r{Type::Kind::Tensor, gives_position(op) ? DType::I64 : t, {}};
  for (size_t i = 0; i < in(0).dims.size(); ++i)
    if (!std::count(axes.begin(), axes.end(), static_cast<int64_t>(i))) r.dims.push_back(in(0).dims[i]);
  result(r);
}

void Checker::contract() {
  if (!counts(2, 1) || !check(in(0).is_tensor() && in(1).is_tensor(), "is not of tensors")) return;
  const auto& [lhs, rhs, kept] = node_->as<ContractAttrs>();
  if (!check(lhs.size() == in(0).dims.size() && rhs.size() == in(1).dims.size(), "has a wrong number of labels"))
    return;
  check(in(0).dtype == in(1).dtype && is_num(in(0).dtype), "operands are not of one number type");
  std::map<int64_t, Dim> sizes;
  auto size = [&](int64_t label, const Dim& dim) {
    auto [at, fresh] = sizes.emplace(label, dim);
    check(fresh || same(at->second, dim), [&] { return fmt::format("label {} has two sizes", label); });
  };
  for (size_t i = 0; i < lhs.size(); ++i)
    size(lhs[i], in(0).dims[i]);
  for (size_t i = 0; i < rhs.size(); ++i)
    size(rhs[i], in(1).dims[i]);
  Type r = Type::tensor(in(0).dtype, {});
  std::set<int64_t> seen;
  for (int64_t label : kept) {
    if (!check(sizes.contains(label) && seen.insert(label).second, "a result label is unknown or repeated")) return;
    r.dims.push_back(sizes[label]);
  }
  result(r);
}

void Checker::map() {
  if (!regions(1) || !check(node_->operands.empty() && !node_->results.empty(), "wants no operands and some results"))
    return;
  const Region& r = node_->regions[0];
  if (!check(r.yields.size() == node_->results.size(), "gives a wrong number of values")) return;
  for (ValueId p : r.params)
    check(type(p) == Type::scalar(DType::I64), "an index is not an i64");
  for (size_t i = 0; i < r.yields.size(); ++i) {
    if (!check(type(r.yields[i]).is_scalar(), "a body's value is not a scalar")) return;
    check(out(i).dims.size() == r.params.size() && same(out(i).dims, out(0).dims), "a result has wrong sizes");
    result(Type::tensor(type(r.yields[i]).dtype, out(0).dims), i);
  }
}

void Checker::carried(const std::vector<ValueId>& params, const std::vector<ValueId>& initial, const Region& body) {
  passes(params, initial, "initial value");
  passes(params, body.yields, "yield");
  passes(params, node_->results, "result");
}

void Checker::branch() {
  if (!regions(2) || !check(node_->operands.size() == 1, "wants one operand")) return;
  want(0, Type::scalar(DType::Bool));
  for (const Region& r : node_->regions) {
    check(r.params.empty(), "a branch has parameters");
    passes(node_->results, r.yields, "yield");
  }
}

void Checker::for_loop() {
  if (!regions(1) || !at_least(3, node_->operands.size() - 3)) return;
  want_i64(0, 3);
  const Region& r = node_->regions[0];
  if (!check(!r.params.empty(), "has no index")) return;
  check(type(r.params[0]) == Type::scalar(DType::I64), "the index is not an i64");
  carried({r.params.begin() + 1, r.params.end()}, {node_->operands.begin() + 3, node_->operands.end()}, r);
}

void Checker::while_loop() {
  if (!regions(2)) return;
  const Region& cond = node_->regions[0];
  check(cond.yields.size() == 1 && type(cond.yields[0]) == Type::scalar(DType::Bool), "the condition is not a bool");
  passes(cond.params, node_->operands, "initial value");
  carried(node_->regions[1].params, node_->operands, node_->regions[1]);
}

void Checker::guard() {
  if (!at_least(2, 1) || !check(node_->operands.size() <= 4, "has too many payloads")) return;
  check(in(1).is_tensor() && in(1).dtype == DType::Bool, "the condition is not a bool");
  for (size_t i = 2; i < node_->operands.size(); ++i)
    check(in(i).is_tensor() && in(i).dtype == DType::I64 && (in(i).dims.empty() || same(in(i).dims, in(1).dims)),
          "a payload is not an i64 of the condition's sizes");
  site_exists(node_->as<SiteAttrs>().site);
  result(in(0));
}

void Checker::call() {
  const uint32_t function = node_->as<CallAttrs>().function;
  if (!check(function < module_.functions.size(), "its function does not exist")) return;
  const Function& callee = module_.functions[function];
  const Region& body = callee.body;
  if (!check(body.params.size() == node_->operands.size() && body.yields.size() == node_->results.size(),
             "passes or gives a wrong number of values"))
    return;
  // What a size of the callee is called here: an operand, a result, or (a parameter that is given back) either.
  auto matches = [&](const Dim& theirs, const Dim& ours) {
    if (theirs.is_constant()) {
      if (same(theirs, ours)) return true;
      for (size_t i = 0; i < body.yields.size(); ++i) // given back beside it, and a constant by now
        if (Dim::of(node_->results[i]) == ours && callee[body.yields[i]].producer.valid()) {
          const Node& size = callee[callee[body.yields[i]].producer];
          if (size.op == Op::Constant && Dim::of(size.as<ConstantAttrs>().literal.as<int64_t>()) == theirs) return true;
        }
      return false;
    }
    auto is = [&](const std::vector<ValueId>& names, const std::vector<ValueId>& values) {
      for (size_t i = 0; i < names.size(); ++i)
        if (names[i] == theirs.value && same(Dim::of(values[i]), ours)) return true;
      return false;
    };
    return is(body.params, node_->operands) || is(body.yields, node_->results);
  };
  auto compare = [&](const std::vector<ValueId>& theirs, const std::vector<ValueId>& ours, std::string_view what) {
    for (size_t i = 0; i < theirs.size(); ++i) {
      const Type &want = callee[theirs[i]].type, &have = type(ours[i]);
      check(want.kind == have.kind && want.dtype == have.dtype &&
                std::equal(want.dims.begin(), want.dims.end(), have.dims.begin(), have.dims.end(), matches),
            [&] {
              return fmt::format("{} {} is {}, which is not the callee's {}", what, i, text(have),
                                 to_text(want, callee));
            });
    }
  };
  compare(body.params, node_->operands, "operand");
  compare(body.yields, node_->results, "result");
}

// What is inside has been looked at; that it fits together is checked once it is expanded.
void Checker::transform() {
  bool custom = node_->op == Op::CustomVjp, over = node_->op == Op::Vmap;
  if (!regions(custom ? 2 : 1)) return;
  size_t params = node_->regions[0].params.size(), yields = node_->regions[0].yields.size();
  check(node_->operands.size() >= params + (over ? 1 : 0), "has fewer operands than its region has parameters");
  check(node_->results.size() >= yields, "has fewer results than its region yields");
}

void Checker::kernel() {
  if (!regions(1) || !check(node_->regions[0].params.empty(), "its region has parameters")) return;
  std::vector<ValueId> used = captures(f_, *node_), given = node_->operands;
  std::sort(used.begin(), used.end());
  std::sort(given.begin(), given.end());
  check(used == given, "its operands are not exactly what its region uses");
  passes(node_->results, node_->regions[0].yields, "yield");
}

} // namespace tl::ir
