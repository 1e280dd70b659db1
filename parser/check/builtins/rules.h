// The arguments of one call of a built-in function, as its rule reads them.
#pragma once
#include "parser/check/arguments.h"
#include "parser/check/context.h"

namespace tl::checker {

struct Rule {
  Context& cx;
  Builtin builtin;
  std::string name;
  Span span;
  bool is_method;
  std::vector<Arg>& args;
  const Type* expected;      // of the result, or null
  std::vector<Arg*> by = {}; // by parameter, null where it is not given
  std::vector<Arg*> rest = {};
  size_t overload = 0; // that bind found
  bool ok = true;

  // Puts the arguments in the places that the function's declaration has for them: in `by` those of its parameters in
  // order, in `rest` those of `..values`. Of several declarations it is the one of this number, or the first that fits.
  // False (and reported) if that does not work out.
  static constexpr size_t kAnyOverload = SIZE_MAX;
  bool bind(size_t overload = kAnyOverload);
  bool has(size_t i) const { return i < by.size() && by[i]; }
  // Checked arguments. After an error, `ok` is false and the value has the error type.
  ExprPtr value(size_t i, const Type* expected = nullptr);
  ExprPtr tensor(size_t i);                                               // of any rank
  ExprPtr indices(size_t i);                                              // a tensor of integers, in i64
  ExprPtr key(size_t i);                                                  // a scalar key
  ExprPtr text(size_t i, const char* what, const std::string& hint = {}); // a string; `what` it is, for the message
  std::optional<Static> constant(size_t i);                               // known while checking
  bool flag(size_t i);                                                    // a constant bool, false if not given
  int64_t number(size_t i, int64_t otherwise);                            // a constant integer
  // A constant axis or several, counted from the end where negative, ascending, each once. Not given or `none`: all.
  std::vector<int64_t> axes(size_t i, size_t rank);
  int64_t axis(size_t i, size_t rank, int64_t otherwise); // a single one
  std::optional<DType> element(size_t i);                 // an element type, or nothing
  bool arrange(const ast::Function& declared, bool reported);
  std::string hint_for_position(const Arg& arg, const std::string& next);
  void fail(const std::string& kind, Span at, const std::string& message, const std::string& hint = {});
};
ExprPtr builtin_call(Context& cx, Builtin builtin, std::vector<Arg> args, Span span, bool is_method,
                     const Type* expected);

} // namespace tl::checker
