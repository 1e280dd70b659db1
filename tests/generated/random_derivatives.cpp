#include "random_derivatives.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::generated {

const RandomProgram::Variable& RandomProgram::pick() {
  size_t n = variables_.size();
  return variables_[below(3) ? n - 1 - below(std::min<size_t>(n, 5)) : below(n)];
}

const RandomProgram::Variable* RandomProgram::pick(int rank) {
  for (int attempt = 0; attempt < 40; ++attempt)
    if (const Variable& v = pick(); static_cast<int>(v.shape.size()) == rank) return &v;
  return nullptr;
}

const RandomProgram::Variable* RandomProgram::pick(const std::vector<int>& shape) {
  for (int attempt = 0; attempt < 40; ++attempt)
    if (const Variable& v = pick(); v.shape == shape) return &v;
  return nullptr;
}

std::string RandomProgram::scalar() {
  if (const Variable* v = pick(0); v && below(3)) return v->name;
  return below(2) ? fmt::format("x[{}]", below(kSize))
                  : fmt::format("{:.3f}", 0.3 + 0.1 * static_cast<double>(below(12)));
}

std::string RandomProgram::other(const Variable& v) {
  if (const Variable* w = pick(v.shape); w && below(4)) return w->name;
  return scalar();
}

void RandomProgram::let(const std::string& value, std::vector<int> shape) {
  // Of any size inside the function only: values stay near 1, so that differences are exact enough.
  std::string made = name();
  line(fmt::format("let {} = {}", made, value));
  variables_.push_back({made, std::move(shape)});
}

void RandomProgram::one_operand() {
  static const std::vector<const char*> forms{"sin({0})",
                                              "cos({0})",
                                              "tanh({0})",
                                              "exp(0.3 * sin({0}))",
                                              "sigmoid({0})",
                                              "abs({0})",
                                              "-{0}",
                                              "sqrt({0} * {0} + 0.5)",
                                              "log({0} * {0} + 0.5)",
                                              "erf({0})",
                                              "atan({0})",
                                              "sin({0}) ** 2",
                                              "max({0}, 0.1)",
                                              "clamp({0}, -0.7, 0.7)",
                                              "where({0} > 0.1, log(abs({0}) + 0.2), {0} * 0.5)",
                                              "where({0} > 0.0, sqrt({0}), -{0})",
                                              "relu({0})",
                                              "0.5 * (sin({0}) + cos({0}))",
                                              "{0} - 0.25",
                                              "log1p({0} * {0})"};
  const Variable v = pick();
  let(fmt::format(fmt::runtime(any(forms)), v.name), v.shape);
}

void RandomProgram::two_operands() {
  static const std::vector<const char*> forms{"{0} + {1}",
                                              "{0} - {1}",
                                              "sin({0}) * {1}",
                                              "{0} / ({1} * {1} + 1.0)",
                                              "min({0}, {1})",
                                              "max({0}, {1})",
                                              "atan2({0}, {1} * {1} + 0.4)",
                                              "where({0} > {1}, {0} * {1}, {1})",
                                              "(sin({0}) + 1.5) ** sin({1})",
                                              "{0} * 0.3 + {1}"};
  const Variable v = pick();
  if (v.shape.size() == 2 && below(4) == 0) { // rows
    if (const Variable* w = pick(std::vector<int>{v.shape[1]}))
      return let(fmt::format(fmt::runtime(any(forms)), v.name, w->name + "[new, :]"), v.shape);
  }
  let(fmt::format(fmt::runtime(any(forms)), v.name, other(v)), v.shape);
}

void RandomProgram::reduction() {
  static const std::vector<const char*> whole{"sum", "mean", "max", "min", "prod", "std", "logsumexp", "norm"};
  static const std::vector<const char*> along{"sum", "mean", "max", "min", "prod", "logsumexp"};
  const Variable v = pick();
  if (v.shape.empty()) return one_operand();
  switch (below(5)) {
  case 0: return let(fmt::format("{}({}) * 0.3", any(whole), v.name), {});
  case 1: return let(fmt::format("sum({0}[{0} > 0.2]) * 0.3", v.name), {});
  case 2: { // over one axis
    auto axis = static_cast<int>(below(v.shape.size()));
    std::vector<int> shape = v.shape;
    shape.erase(shape.begin() + axis);
    return let(fmt::format("{}({}, axis = {}) * 0.5", any(along), v.name, axis), shape);
  }
  case 3: {
    auto axis = static_cast<int>(below(v.shape.size()));
    return let(fmt::format("{} * mean({}, axis = {}, keep = true)", v.name, v.name, axis), v.shape);
  }
  default: {
    auto axis = static_cast<int>(below(v.shape.size()));
    return let(fmt::format("{}({}, axis = {}) * 0.4", below(2) ? "cumsum" : "cumprod", v.name, axis), v.shape);
  }
  }
}

void RandomProgram::view() {
  const Variable v = pick();
  if (v.shape.size() == 2) {
    int m = v.shape[0], n = v.shape[1];
    switch (below(7)) {
    case 0: return let(v.name + ".T", {n, m});
    case 1: return let(fmt::format("{}[::-1, ::2]", v.name), {m, (n + 1) / 2});
    case 2: return let(fmt::format("{}.reshape([{}])", v.name, m * n), {m * n});
    case 3: return let(fmt::format("{}[:, {}]", v.name, below(static_cast<size_t>(n))), {m});
    case 4: return let(fmt::format("pad({}, [(1, 0), (0, 1)])", v.name), {m + 1, n + 1});
    case 5: return let(fmt::format("concat(({0}, {0} * 0.5), axis = 1)[:, 1:{1}]", v.name, n + 1), {m, n});
    default: return let(fmt::format("flip({}, axis = {})", v.name, below(2)), v.shape);
    }
  }
  if (v.shape.size() == 1) {
    int n = v.shape[0];
    switch (below(8)) {
    case 0: return let(fmt::format("{0}[1:] * {0}[:-1]", v.name), {n - 1});
    case 1: return let(fmt::format("{}[::-1]", v.name), {n});
    case 2: return let(fmt::format("roll({}, 1)", v.name), {n});
    case 3:
      return let(fmt::format("concat(({}, {}))[1:{}]", v.name, other(v).starts_with("v") ? v.name : v.name, n + 1),
                 {n});
    case 4: return let(fmt::format("pad({}, [(1, 2)], value = {})[0:{}]", v.name, scalar(), n), {n});
    case 5: return let(fmt::format("{0}[:, new] - 0.5 * {0}[new, :]", v.name), {n, n});
    case 6: return let(fmt::format("tile({}, [2])[::2]", v.name), {n});
    default: return let(fmt::format("stack(({0}, {0} * {0}))", v.name), {2, n});
    }
  }
  let(fmt::format("[{}, {}, {} * 0.5]", v.name, scalar(), v.name), {3});
}

void RandomProgram::chosen() {
  const Variable* v = pick(1 + static_cast<int>(below(2)));
  if (!v) return one_operand();
  const Variable of = *v;
  auto n = static_cast<size_t>(of.shape[0]);
  std::vector<int> rest(of.shape.begin() + 1, of.shape.end()), shape = rest;
  shape.insert(shape.begin(), 3);
  switch (below(5)) {
  case 0: return let(fmt::format("{}[[{}, {}, {}]]", of.name, below(n), below(n), below(n)), shape);
  case 1: {
    shape = of.shape;
    auto m = static_cast<size_t>(shape.back());
    shape.back() = 2;
    return let(fmt::format("take({}, [{}, {}], axis = -1)", of.name, below(m), below(m)), shape);
  }
  case 2: return let(fmt::format("{}[{}]", of.name, below(n)), rest);
  case 3: return let(fmt::format("{0}[argmax({0}, axis = 0){1}]", of.name, rest.empty() ? "" : "[0]"), rest);
  default: {
    if (!rest.empty()) return one_operand();
    return let(fmt::format("{}[arange({}) % {}]", of.name, n + 1, n), {static_cast<int>(n) + 1});
  }
  }
}

void RandomProgram::updated() {
  const Variable* v = pick(1 + static_cast<int>(below(2)));
  if (!v) return one_operand();
  const Variable of = *v;
  auto n = static_cast<size_t>(of.shape[0]);
  std::vector<int> rest(of.shape.begin() + 1, of.shape.end());
  std::string made = name(), row = rest.empty() ? scalar() : fmt::format("{}[{}] * 0.5", of.name, below(n));
  line(fmt::format("var {} = {}", made, of.name));
  static const std::vector<const char*> operators{"=", "+=", "-=", "*="};
  switch (below(4)) {
  case 0: line(fmt::format("{}[{}] {} {}", made, below(n), any(operators), row)); break;
  case 1: line(fmt::format("{}[1:] {} {}[:-1] * 0.5", made, any(operators), of.name)); break;
  case 2: {
    size_t a = below(n), b = below(n);
    line(fmt::format("{}[[{}, {}, {}]] {} {}[[0, {}, {}]] * 0.5", made, a, b, a, below(2) ? "+=" : "=", of.name, b, a));
    break;
  }
  default: line(fmt::format("{}[::2] {} 0.5 * {}[::2]", made, any(operators), of.name)); break;
  }
  variables_.push_back({made, of.shape});
}

void RandomProgram::product() {
  const Variable* v = pick(2);
  if (!v) return two_operands();
  const Variable a = *v;
  int m = a.shape[0], n = a.shape[1];
  if (m == n && below(2)) switch (below(4)) {
    case 0: return let(fmt::format("0.3 * einsum(\"ii->\", {})", a.name), {});
    case 1: return let(fmt::format("0.5 * einsum(\"ii->i\", {})", a.name), {m});
    case 2: return let(fmt::format("0.3 * einsum(\"ii,ij->ij\", {0}, {0})", a.name), {m, m});
    default: return let(fmt::format("0.3 * {0} @ sin({0})", a.name), {m, m});
    }
  switch (below(6)) {
  case 0: return let(fmt::format("0.3 * einsum(\"ij,kj->ik\", {0}, {0})", a.name), {m, m});
  case 1: return let(fmt::format("0.3 * einsum(\"ij,ij->j\", {0}, cos({0}))", a.name), {n});
  case 2:
    if (const Variable* w = pick(std::vector<int>{n})) return let(fmt::format("0.3 * {} @ {}", a.name, w->name), {m});
    [[fallthrough]];
  case 3:
    if (const Variable* w = pick(std::vector<int>{m}))
      return let(fmt::format("0.3 * einsum(\"ij,i->\", {}, {})", a.name, w->name), {});
    [[fallthrough]];
  case 4: return let(fmt::format("0.3 * einsum(\"ij,kl->jk\", {0}, {0})", a.name), {n, m});
  default: return let(fmt::format("0.3 * {0}.T @ {0}", a.name), {n, n});
  }
}

void RandomProgram::ordered() {
  const Variable* v = pick(1);
  if (!v) return one_operand();
  switch (below(3)) {
  case 0: return let(fmt::format("sort({})", v->name), v->shape);
  case 1: return let(fmt::format("topk({}, 2)[0]", v->name), {2});
  default: return let(fmt::format("{0}[argsort({0})][::-1]", v->name), v->shape);
  }
}

void RandomProgram::comprehension() {
  const Variable* v = pick(1);
  if (!v) return one_operand();
  const Variable a = *v;
  int n = a.shape[0];
  std::string s = scalar();
  switch (below(6)) {
  case 0: return let(fmt::format("[{0}[i] * {0}[j] + {1} for i in 0..{2}, j in 0..{2}]", a.name, s, n), {n, n});
  case 1:
    return let(fmt::format("[if i > 0 {{ {0}[i - 1] * {1} }} else {{ sin({0}[i]) }} for i in 0..{2}]", a.name, s, n),
               {n});
  case 2: return let(fmt::format("[sum({0}[j] * {0}[i] for j in 0..i + 1) * 0.3 for i in 0..{1}]", a.name, n), {n});
  case 3:
    return let(fmt::format("[if {0}[i] > 0.1 {{ log({0}[i]) }} else {{ {0}[i] * {1} }} for i in 0..{2}]", a.name, s, n),
               {n});
  case 4: return let(fmt::format("[sum({0}[i + u] * {0}[u] for u in 0..2) for i in 0..{1}]", a.name, n - 1), {n - 1});
  default: return let(fmt::format("[max(sin({0}[j]) * {0}[i] for j in 0..{1}) for i in 0..{1}]", a.name, n), {n});
  }
}

void RandomProgram::loop() {
  const Variable* v = pick(static_cast<int>(below(2)));
  if (!v) return one_operand();
  const Variable a = *v;
  std::string made = name(), s = scalar();
  if (a.shape.empty()) {
    line(fmt::format("var {} = {}", made, a.name));
    switch (below(3)) {
    case 0: line(fmt::format("while {0} < 2.5 {{ {0} = {0} * 1.3 + 0.6 + abs({1}) }}", made, s)); break;
    case 1:
      line(fmt::format("for i in 0..4 {{ if {0} > 1.5 {{ break }}\n{1}  {0} = {0} + 0.4 * x[i] * {2} }}", made, indent_,
                       s));
      break;
    default:
      line(fmt::format("for v in x[0:5] {{ if v > 0.2 {{ {0} += v * {1} }} else {{ {0} = sin({0}) * v }} }}", made, s));
      break;
    }
    variables_.push_back({made, {}});
    return;
  }
  line(fmt::format("var {} = {}", made, a.name));
  int n = a.shape[0];
  switch (depth_ < 2 ? below(4) : below(3)) {
  case 0: line(fmt::format("for i in 1..{0} {{ {1}[i] += {1}[i - 1] * {2} * 0.5 }}", n, made, s)); break;
  case 1:
    line(fmt::format("for i in range({0}, -1, -1) {{ {1}[i] = sin({1}[i] * {2}) + 0.3 * {1}[{3}] }}", n - 1, made, s,
                     n - 1));
    break;
  case 2: line(fmt::format("for i in 0..3 {{ {0} = sin({0} * {1}) + 0.4 * {2} }}", made, s, a.name)); break;
  default: { // a random body
    size_t known = variables_.size();
    line("for i in 0..3 {");
    variables_.push_back({made, a.shape});
    indent_ += "  ";
    ++depth_;
    for (size_t k = 1 + below(3); k > 0; --k)
      step();
    std::string inner = pick(a.shape)->name;
    line(fmt::format("{0} = 0.5 * {0} + sin({1})", made, inner));
    --depth_;
    indent_.resize(indent_.size() - 2);
    line("}");
    variables_.resize(known);
  }
  }
  variables_.push_back({made, a.shape});
}

// Loops in loops that read and write elements or rows of one table.
void RandomProgram::nest() {
  const Variable* v = pick(2);
  if (!v) return loop();
  const Variable a = *v;
  const int m = a.shape[0], n = a.shape[1];
  const std::string made = name(), s = scalar(), outer = indent_;
  line(fmt::format("var {} = {}", made, a.name));
  auto read = [&]() -> std::string {
    static const std::vector<const char*> rows{"(i + 1)", "(i + 2)", "(i * 2)", "i"};
    static const std::vector<const char*> columns{"(j + 1)", "(j + 3)", "(i + j)", "j"};
    return fmt::format("{}[{} % {}, {} % {}]", made, any(rows), m, any(columns), n);
  };
  static const std::vector<const char*> outers{"0..{0}", "1..{0}", "range({0} - 1, -1, -1)", "range(0, {0}, 2)"};
  static const std::vector<const char*> inners{"0..{0}",           "1..{0}", "0..min(i + 1, {0})",
                                               "min(i, {0})..{0}", "0..2",   "range({0} - 1, -1, -1)"};
  auto diagonal = [&] { return fmt::format("{}[i % {}, (i + 1) % {}]", made, m, n); };
  auto open = [&](const char* index, const std::string& over) {
    line(fmt::format("for {} in {} {{", index, over));
    indent_ += "  ";
  };
  open("i", fmt::format(fmt::runtime(any(outers)), m));
  if (below(4) == 0) line(fmt::format("if {} > 1.4 {{ break }}", diagonal()));
  if (below(4) == 0) line(fmt::format("{0}[i] = sin({0}[i]) * 0.7", made));
  bool rows = below(4) == 0, third = !rows && below(3) == 0;
  if (below(4) == 0) line(fmt::format("if {} > 0.2 {{ continue }}", diagonal()));
  open("j", fmt::format(fmt::runtime(any(inners)), n));
  if (below(4) == 0) line(fmt::format("if {} > 1.2 {{ {} }}", read(), below(2) ? "break" : "continue"));
  if (rows) {
    line(fmt::format("{0}[i] = 0.6 * {0}[i] + 0.4 * sin({0}[(i + 1) % {1}]) * {2}", made, m, below(2) ? read() : s));
  } else if (third) {
    line(fmt::format("var sum_{} = {} * 0.5", made, s));
    open("k", below(2) ? "0..3" : "0..i % 3 + 1");
    line(fmt::format("sum_{0} += 0.3 * sin({0}[(i + k) % {1}, j]) * {2}", made, m, read()));
    if (below(2)) line(fmt::format("{0}[i, (j + k) % {1}] *= 0.8 + 0.1 * {2}", made, n, s));
    indent_.resize(indent_.size() - 2);
    line("}");
    line(fmt::format("{0}[i, j] = sin(sum_{0})", made));
  } else {
    const std::string to = fmt::format("{}[i, j]", made);
    std::string change = fmt::format("{} = sin({}) * {} + 0.3 * {}", to, read(), read(), below(2) ? s : read());
    if (below(3) == 0)
      line(fmt::format("if {0} > 0.3 {{ {1} }} else {{ {2} += 0.2 * cos({3}) }}", read(), change, to, read()));
    else
      line(change);
  }
  indent_.resize(indent_.size() - 2);
  line("}");
  indent_ = outer;
  line("}");
  variables_.push_back({made, a.shape});
}

void RandomProgram::branch() {
  const Variable a = pick();
  std::string made = name(), condition = fmt::format("{} > {:.1f}", scalar(), 0.1 * static_cast<double>(below(8)));
  if (depth_ >= 2) return let(fmt::format("if {1} {{ {0} * 0.5 }} else {{ sin({0}) }}", a.name, condition), a.shape);
  line(fmt::format("var {} = {}", made, a.name));
  line(fmt::format("if {} {{", condition));
  for (int side = 0; side < 2; ++side) {
    size_t known = variables_.size();
    indent_ += "  ";
    ++depth_;
    for (size_t k = 1 + below(2); k > 0; --k)
      step();
    const Variable* inner = pick(a.shape);
    line(fmt::format("{} = {} * {}", made, inner ? inner->name : a.name, scalar()));
    --depth_;
    indent_.resize(indent_.size() - 2);
    variables_.resize(known);
    if (side == 0) line("} else {");
  }
  line("}");
  variables_.push_back({made, a.shape});
}

void RandomProgram::function() {
  const Variable a = pick();
  std::string s = scalar();
  switch (below(5)) {
  case 0: return let(fmt::format("checkpoint(|u| sin(u) * u + {1})({0})", a.name, s), a.shape);
  case 1: return let(fmt::format("(|u| cos(u) * {1} + u)({0})", a.name, s), a.shape);
  case 2: return let(fmt::format("custom_vjp(|u| u * u * 0.5, |u, y, dy| dy * u)({})", a.name), a.shape);
  case 3:
    if (a.shape.size() == 2) return let(fmt::format("vmap(|u| u * sum(u) * {1})({0})", a.name, s), a.shape);
    return let(fmt::format("grad(|u| sum(sin(u) * {1}))({0})", a.name, s), a.shape);
  default:
    if (a.shape.size() == 1) return let(fmt::format("softmax({})", a.name), a.shape);
    return let(fmt::format("jvp(|u| sin(u) * {1}, {0}, cos({0}))[1]", a.name, s), a.shape);
  }
}

void RandomProgram::step() {
  switch (below(17)) {
  case 0:
  case 1: return one_operand();
  case 2:
  case 3:
  case 4: return two_operands();
  case 5:
  case 6: return reduction();
  case 7:
  case 8: return view();
  case 9: return chosen();
  case 10: return updated();
  case 11: return product();
  case 12: return below(2) ? ordered() : comprehension();
  case 13: return loop();
  case 14: return below(2) ? branch() : comprehension();
  case 15: return nest();
  default: return function();
  }
}

std::string RandomProgram::make(int statements, int nests) {
  line("let m = x[0:12].reshape([3, 4])");
  line("let q = x[4:20].reshape([4, 4])");
  line("let p = x[2:6]");
  line("let r = x[10:13]");
  line("let s = x[19]");
  variables_ = {{"m", {3, 4}}, {"q", {4, 4}}, {"p", {4}}, {"r", {3}}, {"s", {}}};
  for (int i = 0; i < nests; ++i)
    nest();
  for (int i = 0; i < statements; ++i)
    step();
  std::string result;
  for (size_t i = 0; i < 4; ++i) {
    const Variable& v = variables_[variables_.size() - 1 - i];
    result += fmt::format("{}{}({})", result.empty() ? "" : " + ", v.shape.empty() ? "" : "weighed", v.name);
  }
  return fmt::format("fn f(x: f64[n]) -> f64 {{\n{}  {}\n}}\n", body_, result);
}

} // namespace tl::generated
