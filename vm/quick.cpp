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
  case HostOp::ListGet: return operands == 2 && results == 1 && i.ints.empty() ? Kind::ListGet : Kind::Step;
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
  case Kind::Format: return 0xff; // they see to it themselves
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

std::vector<Quick> quick_code(const BcFunction& function, bool plain) {
  std::vector<Quick> code(function.code.size() + 1);
  for (size_t at = 0; at < function.code.size(); ++at) {
    const Instruction& i = function.code[at];
    Quick& q = code[at];
    q.kind = kind_of(i, plain);
    q.type = q.kind == Kind::Const || q.kind == Kind::Move ? i.dtype : result_type(i.scalar, i.dtype);
    q.imm = i.imm;
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
  }
  code.back().kind = Kind::End;
  return code;
}

} // namespace tl
