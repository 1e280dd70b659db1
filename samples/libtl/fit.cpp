// Fits a line to noisy points: the loss and its derivative are tl's, the loop is C++. README.md says how it is built.
#include "tl.h"
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

const char* const program = R"(
struct Line { slope: f32, offset: f32 }
fn loss(line: Line, x: f32[n], y: f32[n]) -> f32 = mean((line.slope * x + line.offset - y) ** 2.0)
fn step(line: Line, x: f32[n], y: f32[n], rate: f32 = 0.5) -> (f32, Line) {
  let (error, slope) = value_and_grad(loss)(line, x, y)
  (error, line - rate * slope)
}
)";

void check(int status) {
  if (status != TL_OK) throw std::runtime_error(tl_last_error()->text);
}

struct Release {
  void operator()(tl_value* value) const { tl_value_release(value); }
};
using Value = std::unique_ptr<tl_value, Release>;

tl_argument tensor(const tl_tensor& x) {
  tl_argument argument{nullptr, TL_TENSOR, {}};
  argument.as.tensor = &x;
  return argument;
}
tl_argument number(double x) {
  tl_argument argument{nullptr, TL_FLOAT, {}};
  argument.as.real = x;
  return argument;
}
tl_argument value(const Value& x) {
  tl_argument argument{nullptr, TL_VALUE, {}};
  argument.as.value = x.get();
  return argument;
}

class Session {
public:
  Session() { check(tl_session_open(&session_)); }
  ~Session() { tl_session_close(session_); }
  Session(const Session&) = delete;
  void add(const char* text) { check(tl_session_add_source(session_, "line.tl", text)); }
  Value call(const char* name, std::initializer_list<tl_argument> arguments) {
    tl_function* function = nullptr;
    check(tl_function_get(session_, nullptr, name, nullptr, &function));
    tl_value* result = nullptr;
    check(tl_call(function, arguments.begin(), arguments.size(), &result));
    return Value(result);
  }

private:
  tl_session* session_ = nullptr;
};

Value element(const Value& tuple, size_t index) {
  tl_value* result = nullptr;
  check(tl_value_at(tuple.get(), index, &result));
  return Value(result);
}
Value field(const Value& record, const char* name) {
  tl_value* result = nullptr;
  check(tl_value_field(record.get(), name, &result));
  return Value(result);
}
float scalar(const Value& x) {
  tl_managed_tensor* managed = nullptr;
  check(tl_value_view_tensor(x.get(), &managed));
  const float result = *static_cast<const float*>(managed->tensor.data);
  managed->deleter(managed);
  return result;
}

} // namespace

int main() try {
  constexpr int64_t count = 1000;
  std::vector<float> x(count), y(count);
  for (int64_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(i) / count;
    y[i] = 3 * x[i] - 1 + 0.1f * static_cast<float>(std::sin(12.9898 * static_cast<double>(i)));
  }
  int64_t size = count;
  const tl_tensor points{x.data(), 1, 0, 1, {2, 32, 1}, &size, nullptr, 0};
  const tl_tensor values{y.data(), 1, 0, 1, {2, 32, 1}, &size, nullptr, 0};

  Session session;
  session.add(program);
  Value line = session.call("Line", {number(0), number(0)});
  for (int step = 0; step <= 300; ++step) {
    const Value result = session.call("step", {value(line), tensor(points), tensor(values)});
    if (step % 100 == 0) std::printf("step %3d  error %.4f\n", step, scalar(element(result, 0)));
    line = element(result, 1);
  }
  std::printf("y = %.2f x %+.2f\n", scalar(field(line, "slope")), scalar(field(line, "offset")));
  return 0;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
