// The rules of devices: `cpu(i)`, `x.to(d)`, `x.device`, `on d { }`, work spread over several of them and over
// processes.
#include "parser/check/builtins/devices.h"
#include "parser/check/arguments.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/calls.h"
#include "parser/check/derive.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/names.h"
#include "parser/check/statements.h"
#include "parser/check/structs.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

static ExprPtr device_node(Context& cx, Builtin builtin, Span span, Type type, std::vector<ExprPtr> operands) {
  cx.program.uses_devices = true;
  auto node = make_expr(typed::BuiltinExpr{builtin}, span, std::move(type));
  node->operands = std::move(operands);
  return node;
}

ExprPtr device_number(Context& cx, Builtin kind, ExprPtr number, Span span) {
  std::vector<ExprPtr> operands;
  operands.push_back(to_i64(cx, std::move(number), "the number of a device"));
  if (operands[0]->type.is_error()) return broken(span);
  return device_node(cx, kind, span, Type::scalar(DType::Device), std::move(operands));
}

// Of the first tensor in x; what has none is on the first device.
ExprPtr device_of(Context& cx, ExprPtr x, Span span) {
  cx.open.settle(x->type);
  if (x->type.is_error()) return x;
  typed::Block before;
  ExprPtr held = shared(cx, std::move(x), before);
  std::function<ExprPtr(ExprPtr)> find = [&](ExprPtr value) -> ExprPtr {
    const Type type = refresh(cx, *value);
    if (type.is_tensor() && type.rank() > 0) return value;
    if (type.is_aggregate())
      for (size_t i = 0; i < type.elements.size(); ++i)
        if (ExprPtr found = find(get_field(copy_part(cx, *value), static_cast<uint32_t>(i), span))) return found;
    return nullptr;
  };
  const Type type = held->type;
  if (!type.is_tensor() && !type.is_aggregate()) {
    error(cx, "TypeMismatch", span, fmt::format("tensors are on devices, and this is {}", show(cx, type)),
          type.is_list() ? "each element of a list has a device of its own: `xs[0].device`" : "");
    return broken(span);
  }
  ExprPtr tensor = find(std::move(held)), result;
  if (tensor) {
    std::vector<ExprPtr> operands;
    operands.push_back(std::move(tensor));
    result = device_node(cx, Builtin::DeviceOf, span, Type::scalar(DType::Device), std::move(operands));
  } else {
    result = device_number(cx, Builtin::Cpu, int_value(0, span), span);
  }
  return in_block(std::move(before), std::move(result), span);
}

// builtin(leaf, more) of each tensor
static ExprPtr on_leaves(Context& cx, Builtin builtin, ExprPtr x, ExprPtr more, Span span) {
  cx.program.uses_devices = true;
  cx.open.settle(x->type);
  typed::Block before;
  std::vector<ExprPtr> values;
  values.push_back(shared(cx, std::move(x), before));
  if (more) more = shared(cx, std::move(more), before);
  auto takes = [&](const Type& type) {
    if (!type.is_tensor()) return false;
    if (builtin == Builtin::AllReduce) return is_num(part_of(type.dtype));
    return type.rank() > 0 || (builtin == Builtin::BroadcastFrom && !is_device(type));
  };
  const Type whole = cx.open.resolved(values[0]->type);
  if (builtin != Builtin::To && !whole.is_aggregate() && !whole.is_error() && !takes(whole)) {
    error(cx, "TypeMismatch", span,
          fmt::format("`{}` takes {}, and this is {}", builtin == Builtin::AllReduce ? "all_reduce" : "broadcast",
                      builtin == Builtin::AllReduce ? "numbers" : "tensors", show(cx, whole)),
          "", {label_of(cx, *values[0])});
    return broken(span);
  }
  ExprPtr result =
      rebuild(cx, std::move(values), span, [&](const Type& type, bool, std::vector<ExprPtr> leaf) -> ExprPtr {
        if (!takes(type)) return std::move(leaf[0]);
        if (more) leaf.push_back(copy_part(cx, *more));
        return device_node(cx, builtin, span, type, std::move(leaf));
      });
  return in_block(std::move(before), std::move(result), span);
}

ExprPtr prelude_call(Context& cx, const std::string& name, std::vector<Arg> args, Span span) {
  Callable callable;
  callable.functions.push_back(cx.names.prelude->names.at(name).function);
  return call_named(cx, callable, name, span, std::move(args), span, false, nullptr);
}

ExprPtr device_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  auto device = [&](size_t i) {
    ExprPtr d = r.value(i);
    if (r.ok && !is_device(d->type))
      r.fail("TypeMismatch", d->span, fmt::format("`{}` takes a device, not {}", r.name, show(cx, d->type)),
             "like `cpu(1)`");
    return d;
  };
  std::vector<ExprPtr> operands;
  const Type i64 = Type::scalar(DType::I64);
  switch (builtin) {
  case Builtin::Cpu:
  case Builtin::Gpu: {
    if (!r.bind()) return nullptr;
    ExprPtr number = r.value(0);
    if (!r.ok) return nullptr;
    return device_number(cx, builtin, std::move(number), r.span);
  }
  case Builtin::DeviceCount: {
    if (!r.bind()) return nullptr;
    auto node = device_node(cx, builtin, r.span, i64, {});
    node->as<typed::BuiltinExpr>().attrs = typed::DeviceCountAttrs{r.flag(0)};
    return node;
  }
  case Builtin::To: {
    if (!r.bind()) return nullptr;
    ExprPtr x = r.value(0), d = device(1);
    if (!r.ok) return nullptr;
    return on_leaves(cx, builtin, std::move(x), std::move(d), r.span);
  }
  case Builtin::DeviceFacts:
  case Builtin::MemoryFacts:
  case Builtin::ReleaseCache: {
    if (!r.bind()) return nullptr;
    operands.push_back(device(0));
    if (!r.ok) return nullptr;
    Type type = builtin == Builtin::ReleaseCache  ? Type::unit()
                : builtin == Builtin::MemoryFacts ? Type::tuple({i64, i64, i64, i64})
                                                  : Type::tuple({Type::str(), i64, i64, Type::str()});
    return device_node(cx, builtin, r.span, std::move(type), std::move(operands));
  }
  case Builtin::ProcessRank:
  case Builtin::WorldSize:
    if (!r.bind()) return nullptr;
    return device_node(cx, builtin, r.span, i64, {});
  case Builtin::AllReduce: {
    if (!r.bind()) return nullptr;
    ExprPtr x = r.value(0);
    if (!r.ok) return nullptr;
    if (!x->type.is_list()) return on_leaves(cx, builtin, std::move(x), nullptr, r.span);
    std::vector<Arg> args;
    args.push_back({"", nullptr, x->span, {}, nullptr, std::nullopt});
    args[0].value = std::move(x);
    return prelude_call(cx, "sum_on_each", std::move(args), r.span);
  }
  case Builtin::BroadcastFrom: {
    if (!r.bind()) return nullptr;
    ExprPtr x = r.value(0);
    ExprPtr root = r.has(1) ? to_i64(cx, r.value(1), "the number of a process") : int_value(0, r.span);
    if (!r.ok || root->type.is_error()) return nullptr;
    cx.open.settle(root->type);
    return on_leaves(cx, builtin, std::move(x), std::move(root), r.span);
  }
  default: return nullptr;
  }
}

void on_device(Context& cx, const ast::On& s, Span span, typed::Block& into) {
  cx.program.uses_devices = true;
  ExprPtr device = check_value(cx, s.device);
  refresh(cx, *device);
  if (!device->type.is_error() && !is_device(device->type))
    error(cx, "TypeMismatch", device->span, fmt::format("`on` takes a device, not {}", show(cx, device->type)),
          "like `on cpu(1) { … }`");
  auto node = make_expr(typed::BlockExpr{check_block(cx, s.body, false)}, span, Type::unit());
  node->operands.push_back(std::move(device));
  typed::Stmt out;
  out.kind = StmtKind::Expr;
  out.span = span;
  out.value = std::move(node);
  into.statements.push_back(std::move(out));
}

// The parameters of f: what goes to each device, and what is split between them.
static std::optional<std::vector<std::string>> parallel_parameters(Context& cx, const Static& function, Span span) {
  const auto& functions = function.callable.functions;
  if (functions.size() != 1) {
    error(cx, "TypeMismatch", span, "`data_parallel` needs to know how many arguments the function takes",
          fmt::format("write `|m, x| {}(m, x)`", function.name));
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const ast::Param& param : functions[0]->decl->params)
    if (!param.default_value) names.push_back(param.name.text);
  if (names.size() < 2) {
    error(
        cx, "TypeMismatch", span,
        fmt::format("`{}` takes {} argument{}; `data_parallel` is of functions that take what goes to each device, and "
                    "then what is split between them",
                    function.name, names.size(), names.size() == 1 ? "" : "s"));
    return std::nullopt;
  }
  return names;
}

static ExprPtr parallel_devices(Context& cx, Arg& arg) {
  Type devices_type = Type::list(Type::scalar(DType::Device));
  ExprPtr devices = take(cx, arg, &devices_type);
  refresh(cx, *devices);
  if (devices->type.is_error()) return nullptr;
  if (!devices->type.is_list() || devices->type.elements.empty() || !is_device(devices->type.elements[0])) {
    error(cx, "TypeMismatch", arg.span, fmt::format("these are no devices, but {}", show(cx, devices->type)),
          "like `devices()` or `list(cpu(0), cpu(1))`");
    return nullptr;
  }
  return devices;
}

// |m, x, y| run(|m, b| f(m, b[0], b[1]), ds, m, (x, y)), where f, run and ds have names that no program has.
static const ast::Expr* parallel_call(Context& cx, const std::vector<std::string>& names, bool has_devices, Span span) {
  auto expression = [&](auto node) {
    cx.functions.made->exprs.push_back({span, false, 1, std::move(node)});
    return &cx.functions.made->exprs.back();
  };
  auto name = [&](const std::string& text) { return expression(ast::Name{text}); };
  auto parameter = [&](const std::string& text) {
    ast::Param param;
    param.name = {text, span};
    return param;
  };
  ast::Call inner;
  inner.callee = name(" f");
  inner.arguments.push_back({{}, name(names[0])});
  ast::Tuple split;
  for (size_t i = 1; i < names.size(); ++i) {
    split.elements.push_back(name(names[i]));
    ast::Subscript part;
    part.object = name(" b");
    ast::SubscriptItem item;
    item.span = span;
    item.index = expression(ast::IntLiteral{i - 1});
    part.items.push_back(item);
    inner.arguments.push_back({{}, expression(std::move(part))});
  }
  ast::Lambda each;
  each.params = {parameter(names[0]), parameter(" b")};
  each.body.expression = expression(std::move(inner));
  ast::Call whole;
  whole.callee = name(" run");
  whole.arguments.push_back({{}, expression(std::move(each))});
  if (has_devices) whole.arguments.push_back({{}, name(" ds")});
  whole.arguments.push_back({{}, name(names[0])});
  whole.arguments.push_back({{}, expression(std::move(split))});
  ast::Lambda made;
  for (const std::string& text : names)
    made.params.push_back(parameter(text));
  made.body.expression = expression(std::move(whole));
  return expression(std::move(made));
}

// data_parallel(f, ds) is |m, x, y| run_on_each(|m, b| f(m, b[0], b[1]), ds, m, (x, y)), with the parameters of f;
// data_parallel(f) is the same with run_on_ranks and without ds.
ExprPtr data_parallel(Context& cx, std::vector<Arg> args, Span span) {
  cx.program.uses_devices = true;
  const bool processes = args.size() == 1;
  if (args.empty() || args.size() > 2 || !args[0].name.empty() || !args.back().name.empty()) {
    error(cx, "WrongArguments", span, "`data_parallel` takes a function and a list of devices, or a function alone",
          fmt::format("it is `{}`", signature_of(cx, Builtin::DataParallel)));
    return broken(span);
  }
  auto function = function_argument(cx, args[0], "data_parallel");
  if (!function) return broken(span);
  auto names = parallel_parameters(cx, *function, args[0].span);
  if (!names) return broken(span);
  ExprPtr devices;
  if (!processes) {
    devices = parallel_devices(cx, args[1]);
    if (!devices) return broken(span);
  }

  typed::Block before;
  if (args[0].value && !args[0].value->is<typed::UnitExpr, typed::VariableExpr>()) {
    typed::Stmt let; // a lambda's own statements
    let.kind = StmtKind::Let;
    let.span = args[0].span;
    let.value = std::move(args[0].value);
    before.statements.push_back(std::move(let));
  }
  SaveAndRestore scope(cx.names.scope);
  push_scope(cx);
  auto enter_known = [&](const std::string& name, const Static& value) {
    Entity entity;
    entity.kind = Entity::Kind::Static;
    entity.value = value;
    entity.span = span;
    enter(cx, name, std::move(entity));
  };
  if (devices) {
    Entity of;
    of.kind = Entity::Kind::Variable;
    of.var = new_variable(cx, "devices", devices->type, false, args[1].span);
    of.span = span;
    before.statements.push_back(let_variable(of.var, std::move(devices), args[1].span));
    enter(cx, " ds", std::move(of));
  }
  enter_known(" f", *function);
  Static run;
  run.kind = Static::Kind::Function;
  run.name = "data_parallel";
  run.callable.functions.push_back(cx.names.prelude->names.at(processes ? "run_on_ranks" : "run_on_each").function);
  enter_known(" run", run);

  ExprPtr result = check_expr(cx, parallel_call(cx, *names, !processes, span));
  return in_block(std::move(before), std::move(result), span);
}

} // namespace tl::checker
