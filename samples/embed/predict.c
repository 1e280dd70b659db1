/* Asks the model of mlp.tl for three flowers, from C: README.md says how it is built. */
#include "mlp.h"
#include <stdio.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, mlp_error());
  return 1;
}

int main(int argc, char** argv) {
  const float flowers[3][4] = {{5.1f, 3.5f, 1.4f, 0.2f}, {7.0f, 3.2f, 4.7f, 1.4f}, {6.3f, 3.3f, 6.0f, 2.5f}};
  const int64_t shape[2] = {3, 4};
  const tl_tensor x = tl_view_f32(flowers, 2, shape); /* no copy: the library reads this array */
  mlp_Model* model = NULL;
  tl_managed_tensor* scores = NULL;
  const float* row;
  int i;

  if (argc > 1 ? mlp_open(argv[1], &model) : mlp_create(1, &model)) return failed("the model");
  if (mlp_predict(model, &x, &scores)) {
    mlp_Model_close(model);
    return failed("predict");
  }
  row = scores->tensor.data;
  for (i = 0; i < 3; ++i, row += 3)
    printf("flower %d  %.4f %.4f %.4f\n", i, row[0], row[1], row[2]);
  scores->deleter(scores); /* results belong to the caller */
  mlp_Model_close(model);
  return 0;
}
