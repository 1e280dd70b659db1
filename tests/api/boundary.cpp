// libtl where it is used wrongly, from several threads, after forks, and while programs do not end. Prints a line for
// each check that fails, and `N passed, N failed`.
#include "tl.h"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <malloc.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

int passed = 0, failed = 0;

void check(bool holds, const std::string& what) {
  holds ? ++passed : ++failed;
  if (!holds) std::printf("FAIL %s\n", what.c_str());
}

// The call's status, and something of its message.
void check_status(int status, int expected, const char* part, const std::string& what) {
  const std::string text = status ? tl_last_error()->text : "";
  check(status == expected && text.find(part) != std::string::npos &&
            (status == 0 || tl_last_error()->status == status),
        what + ": status " + std::to_string(status) + ": " + text);
}

const char* const program = R"(
import nn
struct Model[i, o] { w: f32[i, o], b: f32[o] }
struct Held { pair: (f32, i64), k: key }
fn parts(x: f32[n]) -> (f32[n], (f32, (i64, str))) = (x, (sum(x), (len(x), "a")))
fn single(x: f32) -> (f32,) = (x,)
fn joined(p: (f32[n], (f64, i8))) -> f64 = f64(sum(p[0])) + p[1][0] + f64(p[1][1])
fn pairs(n: i64) -> List<(f32, i64)> = list((0.5, k) for k in 0..n)
fn seconds(xs: List<(f32, i64)>) -> i64 = sum([x[1] for x in xs])
fn held(n: i64) -> Held = Held(pair = (0.5, n), k = key(n))
fn seed(n: i64) -> key = key(n)
fn seeds(n: i64) -> key[3] = split(key(n), 3)
fn drawn(k: key) -> f32[2] = uniform(k, [2])
fn drawn_of(ks: key[n]) -> f32[n, 2] = [uniform(k, [2])[j] for k in ks, j in 0..2]
fn linear(n: i64) -> nn.Linear = nn.linear_init(key(n), 3, 2)
fn make(k: i64) -> Model = Model(w = ones([k, 2]), b = zeros([2]))
fn total(m: Model) -> f32 = sum(m.w) + sum(m.b)
fn totals(ms: List<Model>) -> f32 = sum([total(m) for m in ms])
fn lengths(xs: List<f32[_]>) -> i64 = sum([len(x) for x in xs])
fn twice(x: f32[n]) -> f32[n] = 2.0 * x
fn same(x: f32[n]) -> f32[n] = x
fn spin(x: f32[n]) -> f32 { var s = 0.0; while s < 1.0 { s = s * x[0] }; s }
fn count(n: i64) -> i64 { var i = 0; while i < n { i += 1; if i == n - 1 { i = 0 } }; i }
fn small(a: i8, b: u16, c: bool, d: f64, t: str) -> str = "{a} {b} {c} {d} {t}"
fn ends(code: i64) -> f32 { exit(code); 1.0 }
fn says(n: i64) -> i64 { print("n is {n}"); n }
fn deep(n: i64) -> i64 = if n < 0 { 0 } else { deep(n + 1) + 1 }
fn large(n: i64) -> f32 = sum(ones([n, n]) @ ones([n, n]))
fn any(x, k = 0) = sum(x, axis = k)
fn add(a: f32[n], b: f32[n]) -> f32[n] = a + b
fn cut(x: f32[n], k: i64) = x[k:]
fn rest(x: f32[n], k: i64) = zeros([k + n])
fn spread(x: f64[..s], by: f64[..s]) -> f64[..s] = x * by
)";

tl_argument tensor(const tl_tensor& x) {
  tl_argument a{nullptr, TL_TENSOR, {}};
  a.as.tensor = &x;
  return a;
}
tl_argument integer(int64_t x, int kind = TL_INT) {
  tl_argument a{nullptr, kind, {}};
  a.as.integer = x;
  return a;
}
tl_argument real(double x) {
  tl_argument a{nullptr, TL_FLOAT, {}};
  a.as.real = x;
  return a;
}
tl_argument text(const char* x) {
  tl_argument a{nullptr, TL_TEXT, {}};
  a.as.text = x;
  return a;
}
tl_argument value(tl_value* x) {
  tl_argument a{nullptr, TL_VALUE, {}};
  a.as.value = x;
  return a;
}

struct Vector {
  std::vector<float> data;
  int64_t size;
  tl_tensor tensor;
  explicit Vector(std::initializer_list<float> of) : data(of), size(static_cast<int64_t>(data.size())) {
    tensor = {data.data(), 1, 0, 1, {2, 32, 1}, &size, nullptr, 0};
  }
  Vector(const Vector&) = delete;
};

tl_function* function(tl_session* session, const char* expression) {
  tl_function* f = nullptr;
  check_status(tl_function_get(session, nullptr, expression, nullptr, &f), 0, "", expression);
  return f;
}
int call(tl_session* session, const char* name, std::initializer_list<tl_argument> arguments,
         tl_value** result = nullptr) {
  tl_function* f = nullptr;
  if (int status = tl_function_get(session, nullptr, name, nullptr, &f)) return status;
  return tl_call(f, arguments.begin(), arguments.size(), result);
}
double scalar(tl_value* of) {
  tl_managed_tensor* x = nullptr;
  if (tl_value_view_tensor(of, &x) != 0) return -1;
  const tl_tensor& t = x->tensor;
  double result = t.dtype.code == 2 ? static_cast<double>(*static_cast<float*>(t.data))
                                    : static_cast<double>(*static_cast<int64_t*>(t.data));
  x->deleter(x);
  return result;
}

void wrong_use() {
  check(std::strcmp(tl_last_error()->text, "") == 0, "there is no error yet");
  tl_session* session = nullptr;
  check_status(tl_session_open(nullptr), TL_USAGE, "null", "a session without a place");
  check_status(tl_session_open(&session), 0, "", "open");
  tl_function* f = nullptr;
  check_status(tl_function_get(session, nullptr, "f", nullptr, &f), TL_USAGE, "no source", "no source");
  check_status(tl_session_add_source(session, "a.tl", "fn f( = 3"), TL_REJECTED, "a.tl:1:5", "a syntax error");
  check(std::strcmp(tl_last_error()->file, "a.tl") == 0 && tl_last_error()->line == 1 && tl_last_error()->column == 5,
        "its place");
  check_status(tl_session_add_source(session, "a.tl", "fn f(x: f32[n]) -> f32 = x"), TL_REJECTED, "TypeMismatch",
               "a type error");
  check_status(tl_session_add_source(session, nullptr, "x"), TL_USAGE, "null", "no name");
  check_status(tl_session_add_file(session, "/nowhere/x.tl"), TL_USAGE, "No such file", "no such file");
  check_status(tl_session_add_source(session, "m.tl", program), 0, "", "the program");
  check_status(tl_session_set(session, "no-such", "1"), TL_USAGE, "no setting", "no such setting");
  check_status(tl_session_set(session, "threads", "many"), TL_USAGE, "many", "a wrong setting");
  check_status(tl_session_set(session, "device", "gpu"), TL_USAGE, "CPU", "another device");
  check_status(tl_session_add_source(nullptr, "a", "b"), TL_USAGE, "session is null", "a null session");
  check_status(tl_call(nullptr, nullptr, 0, nullptr), TL_USAGE, "function is null", "a null function");
  check_status(tl_value_wait(nullptr), TL_USAGE, "value is null", "a null value");
  check_status(tl_function_get(session, "b.tl", "f", nullptr, &f), TL_USAGE, "no source 'b.tl'", "no such source");
  check_status(tl_function_get(session, nullptr, "f", "nobody", &f), TL_USAGE, "nobody", "like nothing");
  check_status(call(session, "nobody", {integer(1)}), TL_REJECTED, "nobody", "no such function");
  check_status(call(session, "|x| x +", {integer(1)}), TL_REJECTED, "error", "half an expression");

  Vector x{1, 2, 3}, y{4};
  check_status(call(session, "twice", {}), TL_USAGE, "`twice` needs an argument for 'x'", "no argument");
  check_status(call(session, "|x| x", {}), TL_USAGE, "argument", "no argument of an expression");
  check_status(call(session, "|x| x", {integer(1), integer(2)}), TL_USAGE, "argument", "too many of an expression");
  check_status(call(session, "twice", {tensor(x.tensor), tensor(x.tensor)}), TL_USAGE, "takes 1 argument", "too many");
  check_status(call(session, "twice", {integer(1)}), TL_USAGE, "f32[n] is wanted", "an integer for a tensor");
  check_status(call(session, "twice", {text("x")}), TL_USAGE, "f32[n] is wanted", "a text for a tensor");
  check_status(call(session, "small", {tensor(x.tensor)}), TL_USAGE, "needs an argument", "arguments left out");
  auto small = [&](tl_argument a, tl_argument b, tl_argument c, tl_argument d, tl_argument t, tl_value** r = nullptr) {
    return call(session, "small", {a, b, c, d, t}, r);
  };
  const tl_argument yes = integer(1, TL_BOOL);
  check_status(small(integer(200), integer(1), yes, real(1), text("t")), TL_USAGE, "does not fit", "an i8 of 200");
  check_status(small(integer(1), integer(-1), yes, real(1), text("t")), TL_USAGE, "does not fit", "a u16 of -1");
  check_status(small(real(1), integer(1), yes, real(1), text("t")), TL_USAGE, "i8 is wanted", "a float for an i8");
  check_status(small(integer(1), integer(1), integer(1), real(1), text("t")), TL_USAGE, "bool is wanted",
               "an integer for a bool");
  check_status(small(integer(1), integer(1), yes, real(1), integer(3)), TL_USAGE, "str is wanted",
               "a number for a text");
  tl_value* said = nullptr;
  check_status(small(integer(-128), integer(65535), yes, integer(3), text("t\xC3\xA9")), 0, "", "numbers that fit");
  check_status(small(integer(-128), integer(65535), yes, integer(3), text("t\xC3\xA9"), &said), 0, "",
               "numbers that fit");
  const char* words = "";
  check(tl_value_text(said, &words) == 0 && std::string(words) == "-128 65535 true 3.0 t\xC3\xA9", "their text");
  tl_value_release(said);
  tl_argument null_tensor = tensor(x.tensor);
  null_tensor.as.tensor = nullptr;
  check_status(call(session, "twice", {null_tensor}), TL_USAGE, "null", "a null tensor");
  tl_argument unknown = integer(1, 77);
  check_status(call(session, "twice", {unknown}), TL_USAGE, "kind 77", "an unknown kind");
  tl_tensor odd = x.tensor;
  odd.device_type = 2;
  check_status(call(session, "twice", {tensor(odd)}), TL_USAGE, "CPU", "another device");
  odd = x.tensor;
  odd.dtype.bits = 64;
  check_status(call(session, "twice", {tensor(odd)}), TL_USAGE, "f64[_]", "another element type");
  odd.dtype = {5, 64, 1};
  check_status(call(session, "twice", {tensor(odd)}), TL_USAGE, "c64[_]", "complex elements");
  odd.dtype = {5, 32, 1};
  check_status(call(session, "twice", {tensor(odd)}), TL_USAGE, "tl has no", "complex elements of two f16");
  odd = x.tensor;
  int64_t negative = -1;
  odd.shape = &negative;
  check_status(call(session, "twice", {tensor(odd)}), TL_USAGE, "negative", "a negative size");
  tl_argument named = tensor(x.tensor);
  named.name = "y";
  check_status(call(session, "twice", {named}), TL_USAGE, "no parameter 'y'", "a wrong name");
  named.name = "x";
  check_status(call(session, "twice", {tensor(x.tensor), named}), TL_USAGE, "twice", "given twice");
  check_status(call(session, "small", {named, integer(1)}), TL_USAGE, "no parameter 'x'", "another's name");

  check_status(call(session, "spread", {tensor(x.tensor), real(2)}), TL_USAGE, "f64[..s] is wanted",
               "any rank of another type");
  check_status(call(session, "spread", {real(3), integer(2)}), 0, "", "any rank: none");
  const char* type = "";
  const tl_argument sliced[] = {tensor(x.tensor), integer(-2)};
  check(tl_result_type(function(session, "cut"), sliced, 2, &type) == 0 && std::string(type) == "f32[_]",
        std::string("a size that is counted from the end: ") + type);
  check(tl_result_type(function(session, "rest"), sliced, 2, &type) == 0 && std::string(type) == "f32[k + x.shape[0]]",
        std::string("a size of sizes and numbers: ") + type);
  check_status(tl_session_set(session, "sync", "perhaps"), TL_USAGE, "neither true nor false",
               "a switch that is neither");
  check_status(tl_session_set(session, "sync", "false"), 0, "", "a switch by a word");
  tl_value* made = nullptr;
  tl_tensor wide = x.tensor;
  int64_t three_by_one[2] = {3, 1};
  wide.rank = 2;
  wide.shape = three_by_one;
  tl_argument fields[] = {tensor(wide), tensor(x.tensor)};
  check_status(call(session, "Model", {fields[0], fields[1]}, &made), TL_FAILED, "`b` of `Model` is 3",
               "sizes that do not fit");
  check_status(call(session, "add", {fields[1], tensor(y.tensor)}), TL_FAILED, "of `add`", "sizes of two arguments");
  check_status(call(session, "ends", {integer(3)}), TL_FAILED, "exit(3)", "a program that ends");
  check_status(call(session, "deep", {integer(0)}), TL_FAILED, "nested", "recursion without end");
  check_status(tl_session_set(session, "memory-limit", "10M"), 0, "", "a memory limit");
  check_status(call(session, "large", {integer(3000)}), TL_FAILED, "memory", "beyond the memory limit");
  check_status(call(session, "large", {integer(30)}), 0, "", "within the memory limit");
  check(std::strcmp(tl_last_error()->kind, "OutOfMemory") == 0, "its kind");
  tl_session_close(session);
}

void values() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  check_status(tl_session_add_source(session, "m.tl", program), 0, "", "the program");
  tl_value *model = nullptr, *other = nullptr, *result = nullptr;
  check_status(call(session, "make", {integer(3)}, &model), 0, "", "a struct");
  check_status(call(session, "make", {integer(5)}, &other), 0, "", "a struct of another size");
  check_status(call(session, "total", {value(model)}, &result), 0, "", "a struct goes in");
  check(scalar(result) == 6, "total");
  size_t count = 0;
  check_status(tl_value_count(result, &count), TL_USAGE, "f32", "a number has no elements");
  check_status(tl_value_field(model, "v", &result), TL_USAGE, "no field 'v'", "no such field");
  check(tl_value_count(model, &count) == 0 && count == 2, "it has two fields");
  const char* field = "";
  check(tl_value_name(model, 1, &field) == 0 && std::string(field) == "b", "the second one");
  check_status(tl_value_name(model, 2, &field), TL_USAGE, "no field 2", "beyond the fields");
  tl_value_release(result);

  const tl_argument models[] = {value(model), value(other)};
  tl_value* list = nullptr;
  check_status(tl_list(session, models, 2, &list), 0, "", "a list of structs");
  check_status(call(session, "totals", {value(list)}, &result), 0, "", "a list goes in");
  check(scalar(result) == 16, "totals");
  tl_value_release(result);
  check(tl_value_count(list, &count) == 0 && count == 2, "its length");
  check_status(tl_value_at(list, 2, &result), TL_USAGE, "2 elements", "beyond the list");
  check_status(tl_value_at(list, 1, &result), 0, "", "an element");
  tl_value* sum = nullptr;
  check_status(call(session, "total", {value(result)}, &sum), 0, "", "the element goes in");
  check(scalar(sum) == 10, "total of the element");
  tl_value_release(sum);
  tl_value_release(result);
  tl_value_release(list);
  Vector x{1, 2, 3}, y{4};
  const tl_argument vectors[] = {tensor(x.tensor), tensor(y.tensor)}, mixed[] = {tensor(x.tensor), integer(3)};
  check_status(tl_list(session, vectors, 2, &list), 0, "", "a list of tensors");
  check_status(tl_list(session, mixed, 2, &result), TL_USAGE, "element 1", "a list of two types");
  check_status(tl_list(session, nullptr, 0, &result), TL_USAGE, "not known", "an empty list");
  check_status(call(session, "lengths", {value(list)}, &result), 0, "", "a list of tensors goes in");
  check(scalar(result) == 4, "lengths");
  tl_value_release(result);
  tl_value_release(list);

  // A result never shares memory with an argument, and what is taken is gone.
  check_status(call(session, "same", {tensor(x.tensor)}, &result), 0, "", "an argument that comes back");
  tl_managed_tensor *view = nullptr, *taken = nullptr;
  check_status(tl_value_view_tensor(result, &view), 0, "", "a view");
  check(view->tensor.data != x.data.data(), "an argument's memory comes back");
  check_status(tl_value_take_tensor(result, &taken), 0, "", "taking it");
  check(taken->tensor.data != view->tensor.data, "a tensor that a view shares was taken");
  static_cast<float*>(taken->tensor.data)[0] = 9;
  check(static_cast<float*>(view->tensor.data)[0] == 1 && x.data[0] == 1, "writing to what was taken");
  check_status(tl_value_take_tensor(result, &taken), TL_USAGE, "was taken", "taking it twice");
  view->deleter(view);
  taken->deleter(taken);
  tl_value_release(result);

  // A source that replaces another; functions of the first stay what they were.
  tl_function* before = function(session, "twice");
  check_status(tl_session_add_source(session, "m.tl", "fn twice(x: f32[n]) -> f32 = sum(x)\n"), 0, "",
               "another source");
  const tl_argument argument = tensor(x.tensor);
  check_status(tl_call(before, &argument, 1, &result), 0, "", "the function before");
  int kind = 0;
  const char* type = "";
  check(tl_value_kind(result, &kind) == 0 && kind == TL_TENSOR && tl_value_type(result, &type) == 0 &&
            std::string(type) == "f32[_]",
        "its type");
  tl_value_release(result);
  check_status(tl_call(function(session, "twice"), &argument, 1, &result), 0, "", "the function after");
  check(scalar(result) == 6, "sum");
  tl_value_release(result);
  check_status(
      tl_session_add_source(session, "n.tl", "import \"./m.tl\" as m\nfn f(x: f32[n]) -> f32 = m.twice(x) + 1.0\n"), 0,
      "", "a source that imports another");
  check_status(call(session, "f", {argument}, &result), 0, "", "its function");
  check(scalar(result) == 7, "f");
  tl_value_release(result);

  // Values outlive their session.
  tl_session_close(session);
  check_status(tl_value_field(model, "w", &result), 0, "", "a field after the session");
  tl_value_release(result);
  check_status(tl_session_open(&session), 0, "", "another session");
  check_status(tl_session_add_source(session, "m.tl", program), 0, "", "the program");
  check_status(call(session, "total", {value(model)}, &result), 0, "", "a value of another session");
  check(scalar(result) == 6, "total");
  tl_value_release(result);
  check_status(tl_session_add_source(session, "m.tl", "struct Model { w: f64[n] }\nfn total(m: Model) = sum(m.w)\n"),
               TL_REJECTED, "n", "a struct with an unknown size");
  check_status(tl_session_add_source(session, "m.tl", "struct Model { w: f64 }\nfn total(m: Model) = m.w\n"), 0, "",
               "another struct of that name");
  check_status(call(session, "total", {value(model)}), TL_USAGE, "other parts", "a struct of other parts");
  tl_value_release(model);
  tl_value_release(other);
  tl_session_close(session);
}

// The value at a path of positions.
tl_value* at(tl_value* whole, std::initializer_list<size_t> path) {
  tl_value_retain(whole);
  for (size_t index : path) {
    tl_value* part = nullptr;
    check_status(tl_value_at(whole, index, &part), 0, "", "an element");
    tl_value_release(whole);
    whole = part;
  }
  return whole;
}
double scalar_at(tl_value* whole, std::initializer_list<size_t> path) {
  tl_value* part = at(whole, path);
  const double result = scalar(part);
  tl_value_release(part);
  return result;
}
std::string type_of(tl_value* of) {
  const char* type = "";
  tl_value_type(of, &type);
  return type;
}

void tuples() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  check_status(tl_session_add_source(session, "m.tl", program), 0, "", "the program");
  Vector x{1, 2, 3};
  tl_value *result = nullptr, *inner = nullptr, *outer = nullptr, *sum = nullptr;
  check_status(call(session, "parts", {tensor(x.tensor)}, &result), 0, "", "a nested tuple");
  check(type_of(result) == "(f32[_], (f32, (i64, str)))", type_of(result));
  check(scalar_at(result, {1, 0}) == 6 && scalar_at(result, {1, 1, 0}) == 3, "its numbers");
  const char* words = "";
  tl_value* text_part = at(result, {1, 1, 1});
  check(tl_value_text(text_part, &words) == 0 && std::string(words) == "a", "its text");
  tl_value_release(text_part);
  tl_value_release(result);
  size_t count = 0;
  check_status(call(session, "single", {real(2)}, &result), 0, "", "a tuple of one");
  check(tl_value_count(result, &count) == 0 && count == 1 && scalar_at(result, {0}) == 2, "its element");
  tl_value_release(result);

  double by = 0.25;
  int8_t byte = -3;
  const tl_tensor wide = {&by, 1, 0, 0, {2, 64, 1}, nullptr, nullptr, 0};
  const tl_tensor narrow = {&byte, 1, 0, 0, {0, 8, 1}, nullptr, nullptr, 0};
  const tl_argument numbers[] = {tensor(wide), tensor(narrow)};
  check_status(tl_tuple(session, numbers, 2, &inner), 0, "", "a tuple");
  const tl_argument both[] = {tensor(x.tensor), value(inner)};
  check_status(tl_tuple(session, both, 2, &outer), 0, "", "a tuple with a tuple");
  check_status(call(session, "joined", {value(outer)}, &sum), 0, "", "it goes in");
  tl_dtype dtype{};
  uint64_t bits = 0;
  double joined = 0;
  check(tl_value_scalar(sum, &dtype, &bits) == 0 && dtype.bits == 64, "its type");
  std::memcpy(&joined, &bits, 8);
  check(joined == 3.25, "joined");
  tl_value_release(sum);
  check_status(call(session, "joined", {value(inner)}), TL_USAGE,
               "(f32[n], (f64, i8)) is wanted, and this is (f64, i8)", "another tuple");
  check_status(call(session, "|p| p[1][1]", {value(outer)}, &sum), 0, "", "where nothing is said of the type");
  tl_value_release(sum);
  check_status(call(session, "|p| p", {value(outer)}, &sum), 0, "", "in and out");
  check(type_of(sum) == "(f32[_], (f64, i8))", type_of(sum));
  tl_value_release(sum);
  check_status(tl_tuple(session, nullptr, 0, &sum), TL_USAGE, "without elements", "an empty tuple");
  tl_value_release(inner);
  tl_value_release(outer);

  check_status(call(session, "pairs", {integer(4)}, &result), 0, "", "a list of tuples");
  check(scalar_at(result, {3, 1}) == 3 && scalar_at(result, {3, 0}) == 0.5, "its element");
  check_status(call(session, "seconds", {value(result)}, &sum), 0, "", "it goes in");
  check(scalar(sum) == 6, "seconds");
  tl_value_release(sum);
  tl_value_release(result);
  const tl_argument half[] = {real(0.5), integer(9)};
  tl_value* list = nullptr;
  check_status(tl_tuple(session, half, 2, &inner), 0, "", "a tuple of numbers");
  const tl_argument elements[] = {value(inner), value(inner)};
  check_status(tl_list(session, elements, 2, &list), 0, "", "a list made of tuples");
  check_status(call(session, "seconds", {value(list)}, &sum), 0, "", "it goes in");
  check(scalar(sum) == 18, "seconds of it");
  tl_value_release(sum);
  tl_value_release(list);

  check_status(call(session, "held", {integer(7)}, &result), 0, "", "a struct with a tuple");
  check(scalar_at(result, {0, 1}) == 7, "an element of its field");
  tl_value *key = nullptr, *other = nullptr, *drawn = nullptr;
  check_status(tl_value_field(result, "k", &key), 0, "", "its key");
  tl_argument pair = value(inner), k = value(key);
  pair.name = "pair";
  k.name = "k";
  check_status(call(session, "Held", {pair, k}, &other), 0, "", "made of them");
  check(scalar_at(other, {0, 1}) == 9, "the tuple in it");
  tl_value_release(other);
  tl_value_release(inner);
  tl_value_release(result);

  // Keys: an integer is the seed, and what came out goes in.
  check(type_of(key) == "key", type_of(key));
  check_status(call(session, "drawn", {value(key)}, &drawn), 0, "", "a key goes in");
  check_status(call(session, "drawn", {integer(7)}, &other), 0, "", "its seed");
  tl_managed_tensor *a = nullptr, *b = nullptr;
  check(tl_value_view_tensor(drawn, &a) == 0 && tl_value_view_tensor(other, &b) == 0 &&
            std::memcmp(a->tensor.data, b->tensor.data, 8) == 0,
        "they draw the same");
  a->deleter(a);
  b->deleter(b);
  tl_value_release(drawn);
  tl_value_release(other);
  check_status(call(session, "drawn", {real(7)}), TL_USAGE, "key is wanted", "a float for a key");
  check_status(call(session, "seeds", {integer(7)}, &other), 0, "", "keys");
  check_status(tl_value_view_tensor(other, &a), 0, "", "their bits");
  tl_value *from_values = nullptr, *from_bits = nullptr;
  check_status(call(session, "drawn_of", {value(other)}, &from_values), 0, "", "keys go in");
  check_status(call(session, "drawn_of", {tensor(a->tensor)}, &from_bits), 0, "", "their bits go in");
  check(tl_value_view_tensor(from_bits, &b) == 0, "what they draw");
  a->deleter(a);
  check(tl_value_view_tensor(from_values, &a) == 0 && std::memcmp(a->tensor.data, b->tensor.data, 24) == 0,
        "they draw the same");
  a->deleter(a);
  b->deleter(b);
  for (tl_value* one : {key, other, from_values, from_bits})
    tl_value_release(one);

  // Structs of modules.
  const tl_signature* signature = nullptr;
  check_status(tl_session_struct(session, nullptr, "nn.Linear", &signature), 0, "", "a module's struct");
  check(signature->parameter_count == 2 && std::string(signature->parameters[0].name) == "w" && signature->is_struct,
        "its fields");
  check_status(tl_session_struct(session, nullptr, "nn.Nobody", &signature), TL_USAGE, "nn.Nobody", "no such struct");
  check_status(tl_session_struct(session, nullptr, "parts", &signature), TL_USAGE, "no struct", "a function");
  check_status(call(session, "linear", {integer(1)}, &result), 0, "", "a module's struct");
  tl_value *w = at(result, {0}), *bias = at(result, {1}), *again = nullptr;
  check_status(call(session, "nn.Linear", {value(w), value(bias)}, &again), 0, "", "made of its fields");
  check(type_of(again) == type_of(result), type_of(again));
  for (tl_value* one : {result, w, bias, again})
    tl_value_release(one);
  tl_session_close(session);
}

// Sessions that are closed, and queues that are full, while a program does not end.
void endings() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  tl_session_add_source(session, "m.tl", program);
  Vector x{0.5f};
  const tl_argument argument = tensor(x.tensor), ten = integer(10);
  tl_value *first = nullptr, *second = nullptr;
  check_status(tl_start(function(session, "spin"), &argument, 1, &first), 0, "", "start of what never ends");
  check_status(tl_start(function(session, "count"), &ten, 1, &second), 0, "", "and of another");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  tl_session_close(session);
  check_status(tl_value_wait(first), TL_INTERRUPTED, "interrupted", "the call that ran");
  check_status(tl_value_wait(second), TL_INTERRUPTED, "closed before", "the call that waited");
  tl_value_release(first);
  tl_value_release(second);

  tl_session_open(&session);
  tl_session_add_source(session, "m.tl", program);
  tl_function *count = function(session, "count"), *twice = function(session, "twice");
  check_status(tl_start(count, &ten, 1, nullptr), 0, "", "start of what never ends");
  std::atomic<int> begun{0};
  std::vector<tl_value*> values(200, nullptr);
  std::thread starter([&] {
    for (tl_value*& one : values) {
      tl_start(twice, &argument, 1, &one);
      ++begun;
    }
  });
  int before = -1;
  for (int i = 0; i < 100 && begun != before; ++i) {
    before = begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  check(begun >= 60 && begun <= 66, "the queue holds 64 calls: " + std::to_string(begun));
  for (int i = 0; i < 600 && begun < 200; ++i) {
    tl_session_interrupt(session);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  starter.join();
  int good = 0;
  for (tl_value* one : values) {
    good += tl_value_wait(one) == 0 ? 1 : 0;
    tl_value_release(one);
  }
  check(good > 100, "the calls behind it: " + std::to_string(good));
  tl_session_close(session);
}

void asynchronous() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  tl_session_add_source(session, "m.tl", program);
  Vector x{1, 2, 3};
  tl_function *twice = function(session, "twice"), *any = function(session, "any");
  tl_argument argument = tensor(x.tensor);
  tl_value* last = nullptr;
  check_status(tl_start(twice, &argument, 1, &last), 0, "", "start");
  for (int i = 0; i < 9; ++i) {
    tl_value* next = nullptr;
    const tl_argument before = value(last);
    check_status(tl_start(twice, &before, 1, &next), 0, "", "start of a pending one");
    tl_value_release(last);
    last = next;
  }
  tl_managed_tensor* view = nullptr;
  check_status(tl_value_view_tensor(last, &view), 0, "", "what came of them");
  check(static_cast<float*>(view->tensor.data)[2] == 3 * 1024, "2 ** 10");
  check(tl_value_is_pending(last) == 0, "it is done");
  view->deleter(view);
  tl_value_release(last);
  tl_value *bad = nullptr, *worse = nullptr;
  const tl_argument arguments[] = {argument, integer(5)};
  check_status(tl_start(any, arguments, 2, &bad), 0, "", "start of what fails");
  tl_argument of_bad = value(bad);
  check_status(tl_start(twice, &of_bad, 1, &worse), 0, "", "start of what needs it");
  check_status(tl_value_wait(worse), TL_REJECTED, "axis", "the failure arrives");
  check_status(tl_value_wait(bad), TL_REJECTED, "axis", "and stays");
  tl_value_release(bad);
  tl_value_release(worse);
  check_status(tl_start(twice, &argument, 1, &last), 0, "", "start before the end");
  tl_session_close(session);
  const int status = tl_value_wait(last);
  check(status == 0 || status == TL_INTERRUPTED, "done, or not: " + std::to_string(status));
  tl_value_release(last);
}

void threads() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  tl_session_add_source(session, "m.tl", program);
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t)
    all.emplace_back([&, t] {
      Vector x{1, 2, static_cast<float>(t)};
      for (int i = 0; i < 200; ++i) {
        tl_value* result = nullptr;
        const bool by_axis = i % 3 == 0;
        const int status = by_axis ? call(session, "any", {tensor(x.tensor)}, &result)
                                   : call(session, "|x| sum(x)", {tensor(x.tensor)}, &result);
        if (status != 0 || scalar(result) != 3 + t) ++wrong;
        tl_value_release(result);
        if (i % 50 == 0 && call(session, "twice", {integer(t)}) != TL_USAGE) ++wrong;
        if (std::string(tl_last_error()->text).find("is wanted") == std::string::npos) ++wrong;
      }
    });
  for (std::thread& thread : all)
    thread.join();
  check(wrong == 0, "eight threads: " + std::to_string(wrong) + " wrong");
  tl_session_close(session);
}

// Programs that do not end: in a kernel, and between kernels. Another session's calls go on.
void interrupts() {
  tl_session *session = nullptr, *other = nullptr;
  tl_session_open(&session);
  tl_session_open(&other);
  tl_session_add_source(session, "m.tl", program);
  tl_session_add_source(other, "m.tl", program);
  Vector x{0.5f};
  for (const char* name : {"spin", "count"}) {
    std::atomic<bool> done{false}, stop{false};
    int status = -1, others = 0;
    std::thread never([&] {
      status = name[0] == 's' ? call(session, name, {tensor(x.tensor)}) : call(session, name, {integer(10)});
      done = true;
    });
    std::thread beside([&] {
      while (!stop)
        if (call(other, "twice", {tensor(x.tensor)}) != 0) ++others;
    });
    for (int i = 0; i < 600 && !done; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (i >= 4) tl_session_interrupt(session);
    }
    check(done, std::string(name) + " was interrupted");
    if (!done) std::_Exit(1);
    never.join();
    stop = true;
    beside.join();
    check(status == TL_INTERRUPTED, std::string(name) + ": status " + std::to_string(status));
    check(others == 0, "another session was interrupted");
    check_status(call(session, "twice", {tensor(x.tensor)}), 0, "", "the session goes on");
  }
  tl_session_close(session);
  tl_session_close(other);
}

void forks() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  tl_session_add_source(session, "m.tl", program);
  Vector x{1, 2};
  tl_value* pending = nullptr;
  const tl_argument argument = tensor(x.tensor);
  tl_start(function(session, "twice"), &argument, 1, &pending);
  tl_value_wait(pending);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    bool fine = call(session, "twice", {argument}) == TL_USAGE &&
                std::string(tl_last_error()->text).find("forked") != std::string::npos;
    tl_value_release(pending);
    tl_session_close(session);
    tl_session* own = nullptr;
    fine = fine && tl_session_open(&own) == 0 && tl_session_add_source(own, "m.tl", program) == 0 &&
           call(own, "twice", {argument}) == 0;
    tl_session_close(own);
    std::_Exit(fine ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  check(status == 0, "a forked process: " + std::to_string(status));
  check_status(call(session, "twice", {argument}), 0, "", "the process that forked goes on");
  tl_value_release(pending);
  tl_session_close(session);
}

void pieces() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  std::string said;
  tl_session_set_output(
      session,
      [](void* to, int is_error, const char* words, size_t length) {
        *static_cast<std::string*>(to) += (is_error ? "!" : "") + std::string(words, length);
      },
      &said);
  check_status(tl_session_run(session, "<1>", "let a = 2\nfn f(x) = x * x\nf(a)"), 0, "", "a piece");
  check(said == "4 : i64\n", "what it shows: " + said);
  check_status(tl_session_run(session, "<2>", "f(b)"), TL_REJECTED, "<2>:1:3", "a name that is not there");
  check_status(tl_session_run(session, "<3>", "let c = [1, 2]\nlet i = c[0] + 5\nc[i]"), TL_FAILED, "out of range",
               "a piece that fails");
  check_status(tl_session_run(session, "<4>", "exit(4)"), TL_FAILED, "exit(4)", "a piece that ends");
  Vector x{1, 2, 3};
  const tl_argument argument = tensor(x.tensor), word = text("w");
  check_status(tl_session_bind(session, "x", &argument), 0, "", "bind");
  check_status(tl_session_bind(session, "w", &word), 0, "", "bind a text");
  check_status(tl_session_bind(session, "x y", &argument), TL_USAGE, "no name", "bind to no name");
  check_status(tl_session_bind(session, "_", &argument), TL_USAGE, "no name", "bind to what has no name");
  const tl_argument parts[] = {argument, word, integer(4)};
  tl_value *pair = nullptr, *back = nullptr;
  check_status(tl_tuple(session, parts, 3, &pair), 0, "", "a tuple");
  const tl_argument whole = value(pair);
  check_status(tl_session_bind(session, "pair", &whole), 0, "", "bind a tuple");
  check_status(tl_session_run(session, "<t>", "let turned = (pair[2] + 1, (pair[1], pair[0]))"), 0, "",
               "a piece with it");
  check_status(tl_session_lookup(session, "turned", &back), 0, "", "look up a tuple");
  check(type_of(back) == "(i64, (str, f32[_]))" && scalar_at(back, {0}) == 5, type_of(back));
  tl_value_release(pair);
  tl_value_release(back);
  x.data[0] = 100; // it was copied
  said.clear();
  check_status(tl_session_run(session, "<5>", "let y = f(x)\ndebug(y)\nprint(w, sum(y))"), 0, "", "a piece with them");
  check(said.find("w 14") != std::string::npos && said.find('!') != std::string::npos, "what it prints: " + said);
  tl_value* y = nullptr;
  check_status(tl_session_run(session, "<6>", "let l = list(ones([k + 2]) for k in 0..2)"), 0, "", "a list");
  check_status(tl_session_lookup(session, "l", &y), 0, "", "look up a list");
  size_t count = 0;
  tl_value* one = nullptr;
  check(tl_value_count(y, &count) == 0 && count == 2, "its length");
  check_status(tl_value_at(y, 1, &one), 0, "", "its element");
  int kind = 0;
  check(tl_value_kind(one, &kind) == 0 && kind == TL_TENSOR, "which is a tensor");
  tl_value_release(one);
  tl_value_release(y);
  check_status(tl_session_run(session, "<7>", "struct P { w: f32[2] }\nlet p = P(w = [5.0, 6.0])"), 0, "", "a struct");
  check_status(tl_session_lookup(session, "p", &y), 0, "", "look up a struct");
  check_status(tl_value_field(y, "w", &one), 0, "", "its field");
  tl_value_release(one);
  tl_value_release(y);
  check_status(tl_session_lookup(session, "y", &y), 0, "", "look up");
  tl_managed_tensor* view = nullptr;
  check_status(tl_value_view_tensor(y, &view), 0, "", "its tensor");
  check(view->tensor.shape[0] == 3 && static_cast<float*>(view->tensor.data)[2] == 9, "its elements");
  view->deleter(view);
  tl_value_release(y);
  check_status(tl_session_lookup(session, "f", &y), TL_USAGE, "not bound", "look up a function");
  const char* names = "";
  check(tl_session_names(session, &names) == 0 && std::string(names) == "a\nl\np\npair\nturned\nw\nx\ny\n",
        std::string("names: ") + names);
  check_status(tl_session_set_display(session, nullptr, nullptr), TL_USAGE, "has run pieces", "a display too late");
  tl_session_close(session);
}

void cells() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  std::string said;
  auto output = [](void* to, int, const char* words, size_t length) {
    *static_cast<std::string*>(to) += std::string(words, length);
  };
  auto display = [](void* to, const char* kind, const char* content, const char* type) {
    const std::string all = content;
    *static_cast<std::string*>(to) += std::string("<") + kind + "|" + all.substr(0, 20) + "|" + type + ">";
  };
  tl_session_set_output(session, output, &said);
  check_status(tl_session_set_display(session, display, &said), 0, "", "a display");
  check_status(
      tl_session_run(session, "<1>", "import plot\nlet a = [1, 2]\nprint(a)\nplot.line(a)\na\nprint(3)\na * 2"), 0, "",
      "a cell");
  check(said == "[1 2]\n<image/svg+xml|<svg xmlns=\"http://w|><text/plain|[1 2] : i64[2]|i64[2]>3\n"
                "<text/plain|[2 4] : i64[2]|i64[2]>",
        "what it shows: " + said);
  tl_value* last = nullptr;
  check_status(tl_session_lookup(session, "_", &last), 0, "", "what it showed last");
  check(type_of(last) == "i64[_]", type_of(last));
  tl_value_release(last);
  const char* text = "";
  check(tl_session_names(session, &text) == 0 && std::string(text) == "a\n", std::string("names: ") + text);

  size_t begin = 0;
  check_status(tl_session_complete(session, "let b = logsum", 14, &begin, &text), 0, "", "complete");
  check(begin == 8 && std::string(text) == "logsumexp\n", text);
  check_status(tl_session_complete(session, "a", 2, &begin, &text), TL_USAGE, "byte 2", "a cursor outside");
  check_status(tl_session_complete(session, nullptr, 0, &begin, &text), TL_USAGE, "null", "complete nothing");
  check_status(tl_session_help(session, "softmax", &text), 0, "", "help");
  check(std::string(text).find("Probabilities") != std::string::npos, text);
  check(tl_session_help(session, "a", &text) == 0 && std::string(text) == "i64[2]\n", text);
  check_status(tl_session_help(session, "nothing", &text), TL_USAGE, "no documentation", "help on nothing");
  size_t blanks = 0;
  check(tl_is_incomplete("fn f() {", &blanks) == 1 && blanks == 2, "an open piece");
  check(tl_is_incomplete("1 + 2", &blanks) == 0 && tl_is_incomplete(nullptr, nullptr) == 0, "a whole piece");
  tl_session_close(session);
}

void memory() {
  tl_session* session = nullptr;
  tl_session_open(&session);
  tl_session_add_source(session, "m.tl", program);
  Vector x{1, 2, 3};
  auto calls = [&](int count) {
    for (int i = 0; i < count; ++i) {
      tl_value *result = nullptr, *model = nullptr, *later = nullptr;
      const tl_argument argument = tensor(x.tensor);
      call(session, "twice", {argument}, &result);
      tl_value_release(result);
      call(session, "make", {integer(100)}, &model);
      tl_value_release(model);
      tl_start(function(session, "twice"), &argument, 1, &later);
      tl_value_wait(later);
      tl_value_release(later);
      call(session, "twice", {integer(1)});
    }
  };
  calls(1000);
  const size_t before = ::mallinfo2().uordblks;
  calls(10000);
  const size_t after = ::mallinfo2().uordblks;
  check(after < before + 100000, "memory grew from " + std::to_string(before) + " to " + std::to_string(after));
  tl_session_close(session);
}

} // namespace

int main() {
  wrong_use();
  values();
  tuples();
  endings();
  asynchronous();
  threads();
  interrupts();
  forks();
  pieces();
  cells();
  memory();
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
