/* Eight threads share one handle and make others of their own: the same bits each time, and memory that does not
   grow. */
#include "mlp.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 8, kRows = 5 };
static mlp_Model* shared;
static float input[kRows * 4], expected[kRows * 3];
static int calls;

static void die(const char* what) {
  printf("FAIL %s: %s\n", what, mlp_error());
  exit(1);
}

static void predict(const mlp_Model* m, float* to) {
  const int64_t shape[2] = {kRows, 4};
  const tl_tensor x = tl_view_f32(input, 2, shape);
  tl_managed_tensor* r;
  if (mlp_predict(m, &x, &r)) die("predict");
  memcpy(to, r->tensor.data, sizeof expected);
  r->deleter(r);
}

static void* work(void* unused) {
  float got[kRows * 3];
  int i;
  for (i = 0; i < calls; ++i) {
    mlp_Model* own;
    predict(shared, got);
    if (memcmp(got, expected, sizeof got)) die("other bits");
    if (mlp_create(1, &own)) die("create");
    predict(own, got);
    if (memcmp(got, expected, sizeof got)) die("other bits of an own model");
    mlp_Model_close(own);
    if (i % 100 == 0) { /* messages are each thread's own */
      mlp_Model* none;
      if (mlp_open("nowhere", &none) != 3 || !strstr(mlp_error(), "nowhere")) die("message");
    }
  }
  return unused;
}

static long resident(void) { /* pages */
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%*d %ld", &pages) != 1) exit(1);
  fclose(file);
  return pages;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  int i;
  long before;
  calls = argc > 1 ? atoi(argv[1]) : 1000;
  for (i = 0; i < kRows * 4; ++i) input[i] = (float)(i % 7) - 3;
  if (mlp_create(1, &shared)) die("create");
  predict(shared, expected);
  for (i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  before = resident();
  for (i = 0; i < 10 * calls; ++i) {
    float got[kRows * 3];
    predict(shared, got);
  }
  if (argc > 2 && resident() > before + 64) die("memory grows");
  mlp_Model_close(shared);
  puts("OK");
  return 0;
}
