// The types of structs: their fields, and what type and size parameters are in a type as written.
#include "parser/check/struct_types.h"
#include "lang/suggest.h"
#include "parser/check/functions.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/structs.h"
#include "parser/check/type_limits.h"
#include "parser/check/types.h"
#include <fmt/format.h>
#include <numeric>

namespace tl::checker {

namespace {
constexpr size_t kMaxNesting = 100; // of structs in structs
} // namespace

std::string counted(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count == 0 ? "no" : std::to_string(count), noun, count == 1 ? "" : "s");
}

// The fields' types for these type and size parameters.
std::vector<Type> field_types(Context& cx, StructInfo& info, const std::map<std::string, Type>& types,
                              const std::vector<Size>& sizes, DimContext& context) {
  SaveAndRestore scope(cx.names.scope, info.env);
  push_scope(cx);
  for (const auto& [name, type] : types) {
    Entity entity;
    entity.kind = Entity::Kind::TypeParam;
    entity.element = type;
    enter(cx, name, std::move(entity));
  }
  for (size_t i = 0; i < info.decl->sizes.size(); ++i) {
    Entity entity;
    entity.kind = Entity::Kind::SizeName;
    entity.size = sizes[i];
    entity.span = info.decl->sizes[i].span;
    enter(cx, info.decl->sizes[i].text, std::move(entity));
  }
  SaveAndRestore in_struct(context.in_struct, true);
  std::vector<Type> result;
  for (size_t i = 0; i < info.decl->fields.size(); ++i) {
    context.path.push_back(static_cast<uint32_t>(i));
    result.push_back(type_of(cx, info.decl->fields[i].type, context));
    context.path.pop_back();
  }
  return result;
}

// The record of a declaration, with its fields' names.
static std::shared_ptr<Record> declared_record(Context& cx, const ast::Struct& decl) {
  auto record = std::make_shared<Record>();
  record->name = decl.name.text;
  std::vector<const ast::Ident*> parameters;
  for (const ast::TypeParam& param : decl.type_params) {
    parameters.push_back(&param.name);
    (void)may_be_type(cx, param.name);
  }
  for (const ast::Ident& size : decl.sizes)
    parameters.push_back(&size);
  distinct(cx, parameters, "parameters");
  std::set<std::string> seen;
  for (const ast::StructField& field : decl.fields) {
    if (!seen.insert(field.name.text).second)
      error(cx, "DuplicateName", field.name.span,
            fmt::format("the struct `{}` has two fields `{}`", decl.name.text, field.name.text));
    Record::Field f;
    f.name = field.name.text;
    f.is_state = field.is_state;
    record->fields.push_back(std::move(f));
  }
  return record;
}

static size_t depth_of(const Type& type) {
  size_t deepest = 0;
  for (const Type& element : type.elements)
    deepest = std::max(deepest, depth_of(element) + 1);
  return deepest;
}

// What a struct cannot have, and how large it can be.
static void check_fields(Context& cx, StructInfo& info, std::vector<Type>& fields) {
  const ast::Struct& decl = *info.decl;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (has_range(cx, fields[i])) {
      error(cx, "NotSupported", decl.fields[i].type->span, "a range cannot be a field yet", "keep its two ends");
      fields[i] = Type::error();
    }
    info.is_bad = info.is_bad || fields[i].is_error();
  }
  for (const Type& field : fields)
    if (!info.is_bad && depth_of(field) >= kMaxNesting) {
      error(cx, "TooDeep", decl.name.span, fmt::format("structs are nested more than {} deep", kMaxNesting));
      info.is_bad = true;
    }
  if (!info.is_bad && !too_large(Type::tuple(fields)).empty()) {
    error(cx, "TooLarge", decl.name.span, fmt::format("the fields of this struct have more than {} parts", kMostParts),
          "a list or a tensor holds many values of one kind");
    info.is_bad = true;
  }
}

// Whether `type`, or a part of it, fits; `path` then leads there, into lists only if it may.
template <class Fits>
static bool find_part(const Type& type, std::vector<uint32_t>& path, const Fits& fits, bool into_lists) {
  if (fits(type)) return true;
  if (type.is_list() && !into_lists) return false;
  for (size_t i = 0; i < type.elements.size(); ++i) {
    path.push_back(static_cast<uint32_t>(i));
    if (find_part(type.elements[i], path, fits, into_lists)) return true;
    path.pop_back();
  }
  return false;
}

static bool has_atom(const Context& cx, const Size& size, const std::vector<AtomId>& atoms) {
  std::vector<AtomId> used;
  cx.program.atoms.collect(size, used);
  return std::any_of(used.begin(), used.end(),
                     [&](AtomId a) { return std::find(atoms.begin(), atoms.end(), a) != atoms.end(); });
}

// The axes of a field whose sizes are of `open`: those written `_`, and those of structs in it that have such, also in
// lists.
static void find_free_axes(const Context& cx, const Type& type, const std::vector<AtomId>& open,
                           std::vector<uint32_t>& path, std::vector<Record::Place>& into) {
  for (size_t k = 0; type.is_tensor() && k < type.rank(); ++k)
    if (has_atom(cx, type.shape[k], open)) into.push_back({path, static_cast<uint32_t>(k)});
  for (size_t i = 0; i < type.elements.size(); ++i) {
    path.push_back(static_cast<uint32_t>(i));
    find_free_axes(cx, type.elements[i], open, path, into);
    path.pop_back();
  }
}

// Where the parameters of the declaration show in its fields: `types` and `sizes` stand for them there.
static void find_parameters(Context& cx, const ast::Struct& decl, const std::vector<Type>& fields,
                            std::map<std::string, Type>& types, const std::vector<Size>& sizes, Record& record) {
  auto place = [&](const auto& fits, uint32_t& axis) -> std::optional<Record::Place> {
    std::vector<uint32_t> path;
    for (bool into_lists : {false, true}) // a list may have no element to read a size from
      for (size_t i = 0; i < fields.size(); ++i) {
        path.assign(1, static_cast<uint32_t>(i));
        if (find_part(fields[i], path, fits, into_lists)) return Record::Place{path, axis};
      }
    return std::nullopt;
  };
  uint32_t axis = 0;
  for (const ast::TypeParam& param : decl.type_params) {
    const uint32_t var = cx.open.resolved(types[param.name.text]).open;
    record.types.push_back(
        place([&](const Type& type) { return type.is_tensor() && type.open && cx.open.resolved(type).open == var; },
              axis = 0));
    if (record.types.back()) record.types.back()->is_whole = is_whole(param, decl);
  }
  for (const Size& size : sizes)
    record.sizes.push_back(place(
        [&](const Type& type) {
          if (!type.is_tensor()) return false;
          for (size_t k = 0; k < type.shape.size(); ++k)
            if (type.shape[k] == size) {
              axis = static_cast<uint32_t>(k);
              return true;
            }
          return false;
        },
        axis));
}

// Names of sizes in the fields that the struct does not declare: how it would.
static void unbound_sizes(Context& cx, const ast::Struct& decl, const std::vector<ast::Ident>& unbound) {
  std::vector<std::string> sizes, missing;
  for (const ast::Ident& size : decl.sizes)
    sizes.push_back(size.text);
  for (const ast::Ident& size : unbound)
    if (std::find(missing.begin(), missing.end(), size.text) == missing.end()) missing.push_back(size.text);
  sizes.insert(sizes.end(), missing.begin(), missing.end());
  error(cx, "UnboundSize", unbound[0].span,
        missing.size() == 1 ? fmt::format("the size `{}` is not bound", missing[0])
                            : fmt::format("the sizes `{}` are not bound", fmt::join(missing, "`, `")),
        fmt::format("the sizes of a struct follow its name: `struct {}{}[{}] {{ … }}`", decl.name.text,
                    decl.type_params.empty() ? "" : "<…>", fmt::join(sizes, ", ")));
}

std::shared_ptr<const Record> record_of(Context& cx, StructInfo& info) {
  if (info.record || info.is_bad) return info.record;
  const ast::Struct& decl = *info.decl;
  if (info.in_use) {
    error(cx, "UnknownType", decl.name.span, fmt::format("the struct `{}` contains itself", decl.name.text),
          "a value would have no end");
    info.is_bad = true;
    return nullptr;
  }
  info.in_use = true;
  size_t errors = cx.function->reports.size();
  std::shared_ptr<Record> record = declared_record(cx, decl);
  // The fields for parameters that stand for anything, to see where these show.
  std::map<std::string, Type> types;
  for (const ast::TypeParam& param : decl.type_params)
    types[param.name.text] = cx.open.new_open(LiteralKind::Any);
  std::vector<Size> sizes;
  std::vector<AtomId> bound;
  for (const ast::Ident& size : decl.sizes) {
    sizes.push_back(Size::of(size_atom(cx, AtomKind::Named, size.text, size.span)));
  }
  DimContext context;
  context.mode = DimMode::Bind;
  context.bound = &bound;
  std::vector<ast::Ident> unbound;
  context.unbound = &unbound;
  std::vector<Type> fields = field_types(cx, info, types, sizes, context);
  info.in_use = false;
  if (!unbound.empty()) unbound_sizes(cx, decl, unbound);
  check_fields(cx, info, fields);
  if (info.is_bad || cx.function->reports.size() != errors) {
    info.is_bad = true;
    return nullptr;
  }
  find_parameters(cx, decl, fields, types, sizes, *record);
  for (size_t i = 0; i < fields.size(); ++i) {
    std::vector<uint32_t> path;
    find_free_axes(cx, fields[i], bound, path, record->fields[i].free_axes);
  }
  info.record = std::move(record);
  cx.names.struct_of[info.record.get()] = &info;
  return info.record;
}

Type struct_type(Context& cx, StructInfo& info, const ast::NamedType& named, Span span, DimContext& context) {
  std::shared_ptr<const Record> record = record_of(cx, info);
  const ast::Struct& decl = *info.decl;
  if (!record) return Type::error();
  if (named.has_dims && named.dims.size() != decl.sizes.size()) {
    error(cx, "UnknownType", span,
          fmt::format("the struct `{}` has {}, and here {} {}", decl.name.text, counted(decl.sizes.size(), "size"),
                      named.dims.size() == 1 ? "is" : "are", named.dims.size()),
          "", {{decl.name.span, "declared here"}});
    return Type::error();
  }
  if (named.arguments.size() > decl.type_params.size()) {
    error(cx, "UnknownType", span,
          fmt::format("the struct `{}` has {}, and here {} {}", decl.name.text,
                      counted(decl.type_params.size(), "type parameter"), named.arguments.size() == 1 ? "is" : "are",
                      named.arguments.size()),
          "", {{decl.name.span, "declared here"}});
    return Type::error();
  }
  bool fine = true;
  std::vector<Size> sizes;
  for (size_t i = 0; i < decl.sizes.size(); ++i) {
    const ast::Expr* dim = named.has_dims ? named.dims[i] : nullptr;
    if (dim && !ast::as<ast::Wildcard>(dim)) {
      auto size = dim_of(cx, dim, context);
      fine = fine && size;
      sizes.push_back(size.value_or(Size(0)));
      continue;
    }
    if (context.in_list) { // each element has one of its own; list_of numbers it
      sizes.push_back(Size::of(size_atom(cx, AtomKind::Element, "_", span)));
      continue;
    }
    if (context.mode == DimMode::Lookup) {
      error(cx, "UnboundSize", span,
            fmt::format("the size `{}` of `{}` is needed here", decl.sizes[i].text, decl.name.text));
      return Type::error();
    }
    AtomId id = size_atom(
        cx, AtomKind::Fresh,
        context.of.empty() ? decl.sizes[i].text : fmt::format("{} of {}", decl.sizes[i].text, context.of), span);
    sizes.push_back(Size::of(id));
    if (context.mode != DimMode::Result) {
      context.bound->push_back(id);
      continue;
    }
    if (!record->sizes[i]) {
      error(cx, "UnboundSize", span,
            fmt::format("the size `{}` of `{}` is needed here: no field has it as an axis", decl.sizes[i].text,
                        decl.name.text));
      return Type::error();
    }
    std::vector<uint32_t> path = context.path;
    path.insert(path.end(), record->sizes[i]->path.begin(), record->sizes[i]->path.end());
    context.fresh->push_back({id, std::move(path), record->sizes[i]->axis});
  }
  std::map<std::string, Type> types;
  for (size_t i = 0; i < decl.type_params.size(); ++i) {
    const ast::TypeParam& param = decl.type_params[i];
    Type type;
    if (i < named.arguments.size()) {
      const auto& place = record->types[i]; // fresh sizes of a result are read there
      const size_t depth = context.path.size();
      if (place) context.path.insert(context.path.end(), place->path.begin(), place->path.end());
      {
        SaveAndRestore of_struct(context.of_struct, true);
        type = type_of(cx, named.arguments[i], context);
      }
      context.path.resize(depth);
      if (type.is_error()) return type;
      if (!is_whole(param, decl) && (!type.is_tensor() || type.rank() != 0)) {
        error(cx, "UnknownType", named.arguments[i]->span,
              fmt::format("`{}` of `{}` is an element type, and this is {}", param.name.text, decl.name.text,
                          show(cx, type)),
              "", {{decl.name.span, "declared here"}});
        return Type::error();
      }
      if (type.is_tensor() && !fits_bound(cx, param, type, named.arguments[i]->span, decl.name.text))
        return Type::error();
    } else if (param.default_type) {
      DimContext plain;
      SaveAndRestore scope(cx.names.scope, info.env);
      type = type_of(cx, param.default_type, plain);
    } else {
      error(cx, "UnknownType", span, fmt::format("`{}` needs a type for `{}`", decl.name.text, param.name.text),
            fmt::format("write `{0}<f32>`; a function for all of them has a parameter: `fn f<T: any>(a: {0}<T>)`",
                        decl.name.text));
      return Type::error();
    }
    types[param.name.text] = type;
  }
  if (!fine) return Type::error();
  std::vector<Type> fields = field_types(cx, info, types, sizes, context);
  for (const Type& field : fields)
    if (field.is_error()) return Type::error();
  return Type::structure(std::move(record), std::move(fields));
}

// What type parameters that stand for whole types are, where a field of the type as written has this value.
void learn_types(Context& cx, const ast::TypeExpr* written, const Type& actual, const ast::Struct& decl,
                 std::map<std::string, Type>& learned) {
  if (auto* tuple = ast::as<ast::TupleType>(written)) {
    for (size_t i = 0; i < tuple->elements.size() && actual.is_tuple() && i < actual.elements.size(); ++i)
      learn_types(cx, tuple->elements[i], actual.elements[i], decl, learned);
    return;
  }
  auto* named = ast::as<ast::NamedType>(written);
  if (!named) return;
  if (actual.is_list() && named->name.text == "List" && !actual.elements.empty() && !named->arguments.empty())
    learn_types(cx, named->arguments[0], actual.elements[0], decl, learned);
  for (size_t i = 0; actual.is_struct() && i < named->arguments.size() && i < actual.record->types.size(); ++i) {
    const auto& place = actual.record->types[i];
    const Type* part = place ? part_of(actual, place->path) : nullptr;
    if (part) learn_types(cx, named->arguments[i], place->is_whole ? *part : cx.open.element_of(*part), decl, learned);
  }
  for (const ast::TypeParam& param : decl.type_params)
    if (param.name.text == named->name.text && !named->has_dims && is_whole(param, decl))
      learned.try_emplace(param.name.text, actual);
}

// does a size in it use one of these?
bool has_atom(const Context& cx, const Type& type, const std::vector<AtomId>& atoms) {
  return std::any_of(type.shape.begin(), type.shape.end(), [&](const Size& s) { return has_atom(cx, s, atoms); }) ||
         std::any_of(type.elements.begin(), type.elements.end(), [&](const Type& t) { return has_atom(cx, t, atoms); });
}

} // namespace tl::checker
