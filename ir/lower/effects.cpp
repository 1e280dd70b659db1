// Effects: output, files, time, plots, stopwatches. What acts takes the token and gives the next one.
#include "ir/lower/function.h"
#include "vm/io/io.h"
#include <sstream>

namespace tl::ir {

Leaves FunctionLowerer::effect(Op op, std::vector<ValueId> operands, std::vector<Type> results, Attrs attrs, LocId at) {
  operands[0] = token();
  NodeId node = here().node(op, std::move(operands), std::move(results), std::move(attrs), at);
  std::vector<ValueId> values = f_[node].results;
  set_token(values[0]);
  return {values.begin() + 1, values.end()};
}

// As instructions carry them.
static uint32_t packed(LoadOptions options) { return static_cast<uint32_t>(options.packed().bits); }

// A tensor of a file that a const is read from, each once.
uint32_t FunctionLowerer::constant_file(const typed::Expr& e, const std::string& name, const tl::Type& type,
                                        LoadOptions options) {
  const std::string& path = e.operands.at(0)->as<typed::StrExpr>().text;
  auto [known, is_new] = shared_.files.try_emplace({path, name, type.dtype, type.rank(), packed(options)}, 0);
  if (!is_new) return known->second;
  try {
    TensorReader reader(path, {options, name, type.dtype, type.rank()});
    require_type(path, reader.header(), type.dtype, type.rank());
    HostTensor x = reader.take();
    x.dtype = type.dtype; // keys are kept as u64
    known->second = static_cast<uint32_t>(shared_.module.tensors.size());
    shared_.module.tensors.push_back(std::move(x));
    return known->second;
  } catch (const IoError& error) {
    throw Unsupported(error.what(), e.span);
  }
}

// One Load for each leaf of the type.
Leaves FunctionLowerer::load(const typed::Expr& e, const Leaves& operands) {
  LocId at = loc(e.span);
  const auto& attrs = e.attrs<typed::LoadAttrs>();
  std::istringstream names(attrs.names);
  Leaves result;
  auto visit = [&](auto& self, const tl::Type& whole) -> void {
    if (!whole.is_tensor()) {
      for (const tl::Type& element : whole.elements)
        self(self, element);
      return;
    }
    LoadOptions options = attrs.options;
    options.pairs = is_complex(whole.dtype);
    const tl::Type t = options.pairs ? pairs_of(whole) : whole;
    auto take = [&](ValueId x) {
      if (!options.pairs) return result.push_back(x);
      for (int64_t k = 0; k < 2; ++k)
        result.push_back(part_of_pairs(x, k, at));
    };
    std::string name;
    const bool is_leaf = static_cast<bool>(std::getline(names, name));
    if (attrs.is_constant) {
      if (!is_leaf && e.operands.size() > 1) name = e.operands[1]->as<typed::StrExpr>().text;
      const ConstTensorAttrs file{constant_file(e, name, t, options)};
      // In the outermost region, so that maps find it outside of them.
      return take(this->at(0).one(Op::ConstTensor, {}, Type::tensor(t.dtype, dims(t.shape)), file, at));
    }
    std::vector<ValueId> values{ValueId{}};
    values.insert(values.end(), operands.begin(), operands.end());
    if (is_leaf) values.push_back(string(name, at));
    std::vector<Type> types{Type::token(), Type::tensor(t.dtype, std::vector<Dim>(t.rank()))};
    types.insert(types.end(), t.rank(), Type::scalar(DType::I64));
    Leaves made = effect(Op::Load, std::move(values), std::move(types), LoadAttrs{packed(options)}, at);
    for (size_t i = 0; i < t.rank(); ++i)
      f_[made[0]].type.dims[i] = Dim::of(made[1 + i]);
    take(made[0]);
  };
  visit(visit, e.type);
  return result;
}

Leaves FunctionLowerer::effect_builtin(const typed::Expr& e, const Leaves& operands) {
  LocId at = loc(e.span);
  auto with_token = [&] {
    std::vector<ValueId> values = operands;
    values.insert(values.begin(), ValueId{});
    return values;
  };
  auto types_with_token = [&](std::vector<ValueId> values) {
    std::vector<Type> types{Type::token()};
    for (ValueId v : values)
      types.push_back(type(v));
    return types;
  };

  const Builtin builtin = e.as<typed::BuiltinExpr>().builtin;
  switch (builtin) {
  case Builtin::Print: {
    const PrintAttrs attrs{e.attrs<typed::PrintAttrs>().to_stderr};
    return effect(Op::Print, with_token(), {Type::token()}, attrs, at);
  }
  case Builtin::Load: return load(e, operands);
  case Builtin::Save: {
    std::vector<ValueId> values{ValueId{}, operands.at(0)};
    std::string names = e.attrs<typed::SaveAttrs>().names;
    Leaves tensors = as_in_files(e.operands.at(1)->type, {operands.begin() + 1, operands.end()}, names, at);
    if (!names.empty()) values.push_back(string(std::move(names), at));
    values.insert(values.end(), tensors.begin(), tensors.end());
    return effect(Op::Save, std::move(values), {Type::token()}, {}, at);
  }
  case Builtin::Exists: return effect(Op::Exists, with_token(), {Type::token(), Type::scalar(DType::Bool)}, {}, at);
  case Builtin::ReadText:
  case Builtin::TensorNames:
    return effect(Op::ReadText, with_token(), {Type::token(), Type::str()},
                  ReadTextAttrs{builtin == Builtin::TensorNames}, at);
  case Builtin::WriteText: return effect(Op::WriteText, with_token(), {Type::token()}, {}, at);
  case Builtin::ReadLine: return effect(Op::ReadLine, {ValueId{}}, {Type::token(), Type::str()}, {}, at);
  case Builtin::Wait: return effect(Op::Wait, with_token(), types_with_token(operands), {}, at);
  case Builtin::WaitAll: return effect(Op::WaitAll, {ValueId{}}, {Type::token()}, {}, at);
  case Builtin::Time:
    if (!operands.empty()) effect(Op::Wait, with_token(), types_with_token(operands), {}, at);
    return effect(Op::Time, {ValueId{}}, {Type::token(), Type::scalar(DType::F64)}, {}, at);
  case Builtin::Interrupted:
    return effect(Op::Interrupted, {ValueId{}}, {Type::token(), Type::scalar(DType::Bool)}, {}, at);
  case Builtin::Exit: return effect(Op::Exit, with_token(), {Type::token()}, {}, at);
  case Builtin::Debug: {
    const DebugAttrs attrs{e.attrs<typed::DebugAttrs>().name};
    return effect(Op::Debug, with_token(), types_with_token(operands), attrs, at);
  }
  case Builtin::Progress: {
    const ProgressAttrs attrs{e.attrs<typed::ProgressAttrs>().last};
    return effect(Op::Progress, with_token(), {Type::token()}, attrs, at);
  }
  case Builtin::PlotLine:
  case Builtin::PlotDescribed:
  case Builtin::PlotImage: {
    const auto kind = static_cast<PlotKind>(static_cast<int>(builtin) - static_cast<int>(Builtin::PlotLine));
    const auto& plot = e.attrs<typed::PlotAttrs>();
    const PlotAttrs attrs{kind, plot.has_path, plot.has_x};
    std::vector<ValueId> values = with_token();
    values.insert(values.begin() + (attrs.has_path ? 3 : 2), string(plot.labels, at));
    return effect(Op::Plot, std::move(values), {Type::token()}, attrs, at);
  }
  case Builtin::StopwatchStart:
  case Builtin::StopwatchLap:
  case Builtin::StopwatchTotal:
  case Builtin::StopwatchCount: {
    const auto op = static_cast<StopwatchOp>(static_cast<int>(builtin) - static_cast<int>(Builtin::StopwatchStart));
    return effect(Op::Stopwatch, with_token(), {Type::token(), Type::scalar(e.type.dtype)}, StopwatchAttrs{op}, at);
  }
  default: throw std::logic_error("lowering: no function that acts");
  }
}

} // namespace tl::ir
