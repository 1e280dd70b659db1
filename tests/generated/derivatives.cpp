// Derivatives of every operation and of random programs: both modes against central differences, the value that comes
// beside them, <v, Jᵀ1> = <Jv, 1>, and second derivatives in two ways. Each program checks itself and prints what is
// wrong; the sums that it prints besides are compared between the engines.
#include "derivative_cases.h"
#include "ir/interpret/interpret.h"
#include "passes/derive/partials.h"
#include "random_derivatives.h"
#include "sections.h"
#include "source_case.h"
#include <fmt/format.h>

namespace tl::generated {
namespace {

// Differences of two widths that disagree are beside a kink or a step: those elements say nothing, and are counted.
constexpr const char* kHelpers = R"(
fn difference(f, x: f64[n], h: f64) -> f64[n] {
  var g = zeros([n], f64)
  for i in 0..n {
    var a = x
    var b = x
    var c = x
    var d = x
    a[i] += h
    b[i] -= h
    c[i] += 2.0 * h
    d[i] -= 2.0 * h
    g[i] = (8.0 * (f(a) - f(b)) - (f(c) - f(d))) / (12.0 * h)
  }
  g
}
fn check(name: str, f, x: f64[n]) {
  let (y, g) = value_and_grad(f)(x)
  let fine = difference(f, x, 1e-4)
  let coarse = difference(f, x, 5e-4)
  let scale = 1.0 + abs(y) + max(abs(fine))
  let smooth = abs(fine - coarse) < 1e-6 * scale
  if any(smooth and not (abs(g - fine) < 1e-6 * scale)) { print("WRONG {name}: gradient {g}, not {fine}") }
  if not all(smooth) { print("KINKS {name}: {sum(not smooth)}") }
  if any(isnan(g)) { print("WRONG {name}: gradient {g}") }
  let v = sin(f64(arange(n)) + 1.0)
  let (y2, dy) = jvp(f, x, v)
  if not (y == f(x) and y2 == y) { print("WRONG {name}: values {f(x)}, {y}, {y2}") }
  if not (abs(dy - sum(g * v)) < 1e-9 * (1.0 + sum(abs(g)))) {
    print("WRONG {name}: forward mode {dy}, not {sum(g * v)}")
  }
  print(sum(g * cos(f64(arange(n)))), dy)
}
fn check_second(name: str, f, x: f64[n]) {
  let w = cos(1.3 * f64(arange(n)))
  let v = sin(f64(arange(n)) + 1.0)
  let h = grad(|x| sum(grad(f)(x) * w))(x)  # reverse over reverse
  let (g, hv) = jvp(grad(f), x, v)  # forward over reverse
  let slope = grad(|x| jvp(f, x, v)[1])(x)  # reverse over forward
  let fine = difference(|x| sum(grad(f)(x) * w), x, 1e-4)
  let coarse = difference(|x| sum(grad(f)(x) * w), x, 5e-4)
  let scale = 1.0 + sum(abs(g)) + max(abs(fine))
  let smooth = abs(fine - coarse) < 1e-6 * scale
  if any(smooth and not (abs(h - fine) < 1e-5 * scale)) { print("WRONG {name}: second derivative {h}, not {fine}") }
  if not all(smooth) { print("KINKS {name}: {sum(not smooth)}") }
  if not (abs(sum(hv * w) - sum(h * v)) < 1e-8 * scale) {
    print("WRONG {name}: forward over reverse {sum(hv * w)}, not {sum(h * v)}")
  }
  if not all(abs(slope - hv) < 1e-8 * scale) { print("WRONG {name}: reverse over forward {slope}, not {hv}") }
  print(sum(h), sum(hv * w))
}
fn weighed(a: f64[..s]) -> f64 {
  let flat = a.flatten()
  sum(flat * sin(f64(arange(len(flat))) * 1.7 + 0.3))
}
)";

struct Counts {
  int elements = 0, kinks = 0;
};

// `imports` come before the helpers, `source` behind them.
void run_program(Tester& tester, const std::string& name, const std::string& imports, const std::string& source,
                 bool compiled, Counts& counts) {
  if (!tester.wants(name)) return;
  std::string said;
  std::optional<ir::Module> module = module_of_source(imports + kHelpers + source, said);
  if (!module) return tester.fail(name, source + said);
  std::string printed;
  try {
    Outcome outcome =
        ir::interpret(*module, {}, [&](std::string_view text) { printed += text; }, [](std::string_view) {});
    if (outcome.error) return tester.fail(name, source + outcome.error->kind + ": " + outcome.error->message);
  } catch (const std::exception& e) {
    return tester.fail(name, source + e.what());
  }
  size_t wrong = printed.find("WRONG");
  if (wrong != std::string::npos) {
    size_t end = printed.find("\nWRONG", wrong + 2000);
    return tester.fail(name, source + printed.substr(wrong, std::min<size_t>(end, 2000)));
  }
  for (size_t at = 0; (at = printed.find("KINKS ", at)) != std::string::npos; ++at)
    counts.kinks += std::stoi(printed.substr(printed.find(": ", at) + 2));
  tester.pass();
  if (compiled) tester.run(name, *module, {{}});
}

std::string text_of(const std::vector<double>& values) {
  std::string text;
  for (double v : values)
    text += fmt::format("{}{:.17g}", text.empty() ? "" : ", ", v);
  return fmt::format("f64([{}])", text);
}

std::string call_of(ScalarOp op, const std::vector<std::string>& x) {
  switch (op) {
  case ScalarOp::Neg: return "-" + x[0];
  case ScalarOp::Add: return x[0] + " + " + x[1];
  case ScalarOp::Sub: return x[0] + " - " + x[1];
  case ScalarOp::Mul: return x[0] + " * " + x[1];
  case ScalarOp::Div: return x[0] + " / " + x[1];
  case ScalarOp::Mod: return x[0] + " % " + x[1];
  case ScalarOp::FloorDiv: return x[0] + " // " + x[1];
  case ScalarOp::Pow: return x[0] + " ** " + x[1];
  default: return fmt::format("{}({})", info(op).name, fmt::join(x, ", "));
  }
}

// One row of the op table: all operands vectors, each alone a scalar, each alone a vector, one value for all, and one
// axis each.
void operation(Tester& tester, ScalarOp op, Random& random, Counts& counts) {
  const ScalarOpInfo& row = info(op);
  if (row.rule != TypeRule::NumSame && row.rule != TypeRule::FloatSame && row.rule != TypeRule::Select) return;
  const int arity = op == ScalarOp::Where ? 2 : row.arity;
  double lo = std::max(row.lo, -3.0), hi = std::min(row.hi, 3.0);
  if (row.lo >= 0) lo = std::max(lo, 0.3); // sqrt, rsqrt, log, pow: away from the end of their domain
  if (op == ScalarOp::Asin || op == ScalarOp::Acos) lo = -0.9, hi = 0.9;
  std::vector<double> values;
  for (int i = 0; i < 12; ++i)
    values.push_back(std::uniform_real_distribution<double>(lo, hi)(random));
  std::string first, second;
  int number = 0;
  auto form = [&](const std::vector<std::string>& operands) {
    std::vector<std::string> all = operands;
    if (op == ScalarOp::Where) all.insert(all.begin(), "x[0:3] > x[3:6]");
    std::string function = fmt::format("fn f{}(x: f64[12]) -> f64 = weighed({})\n", number, call_of(op, all));
    first += fmt::format("{0}check(\"f{1}\", f{1}, x)\n", function, number);
    counts.elements += 12;
    if (has_derivative(op)) {
      second += fmt::format("{0}check_second(\"f{1}\", f{1}, x)\n", function, number);
      counts.elements += 12;
    }
    ++number;
  };
  auto vector = [](int i) { return fmt::format("x[{}:{}]", 3 * i, 3 * i + 3); };
  auto one = [](int i) { return fmt::format("x[{}]", 9 + i); };
  auto make = [&](auto name) {
    std::vector<std::string> operands;
    for (int i = 0; i < arity; ++i)
      operands.push_back(name(i));
    form(operands);
  };
  make(vector);
  if (op != ScalarOp::Clamp) make([&](int) { return "x[1:4]"; });
  for (int k = 0; arity > 1 && k < arity; ++k) {
    make([&](int i) { return i == k ? one(i) : vector(i); });
    make([&](int i) { return i == k ? vector(i) : one(i); });
  }
  make([&](int i) { return op == ScalarOp::Where ? vector(i) : one(i); });
  if (arity == 2 && op != ScalarOp::Where) form({"x[0:3][:, new]", "x[4:8][new, :]"});
  if (arity > 1) make([&](int i) { return i == 0 ? vector(i) : i == 1 ? "1.25" : "2.5"; });
  const std::string x = fmt::format("let x = {}\n", text_of(values));
  run_program(tester, fmt::format("derivative of {}", row.name), "", x + first, true, counts);
  if (!second.empty())
    run_program(tester, fmt::format("second derivative of {}", row.name), "", x + second, false, counts);
}

// A structured operation by itself: each case as a function of 24 numbers.
void structured(Tester& tester, std::string_view what, const DerivativeCases& cases, std::string_view imports,
                Random& random, Counts& counts) {
  std::vector<double> values;
  for (int i = 0; i < 24; ++i)
    values.push_back(std::uniform_real_distribution<double>(-1.5, 1.5)(random));
  const std::string head = imports.empty() ? "" : fmt::format("import {}\n", imports);
  const std::string x = fmt::format("let x = {}\n", text_of(values));
  for (size_t k = 0; k < cases.size(); ++k) {
    std::string statements(cases[k]), value = statements;
    size_t last = statements.rfind('\n');
    if (last == std::string::npos) {
      statements.clear();
    } else {
      value = statements.substr(last + 1);
      statements.resize(last + 1);
    }
    std::string source = fmt::format("fn f(x: f64[n]) -> f64 {{{}{}  weighed({})\n}}\n{}check(\"f\", f, x)\n", kReady,
                                     statements, value, x);
    if (k == 0) source += "check_second(\"f\", f, x)\n";
    counts.elements += k == 0 ? 48 : 24;
    run_program(tester, fmt::format("derivative of {}, {}", what, k + 1), head, source, k == 0 || tester.options.full,
                counts);
  }
}

} // namespace

void derivatives(Tester& tester) {
  Random random(tester.options.seed);
  Counts counts;
  for (int o = 0; o < kScalarOpCount; ++o)
    operation(tester, static_cast<ScalarOp>(o), random, counts);
  for (int b = 0; b < kBuiltinCount; ++b) {
    auto builtin = static_cast<Builtin>(b);
    std::string_view name = info(builtin).name;
    structured(tester, name, derivative_cases(builtin), name.starts_with("linalg.") ? "linalg" : "", random, counts);
  }
  for (const NamedCases& row : other_derivative_cases())
    structured(tester, row.name, row.cases, row.imports, random, counts);
  const int programs = tester.options.full ? 1000 : 40;
  for (int i = 0; i < programs; ++i) {
    const uint64_t seed = tester.options.seed * 10000 + static_cast<uint64_t>(i);
    RandomProgram program(seed);
    std::string source = i % 4 == 2 ? program.make(i % 3, 1 + i % 2) : program.make(5 + i % 16);
    std::vector<double> x;
    Random values(seed);
    for (int k = 0; k < RandomProgram::kSize; ++k)
      x.push_back(std::uniform_real_distribution<double>(-1.5, 1.5)(values));
    source += fmt::format("let x = {}\ncheck(\"f\", f, x)\n", text_of(x));
    counts.elements += RandomProgram::kSize;
    if (i % 8 == 3) {
      source += "check_second(\"f\", f, x)\n";
      counts.elements += RandomProgram::kSize;
    }
    run_program(tester, fmt::format("derivative of program {}", seed), "", source, i % 10 == 0, counts);
  }
  if (counts.kinks > counts.elements / 5)
    tester.fail("derivatives", fmt::format("of {} derivatives {} stand at kinks", counts.elements, counts.kinks));
}

} // namespace tl::generated
