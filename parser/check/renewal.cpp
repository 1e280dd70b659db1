// The renewal of a session: what names lead to is copied to a new checker. Everything else that the old one has made,
// and a session of a thousand pieces has made a lot of it, is thrown away with it. The declarations of the prelude and
// of imported files are there anew already; those of pieces, variables, sizes and functions that are values get new
// places as something that is copied refers to them.
#include "parser/check/functions.h"
#include "parser/check/modules.h"
#include "parser/check/session.h"
#include <algorithm>

namespace tl::checker {

class Renewer {
public:
  Renewer(Context& from, Context& to) : from_(from), to_(to) {}

  CheckSession::Renewal run() {
    to_.session.is_active = true;
    to_.session.before.emplace(); // names that are entered now are no change
    begin_scopes();
    to_.names.file->modules = from_.names.file->modules;
    for (const auto& [name, old] : from_.names.file->names)
      to_.names.file->names[name] = entity(old);
    for (const auto& [file, module] : from_.names.modules) {
      Scope& scope = *to_.names.modules.at(file).scope;
      for (const auto& [name, old] : module.scope->names)
        if (!is_declared(old)) scope.names[name] = entity(old);
    }
    finish();
    return std::move(result_);
  }

private:
  // Has hoisting entered it already?
  static bool is_declared(const Entity& entity) {
    return entity.kind == Entity::Kind::Function || entity.kind == Entity::Kind::Struct ||
           entity.kind == Entity::Kind::Const || entity.kind == Entity::Kind::Module;
  }

  void begin_scopes() {
    scopes_[from_.names.prelude] = to_.names.prelude;
    scopes_[from_.names.file] = to_.names.file;
    for (const auto& [file, module] : from_.names.modules) {
      scopes_[module.scope] = module_scope(to_, *file);
      to_.names.modules.at(file).has_run = module.has_run;
    }
    for (FunctionInfo& info : to_.functions.declared)
      functions_by_decl_[info.decl] = &info;
    for (StructInfo& info : to_.names.structs)
      structs_by_decl_[info.decl] = &info;
    for (ConstInfo& info : to_.names.constants)
      constants_by_decl_[info.decl] = &info;
    for (StructInfo& info : from_.names.structs) // values of earlier pieces are of these very records
      if (info.made || structs_by_decl_.count(info.decl)) structure(&info);
  }

  void needs(Span span) {
    if (span.valid()) result_.files.insert(span.file.index);
  }

  Size size(const Size& old) {
    Size sum;
    for (const Size::Term& term : old.terms) {
      Size product = term.coefficient;
      for (AtomId id : term.atoms)
        product = product * atom(id);
      sum = sum + product;
    }
    return sum;
  }

  Size atom(AtomId id) {
    if (auto it = atoms_.find(id); it != atoms_.end()) return it->second;
    if (Size::of(id).is_too_large()) return Size::of(id);
    const SizeAtom old = from_.program.atoms[id];
    Size made;
    switch (old.kind) {
    case AtomKind::Named:
    case AtomKind::Value:
    case AtomKind::Fresh: {
      needs(old.origin);
      const AtomId added = to_.program.atoms.add(old);
      if (from_.session.known_atoms.count(id)) {
        result_.atoms[id] = added;
        to_.session.known_atoms.insert(added);
      }
      made = Size::of(added);
      break;
    }
    case AtomKind::Element:
      for (size_t n = 0;; ++n)
        if (from_.program.atoms.element(n) == id) {
          made = Size::of(to_.program.atoms.element(n));
          break;
        }
      break;
    case AtomKind::FloorDiv: made = to_.program.atoms.floor_div(size(old.a), size(old.b)); break;
    case AtomKind::Positive: made = to_.program.atoms.positive(size(old.a)); break;
    case AtomKind::Wrap: made = to_.program.atoms.wrap(size(old.a), size(old.b)); break;
    case AtomKind::Modular: made = to_.program.atoms.i64_sum(size(old.a), 0); break;
    case AtomKind::Near: made = to_.program.atoms.near_axis(size(old.a)); break;
    }
    return atoms_[id] = made;
  }

  Type type(const Type& old) {
    Type made = from_.open.resolved(old);
    for (Size& s : made.shape)
      s = size(s);
    for (Type& element : made.elements)
      element = type(element);
    if (made.function & kWritten) {
      const WrittenFunction written = from_.functions.written[made.function & ~kWritten];
      to_.functions.written.push_back({written.type, scope(written.env)});
      made.function = kWritten | static_cast<uint32_t>(to_.functions.written.size() - 1);
    } else if (made.function) {
      made.function = function_type(to_, value(Static(from_.functions.values[made.function]))).function;
    }
    return made;
  }

  VarId variable(VarId id) {
    if (!id.valid()) return id;
    if (auto it = variables_.find(id); it != variables_.end()) return it->second;
    const VarId made{static_cast<uint32_t>(to_.program.variables.size())};
    variables_[id] = made;
    to_.program.variables.emplace_back();
    typed::Variable v = from_.program.variables[id.index];
    needs(v.span);
    v.type = type(v.type);
    if (v.atom.valid()) v.atom = atom(v.atom).as_atom().value();
    to_.program.variables[made.index] = std::move(v);
    if (auto it = from_.sizes.known.find(id); it != from_.sizes.known.end()) to_.sizes.known[made] = size(it->second);
    if (auto it = from_.open_at_first.find(id); it != from_.open_at_first.end()) to_.open_at_first[made] = it->second;
    if (auto it = from_.top->current.find(id); it != from_.top->current.end())
      to_.top->current[made] = type(it->second);
    if (from_.top->own.count(id.index)) to_.top->own.insert(made.index);
    if (from_.instances.top_level_order.count(id))
      to_.instances.top_level_order.try_emplace(made, to_.instances.bound_at_top_level());
    if (from_.session.given.count(id)) {
      to_.session.given.insert(made);
      result_.variables[id] = made;
    }
    return made;
  }

  Scope* scope(Scope* old) {
    if (!old) return nullptr;
    if (auto it = scopes_.find(old); it != scopes_.end()) return it->second;
    to_.names.scopes.emplace_back();
    Scope* made = scopes_[old] = &to_.names.scopes.back();
    made->function = old->function ? to_.top : nullptr;
    made->is_file = old->is_file;
    made->is_function = old->is_function;
    made->prefix = old->prefix;
    made->parent = scope(old->parent);
    for (const auto& [name, inner] : old->names)
      made->names[name] = entity(inner);
    return made;
  }

  FunctionInfo* function(FunctionInfo* old) {
    if (!old) return nullptr;
    if (auto it = functions_by_decl_.find(old->decl); it != functions_by_decl_.end() && !old->is_closure)
      return it->second;
    if (auto it = functions_.find(old); it != functions_.end()) return it->second;
    to_.functions.declared.push_back(*old);
    FunctionInfo* made = functions_[old] = &to_.functions.declared.back();
    made->id = static_cast<uint32_t>(to_.functions.declared.size());
    made->parent = old->parent ? to_.top : nullptr;
    made->instances.clear();
    made->facts = {};
    made->env = scope(old->env);
    needs(old->decl->name.span);
    for (const ast::Param& param : old->decl->params)
      if (param.type) needs(param.type->span);
    if (old->decl->result) needs(old->decl->result->span);
    return made;
  }

  StructInfo* structure(StructInfo* old) {
    if (!old) return nullptr;
    if (auto it = structs_.find(old); it != structs_.end()) return it->second;
    auto known = structs_by_decl_.find(old->decl);
    if (known == structs_by_decl_.end()) {
      to_.names.structs.push_back(*old);
      needs(old->decl->name.span);
    }
    StructInfo* made = structs_[old] = known == structs_by_decl_.end() ? &to_.names.structs.back() : known->second;
    made->record = old->record;
    made->is_bad = old->is_bad;
    if (made->record) to_.names.struct_of[made->record.get()] = made;
    made->env = scope(old->env);
    return made;
  }

  ConstInfo* constant(ConstInfo* old) {
    if (!old) return nullptr;
    if (auto it = constants_by_decl_.find(old->decl); it != constants_by_decl_.end()) return it->second;
    if (auto it = constants_.find(old); it != constants_.end()) return it->second;
    to_.names.constants.push_back({old->decl, nullptr, false});
    ConstInfo* made = constants_[old] = &to_.names.constants.back();
    made->env = scope(old->env);
    needs(old->decl->name.span);
    return made;
  }

  const Transformed* transformed(const Transformed* old) {
    if (!old) return nullptr;
    if (auto it = transformed_.find(old); it != transformed_.end()) return it->second;
    to_.functions.transformed.push_back(*old);
    Transformed* made = &to_.functions.transformed.back();
    transformed_[old] = made;
    made->function = value(old->function);
    made->rule = value(old->rule);
    made->result = type(old->result);
    return made;
  }

  Static value(const Static& old) {
    Static made = old;
    for (Static& element : made.elements)
      element = value(element);
    for (FunctionInfo*& info : made.callable.functions)
      info = function(info);
    made.callable.structure = structure(made.callable.structure);
    made.callable.transformed = transformed(made.callable.transformed);
    return made;
  }

  Entity entity(const Entity& old) {
    Entity made = old;
    needs(old.span);
    made.var = variable(old.var);
    made.size = size(old.size);
    for (Size& s : made.sizes)
      s = size(s);
    made.constant = constant(old.constant);
    made.function = function(old.function);
    made.structure = structure(old.structure);
    made.value = value(old.value);
    made.element = type(old.element);
    made.module = scope(old.module);
    return made;
  }

  // What is known of sizes, of those that are still there. Ids of functions differ, their facts are their own.
  SizeFacts facts(const SizeFacts& old) {
    auto is_live = [&](const Size& s) {
      std::vector<AtomId> all;
      from_.program.atoms.collect(s, all);
      return std::all_of(all.begin(), all.end(), [&](AtomId id) { return atoms_.count(id) > 0; });
    };
    SizeFacts made;
    for (const auto& [id, s] : old.equal)
      if (atoms_.count(id) && is_live(s))
        if (auto single = atom(id).as_atom()) made.equal.emplace_back(*single, size(s));
    for (const Size& s : old.not_negative)
      if (is_live(s)) made.not_negative.push_back(size(s));
    return made;
  }

  void finish() {
    to_.top->facts = facts(from_.top->facts);
    for (const auto& [old, made] : functions_)
      made->facts = facts(old->facts);
    for (VarId id : from_.session.hidden) // those that a function which is still there holds
      if (auto it = variables_.find(id); it != variables_.end()) to_.session.hidden.insert(it->second);
    to_.program.uses_devices = from_.program.uses_devices;
    to_.session.before.reset();
  }

  Context &from_, &to_;
  CheckSession::Renewal result_;
  std::map<const ast::Function*, FunctionInfo*> functions_by_decl_;
  std::map<const ast::Struct*, StructInfo*> structs_by_decl_;
  std::map<const ast::Const*, ConstInfo*> constants_by_decl_;
  std::map<AtomId, Size> atoms_;
  std::map<VarId, VarId> variables_;
  std::map<const Scope*, Scope*> scopes_;
  std::map<const FunctionInfo*, FunctionInfo*> functions_;
  std::map<const StructInfo*, StructInfo*> structs_;
  std::map<const ConstInfo*, ConstInfo*> constants_;
  std::map<const Transformed*, const Transformed*> transformed_;
};

CheckSession::Renewal renew(Context& from, Context& to) { return Renewer(from, to).run(); }

} // namespace tl::checker
