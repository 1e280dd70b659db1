#include "backend/kernel/builder.h"
#include <algorithm>
#include <bit>
#include <stdexcept>

namespace tl::kir {
namespace {

// Sign- or zero-extends the low bytes of a folded integer to the type's width.
int64_t wrap(DType type, int64_t value) {
  switch (type) {
  case DType::Bool: return value & 1;
  case DType::U8: return static_cast<uint8_t>(value);
  case DType::I8: return static_cast<int8_t>(value);
  case DType::U16: return static_cast<uint16_t>(value);
  case DType::I16: return static_cast<int16_t>(value);
  case DType::U32: return static_cast<uint32_t>(value);
  case DType::I32: return static_cast<int32_t>(value);
  default: return value;
  }
}

bool is_integral(DType t) { return is_int(t) || t == DType::Bool; }

bool is_commutative(KOp op) {
  return op == KOp::Add || op == KOp::Mul || op == KOp::And || op == KOp::Or || op == KOp::Xor || op == KOp::Eq ||
         op == KOp::Ne;
}

// Index arithmetic: cheaper than knowing whether it is needed.
bool is_cheap(KOp op, DType type) {
  if (type != DType::I64 && type != DType::Bool) return op == KOp::Const;
  switch (op) {
  case KOp::Const:
  case KOp::Arg:
  case KOp::Add:
  case KOp::Sub:
  case KOp::Mul:
  case KOp::Neg:
  case KOp::And:
  case KOp::Or:
  case KOp::Not: return true;
  default: return false;
  }
}

} // namespace

Instr make(KOp op, std::vector<ValueId> operands) {
  Instr instr;
  instr.op = op;
  instr.operands = std::move(operands);
  return instr;
}

std::vector<ValueId> Builder::open(const std::vector<DType>& params, bool conditional) {
  scopes_.push_back({});
  scopes_.back().conditional = conditional;
  std::vector<ValueId> ids;
  for (DType type : params)
    ids.push_back(fresh(type, current()));
  scopes_.back().block.params = ids;
  return ids;
}

Block Builder::close(std::vector<ValueId> yields) {
  Block block = std::move(scopes_.back().block);
  block.yields = std::move(yields);
  scopes_.pop_back();
  return block;
}

int Builder::barrier() const {
  for (int i = current(); i > 0; --i)
    if (scopes_[static_cast<size_t>(i)].conditional) return i;
  return 0;
}

bool Builder::in_lanes() const {
  return std::any_of(scopes_.begin(), scopes_.end(), [](const Scope& scope) { return scope.lanes; });
}

std::vector<Builder::Scope> Builder::suspend(int level) {
  auto from = scopes_.begin() + level + 1;
  std::vector<Scope> tail(std::make_move_iterator(from), std::make_move_iterator(scopes_.end()));
  scopes_.erase(from, scopes_.end());
  return tail;
}

void Builder::resume(std::vector<Scope> scopes) {
  for (Scope& scope : scopes)
    scopes_.push_back(std::move(scope));
}

std::optional<ValueId> Builder::find(const MemoKey& key) const {
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto it = scopes_[i].memo.find(key);
    if (it != scopes_[i].memo.end()) return it->second;
  }
  return std::nullopt;
}

ValueId Builder::fresh(DType type, int level) {
  kernel.types.push_back(type);
  levels_.push_back(level);
  return {static_cast<uint32_t>(kernel.types.size() - 1)};
}

std::optional<int64_t> Builder::constant_of(ValueId v) const {
  auto it = constants_.find(v.index);
  if (it == constants_.end() || !is_integral(it->second.first)) return std::nullopt;
  return wrap(it->second.first, it->second.second.as<int64_t>());
}

void Builder::put(Instr instr, int level) {
  instr.loc = loc_;
  scopes_[static_cast<size_t>(level)].block.instrs.push_back(std::move(instr));
}

ValueId Builder::place(Instr instr, DType type, int level) {
  instr.dtype = instr.op == KOp::Round16 ? instr.dtype : type;
  ValueId id = fresh(type, level);
  instr.results = {id};
  put(std::move(instr), level);
  return id;
}

ValueId Builder::constant(DType type, Scalar imm) {
  MemoKey key{0, static_cast<uint64_t>(type), imm.bits};
  if (auto found = find(key)) return *found;
  Instr instr = make(KOp::Const);
  instr.imm = imm;
  ValueId id = place(std::move(instr), type, 0);
  constants_[id.index] = {type, imm};
  remember(0, std::move(key), id);
  return id;
}

ValueId Builder::arg(uint32_t param) {
  MemoKey key{1, param};
  if (auto found = find(key)) return *found;
  Instr instr = make(KOp::Arg);
  instr.param = param;
  ValueId id = place(std::move(instr), DType::I64, 0);
  remember(0, std::move(key), id);
  return id;
}

// Identities of integers and bools only: floats stay as written.
std::optional<ValueId> Builder::fold(KOp op, DType type, const std::vector<ValueId>& v) {
  std::optional<int64_t> a, b;
  if (v.size() > 0) a = constant_of(v[0]);
  if (v.size() > 1) b = constant_of(v[1]);
  int64_t x = a.value_or(0), y = b.value_or(0);
  bool signed_or_small = !v.empty() && this->type(v[0]) != DType::U64;
  if (op == KOp::Select) {
    if (a) return x ? v[1] : v[2];
    if (v[1] == v[2]) return v[1];
    return std::nullopt;
  }
  if (op == KOp::Convert && this->type(v[0]) == type) return v[0];
  if (v.empty() || !is_integral(this->type(v[0]))) return std::nullopt;
  auto make = [&](int64_t value) { return constant(type, Scalar::of(wrap(type, value))); };
  auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  if (a && b) {
    switch (op) {
    case KOp::Add: return make(static_cast<int64_t>(u(x) + u(y)));
    case KOp::Sub: return make(static_cast<int64_t>(u(x) - u(y)));
    case KOp::Mul: return make(static_cast<int64_t>(u(x) * u(y)));
    case KOp::UDiv:
      if (y > 0) return make(x / y);
      break;
    case KOp::URem:
      if (y > 0) return make(x % y);
      break;
    case KOp::And: return make(x & y);
    case KOp::Or: return make(x | y);
    case KOp::Eq: return boolean(x == y);
    case KOp::Ne: return boolean(x != y);
    case KOp::Lt:
      if (signed_or_small) return boolean(x < y);
      break;
    case KOp::Le:
      if (signed_or_small) return boolean(x <= y);
      break;
    default: break;
    }
    return std::nullopt;
  }
  switch (op) {
  case KOp::Add:
    if (a && x == 0) return v[1];
    if (b && y == 0) return v[0];
    break;
  case KOp::Sub:
    if (b && y == 0) return v[0];
    break;
  case KOp::Mul:
    if (a && x == 1) return v[1];
    if (b && y == 1) return v[0];
    if ((a && x == 0) || (b && y == 0)) return make(0);
    break;
  case KOp::UDiv:
    if (b && y == 1) return v[0];
    if (a && x == 0) return v[0];
    break;
  case KOp::URem:
    if (b && y == 1) return make(0);
    if (a && x == 0) return v[0];
    break;
  case KOp::And:
    if (v[0] == v[1]) return v[0];
    if (type == DType::Bool && a) return x ? v[1] : v[0];
    if (type == DType::Bool && b) return y ? v[0] : v[1];
    break;
  case KOp::Or:
    if (v[0] == v[1]) return v[0];
    if (type == DType::Bool && a) return x ? v[0] : v[1];
    if (type == DType::Bool && b) return y ? v[1] : v[0];
    break;
  case KOp::Not:
    if (type == DType::Bool && a) return boolean(!x);
    break;
  default: break;
  }
  return std::nullopt;
}

// How many of the last bits of an integer of 64 bits are zero, for all we know.
int Builder::low_zeros(ValueId v) const {
  if (auto known = constant_of(v)) return *known == 0 ? 64 : std::countr_zero(static_cast<uint64_t>(*known));
  const Instr* in = definition(v);
  if (!in) return 0;
  switch (in->op) {
  case KOp::Mul: return std::min(64, low_zeros(in->operands[0]) + low_zeros(in->operands[1]));
  case KOp::Add: return std::min(low_zeros(in->operands[0]), low_zeros(in->operands[1]));
  case KOp::Convert: return size_of(type(in->operands[0])) == 8 ? low_zeros(in->operands[0]) : 0;
  default: return 0;
  }
}

// Without what is added to bits that are zero, where those are shifted away: so that the words of a random number's
// block share its computation.
ValueId Builder::without_low_part(ValueId v, int64_t shift) const {
  ValueId sum = v;
  const Instr* in = definition(sum);
  while (in && in->op == KOp::Convert && size_of(type(in->operands[0])) == 8) {
    sum = in->operands[0];
    in = definition(sum);
  }
  if (!in || in->op != KOp::Add) return v;
  for (size_t i = 0; i < 2; ++i) {
    const auto added = constant_of(in->operands[i]);
    const int zeros = low_zeros(in->operands[1 - i]);
    if (added && *added >= 0 && zeros <= shift && *added >> zeros == 0) return in->operands[1 - i];
  }
  return v;
}

ValueId Builder::pure(KOp op, DType type, std::vector<ValueId> operands) {
  if (op == KOp::LShr && size_of(type) == 8 && is_int(type))
    if (auto shift = constant_of(operands[1]); shift && *shift < 64) {
      const ValueId rest = without_low_part(operands[0], *shift);
      if (rest != operands[0]) operands[0] = pure(KOp::Convert, type, {rest});
    }
  if (op == KOp::Sub && is_int(type))
    if (const Instr* sum = definition(operands[0]); sum && sum->op == KOp::Add)
      for (size_t side = 0; side < 2; ++side)
        if (sum->operands[side] == operands[1]) return sum->operands[1 - side];
  if (is_commutative(op) && is_integral(this->type(operands[0])) && operands[0] > operands[1])
    std::swap(operands[0], operands[1]);
  if (auto folded = fold(op, type, operands)) return *folded;
  MemoKey key{2, static_cast<uint64_t>(op), static_cast<uint64_t>(type)};
  int level = 0;
  for (ValueId v : operands) {
    key.push_back(v.index);
    level = std::max(level, this->level(v));
  }
  if (auto found = find(key)) return *found;
  DType compared = operands.empty() ? type : this->type(operands[0]);
  bool cheap =
      is_cheap(op, type) || ((op == KOp::Lt || op == KOp::Le || op == KOp::Eq || op == KOp::Ne) && !is_float(compared));
  if (!cheap) level = std::max(level, barrier());
  Instr instr = make(op, std::move(operands));
  instr.dtype = type;
  DType result = op == KOp::Round16 ? DType::F32 : type;
  ValueId id = place(std::move(instr), result, level);
  remember(level, std::move(key), id);
  return id;
}

const Instr* Builder::definition(ValueId v) const {
  if (level(v) >= depth()) return nullptr;
  for (const Instr& instr : scope(level(v)).block.instrs)
    if (instr.results.size() == 1 && instr.results[0] == v) return &instr;
  return nullptr;
}

ValueId Builder::load(uint32_t param, ValueId offset, bool shared) {
  DType type = value_type(kernel.params[param].dtype);
  MemoKey key{3, param, offset.index};
  if (shared)
    if (auto found = find(key)) return *found;
  Instr instr = make(KOp::Load, {offset});
  instr.param = param;
  int level = shared ? std::max(this->level(offset), barrier()) : current();
  ValueId id = place(std::move(instr), type, level);
  if (shared) remember(level, std::move(key), id);
  return id;
}

void Builder::store(uint32_t param, ValueId offset, ValueId value) {
  Instr instr = make(KOp::Store, {offset, value});
  instr.param = param;
  put(std::move(instr), current());
}

void Builder::check(int32_t site, ValueId ok, ValueId element, ValueId a, ValueId b) {
  if (constant_of(ok) == 1) return;
  Instr instr = make(KOp::Check, {ok, element, a, b});
  instr.site = site;
  put(std::move(instr), current());
}

std::vector<ValueId> Builder::append(Instr instr, const std::vector<DType>& results) {
  for (DType type : results)
    instr.results.push_back(fresh(type, current()));
  std::vector<ValueId> ids = instr.results;
  put(std::move(instr), current());
  return ids;
}

namespace {

// Backwards over blocks; `used` collects what later instructions need.
class Cleaner {
public:
  explicit Cleaner(size_t values) : used_(values, false) {}

  // Returns whether the block does anything besides giving its yields.
  bool block(Block& b) {
    for (ValueId v : b.yields)
      used_[v.index] = true;
    bool effects = false;
    std::vector<Instr> kept;
    for (size_t i = b.instrs.size(); i-- > 0;) {
      Instr& instr = b.instrs[i];
      bool needed = instr.op == KOp::Store || instr.op == KOp::CopyTransposed || instr.op == KOp::Scatter ||
                    instr.op == KOp::Check || instr.op == KOp::While;
      effects |= needed;
      for (ValueId v : instr.results)
        needed |= used_[v.index];
      if (!needed && instr.blocks.empty()) continue;
      if (!needed) {
        // What a loop without used results would mark as used matters only if the loop stays.
        std::vector<bool> before = used_;
        bool inner = false;
        for (Block& nested : instr.blocks)
          inner |= block(nested);
        if (!inner) {
          used_ = std::move(before);
          continue;
        }
        effects = true;
      } else {
        for (Block& nested : instr.blocks)
          effects |= block(nested);
      }
      for (ValueId v : instr.operands)
        used_[v.index] = true;
      kept.push_back(std::move(instr));
    }
    std::reverse(kept.begin(), kept.end());
    b.instrs = std::move(kept);
    return effects;
  }

private:
  std::vector<bool> used_;
};

} // namespace

void remove_dead(Kernel& kernel) {
  Cleaner cleaner(kernel.types.size());
  if (kernel.is_gemm) {
    cleaner.block(kernel.gemm.header);
    cleaner.block(kernel.gemm.epilogue);
  }
  for (Phase& phase : kernel.phases)
    cleaner.block(phase.body);
}

} // namespace tl::kir
