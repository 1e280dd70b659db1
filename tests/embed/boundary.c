/* What a caller may do wrong or oddly, and what must come of it. Prints FAIL lines, and at the end OK. */
#include "mlp.h"
#include "plain.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
#define EXPECT(condition)                                             \
  do                                                                  \
    if (!(condition)) {                                               \
      ++failures;                                                     \
      printf("FAIL line %d: %s\n", __LINE__, #condition);             \
    }                                                                 \
  while (0)
#define SAYS(call, code, part)                                                             \
  do {                                                                                     \
    int got = (call);                                                                      \
    if (got != (code) || !strstr(LAST, part)) {                                            \
      ++failures;                                                                          \
      printf("FAIL line %d: %s: %d, '%s'\n", __LINE__, #call, got, got ? LAST : "");       \
    }                                                                                      \
  } while (0)

static void tensors(mlp_Model* m) {
#define LAST mlp_error()
  float data[40];
  int64_t shape[2] = {2, 4}, other[2] = {2, 5}, none[2] = {0, 4}, row[1] = {4}, negative[2] = {-1, 4};
  int64_t huge[2] = {INT64_MAX / 2, 4}, strided[2] = {8, 2}, broadcast[2] = {0, 1}, backwards[2] = {-4, 1};
  tl_managed_tensor *r = NULL, *dense = NULL;
  tl_tensor x;
  int i;
  for (i = 0; i < 40; ++i) data[i] = (float)i / 7;

  x = tl_view_f64(data, 2, shape);
  SAYS(mlp_predict(m, &x, &r), 2, "x: f32[n, 4] is wanted, and this has rank 2 and elements of type f64");
  x = tl_view_f32(data, 1, row);
  SAYS(mlp_predict(m, &x, &r), 2, "rank 1");
  x = tl_view_f32(data, 2, other);
  SAYS(mlp_predict(m, &x, &r), 3, "5");
  x = tl_view_f32(data, 2, negative);
  SAYS(mlp_predict(m, &x, &r), 2, "negative");
  x = tl_view_f32(data, 2, huge);
  SAYS(mlp_predict(m, &x, &r), 2, "too large");
  x = tl_view_f32(NULL, 2, shape);
  SAYS(mlp_predict(m, &x, &r), 2, "no data");
  SAYS(mlp_predict(m, NULL, &r), 2, "null");
  x = tl_view_f32(data, 2, NULL);
  SAYS(mlp_predict(m, &x, &r), 2, "x: the tensor has no shape");
  x = tl_view_f32(data, 2, shape);
  SAYS(mlp_predict(NULL, &x, &r), 2, "m: a Model is wanted, and this is null");
  x.device_type = 2;
  SAYS(mlp_predict(m, &x, &r), 2, "memory of the CPU");
  x = tl_view_f32(data, 2, shape);
  x.dtype.lanes = 4;
  SAYS(mlp_predict(m, &x, &r), 2, "lanes");
  EXPECT(r == NULL);

  x = tl_view_f32(NULL, 2, none); /* empty */
  EXPECT(mlp_predict(m, &x, &r) == 0 && r->tensor.shape[0] == 0 && r->tensor.shape[1] == 3);
  r->deleter(r);

  /* strides: every second element of rows of 8, one row twice, rows from the last to the first */
  for (i = 0; i < 3; ++i) {
    float copy[8];
    int a, b;
    int64_t* strides = i == 0 ? strided : i == 1 ? broadcast : backwards;
    const float* first = i == 2 ? data + 4 : data;
    for (a = 0; a < 2; ++a)
      for (b = 0; b < 4; ++b) copy[4 * a + b] = first[a * strides[0] + b * strides[1]];
    x = tl_view_f32(copy, 2, shape);
    EXPECT(mlp_predict(m, &x, &dense) == 0);
    x = tl_view_f32(first, 2, shape);
    x.strides = strides;
    EXPECT(mlp_predict(m, &x, &r) == 0);
    EXPECT(memcmp(r->tensor.data, dense->tensor.data, 24) == 0);
    r->deleter(r);
    /* at an address that is no multiple of 4, by an offset */
    {
      char bytes[8 * sizeof(float) + 3];
      memcpy(bytes + 3, copy, sizeof copy);
      x = tl_view_f32(bytes, 2, shape);
      x.byte_offset = 3;
      EXPECT(mlp_predict(m, &x, &r) == 0);
      EXPECT(memcmp(r->tensor.data, dense->tensor.data, 24) == 0);
      r->deleter(r);
    }
    dense->deleter(dense);
  }
  x = tl_view_f32(data, 2, shape);
  EXPECT(mlp_predict(m, &x, NULL) == 0); /* a result that nobody wants */
#undef LAST
}

static void programs(void) {
#define LAST plain_error()
  float data[4] = {1, 2, 3, 4}, f;
  int64_t four[1] = {4}, n;
  tl_tensor x = tl_view_f32(data, 1, four);
  tl_managed_tensor *a, *b, *c;
  plain_Held *h = NULL, *g = NULL;
  char* text = NULL;
  bool flag;
  int8_t i8;
  uint16_t u16;
  double f64;

  SAYS(plain_pick(&x, 7, &f), 3, "plain.tl:6:");
  SAYS(plain_pick(&x, 7, &f), 3, "7");
  EXPECT(plain_pick(&x, 2, &f) == 0 && f == 3);
  SAYS(plain_stop(5, &n), 3, "the program called exit(5)");
  EXPECT(plain_stop(0, &n) == 0 && n == 0);
  EXPECT(plain_mixed(true, -5, 65535, 0.1, 0.5f, &flag, &i8, &u16, &f64, &f) == 0);
  EXPECT(!flag && i8 == -5 && u16 == 65535 && f64 == 0.1 && f == 0.5f);
  SAYS(plain_talk(NULL, &text), 2, "null");

  EXPECT(plain_same(&x, &a) == 0 && a->tensor.data != (void*)data); /* results are the caller's own */
  ((float*)a->tensor.data)[0] = 9;
  EXPECT(data[0] == 1);
  a->deleter(a);
  EXPECT(plain_constant(&a) == 0);
  ((float*)a->tensor.data)[0] = 9;
  a->deleter(a);
  EXPECT(plain_constant(&a) == 0 && ((float*)a->tensor.data)[0] == 1);
  a->deleter(a);
  plain_Held* h2 = NULL;
  EXPECT(plain_hold(&x, &h) == 0 && plain_hold(&x, &h2) == 0);
  data[0] = 50; /* a handle does not hold what was lent */
  EXPECT(plain_look(h, &a, &b, &c) == 0);
  EXPECT(((float*)a->tensor.data)[0] == 1 && c->tensor.shape[0] == 2 && a->tensor.data != b->tensor.data);
  ((float*)a->tensor.data)[0] = 9;
  EXPECT(((float*)b->tensor.data)[0] == 1 && ((float*)c->tensor.data)[0] == 1);
  a->deleter(a);
  EXPECT(plain_look(h, &a, NULL, NULL) == 0 && ((float*)a->tensor.data)[0] == 1);
  plain_Held_close(h);
  EXPECT(((float*)a->tensor.data)[3] == 4); /* results outlive handles */
  a->deleter(a);
  b->deleter(b);
  c->deleter(c);
  plain_Held_close(g); /* null: nothing */

  data[0] = 1;
  plain_List_f32_1d *list = NULL, *longer = NULL;
  EXPECT(plain_pair(&x, &x, &list) == 0 && plain_append(list, &x, &longer) == 0);
  data[0] = 50; /* a list does not hold what was lent */
  EXPECT(plain_at(longer, 2, &a) == 0 && ((float*)a->tensor.data)[0] == 1);
  plain_List_f32_1d_close(longer);
  a->deleter(a);
  EXPECT(plain_at(list, 0, &a) == 0);
  ((float*)a->tensor.data)[0] = 9;
  a->deleter(a);
  EXPECT(plain_at(list, 0, &a) == 0 && ((float*)a->tensor.data)[0] == 1);
  a->deleter(a);
  SAYS(plain_at(list, 2, &a), 3, "out of range for a list of length 2");
  SAYS(plain_at(NULL, 0, &a), 2, "xs: a List_f32_1d is wanted, and this is null");
  SAYS(plain_at((plain_List_f32_1d*)h2, 0, &a), 2, "xs: a List_f32_1d is wanted, and this is a Held");
  plain_Held_close(h2);
  plain_List_f32_1d_close(list);

  SAYS(plain_configure("colour", "red"), 2, "no setting 'colour'");
  SAYS(plain_configure("threads", "many"), 2, "threads");
  SAYS(plain_configure(NULL, NULL), 2, "no setting");
  EXPECT(plain_configure("memory-limit", "1M") == 0);
  {
    const int64_t square[2] = {1000, 1000};
    double* big = calloc(1000000, sizeof *big);
    tl_tensor y = tl_view_f64(big, 2, square);
    EXPECT(plain_total(&y, &f64) == 0 && f64 == 0); /* the caller's memory does not count */
    free(big);
  }
  EXPECT(plain_configure("memory-limit", "1G") == 0);
  EXPECT(plain_configure("threads", "3") == 0);
#undef LAST
}

int main(void) {
  struct sigaction before[65], after[65];
  int s;
  mlp_Model *m = NULL, *other = NULL;
  memset(before, 0, sizeof before);
  memset(after, 0, sizeof after);
  for (s = 1; s < 65; ++s) sigaction(s, NULL, &before[s]);
  EXPECT(mlp_open("nowhere.safetensors", &m) == 3 && strstr(mlp_error(), "mlp.tl:") && strstr(mlp_error(), "nowhere"));
  EXPECT(m == NULL);
  EXPECT(mlp_create(1, &m) == 0 && mlp_save_to(m, "made.safetensors") == 0 &&
         mlp_open("made.safetensors", &other) == 0);
  tensors(m);
  tensors(other);
  programs();
  {
    /* a file that `tl run` would map */
    float one[1] = {2};
    int64_t shape[1] = {1};
    tl_tensor x = tl_view_f32(one, 1, shape);
    tl_managed_tensor* r = NULL;
    EXPECT(plain_weigh(&x, &r) == 0 && ((float*)r->tensor.data)[0] == 4);
    if (r) r->deleter(r);
  }
  for (s = 1; s < 65; ++s) {
    sigaction(s, NULL, &after[s]);
    EXPECT(before[s].sa_handler == after[s].sa_handler && before[s].sa_flags == after[s].sa_flags);
  }
  mlp_Model_close(m);
  mlp_Model_close(other);
  if (!failures) puts("OK");
  return failures != 0;
}
