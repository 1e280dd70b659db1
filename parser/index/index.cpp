#include "parser/index/index.h"
#include "lang/ast_walk.h"
#include "parser/check/modules.h"
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace tl {
namespace {

bool is_callable(SymbolKind kind) { return kind == SymbolKind::Function || kind == SymbolKind::Struct; }
bool is_type(SymbolKind kind) { return kind == SymbolKind::Struct || kind == SymbolKind::TypeParameter; }

// The symbols of one file, as they are found.
class Outline {
public:
  explicit Outline(std::vector<Symbol>& symbols) : symbols_(symbols) {}

  int add(SymbolKind kind, const std::string& name, Span span, Span whole, Span extent, int owner = -1) {
    symbols_.push_back({kind, name, {}, span, whole, extent, owner, false, nullptr});
    return static_cast<int>(symbols_.size()) - 1;
  }
  int add(SymbolKind kind, const ast::Ident& name, const ast::Stmt& statement, Span extent, const std::string& doc) {
    const int id = add(kind, name.text, name.span, statement.span, extent);
    symbols_[static_cast<size_t>(id)].doc = doc;
    symbols_[static_cast<size_t>(id)].statement = &statement;
    return id;
  }

  // A declaration that the block around it sees everywhere, with its parameters or fields.
  void declare(const ast::Stmt& s, Span extent) {
    if (auto* function = ast::as<ast::Function>(s)) {
      const int id = add(SymbolKind::Function, function->name, s, extent, function->doc);
      parameters(function->params, s.span, id);
    } else if (auto* record = ast::as<ast::Struct>(s)) {
      const int id = add(SymbolKind::Struct, record->name, s, extent, record->doc);
      for (const ast::StructField& field : record->fields) {
        const int at = add(SymbolKind::Field, field.name.text, field.name.span, field.span, {}, id);
        symbols_[static_cast<size_t>(at)].doc = field.doc;
      }
    } else if (auto* constant = ast::as<ast::Const>(s)) {
      (void)add(SymbolKind::Const, constant->name, s, extent, constant->doc);
    } else if (auto* import = ast::as<ast::Import>(s)) {
      const ast::Ident name{checker::name_of_module(*import),
                            import->alias.empty() ? import->path_span : import->alias.span};
      (void)add(SymbolKind::Module, name, s, extent, "");
    }
  }

  void parameters(const std::vector<ast::Param>& params, Span extent, int owner) {
    for (const ast::Param& param : params) {
      if (param.name.empty()) continue;
      const int at = add(SymbolKind::Parameter, param.name.text, param.name.span, param.span, extent, owner);
      symbols_[static_cast<size_t>(at)].doc = param.doc;
    }
  }

  template <class OnName> void pattern(const ast::Pattern& pattern, const OnName& on_name) {
    if (pattern.kind == ast::Pattern::Kind::Name) on_name(pattern);
    for (const ast::Pattern* element : pattern.elements)
      this->pattern(*element, on_name);
  }

  void variable(const ast::Pattern& p, const ast::Stmt& s, const ast::Let& let, Span extent) {
    pattern(p, [&](const ast::Pattern& name) {
      const int id = add(SymbolKind::Variable, {name.name, name.span}, s, extent, let.doc);
      symbols_[static_cast<size_t>(id)].is_mutable = let.is_var;
    });
  }

private:
  std::vector<Symbol>& symbols_;
};

Span whole_file(const ast::File& file) { return {file.id, 0, UINT32_MAX}; }

class Indexer {
public:
  Indexer(const ast::File& file, const IndexOptions& options)
      : file_(file), options_(options), outline_(index_.symbols) {
    for (const typed::Variable& variable : options.program.variables)
      if (variable.span.file == file.id && !variable.type.is_error())
        variables_.emplace(variable.span.begin, &variable.type);
  }

  Index run() {
    index_.symbols = outline(file_);
    scopes_.push_back({whole_file(file_), {}});
    for (size_t i = 0; i < index_.symbols.size(); ++i) {
      const Symbol& symbol = index_.symbols[i];
      if (symbol.owner >= 0 || symbol.kind == SymbolKind::Field) continue;
      mention(symbol.span, symbol, true);
      if (symbol.kind != SymbolKind::Variable) enter(symbol.name, static_cast<int>(i));
    }
    for (const ast::Stmt* s : file_.statements)
      if (!ast::as<ast::Function>(s) && !ast::as<ast::Test>(s)) statement(*s);
    for (const ast::Stmt* s : file_.statements) // these see what all of the file binds
      if (ast::as<ast::Function>(s) || ast::as<ast::Test>(s)) statement(*s);
    auto& all = index_.mentions;
    std::stable_sort(all.begin(), all.end(), [](const Mention& a, const Mention& b) {
      return std::pair(a.span.begin, !a.is_declaration) < std::pair(b.span.begin, !b.is_declaration);
    });
    all.erase(std::unique(all.begin(), all.end(), [](const Mention& a, const Mention& b) { return a.span == b.span; }),
              all.end());
    return std::move(index_);
  }

private:
  struct Scope {
    Span extent;
    std::map<std::string, std::vector<int>> names; // the last one counts
  };

  // ---- what names mean ----

  void enter(const std::string& name, int id) { scopes_.back().names[name].push_back(id); }
  Symbol& symbol(int id) { return index_.symbols[static_cast<size_t>(id)]; }
  // Of what is declared at this place; -1: nothing.
  int declared(Span span) {
    for (; placed_ < index_.symbols.size(); ++placed_)
      places_.emplace(index_.symbols[placed_].span.begin, static_cast<int>(placed_));
    const auto found = places_.find(span.begin);
    return found != places_.end() && symbol(found->second).span == span ? found->second : -1;
  }
  Span from(uint32_t begin) const { return {file_.id, begin, scopes_.back().extent.end}; }

  template <class Accept> int find(const std::string& name, const Accept& accept) {
    for (size_t depth = scopes_.size(); depth-- > 0;) {
      const auto it = scopes_[depth].names.find(name);
      if (it == scopes_[depth].names.end()) continue;
      for (auto id = it->second.rbegin(); id != it->second.rend(); ++id)
        if (accept(index_.symbols[static_cast<size_t>(*id)], depth)) return *id;
    }
    return -1;
  }
  int find(const std::string& name) {
    return find(name, [](const Symbol& s, size_t) { return s.kind != SymbolKind::TypeParameter; });
  }
  int find_size(const std::string& name) { // variables at the top of the file are no sizes
    return find(name, [](const Symbol& s, size_t depth) { return s.kind != SymbolKind::Variable || depth > 0; });
  }
  int find_callable(const std::string& name) {
    return find(name, [](const Symbol& s, size_t) { return is_callable(s.kind); });
  }

  // What another file declares by this name, in the order of its text.
  const std::vector<const Symbol*>& named_in(const ast::File& file, const std::string& name) const {
    static const std::vector<const Symbol*> kNone;
    const auto [by_name, is_new] = by_name_.try_emplace(&file);
    if (is_new)
      for (const Symbol& symbol : options_.outline_of(file))
        by_name->second[symbol.name].push_back(&symbol);
    const auto found = by_name->second.find(name);
    return found == by_name->second.end() ? kNone : found->second;
  }
  const Symbol* in_file(const ast::File& file, const std::string& name) const {
    for (const Symbol* symbol : named_in(file, name))
      if (symbol->owner < 0 && symbol->kind != SymbolKind::Module) return symbol;
    return nullptr;
  }
  // The file of a module that a name means here; null: it means none.
  const ast::File* module_of(const ast::Expr* e) {
    auto* name = ast::as<ast::Name>(e);
    const int id = name ? find(name->name) : -1;
    return id < 0 ? nullptr : module_file(symbol(id));
  }
  const ast::File* module_file(const Symbol& module) const {
    auto* import = module.statement ? ast::as<ast::Import>(module.statement) : nullptr;
    const auto it = import ? options_.imports.targets.find(import) : options_.imports.targets.end();
    return it == options_.imports.targets.end() ? nullptr : it->second;
  }
  // A function of a module that the file imports, or of the prelude.
  const Symbol* imported(const std::string& name) const {
    for (const Symbol& module : index_.symbols)
      if (module.kind == SymbolKind::Module)
        if (const ast::File* file = module_file(module))
          if (const Symbol* found = in_file(*file, name); found && is_callable(found->kind)) return found;
    return in_file(options_.prelude, name);
  }
  // Null: unknown. The targets of assignments are no expressions to the checker.
  const Type* type_of(const ast::Expr* e) {
    if (const auto it = options_.types.find(e); it != options_.types.end()) return &it->second;
    if (auto* name = ast::as<ast::Name>(e)) {
      const int id = find(name->name);
      const auto it = id < 0 ? variables_.end() : variables_.find(symbol(id).span.begin);
      return it == variables_.end() ? nullptr : it->second;
    }
    auto* field = ast::as<ast::Field>(e);
    const Type* object = field ? type_of(field->object) : nullptr;
    const auto at = object && object->is_struct() ? object->record->find(field->name.text) : std::nullopt;
    return at && *at < object->elements.size() ? &object->elements[*at] : nullptr;
  }
  const Symbol* record_of(const ast::Expr* e) {
    const Type* type = type_of(e);
    if (!type || !type->is_struct()) return nullptr;
    if (const Symbol* own = struct_of(*type, index_.symbols)) return own;
    for (const ast::File& file : options_.imports.files)
      if (const Symbol* found = struct_of(*type, options_.outline_of(file))) return found;
    for (const auto& [import, file] : options_.imports.targets)
      if (const Symbol* found = struct_of(*type, options_.outline_of(*file))) return found;
    return struct_of(*type, options_.outline_of(options_.prelude));
  }
  // The file that declares a symbol; null: this one.
  const ast::File* file_with(const Symbol& symbol) const {
    if (symbol.span.file == options_.prelude.id) return &options_.prelude;
    for (const auto& [import, file] : options_.imports.targets)
      if (file->id == symbol.span.file && file->id != file_.id) return file;
    return nullptr;
  }
  // The parameter or field of a function or struct.
  const Symbol* part(const Symbol& whole, const std::string& name) const {
    const ast::File* file = file_with(whole);
    const std::vector<Symbol>& all = file ? options_.outline_of(*file) : index_.symbols;
    auto is_part = [&](const Symbol& part) { // functions of the prelude have overloads
      return part.owner >= 0 && part.name == name && all[static_cast<size_t>(part.owner)].name == whole.name &&
             all[static_cast<size_t>(part.owner)].kind == whole.kind;
    };
    if (file) {
      const std::vector<const Symbol*>& named = named_in(*file, name);
      const auto found = std::find_if(named.begin(), named.end(), [&](const Symbol* part) { return is_part(*part); });
      return found == named.end() ? nullptr : *found;
    }
    const auto found = std::find_if(all.begin(), all.end(), is_part);
    return found == all.end() ? nullptr : &*found;
  }

  void mention(Span span, const Symbol& symbol, bool is_declaration = false, bool is_write = false) {
    if (span.valid() && span.length() > 0)
      index_.mentions.push_back({span, symbol.span, symbol.kind, is_declaration, is_write});
  }
  void built_in(Span span, SymbolKind kind) { index_.mentions.push_back({span, {}, kind}); }

  // ---- types and sizes ----

  void declare_size(const std::string& name, Span span, int owner) {
    if (find_size(name) >= 0) return;
    enter(name, outline_.add(SymbolKind::Size, name, span, span, from(span.begin), owner));
  }
  // The sizes that stand alone in types bind first.
  void bind_sizes(const ast::TypeExpr* type, int owner) {
    if (!type) return;
    if (auto* tuple = ast::as<ast::TupleType>(type))
      for (const ast::TypeExpr* element : tuple->elements)
        bind_sizes(element, owner);
    auto* named = ast::as<ast::NamedType>(type);
    if (!named) return;
    for (const ast::TypeExpr* argument : named->arguments)
      bind_sizes(argument, owner);
    for (const ast::Expr* size : named->dims)
      if (auto* name = ast::as<ast::Name>(size))
        declare_size(name->name, size->span, owner);
      else if (auto* spread = ast::as<ast::Spread>(size))
        declare_size(spread->name.text, spread->name.span, owner);
  }
  void type(const ast::TypeExpr* type) {
    if (!type) return;
    if (auto* tuple = ast::as<ast::TupleType>(type)) {
      for (const ast::TypeExpr* element : tuple->elements)
        this->type(element);
    } else if (auto* function = ast::as<ast::FunctionType>(type)) {
      scopes_.push_back({type->span, {}});
      for (const ast::TypeExpr* parameter : function->parameters)
        bind_sizes(parameter, -1);
      for (const ast::TypeExpr* parameter : function->parameters)
        this->type(parameter);
      this->type(function->result);
      scopes_.pop_back();
    } else if (auto* named = ast::as<ast::NamedType>(type)) {
      named_type(*named);
    }
  }
  void named_type(const ast::NamedType& named) {
    if (!named.module.empty()) {
      if (const int id = find(named.module.text); id >= 0) {
        mention(named.module.span, symbol(id));
        const ast::File* file = module_file(symbol(id));
        if (const Symbol* found = file ? in_file(*file, named.name.text) : nullptr) mention(named.name.span, *found);
      }
    } else if (const int id = find(named.name.text, [](const Symbol& s, size_t) { return is_type(s.kind); }); id >= 0) {
      mention(named.name.span, symbol(id));
    } else if (const Symbol* found = in_file(options_.prelude, named.name.text); found && is_type(found->kind)) {
      mention(named.name.span, *found);
    }
    for (const ast::TypeExpr* argument : named.arguments)
      type(argument);
    for (const ast::Expr* size : named.dims)
      this->size(*size);
  }
  void size(const ast::Expr& e) {
    auto* name = ast::as<ast::Name>(e);
    auto* spread = ast::as<ast::Spread>(e);
    if (!name && !spread) return expr(e);
    const int id = find_size(name ? name->name : spread->name.text);
    const Span span = name ? e.span : spread->name.span;
    if (id >= 0) mention(span, symbol(id), span == symbol(id).span);
  }

  // ---- functions and blocks ----

  void signature(const std::vector<ast::TypeParam>& types, const std::vector<ast::Param>& params,
                 const ast::TypeExpr* result, int owner) {
    for (const ast::TypeParam& param : types) {
      type(param.default_type);
      const int id = outline_.add(SymbolKind::TypeParameter, param.name.text, param.name.span, param.name.span,
                                  scopes_.back().extent, owner);
      enter(param.name.text, id);
      mention(param.name.span, symbol(id), true);
    }
    for (const ast::Param& param : params)
      bind_sizes(param.type, owner);
    for (const ast::Param& param : params) {
      type(param.type);
      if (param.default_value) expr(*param.default_value);
    }
    type(result);
  }
  void enter_parameters(const std::vector<ast::Param>& params) {
    for (const ast::Param& param : params)
      if (const int id = param.name.empty() ? -1 : declared(param.name.span); id >= 0) {
        mention(param.name.span, symbol(id), true);
        enter(param.name.text, id);
      }
  }
  void body(const ast::Body& body) {
    if (body.expression) expr(*body.expression);
    if (body.block) block(*body.block);
  }
  void function(const ast::Stmt& s, const ast::Function& function) {
    scopes_.push_back({s.span, {}});
    const int owner = declared(function.name.span);
    enter_parameters(function.params);
    signature(function.type_params, function.params, function.result, owner);
    body(function.body);
    scopes_.pop_back();
  }
  void structure(const ast::Stmt& s, const ast::Struct& record) {
    scopes_.push_back({s.span, {}});
    signature(record.type_params, {}, nullptr, -1);
    for (const ast::Ident& size : record.sizes)
      declare_size(size.text, size.span, -1);
    for (const ast::Ident& size : record.sizes)
      if (const int id = find_size(size.text); id >= 0) mention(size.span, symbol(id), size.span == symbol(id).span);
    for (const ast::StructField& field : record.fields) {
      if (const int id = declared(field.name.span); id >= 0) mention(field.name.span, symbol(id), true);
      type(field.type);
    }
    scopes_.pop_back();
  }
  void block(const ast::Block& block) {
    scopes_.push_back({block.span, {}});
    statements(block);
    scopes_.pop_back();
  }
  void statements(const ast::Block& block) {
    for (const ast::Stmt* s : block.statements) {
      const size_t before = index_.symbols.size();
      outline_.declare(*s, block.span);
      if (index_.symbols.size() == before) continue;
      mention(index_.symbols[before].span, index_.symbols[before], true);
      enter(index_.symbols[before].name, static_cast<int>(before));
    }
    for (const ast::Stmt* s : block.statements)
      statement(*s);
  }
  void clause(const ast::IndexClause& clause) {
    if (clause.range) expr(*clause.range);
    bind(*clause.pattern, clause.span.end);
  }
  // Names that a pattern binds from here on.
  void bind(const ast::Pattern& pattern, uint32_t begin) {
    outline_.pattern(pattern, [&](const ast::Pattern& name) {
      const int id = outline_.add(SymbolKind::Variable, name.name, name.span, name.span, from(begin));
      mention(name.span, symbol(id), true);
      enter(name.name, id);
    });
  }
  void let(const ast::Stmt& s, const ast::Let& let) {
    expr(*let.value);
    bind_sizes(let.type, -1);
    type(let.type);
    const bool is_top = scopes_.size() == 1; // whose symbols are in the outline
    if (!is_top) outline_.variable(*let.pattern, s, let, from(s.span.end));
    outline_.pattern(*let.pattern, [&](const ast::Pattern& name) {
      if (const int id = declared(name.span); id >= 0) {
        mention(name.span, symbol(id), true);
        enter(name.name, id);
      }
    });
  }
  void target(const ast::Expr& e) {
    auto* name = ast::as<ast::Name>(e);
    if (auto* tuple = ast::as<ast::Tuple>(e)) {
      for (const ast::Expr* element : tuple->elements)
        target(*element);
    } else if (name) {
      if (const int id = find(name->name); id >= 0) mention(e.span, symbol(id), false, true);
    } else {
      expr(e);
    }
  }

  void statement(const ast::Stmt& s) {
    if (auto* function = ast::as<ast::Function>(s)) return this->function(s, *function);
    if (auto* record = ast::as<ast::Struct>(s)) return structure(s, *record);
    if (auto* let = ast::as<ast::Let>(s)) return this->let(s, *let);
    if (auto* constant = ast::as<ast::Const>(s)) type(constant->type);
    if (auto* assign = ast::as<ast::Assign>(s)) {
      expr(*assign->value);
      return target(*assign->target);
    }
    if (auto* loop = ast::as<ast::For>(s)) {
      scopes_.push_back({s.span, {}});
      for (const ast::IndexClause& clause : loop->clauses)
        this->clause(clause);
      block(loop->body);
      scopes_.pop_back();
      return;
    }
    ast::each_part(s, [&](const ast::Expr* e) { expr(*e); }, [&](const ast::Block& inner) { block(inner); });
  }

  // ---- expressions ----

  void arguments(const std::vector<ast::Argument>& arguments, const std::optional<Symbol>& callee) {
    for (const ast::Argument& argument : arguments) {
      if (!argument.name.empty() && callee)
        if (const Symbol* found = part(*callee, argument.name.text)) mention(argument.name.span, *found);
      expr(*argument.value);
    }
  }
  // Of a function by its name alone; null: unknown, or built in without a declaration.
  std::optional<Symbol> named(const std::string& name) {
    if (const int id = find(name); id >= 0) return symbol(id);
    if (const Symbol* found = in_file(options_.prelude, name)) return *found;
    return std::nullopt;
  }
  void method_call(const ast::MethodCall& call) {
    if (const ast::File* file = module_of(call.receiver)) {
      expr(*call.receiver);
      const Symbol* found = in_file(*file, call.name.text);
      if (found) mention(call.name.span, *found);
      return arguments(call.arguments, found ? std::optional(*found) : std::nullopt);
    }
    expr(*call.receiver);
    const Symbol* type = record_of(call.receiver);
    const std::optional<Symbol> record = type ? std::optional(*type) : std::nullopt;
    const Symbol* field = record ? part(*record, call.name.text) : nullptr;
    std::optional<Symbol> callee;
    if (const int id = find_callable(call.name.text); id >= 0)
      callee = symbol(id);
    else if (const Symbol* found = imported(call.name.text))
      callee = *found;
    const bool updates = record && !field && !callee && call.name.text == "with";
    if (field)
      mention(call.name.span, *field);
    else if (callee)
      mention(call.name.span, *callee);
    else
      built_in(call.name.span, SymbolKind::Function);
    arguments(call.arguments, updates ? record : callee);
  }
  void field(const ast::Field& field) {
    const ast::File* file = module_of(field.object);
    expr(*field.object);
    const Symbol* record = file ? nullptr : record_of(field.object);
    const Symbol* found = file ? in_file(*file, field.name.text) : record ? part(*record, field.name.text) : nullptr;
    if (found)
      mention(field.name.span, *found);
    else
      built_in(field.name.span, SymbolKind::Field);
  }
  void expr(const ast::Expr& e) {
    if (auto* name = ast::as<ast::Name>(e)) {
      if (const int id = find(name->name); id >= 0)
        mention(e.span, symbol(id));
      else if (const Symbol* found = in_file(options_.prelude, name->name))
        mention(e.span, *found);
      else
        built_in(e.span, SymbolKind::Function);
    } else if (auto* spread = ast::as<ast::Spread>(e)) {
      if (const int id = find_size(spread->name.text); id >= 0) mention(spread->name.span, symbol(id));
    } else if (auto* call = ast::as<ast::Call>(e)) {
      expr(*call->callee);
      auto* callee = ast::as<ast::Name>(call->callee);
      const bool names_any = !call->arguments.empty() && !call->arguments.back().name.empty();
      const auto found = callee && names_any ? named(callee->name) : std::nullopt;
      arguments(call->arguments, found);
    } else if (auto* method = ast::as<ast::MethodCall>(e)) {
      method_call(*method);
    } else if (auto* access = ast::as<ast::Field>(e)) {
      field(*access);
    } else if (auto* lambda = ast::as<ast::Lambda>(e)) {
      scopes_.push_back({e.span, {}});
      outline_.parameters(lambda->params, e.span, -1);
      enter_parameters(lambda->params);
      signature({}, lambda->params, nullptr, -1);
      body(lambda->body);
      scopes_.pop_back();
    } else if (auto* comprehension = ast::as<ast::Comprehension>(e)) {
      scopes_.push_back({e.span, {}});
      for (const ast::IndexClause& clause : comprehension->clauses) {
        if (clause.range) expr(*clause.range);
        bind(*clause.pattern, e.span.begin);
      }
      if (comprehension->filter) expr(*comprehension->filter);
      expr(*comprehension->element);
      scopes_.pop_back();
    } else {
      ast::each_part(e, [&](const ast::Expr* part) { expr(*part); }, [&](const ast::Block& inner) { block(inner); });
    }
  }

  const ast::File& file_;
  const IndexOptions& options_;
  Index index_;
  Outline outline_;
  std::vector<Scope> scopes_;
  std::unordered_map<uint32_t, const Type*> variables_; // by the place of the name
  std::unordered_map<uint32_t, int> places_;            // of the first `placed_` symbols
  size_t placed_ = 0;
  mutable std::map<const ast::File*, std::unordered_map<std::string_view, std::vector<const Symbol*>>> by_name_;
};

} // namespace

std::vector<Symbol> outline(const ast::File& file) {
  std::vector<Symbol> symbols;
  Outline outline(symbols);
  for (const ast::Stmt* s : file.statements) {
    outline.declare(*s, whole_file(file));
    if (auto* let = ast::as<ast::Let>(s)) outline.variable(*let->pattern, *s, *let, whole_file(file));
  }
  return symbols;
}

Index index(const ast::File& file, const IndexOptions& options) { return Indexer(file, options).run(); }

const Symbol* struct_of(const Type& type, const std::vector<Symbol>& symbols) {
  for (const Symbol& symbol : symbols) {
    const ast::Struct* record = symbol.kind == SymbolKind::Struct ? ast::as<ast::Struct>(symbol.statement) : nullptr;
    if (!record || symbol.name != type.record->name.substr(type.record->name.rfind('.') + 1)) continue;
    if (std::equal(record->fields.begin(), record->fields.end(), type.record->fields.begin(), type.record->fields.end(),
                   [](const ast::StructField& a, const Record::Field& b) { return a.name.text == b.name; }))
      return &symbol;
  }
  return nullptr;
}

const Mention* Index::at(uint32_t offset) const {
  const Mention* found = nullptr;
  for (const Mention& mention : mentions)
    if (mention.span.begin <= offset && offset <= mention.span.end && (!found || offset < mention.span.end))
      found = &mention;
  return found;
}

const Symbol* Index::find(Span span) const {
  const auto it = std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.span == span; });
  return it == symbols.end() ? nullptr : &*it;
}

} // namespace tl
