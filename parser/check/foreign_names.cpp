#include "parser/check/foreign_names.h"
#include "abi/scalar_op.h"
#include "lang/stdlib.h"
#include "parser/doc/library.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace tl {

std::optional<std::string> foreign_hint(std::string_view name) {
  static const std::map<std::string_view, std::string> hints = {
#define TL_SPELLED(name, code) {name, "write `" code "`"},
#define TL_SAID(name, hint) {name, hint},
#define TL_NOWHERE(name) {name, "other libraries have this; tl's has nothing like it"},
#include "parser/check/foreign_names.def"
  };
  auto it = hints.find(name);
  return it == hints.end() ? std::nullopt : std::optional(it->second);
}

bool is_foreign_module(std::string_view name) {
  static constexpr std::string_view modules[] = {"np",         "numpy", "torch",  "jnp",    "jax", "math",
                                                 "cmath",      "F",     "scipy",  "sp",     "tf",  "tensorflow",
                                                 "statistics", "lax",   "random", "special"};
  return std::find(std::begin(modules), std::end(modules), name) != std::end(modules);
}

static bool declares(const std::string& text, std::string_view name) {
  for (const char* keyword : {"\nfn ", "\nstruct "})
    for (const char* next : {"(", "<", "[", " "})
      if (text.find(fmt::format("{}{}{}", keyword, name, next)) != std::string::npos) return true;
  return false;
}

std::string module_with(std::string_view name) {
  if (std::any_of(std::begin(kScalarOps), std::end(kScalarOps), [&](const auto& op) { return op.name == name; }))
    return "prelude";
  for (bool prelude : {true, false}) // a function of the prelude first
    for (const EmbeddedFile& file : embedded_stdlib())
      if (file.name.ends_with(".tl") && (file.name == "prelude.tl") == prelude && declares(file.text, name)) {
        const std::string module = file.name.substr(0, file.name.size() - 3);
        if (!is_inner(prelude ? std::string(name) : fmt::format("{}.{}", module, name))) return module;
      }
  return {};
}

std::optional<std::string> member_hint(std::string_view member) {
  for (std::string_view constant : {"pi", "e", "inf", "nan"})
    if (member == constant) return fmt::format("write `{}`", member);
  if (auto hint = foreign_hint(member)) return hint;
  const std::string module = module_with(member);
  if (module.empty()) return std::nullopt;
  if (module == "prelude") return fmt::format("functions are called without a prefix: `{}(…)`", member);
  return fmt::format("with `import {0}` it is `{0}.{1}`", module, member);
}

std::string foreign_form(std::string_view function, std::string_view parameter) {
  struct Form {
    std::string_view functions, parameters, hint; // each among spaces
  };
  static constexpr Form forms[] = {
      {" unique ", " axis ", "the different rows of x are `unique_rows(x)`"},
      {" linspace ", " endpoint ", "without the end: `linspace(lo, hi, n + 1)[:-1]`"},
      {" bincount ", " minlength ", "write `bincount(x, n)`"},
      {" bincount ", " weights ", "sums by number: `scatter_add(zeros([n]), x, weights)`"},
      {" bincount ", "", "it counts the numbers below n: `bincount(x, max(x) + 1)`"},
      {" diff ", " n ", "write `diff(diff(x))`"},
      {" mse l1 huber cross_entropy binary_cross_entropy ", " reduction size_average ",
       "it gives a loss for each example: `mean(…)` of it is one number"},
      {" meshgrid ", "", "it takes two or three vectors: `meshgrid(x, y)`"},
      {" reduce ", "", "a value to begin with is the second argument: `reduce(|a, b| a + b, 0, xs)`"},
      {" unique ", "", "the different texts of a list, in order, are `table.texts(xs).values`"},
      {" sort ", "", "the different texts of a list, in order, are `table.sorted_texts(xs)`"},
      {" where ", "", "the places that are true are `nonzero(c)`"},
      {" sort_by ", "", "a table and a column, or several in parentheses: `table.sort_by(t, (t.x, t.y))`"},
  };
  auto has = [](std::string_view words, std::string_view word) {
    return words.find(fmt::format(" {} ", word)) != words.npos;
  };
  for (const Form& form : forms)
    if (has(form.functions, function) &&
        (parameter.empty() ? form.parameters.empty() : has(form.parameters, parameter)))
      return std::string(form.hint);
  return "";
}

std::string own_parameter(std::string_view given, const std::vector<std::string>& names) {
  static constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"axis", " dim dims axes "},
      {"axes", " axis in_axes in_dims "},
      {"keep", " keepdim keepdims "},
      {"T", " dtype "},
      {"dims", " size shape "},
      {"value", " fill_value constant_values "},
      {"margins", " pad_width padding "},
      {"descending", " reverse "},
      {"n", " num steps repeats "},
      {"sizes", " sections indices_or_sections "},
      {"ddof", " correction "},
      {"lo", " a_min "},
      {"hi", " a_max "},
      {"idx", " index indices "},
      {"digits", " decimals "},
  };
  for (const auto& [own, words] : others)
    if (words.find(fmt::format(" {} ", given)) != words.npos &&
        std::find(names.begin(), names.end(), own) != names.end())
      return std::string(own);
  return "";
}

} // namespace tl
