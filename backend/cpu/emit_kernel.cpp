// Functions, parameters, loads and stores, checks.
#include "backend/cpu/counters.h"
#include "backend/cpu/emit.h"
#include "backend/cpu/workspace.h"
#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>
#include <stdexcept>

namespace tl::cpu {
using kir::Instr;
using kir::KOp;
using kir::ParamKind;
using llvm::Value;
namespace in = llvm::Intrinsic;

void fault(const kir::Kernel& kernel, const std::string& what) {
  throw std::logic_error(fmt::format("internal error: kernel {}: {}", kernel.name, what));
}

Emitter::Emitter(llvm::Module& module, const kir::Kernel& kernel, const Machine& machine, DebugLines* lines)
    : module_(module), context_(module.getContext()), kernel_(kernel), machine_(machine), lines_(lines), b(context_),
      values_(kernel.types.size()), varying_(varying_values(kernel)), definition_(definitions(kernel)) {
  // Memory that nothing else overlaps gets an alias scope of its own; all other parameters share one.
  llvm::MDBuilder metadata(context_);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(kernel.name);
  llvm::MDNode* rest = metadata.createAnonymousAliasScope(domain, "arguments");
  std::vector<llvm::Metadata*> all;
  for (const kir::Param& param : kernel.params) {
    bool alone = param.kind == ParamKind::Shared || param.kind == ParamKind::Local ||
                 (param.kind == ParamKind::Output && param.exclusive);
    scope_.push_back(alone ? metadata.createAnonymousAliasScope(domain, param.name) : rest);
    if (alone) all.push_back(scope_.back());
  }
  all.push_back(rest);
  for (llvm::MDNode*& scope : scope_) {
    std::vector<llvm::Metadata*> others;
    for (llvm::Metadata* other : all)
      if (other != scope) others.push_back(other);
    others_.push_back(others.empty() ? nullptr : llvm::MDNode::get(context_, others));
  }
  for (llvm::MDNode*& scope : scope_)
    scope = llvm::MDNode::get(context_, {scope});
}

llvm::Function* Emitter::begin_function(const std::string& symbol) {
  llvm::Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, i64, i64, pointer, pointer}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned i : {0U, 3U, 4U})
    function_->addParamAttr(i, llvm::Attribute::NoAlias);
  const char* names[] = {"args", "tile_begin", "tile_end", "workspace", "errors"};
  for (unsigned i = 0; i < 5; ++i)
    function_->getArg(i)->setName(names[i]);
  argument_array_ = function_->getArg(0);
  errors_ = function_->getArg(4);

  auto* entry = llvm::BasicBlock::Create(context_, "entry", function_);
  auto* body = llvm::BasicBlock::Create(context_, "start", function_);
  entry_end_ = llvm::BranchInst::Create(body, entry);
  begin_lines(function_);
  entry_end_->setDebugLoc(b.getCurrentDebugLocation());
  b.SetInsertPoint(body);
  lanes_ = {};
  bind_params();
  return function_;
}

void Emitter::end_function() { b.CreateRetVoid(); }

void Emitter::begin_lines(llvm::Function* function) {
  if (!lines_) return;
  lines_->describe(*function);
  b.SetCurrentDebugLocation(lines_->at(kernel_.loc, *function));
}

Value* Emitter::formula(const SizeFormula& formula) {
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_end_);
  std::vector<Value*> stack;
  using Op = SizeFormula::Op;
  for (const SizeFormula::Step& step : formula.steps) {
    if (step.op == Op::Const) {
      stack.push_back(b.getInt64(static_cast<uint64_t>(step.value)));
      continue;
    }
    if (step.op == Op::Arg) {
      Value* slot = b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), argument_array_, step.value));
      stack.push_back(b.CreateLoad(b.getInt64Ty(), slot));
      continue;
    }
    if (stack.size() < 2) fault(kernel_, "malformed size formula");
    Value* y = stack.back();
    stack.pop_back();
    Value* x = stack.back();
    Value* result = nullptr;
    switch (step.op) {
    case Op::Add: result = b.CreateAdd(x, y); break;
    case Op::Sub: result = b.CreateSub(x, y); break;
    case Op::Mul: result = b.CreateMul(x, y); break;
    case Op::CeilDiv: // -(floor(-x / y))
      result = b.CreateNeg(floor_division(DType::I64, b.CreateNeg(x), y, false));
      break;
    case Op::FloorDiv: result = floor_division(DType::I64, x, y, false); break;
    case Op::Min: result = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); break;
    case Op::Max: result = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y); break;
    case Op::Const:
    case Op::Arg: break;
    }
    stack.back() = result;
  }
  return stack.empty() ? b.getInt64(0) : stack.back();
}

void Emitter::bind_params() {
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_end_);
  Value* bases[2] = {
      b.CreateLoad(b.getPtrTy(), function_->getArg(3), "shared"),
      b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), function_->getArg(3), 1), "local")};
  param_.assign(kernel_.params.size(), nullptr);
  for (uint32_t i = 0; i < kernel_.params.size(); ++i) {
    const kir::Param& param = kernel_.params[i];
    if (param.kind == ParamKind::Shared || param.kind == ParamKind::Local) {
      Value* offset = formula(workspace_offset(kernel_, param.kind, i));
      param_[i] = b.CreateInBoundsGEP(b.getInt8Ty(), bases[param.kind == ParamKind::Local], offset, param.name);
      continue;
    }
    Value* place = b.CreateConstInBoundsGEP1_64(b.getPtrTy(), argument_array_, argument_index(kernel_, i));
    param_[i] = b.CreateLoad(b.getPtrTy(), place, param.name);
    if (param.kind == ParamKind::Size) param_[i] = b.CreateLoad(b.getInt64Ty(), param_[i], param.name);
  }
}

Value* Emitter::pointer(uint32_t param) {
  if (param >= param_.size() || kernel_.params[param].kind == ParamKind::Size)
    fault(kernel_, fmt::format("parameter {} is no memory", param));
  return param_[param];
}

Value* Emitter::local_variable(llvm::Type* type, const char* name) {
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* variable = b.CreateAlloca(type, nullptr, name);
  variable->setAlignment(llvm::Align(64));
  return variable;
}

void Emitter::emit_phase(const kir::Phase& phase, const std::string& symbol) {
  begin_function(symbol);
  auto tile_by_tile = [&] {
    Counters counters(*this, phase.body, phase.body.params[0]);
    Value *first = function_->getArg(1), *end = function_->getArg(2);
    loop(first, end, 1, counters.begin(first), [&](Value* tile, const Values& state) {
      set(phase.body.params[0], Val::uniform(tile));
      for (const Instr& instr : phase.body.instrs)
        if (!counters.give(instr, state)) instruction(instr);
      return counters.next(state);
    });
  };
  if (!short_rows(phase, tile_by_tile)) tile_by_tile();
  end_function();
}

void Emitter::block(const kir::Block& block) {
  for (const Instr& instr : block.instrs)
    instruction(instr);
}

void Emitter::instruction(const Instr& instr) {
  if (!lines_) return translate(instr);
  llvm::DebugLoc before = b.getCurrentDebugLocation();
  b.SetCurrentDebugLocation(lines_->at(instr.loc, *function_));
  translate(instr);
  b.SetCurrentDebugLocation(before);
}

void Emitter::translate(const Instr& instr) {
  if (!known_.empty() && instr.results.size() == 1)
    if (auto found = known_.find(instr.results[0]); found != known_.end())
      return set(instr.results[0], Val::uniform(b.getInt1(found->second)));
  switch (instr.op) {
  case KOp::Const: set(instr.results[0], Val::uniform(constant(instr.dtype, instr.imm))); return;
  case KOp::Arg: set(instr.results[0], Val::uniform(param_[instr.param])); return;
  case KOp::Load: load(instr); return;
  case KOp::Store: store(instr); return;
  case KOp::CopyTransposed: copy_transposed(instr); return;
  case KOp::Scatter: throw std::logic_error("kernel: a scatter by a block is for GPUs");
  case KOp::Check: check(instr); return;
  case KOp::For:
    if (instr.vector && lanes_.width == 0)
      vector_for(instr);
    else
      serial_for(instr);
    return;
  case KOp::While: while_loop(instr); return;
  case KOp::If: if_instr(instr); return;
  case KOp::Reduce:
  case KOp::ReduceChunk: reduce(instr); return;
  case KOp::Contract: contract(instr); return;
  default: arithmetic(instr); return;
  }
}

// --- values

Value* Emitter::scalar(kir::ValueId value) const {
  const Val& val = values_[value.index];
  if (val.varying || !val.v)
    fault(kernel_, fmt::format("value {} must be the same for all lanes of its vector loop", value.index));
  return val.v;
}

Value* Emitter::lane_ids(llvm::Type* integer) {
  std::vector<llvm::Constant*> ids;
  for (unsigned i = 0; i < lanes_.width; ++i)
    ids.push_back(llvm::ConstantInt::get(integer, i));
  return llvm::ConstantVector::get(ids);
}

Value* Emitter::in_lanes(Val value) {
  if (lanes_.width == 0) return value.v;
  if (value.v) return value.varying ? value.v : splat(value.v);
  Value* steps = lane_ids(b.getInt64Ty());
  if (auto* one = llvm::dyn_cast<llvm::ConstantInt>(value.stride); !one || !one->isOne())
    steps = b.CreateMul(splat(value.stride), steps);
  Value* lanes = b.CreateAdd(splat(value.base), steps);
  for (const Term& term : value.terms) {
    Value* more = b.CreateZExt(term.steps.lanes, lanes->getType());
    if (term.times) more = b.CreateMul(more, splat(term.times));
    lanes = term.negative ? b.CreateSub(lanes, more) : b.CreateAdd(lanes, more);
  }
  return lanes;
}

// --- memory

Value* Emitter::from_memory(DType memory, Value* raw) {
  switch (memory) {
  case DType::Bool: return b.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
  case DType::F16: return half_to_float(b.CreateBitCast(raw, like(raw, b.getHalfTy())));
  case DType::BF16: {
    Value* wide = b.CreateZExt(raw, like(raw, b.getInt32Ty()));
    return b.CreateBitCast(b.CreateShl(wide, 16), like(raw, b.getFloatTy()));
  }
  default: return raw;
  }
}

Value* Emitter::to_memory(DType memory, Value* value) {
  switch (memory) {
  case DType::Bool: return b.CreateZExt(value, like(value, b.getInt8Ty()));
  case DType::F16: return b.CreateBitCast(float_to_half(value), like(value, b.getInt16Ty()));
  case DType::BF16: {
    Value* bits = b.CreateBitCast(round16(DType::BF16, value), like(value, b.getInt32Ty()));
    return b.CreateTrunc(b.CreateLShr(bits, 16), like(value, b.getInt16Ty()));
  }
  default: return value;
  }
}

llvm::Instruction* Emitter::note_alias(llvm::Instruction* access, uint32_t param) {
  if (!others_[param]) return access;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, scope_[param]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, others_[param]);
  return access;
}

namespace {

bool is_constant(Value* value, int64_t expected) {
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
  return number && number->getSExtValue() == expected;
}

// The stride of a line whose elements are few vectors apart, else 0.
int64_t small_stride(const Val& offset) {
  auto* stride = llvm::dyn_cast_or_null<llvm::ConstantInt>(offset.stride);
  bool small = offset.is_line() && stride && stride->getSExtValue() >= 2 && stride->getSExtValue() <= 4;
  return small ? stride->getSExtValue() : 0;
}

} // namespace

// Where the first lane of a line is: of lanes that are off there need not be anything.
Value* Emitter::line_place(llvm::Type* element, Value* base, Value* first) {
  return lanes_.mask ? b.CreateGEP(element, base, first) : b.CreateInBoundsGEP(element, base, first);
}

// Every `stride`-th element from `first` on: all the vectors they lie in, the last of which ends with the last of them.
// Of lanes that are off nothing is read.
Value* Emitter::load_strided(llvm::FixedVectorType* vector, Value* first, int64_t stride, uint32_t param) {
  int64_t width = vector->getNumElements(), last = stride * (width - 1);
  llvm::Align align(vector->getElementType()->getScalarSizeInBits() / 8);
  Value* result = nullptr;
  for (int64_t part = 0; part < stride; ++part) {
    int64_t start = std::min(part * width, last + 1 - width);
    Value* place = line_place(vector->getElementType(), first, b.getInt64(static_cast<uint64_t>(start)));
    llvm::Instruction* loaded = nullptr;
    if (lanes_.mask) {
      std::vector<int> lanes; // what each element is for; `width`: nothing
      for (int64_t i = start; i < start + width; ++i)
        lanes.push_back(static_cast<int>(i % stride == 0 ? i / stride : width));
      Value* off = llvm::Constant::getNullValue(lanes_.mask->getType());
      Value* mask = b.CreateShuffleVector(lanes_.mask, off, lanes);
      loaded = b.CreateMaskedLoad(vector, place, align, mask, llvm::Constant::getNullValue(vector));
    } else {
      loaded = b.CreateAlignedLoad(vector, place, align);
    }
    note_alias(loaded, param);
    std::vector<int> picks;
    for (int64_t lane = 0; lane < width; ++lane) {
      bool here = lane * stride / width == part;
      picks.push_back(static_cast<int>(here ? width + lane * stride - start : lane));
    }
    if (!result) result = llvm::PoisonValue::get(vector);
    result = b.CreateShuffleVector(result, loaded, picks);
  }
  return result;
}

// Of elements of less than 32 bits, the aligned 32 bits that each is in: they are in the same page, and processors can
// gather them.
Value* Emitter::gather(llvm::FixedVectorType* vector, Value* places, Value* mask,
                       const std::function<void(llvm::Instruction*)>& note) {
  const unsigned bits = vector->getScalarSizeInBits(), lanes = vector->getNumElements();
  auto access = [&](llvm::FixedVectorType* type, Value* from, unsigned bytes) {
    auto* raw = b.CreateMaskedGather(type, from, llvm::Align(bytes), mask, llvm::Constant::getNullValue(type));
    note(raw);
    return raw;
  };
  if (bits >= 32 || !machine_.x86) return access(vector, places, bits / 8);
  Value *address = b.CreatePtrToInt(places, llvm::FixedVectorType::get(b.getInt64Ty(), lanes)),
        *inside = b.CreateAnd(address, uint64_t{3});
  auto* words = llvm::FixedVectorType::get(b.getInt32Ty(), lanes);
  Value* raw = access(words, b.CreateIntToPtr(b.CreateXor(address, inside), places->getType()), 4);
  raw = b.CreateLShr(raw, b.CreateTrunc(b.CreateShl(inside, 3), words));
  return b.CreateBitCast(b.CreateTrunc(raw, llvm::FixedVectorType::get(b.getIntNTy(bits), lanes)), vector);
}

void Emitter::load(const Instr& instr) {
  DType memory = kernel_.params.at(instr.param).dtype;
  llvm::Type* element = memory_type(memory);
  llvm::Align align(static_cast<uint64_t>(size_of(memory)));
  Val offset = get(instr.operands[0]);
  Value* base = pointer(instr.param);
  if (!offset.varying) {
    auto* raw = b.CreateAlignedLoad(element, b.CreateInBoundsGEP(element, base, offset.v), align);
    note_alias(raw, instr.param);
    set(instr.results[0], Val::uniform(from_memory(memory, raw)));
    return;
  }
  auto* vector = llvm::FixedVectorType::get(element, lanes_.width);
  Value* zero = llvm::Constant::getNullValue(vector);
  llvm::Instruction* raw = nullptr;
  Value* result = nullptr;
  if (offset.is_line() && is_constant(offset.stride, 1)) {
    Value* place = line_place(element, base, offset.base);
    raw = lanes_.mask ? static_cast<llvm::Instruction*>(b.CreateMaskedLoad(vector, place, align, lanes_.mask, zero))
                      : b.CreateAlignedLoad(vector, place, align);
    result = raw;
    constexpr int64_t line = 64;
    const int64_t bytes = static_cast<int64_t>(lanes_.width) * size_of(memory);
    for (int64_t at = 0; at < bytes && ahead_ > 0 && !lanes_.mask; at += line)
      prefetch(b.CreateConstGEP1_64(b.getInt8Ty(), place, ahead_ * bytes + at));
  } else if (offset.is_line() && is_constant(offset.stride, -1)) {
    Value* place = line_place(element, base, b.CreateSub(offset.base, b.getInt64(lanes_.width - 1)));
    Value* mask = lanes_.mask ? b.CreateVectorReverse(lanes_.mask) : nullptr;
    raw = mask ? static_cast<llvm::Instruction*>(b.CreateMaskedLoad(vector, place, align, mask, zero))
               : b.CreateAlignedLoad(vector, place, align);
    result = b.CreateVectorReverse(raw);
  } else if (int64_t stride = small_stride(offset); stride > 0 && (!lanes_.mask || size_of(memory) >= 4)) {
    result = load_strided(vector, line_place(element, base, offset.base), stride, instr.param);
  } else if (offset.is_sum()) {
    result = load_near(vector, base, offset, instr.param);
  }
  if (!result) {
    Value* places = b.CreateInBoundsGEP(element, base, in_lanes(offset));
    Value* mask = lanes_.mask ? lanes_.mask : splat(b.getTrue());
    result = gather(vector, places, mask, [&](llvm::Instruction* access) { note_alias(access, instr.param); });
    ++scattered_;
  }
  if (raw) note_alias(raw, instr.param);
  set(instr.results[0], Val::vector(from_memory(memory, result)));
}

void Emitter::prefetch(Value* place, uint32_t locality) {
  b.CreateIntrinsic(in::prefetch, {b.getPtrTy()}, {place, b.getInt32(0), b.getInt32(locality), b.getInt32(1)});
}

void Emitter::store(const Instr& instr) {
  DType memory = kernel_.params.at(instr.param).dtype;
  llvm::Type* element = memory_type(memory);
  llvm::Align align(static_cast<uint64_t>(size_of(memory)));
  Val offset = get(instr.operands[0]), value = get(instr.operands[1]);
  Value* base = pointer(instr.param);
  if (!offset.varying && !value.varying) { // code under a mask runs only if some lane is on
    auto* access =
        b.CreateAlignedStore(to_memory(memory, value.v), b.CreateInBoundsGEP(element, base, offset.v), align);
    note_alias(access, instr.param);
    return;
  }
  Value* data = to_memory(memory, in_lanes(value));
  llvm::Instruction* access = nullptr;
  if (offset.is_line() && is_constant(offset.stride, 1)) {
    Value* place = line_place(element, base, offset.base);
    access = lanes_.mask ? static_cast<llvm::Instruction*>(b.CreateMaskedStore(data, place, align, lanes_.mask))
                         : b.CreateAlignedStore(data, place, align);
  } else if (offset.is_line() && is_constant(offset.stride, -1) && !lanes_.mask) {
    Value* first = b.CreateSub(offset.base, b.getInt64(lanes_.width - 1));
    access = b.CreateAlignedStore(b.CreateVectorReverse(data), b.CreateInBoundsGEP(element, base, first), align);
  } else {
    // Scatters store from the first lane to the last, so of equal offsets the last iteration wins.
    Value* places = b.CreateInBoundsGEP(element, base, in_lanes(offset));
    access = b.CreateMaskedScatter(data, places, align, lanes_.mask);
    scattered_ += 100;
  }
  note_alias(access, instr.param);
}

// --- checks

void Emitter::record(const Instr& instr, Value* element, Value* a, Value* b_value) {
  llvm::Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty(), *i32 = b.getInt32Ty();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, i32, i64, i64, i64}, false);
  Value* function = b.CreateLoad(pointer, errors_);
  auto* call =
      b.CreateCall(type, function, {errors_, b.getInt32(static_cast<uint32_t>(instr.site)), element, a, b_value});
  call->addFnAttr(llvm::Attribute::Cold);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  call->addFnAttr(llvm::Attribute::WillReturn);
  // It touches the error record alone: no tensor, so that loads and stores move across it.
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
}

void Emitter::check(const Instr& instr) {
  bool varying = false;
  for (kir::ValueId operand : instr.operands)
    varying |= get(operand).varying;
  auto* rarely = llvm::MDBuilder(context_).createBranchWeights(1, 1 << 20);
  auto *bad_block = new_block("failed"), *next = new_block("checked");
  if (!varying) {
    b.CreateCondBr(scalar(instr.operands[0]), next, bad_block,
                   llvm::MDBuilder(context_).createBranchWeights(1 << 20, 1));
    b.SetInsertPoint(bad_block);
    record(instr, scalar(instr.operands[1]), scalar(instr.operands[2]), scalar(instr.operands[3]));
    b.CreateBr(next);
    b.SetInsertPoint(next);
    return;
  }
  Value* bad = masked(b.CreateNot(in_lanes(instr.operands[0])));
  b.CreateCondBr(any(bad), bad_block, next, rarely);
  b.SetInsertPoint(bad_block);
  // The vectors go through memory, and the lanes that failed are recorded one by one.
  unsigned width = lanes_.width;
  Value* variables[4];
  Value* vectors[4] = {b.CreateZExt(bad, like(bad, b.getInt8Ty())), in_lanes(instr.operands[1]),
                       in_lanes(instr.operands[2]), in_lanes(instr.operands[3])};
  for (int i = 0; i < 4; ++i) {
    variables[i] = local_variable(vectors[i]->getType(), "failure");
    b.CreateStore(vectors[i], variables[i]);
  }
  loop(b.getInt64(0), b.getInt64(width), 1, {}, [&](Value* lane, const Values&) -> Values {
    auto lane_of = [&](int i, llvm::Type* type) {
      return b.CreateLoad(type, b.CreateInBoundsGEP(type, variables[i], lane));
    };
    Value* failed = b.CreateICmpNE(lane_of(0, b.getInt8Ty()), b.getInt8(0));
    branch(failed,
           [&]() -> Values {
             record(instr, lane_of(1, b.getInt64Ty()), lane_of(2, b.getInt64Ty()), lane_of(3, b.getInt64Ty()));
             return {};
           },
           {});
    return {};
  });
  b.CreateBr(next);
  b.SetInsertPoint(next);
}

} // namespace tl::cpu
