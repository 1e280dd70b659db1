#include "vm/quick.h"
#include <algorithm>

namespace tl {

using Kind = Quick::Kind;

static Kind kind_of_scalar(const Instruction& i) {
  const size_t operands = i.in.size();
  if (i.scalar == ScalarOp::Where && operands == 3) return Kind::Where;
  if (operands != 2) return Kind::Step;
#define TL_QUICK(type, native, op)                                                                                     \
  if (i.scalar == ScalarOp::op && i.dtype == DType::type) return Kind::op##type;
  TL_QUICK_SCALARS(TL_QUICK)
#undef TL_QUICK
  return Kind::Step;
}

static Kind kind_of_host(const Instruction& i) {
  const size_t operands = i.in.size(), results = i.out.size();
  switch (i.host_op) {
  case HostOp::Text: return results == 1 ? Kind::Text : Kind::Step;
  case HostOp::Format: return Kind::Format;
  case HostOp::ListLength: return operands == 1 && results == 1 ? Kind::ListLength : Kind::Step;
  case HostOp::ListGet: return operands == 2 && results == 1 && i.ints.empty() ? Kind::ListGet : Kind::ListLeaves;
  case HostOp::ListSet: return operands == 3 && results == 1 ? Kind::ListSet : Kind::Step;
  case HostOp::ListAppend: return operands == 2 && results == 1 ? Kind::ListAppend : Kind::Step;
  default: return Kind::Step;
  }
}

static bool is_of_numbers(const Instruction& i) {
  return !i.decides && i.out.size() == i.outputs.size() &&
         std::all_of(i.outputs.begin(), i.outputs.end(), [](const OutputDesc& made) {
           return made.kind == OutputDesc::Kind::Tensor && made.dims.empty() && made.mode != AliasMode::Initial;
         });
}

// The operands that this kind may give away, a bit each.
static uint8_t may_give(Kind kind) {
  switch (kind) {
  case Kind::Move:
  case Kind::Guard:
  case Kind::ListLength:
  case Kind::ListGet: return 1;
  case Kind::ListSet: return 1 | 4;
  case Kind::ListAppend: return 1 | 2;
  case Kind::Call:
  case Kind::Return:
  case Kind::Launch:
  case Kind::Text:
  case Kind::Format:
  case Kind::ListLeaves: return 0xff; // they see to it themselves
  default: return 0;
  }
}

static Kind kind_of(const Instruction& i, bool plain) {
  switch (i.op) {
  case BcOp::Jump: return Kind::Jump;
  case BcOp::JumpIfNot: return Kind::JumpIfNot;
  case BcOp::Call: return Kind::Call;
  case BcOp::Return: return Kind::Return;
  default: break;
  }
  if (plain) return Kind::Step;
  switch (i.op) {
  case BcOp::ConstScalar: return Kind::Const;
  case BcOp::Move: return i.in[0].slot == i.out[0] ? Kind::Step : Kind::Move;
  case BcOp::Scalar: return kind_of_scalar(i);
  case BcOp::Guard: return i.in.size() < 2 || i.in[0].slot == i.out[0] ? Kind::Step : Kind::Guard;
  case BcOp::Launch: return is_of_numbers(i) ? Kind::Launch : Kind::Step;
  case BcOp::Host: return kind_of_host(i);
  default: return Kind::Step;
  }
}

// Where a list is changed in place (`xs[i] += [v]`): an element is got, and a ListSet puts another there before anybody
// looks at the list. Then it need not stay in the list meanwhile, and may itself be changed in place. Says which
// ListGets these are.
static std::vector<bool> replaced_gets(const BcFunction& function) {
  struct Got {
    size_t at;
    Slot list;
    uint32_t index; // the number of its value
  };
  std::vector<bool> found(function.code.size()), is_target(function.code.size() + 1);
  for (const Instruction& i : function.code)
    if (i.op == BcOp::Jump || i.op == BcOp::JumpIfNot) is_target.at(i.target) = true;
  std::vector<uint32_t> value(function.slot_count); // which are equal: copies, and what a Guard lets through
  uint32_t last = 0;
  std::vector<Got> open;
  auto of = [&](Slot s) -> uint32_t& { return value.at(s.index) ? value[s.index] : value[s.index] = ++last; };
  for (size_t at = 0; at < function.code.size(); ++at) {
    const Instruction& i = function.code[at];
    if (is_target[at]) open.clear(), value.assign(value.size(), 0);
    const bool is_list = i.op == BcOp::Host && i.in.size() > 1;
    if (is_list && i.host_op == HostOp::ListSet && i.in[0].last_use)
      for (const Got& got : open)
        if (got.list == i.in[0].slot && got.index == of(i.in[1].slot)) {
          const Instruction& get = function.code[got.at];
          found[got.at] = i.in.size() - 2 == get.out.size() - get.ints.size() / 2; // all leaves
        }
    const bool only_length = i.op == BcOp::Host && i.host_op == HostOp::ListLength && !i.in[0].last_use;
    auto uses = [&](Slot list) {
      return (!only_length &&
              std::any_of(i.in.begin(), i.in.end(), [&](const Operand& o) { return o.slot == list; })) ||
             std::find(i.out.begin(), i.out.end(), list) != i.out.end();
    };
    std::erase_if(open, [&](const Got& got) { return uses(got.list); });
    if (is_list && i.host_op == HostOp::ListGet && !i.in[0].last_use &&
        std::find(i.out.begin(), i.out.end(), i.in[0].slot) == i.out.end())
      open.push_back({at, i.in[0].slot, of(i.in[1].slot)});
    const uint32_t same = i.op == BcOp::Guard || i.op == BcOp::Move ? of(i.in.at(0).slot) : 0;
    for (const Slot& made : i.out)
      value.at(made.index) = same ? same : ++last;
    if (i.op == BcOp::Jump || i.op == BcOp::JumpIfNot || i.op == BcOp::Return) open.clear();
  }
  return found;
}

// How often each slot is read.
static std::vector<uint32_t> reads_of(const BcFunction& function) {
  std::vector<uint32_t> reads(function.slot_count);
  for (const Instruction& i : function.code) {
    for (const Operand& operand : i.in)
      ++reads.at(operand.slot.index);
    for (const OutputDesc& made : i.outputs)
      for (const SizeRef& size : made.dims)
        if (size.is_slot) ++reads.at(size.slot.index);
  }
  return reads;
}

// `a < 0`, `a + b`, one of the two, `0 <= index`, `index < b`, both, and the Guard of it: what checks a subscript.
static void fuse_index(const BcFunction& function, size_t at, const std::vector<uint32_t>& reads, Quick& q) {
  if (at + Quick::kIndexed > function.code.size()) return;
  const Instruction* part = &function.code[at];
  auto is = [&](size_t k, ScalarOp op, DType type, std::initializer_list<Slot> in) {
    return part[k].op == BcOp::Scalar && part[k].scalar == op && part[k].dtype == type &&
           std::equal(in.begin(), in.end(), part[k].in.begin(), part[k].in.end(),
                      [](Slot a, const Operand& b) { return a == b.slot && !b.last_use; });
  };
  if (part[0].op != BcOp::Scalar || part[0].in.size() != 2 || part[1].op != BcOp::Scalar || part[1].in.size() != 2)
    return;
  const Slot a = part[0].in[0].slot, zero = part[0].in[1].slot, b = part[1].in[1].slot;
  auto out = [&](size_t k) { return part[k].out.at(0); };
  const DType i64 = DType::I64, boolean = DType::Bool;
  if (!is(0, ScalarOp::Lt, i64, {a, zero}) || !is(1, ScalarOp::Add, i64, {a, b}) ||
      !is(2, ScalarOp::Where, i64, {out(0), out(1), a}) || !is(3, ScalarOp::Ge, i64, {out(2), zero}) ||
      !is(4, ScalarOp::Lt, i64, {out(2), b}) || !is(5, ScalarOp::And, boolean, {out(3), out(4)}))
    return;
  const Instruction& guard = part[6];
  if (guard.op != BcOp::Guard || guard.in.size() < 2 || guard.in[0].slot != out(2) || guard.in[1].slot != out(5))
    return;
  if (std::any_of(guard.in.begin(), guard.in.end(), [](const Operand& o) { return o.last_use; })) return;
  for (size_t k : {0, 1, 3, 4})
    if (reads[out(k).index] != 1) return;
  for (size_t k = 0; k < Quick::kIndexed; ++k)
    for (const Slot& operand : {a, b, zero})
      if (out(k) == operand) return;
  q.kind = Kind::Index;
  q.a = a.index, q.b = b.index, q.c = zero.index, q.out = out(6).index;
  if (reads[out(2).index] > 3) q.index = out(2).index;
  if (reads[out(5).index] > 1) q.holds = out(5).index;
}

// A comparison and the JumpIfNot behind it.
static void fuse_jump(const BcFunction& function, size_t at, Quick& q) {
  if (at + 1 >= function.code.size()) return;
  const Instruction& jump = function.code[at + 1];
  if (jump.op != BcOp::JumpIfNot || jump.in.size() != 1 || jump.in[0].last_use) return;
  if (jump.in[0].slot.index != q.out) return;
  switch (q.kind) {
#define TL_QUICK(type, native, op)                                                                                     \
  case Kind::op##type: q.kind = Kind::op##type##Jump; break;
    TL_QUICK_TESTS(TL_QUICK)
#undef TL_QUICK
  default: return;
  }
  q.c = std::min(jump.target, static_cast<uint32_t>(function.code.size()));
}

std::vector<Quick> quick_code(const BcFunction& function, bool plain) {
  std::vector<Quick> code(function.code.size() + 1);
  const std::vector<bool> is_replaced = replaced_gets(function);
  const std::vector<uint32_t> reads = reads_of(function);
  for (size_t at = 0; at < function.code.size(); ++at) {
    const Instruction& i = function.code[at];
    Quick& q = code[at];
    q.kind = kind_of(i, plain);
    q.type = q.kind == Kind::Const || q.kind == Kind::Move ? i.dtype : result_type(i.scalar, i.dtype);
    q.imm = i.imm;
    q.takes = is_replaced[at];
    uint32_t* slots[] = {&q.a, &q.b, &q.c};
    for (size_t k = 0; k < i.in.size() && k < 8; ++k) {
      if (k < 3) *slots[k] = i.in[k].slot.index;
      if (i.in[k].last_use) q.gives |= static_cast<uint8_t>(1 << k);
    }
    if (!i.out.empty()) q.out = i.out[0].index;
    if (q.kind == Kind::Jump || q.kind == Kind::JumpIfNot)
      q.c = std::min(i.target, static_cast<uint32_t>(function.code.size()));
    const bool has_operands = q.kind == Kind::Call || q.kind == Kind::Return || q.kind == Kind::Launch ||
                              q.kind == Kind::Text || q.kind == Kind::Format || i.in.size() <= 4;
    if ((q.gives & ~may_give(q.kind)) || !has_operands) q.kind = Kind::Step;
    if (q.kind == Kind::LtI64) fuse_index(function, at, reads, q);
    fuse_jump(function, at, q);
  }
  code.back().kind = Kind::End;
  return code;
}

} // namespace tl
