#include "ir/lower/constants.h"
#include "ir/graph/rewrite.h"
#include "ir/lower/function.h"
#include "lang/typed_walk.h"
#include <algorithm>
#include <set>
#include <stdexcept>

namespace tl::ir {
namespace {

bool is_const(const typed::Expr& e) {
  const auto* block = e.get_if<typed::BlockExpr>();
  return block && block->constant.name.valid();
}

std::string without_sizes(const tl::Type& type) {
  std::string text = std::to_string(static_cast<int>(type.kind));
  if (type.is_tensor()) text += "." + std::to_string(static_cast<int>(type.dtype)) + "." + std::to_string(type.rank());
  if (type.is_struct()) text += type.record->name;
  if (type.elements.empty()) return text;
  text += '(';
  for (const tl::Type& element : type.elements)
    text += without_sizes(element) + ",";
  return text + ')';
}

// The atoms that are bound in an expression, in its order: the same for each use of a const.
std::vector<AtomId> bound_atoms(const typed::Program& program, const typed::Expr& e) {
  std::vector<AtomId> atoms;
  auto pattern = [&](auto& self, const typed::Pattern& p) -> void {
    if (p.var.valid() && program.variables[p.var.index].atom.valid())
      atoms.push_back(program.variables[p.var.index].atom);
    for (const typed::Pattern& element : p.elements)
      self(self, element);
  };
  typed::Walker walker;
  walker.on_expr = [&](const typed::Expr& part) {
    for (const typed::SizeBind& bind : part.binds)
      atoms.push_back(bind.atom);
    for (const typed::FreshAtom& fresh : part.fresh)
      atoms.push_back(fresh.atom);
  };
  walker.on_stmt = [&](const typed::Stmt& s) {
    pattern(pattern, s.pattern);
    for (const auto& [atom, size] : s.size_defs)
      atoms.push_back(atom);
  };
  walker.walk(e);
  return atoms;
}

// Consts in the order in which they can be computed.
class Finder {
public:
  explicit Finder(const typed::Program& program) : program_(program) {
    walker_.on_stmt = [](const typed::Stmt&) {};
    walker_.on_expr = [this](const typed::Expr& e) { look(e); };
  }
  std::vector<const typed::Expr*> run() {
    walker_.walk(program_.top_level);
    walker_.walk(program_.main_call);
    for (const typed::Test& test : program_.tests)
      enter(test.instance);
    return std::move(found_);
  }

private:
  void enter(typed::InstanceId id) {
    if (seen_.insert(id.index).second) walker_.walk(program_.instances[id.index].body);
  }
  // Parents are seen first, so what a const needs is looked for before it is put down.
  void look(const typed::Expr& e) {
    if (const auto* call = e.get_if<typed::CallExpr>()) return enter(call->instance);
    if (!is_const(e) || !keys_.insert(key_of(e)).second) return;
    walker_.walk(e.as<typed::BlockExpr>().block);
    found_.push_back(&e);
  }

  const typed::Program& program_;
  typed::Walker walker_;
  std::set<uint32_t> seen_;
  std::set<ConstantKey> keys_;
  std::vector<const typed::Expr*> found_;
};

} // namespace

ConstantKey key_of(const typed::Expr& constant) {
  const typed::ConstPart& part = constant.as<typed::BlockExpr>().constant;
  return {part.name.file.index, part.name.begin, part.part, without_sizes(constant.type)};
}

std::vector<const typed::Expr*> constants_of(const typed::Program& program) { return Finder(program).run(); }

const ConstantValue* LowerProgram::value_of_const(const typed::Expr& e) const {
  if (constants.empty() || !is_const(e)) return nullptr;
  auto found = constants.find(key_of(e));
  return found == constants.end() ? nullptr : &found->second;
}

Function FunctionLowerer::computing(const typed::Expr& constant, std::vector<bool>& sizes) {
  set_token(here().param(Type::token()));
  static const tl::Type unit = tl::Type::unit();
  callees_.back().result_type = &unit;
  callees_.back().returned = new_flag();
  callees_.back().result = new_pseudo();
  const typed::Block& body = constant.as<typed::BlockExpr>().block;
  find_jumps(body);
  Leaves result = block(body, [&](const Leaves& value) { return as_type(value, constant.type); });
  f_.body.yields.push_back(token());
  f_.body.yields.insert(f_.body.yields.end(), result.begin(), result.end());
  for (AtomId atom : bound_atoms(shared_.program, constant)) {
    sizes.push_back(knows(Size::of(atom)));
    if (sizes.back()) f_.body.yields.push_back(size_value(Size::of(atom)));
  }
  hold_unread_guards(shared_.module, f_);
  remove_dead_nodes(f_);
  return std::move(f_);
}

ConstantProgram lower_constant(const typed::Program& program, const SourceManager& sources, const typed::Expr& constant,
                               const Constants& before) {
  SizeAtoms atoms = program.atoms;
  LowerProgram shared(program, sources, atoms, before);
  shared.find_called(&constant);
  for (typed::InstanceId id : shared.called)
    shared.module.functions.push_back(FunctionLowerer(shared, program.instances[id.index].name).instance(id));
  shared.module.entry = static_cast<uint32_t>(shared.module.functions.size());
  ConstantProgram result;
  shared.module.functions.push_back(FunctionLowerer(shared, "").computing(constant, result.sizes));
  shared.module.functions.back().name = "entry";
  result.module = std::move(shared.module);
  result.leaves = leaf_count(constant.type);
  return result;
}

ConstantValue value_of(const ConstantProgram& program, std::vector<Argument> results) {
  ConstantValue value;
  size_t next = program.leaves;
  for (bool known : program.sizes) {
    value.sizes.emplace_back();
    if (known) value.sizes.back() = std::get<HostTensor>(results.at(next++)).get(0).as<int64_t>();
  }
  if (next != results.size()) throw std::logic_error("a const has other results than were asked for");
  results.resize(program.leaves);
  value.leaves = std::move(results);
  return value;
}

// In the outermost region, so that maps find it outside of them.
ValueId FunctionLowerer::constant_leaf(const Argument& leaf, const tl::Type& type, LocId loc) {
  Builder outside = at(0);
  if (const auto* text = std::get_if<std::string>(&leaf))
    return outside.one(Op::ConstStr, {}, Type::str(), ConstStrAttrs{*text}, loc);
  if (const auto* list = std::get_if<std::shared_ptr<const ListArgument>>(&leaf)) {
    const std::vector<tl::Type> parts = type.elements.empty() ? std::vector<tl::Type>() : leaf_types(type.elements[0]);
    std::vector<ValueId> values;
    for (size_t i = 0; i < (*list)->values.size(); ++i) {
      const tl::Type part = parts.empty() ? tl::Type::scalar(DType::Bool) : parts[i % parts.size()];
      values.push_back(constant_leaf((*list)->values[i], part, loc));
    }
    const auto width = static_cast<int64_t>((*list)->width);
    const auto count = static_cast<int64_t>(values.size()) / std::max<int64_t>(width, 1);
    return outside.one(Op::ListMake, std::move(values), graph_type(type), ListMakeAttrs{width, count}, loc);
  }
  const auto& tensor = std::get<HostTensor>(leaf);
  if (type.is_scalar()) return outside.constant(type.dtype, tensor.get(0));
  auto [known, fresh] = shared_.tensors_of_consts.emplace(tensor.data(), shared_.module.tensors.size());
  if (fresh) {
    shared_.module.tensors.push_back(tensor);
    shared_.module.tensors.back().device = kNoDevice;
    shared_.module.tensors.back().dtype = type.dtype;
  }
  std::vector<Dim> dims;
  for (int64_t size : tensor.dims)
    dims.push_back(Dim::of(size));
  return outside.one(Op::ConstTensor, {}, Type::tensor(type.dtype, std::move(dims)), ConstTensorAttrs{known->second},
                     loc);
}

Leaves FunctionLowerer::constant_value(const typed::Expr& e, const ConstantValue& value) {
  const std::vector<AtomId> atoms = bound_atoms(shared_.program, e);
  if (atoms.size() != value.sizes.size()) throw std::logic_error("two uses of a const differ");
  for (size_t i = 0; i < atoms.size(); ++i)
    if (value.sizes[i]) bind_atom(atoms[i], at(0).i64(*value.sizes[i]));
  const std::vector<tl::Type> types = leaf_types(e.type);
  Leaves leaves;
  for (size_t i = 0; i < types.size(); ++i)
    leaves.push_back(constant_leaf(value.leaves.at(i), types[i], loc(e.span)));
  return as_type(std::move(leaves), e.type);
}

} // namespace tl::ir
