// The renewal of a session: what names lead to is copied to a new checker. Everything else that the old one has made,
// and a session of a thousand pieces has made a lot of it, is thrown away with it. The declarations of the prelude and
// of imported files are there anew already; those of pieces, variables, sizes and functions that are values get new
// places as something that is copied refers to them.
#include "parser/check/context.h"
#include <algorithm>

namespace tl::checker {

class Renewer {
public:
  Renewer(Checker& from, Checker& to) : from_(from), to_(to) {}

  CheckSession::Renewal run() {
    to_.is_session_ = true;
    to_.before_.emplace(); // names that are entered now are no change
    begin_scopes();
    to_.file_->modules = from_.file_->modules;
    for (const auto& [name, old] : from_.file_->names)
      to_.file_->names[name] = entity(old);
    for (const auto& [file, module] : from_.modules_) {
      Scope& scope = *to_.modules_.at(file).scope;
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
    scopes_[from_.prelude_] = to_.prelude_;
    scopes_[from_.file_] = to_.file_;
    for (const auto& [file, module] : from_.modules_) {
      scopes_[module.scope] = to_.module_scope(*file);
      to_.modules_.at(file).has_run = module.has_run;
    }
    for (FunctionInfo& info : to_.functions_)
      functions_by_decl_[info.decl] = &info;
    for (StructInfo& info : to_.structs_)
      structs_by_decl_[info.decl] = &info;
    for (ConstInfo& info : to_.constants_)
      constants_by_decl_[info.decl] = &info;
    for (StructInfo& info : from_.structs_) // values of earlier pieces are of these very records
      if (auto it = structs_by_decl_.find(info.decl); it != structs_by_decl_.end()) structure(&info);
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
    const SizeAtom old = from_.p_.atoms[id];
    Size made;
    switch (old.kind) {
    case AtomKind::Named:
    case AtomKind::Value:
    case AtomKind::Fresh: {
      needs(old.origin);
      const AtomId added = to_.p_.atoms.add(old);
      if (from_.known_atoms_.count(id)) {
        result_.atoms[id] = added;
        to_.known_atoms_.insert(added);
      }
      made = Size::of(added);
      break;
    }
    case AtomKind::Element:
      for (size_t n = 0;; ++n)
        if (from_.p_.atoms.element(n) == id) {
          made = Size::of(to_.p_.atoms.element(n));
          break;
        }
      break;
    case AtomKind::FloorDiv: made = to_.p_.atoms.floor_div(size(old.a), size(old.b)); break;
    case AtomKind::Positive: made = to_.p_.atoms.positive(size(old.a)); break;
    case AtomKind::Wrap: made = to_.p_.atoms.wrap(size(old.a), size(old.b)); break;
    case AtomKind::Modular: made = to_.p_.atoms.i64_sum(size(old.a), 0); break;
    case AtomKind::Near: made = to_.p_.atoms.near_axis(size(old.a)); break;
    }
    return atoms_[id] = made;
  }

  Type type(const Type& old) {
    Type made = from_.resolved(old);
    for (Size& s : made.shape)
      s = size(s);
    for (Type& element : made.elements)
      element = type(element);
    if (made.function & Checker::kWritten) {
      const Checker::WrittenFunction written = from_.written_functions_[made.function & ~Checker::kWritten];
      to_.written_functions_.push_back({written.type, scope(written.env)});
      made.function = Checker::kWritten | static_cast<uint32_t>(to_.written_functions_.size() - 1);
    } else if (made.function) {
      made.function = to_.function_type(value(Static(from_.function_values_[made.function]))).function;
    }
    return made;
  }

  VarId variable(VarId id) {
    if (!id.valid()) return id;
    if (auto it = variables_.find(id); it != variables_.end()) return it->second;
    const VarId made{static_cast<uint32_t>(to_.p_.variables.size())};
    variables_[id] = made;
    to_.p_.variables.emplace_back();
    typed::Variable v = from_.p_.variables[id.index];
    needs(v.span);
    v.type = type(v.type);
    if (v.atom.valid()) v.atom = atom(v.atom).as_atom().value();
    to_.p_.variables[made.index] = std::move(v);
    if (auto it = from_.known_sizes_.find(id); it != from_.known_sizes_.end())
      to_.known_sizes_[made] = size(it->second);
    if (auto it = from_.open_at_first_.find(id); it != from_.open_at_first_.end())
      to_.open_at_first_[made] = it->second;
    if (auto it = from_.top_->current.find(id); it != from_.top_->current.end())
      to_.top_->current[made] = type(it->second);
    if (from_.top_->own.count(id.index)) to_.top_->own.insert(made.index);
    if (from_.top_level_order_.count(id)) to_.top_level_order_.try_emplace(made, to_.top_level_order_.size());
    if (from_.given_.count(id)) {
      to_.given_.insert(made);
      result_.variables[id] = made;
    }
    return made;
  }

  Scope* scope(Scope* old) {
    if (!old) return nullptr;
    if (auto it = scopes_.find(old); it != scopes_.end()) return it->second;
    to_.scopes_.emplace_back();
    Scope* made = scopes_[old] = &to_.scopes_.back();
    made->function = old->function ? to_.top_ : nullptr;
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
    to_.functions_.push_back(*old);
    FunctionInfo* made = functions_[old] = &to_.functions_.back();
    made->id = static_cast<uint32_t>(to_.functions_.size());
    made->parent = old->parent ? to_.top_ : nullptr;
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
      to_.structs_.push_back(*old);
      needs(old->decl->name.span);
    }
    StructInfo* made = structs_[old] = known == structs_by_decl_.end() ? &to_.structs_.back() : known->second;
    made->record = old->record;
    made->is_bad = old->is_bad;
    if (made->record) to_.struct_of_[made->record.get()] = made;
    made->env = scope(old->env);
    return made;
  }

  ConstInfo* constant(ConstInfo* old) {
    if (!old) return nullptr;
    if (auto it = constants_by_decl_.find(old->decl); it != constants_by_decl_.end()) return it->second;
    if (auto it = constants_.find(old); it != constants_.end()) return it->second;
    to_.constants_.push_back({old->decl, nullptr, false});
    ConstInfo* made = constants_[old] = &to_.constants_.back();
    made->env = scope(old->env);
    needs(old->decl->name.span);
    return made;
  }

  const Transformed* transformed(const Transformed* old) {
    if (!old) return nullptr;
    if (auto it = transformed_.find(old); it != transformed_.end()) return it->second;
    to_.transformed_.push_back(*old);
    Transformed* made = &to_.transformed_.back();
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
      from_.p_.atoms.collect(s, all);
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
    to_.top_->facts = facts(from_.top_->facts);
    for (const auto& [old, made] : functions_)
      made->facts = facts(old->facts);
    for (VarId id : from_.hidden_) // those that a function which is still there holds
      if (auto it = variables_.find(id); it != variables_.end()) to_.hidden_.insert(it->second);
    to_.p_.uses_devices = from_.p_.uses_devices;
    to_.before_.reset();
  }

  Checker &from_, &to_;
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

CheckSession::Renewal renew(Checker& from, Checker& to) { return Renewer(from, to).run(); }

} // namespace tl::checker
