/* Compiles a tl program inside a C program: README.md says how it is built. */
#include "tl.h"
#include <stdio.h>

static const char* const program = "## Rows of x, each divided by its length.\n"
                                   "fn unit(x: f32[n, k]) -> f32[n, k] = x / sqrt(sum(x * x, axis = 1))[:, new]\n"
                                   "fn energy(x: f32[n]) -> f32 = sum(x ** 4.0)\n";

static int failed(void) {
  fputs(tl_last_error()->text, stderr);
  return 1;
}

static void print(const tl_tensor* x) {
  const float* values = x->data;
  int64_t i, count = 1;
  for (i = 0; i < x->rank; ++i)
    count *= x->shape[i];
  for (i = 0; i < count; ++i)
    printf(" %g", values[i]);
  printf("\n");
}

/* Calls the function with one tensor and prints what comes out. */
static int show(tl_session* session, const char* expression, const tl_tensor* x) {
  tl_function* function;
  tl_value* result;
  tl_managed_tensor* tensor;
  tl_argument argument = {NULL, TL_TENSOR, {NULL}};
  argument.as.tensor = x;
  if (tl_function_get(session, NULL, expression, NULL, &function)) return failed();
  if (tl_call(function, &argument, 1, &result)) return failed();
  if (tl_value_take_tensor(result, &tensor)) return failed();
  tl_value_release(result);
  printf("%s:", expression);
  print(&tensor->tensor);
  tensor->deleter(tensor); /* a tensor that was taken belongs to the caller */
  return 0;
}

int main(void) {
  float rows[2][2] = {{3, 4}, {5, 12}}, numbers[3] = {1, 2, 3};
  int64_t two_by_two[2] = {2, 2}, three[1] = {3};
  const tl_tensor x = {rows, 1, 0, 2, {2, 32, 1}, two_by_two, NULL, 0}; /* read where it lies */
  const tl_tensor y = {numbers, 1, 0, 1, {2, 32, 1}, three, NULL, 0};
  const tl_signature* functions;
  size_t count, i;
  tl_session* session;

  if (tl_session_open(&session)) return failed();
  if (tl_session_add_source(session, "rows.tl", program)) return failed();
  if (tl_session_declarations(session, &functions, &count)) return failed();
  for (i = 0; i < count; ++i)
    printf("%s\n", functions[i].text);
  if (show(session, "unit", &x) || show(session, "energy", &y) || show(session, "grad(energy)", &y)) return 1;
  if (show(session, "energy", &x) == 0) return 1; /* of another rank: says so on standard error */
  tl_session_close(session);
  return 0;
}
