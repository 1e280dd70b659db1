/* bits X.npy RESULT: what mlp_predict gives for the rows of X, as raw bytes. */
#include "mlp.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  static unsigned char file[100000];
  FILE* f = argc == 3 ? fopen(argv[1], "rb") : NULL;
  size_t bytes = f ? fread(file, 1, sizeof file, f) : 0, head = 10u + file[8] + 256u * file[9];
  int64_t shape[2] = {0, 4};
  tl_tensor x;
  tl_managed_tensor* r;
  mlp_Model* m;
  if (bytes < head) return 1;
  fclose(f);
  shape[0] = (int64_t)((bytes - head) / 16);
  x = tl_view_f32(file + head, 2, shape);
  if (mlp_create(1, &m) || mlp_predict(m, &x, &r)) return puts(mlp_error()), 1;
  f = fopen(argv[2], "wb");
  if (!f || fwrite(r->tensor.data, 12, (size_t)shape[0], f) != (size_t)shape[0] || fclose(f)) return 1;
  r->deleter(r);
  mlp_Model_close(m);
  return 0;
}
