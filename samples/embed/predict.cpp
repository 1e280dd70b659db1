// The same from C++: handles and results end with the objects that hold them, failures are exceptions.
#include "mlp.h"
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct CloseModel {
  void operator()(mlp_Model* model) const { mlp_Model_close(model); }
};
struct DeleteTensor {
  void operator()(tl_managed_tensor* tensor) const { tensor->deleter(tensor); }
};
using Model = std::unique_ptr<mlp_Model, CloseModel>;
using Tensor = std::unique_ptr<tl_managed_tensor, DeleteTensor>;

static void check(int status) {
  if (status != 0) throw std::runtime_error(mlp_error());
}

static Model open(const char* path) {
  mlp_Model* model = nullptr;
  check(path ? mlp_open(path, &model) : mlp_create(1, &model));
  return Model(model);
}

static std::vector<float> predict(const Model& model, const std::vector<float>& flowers) {
  const int64_t shape[] = {static_cast<int64_t>(flowers.size() / 4), 4};
  const tl_tensor x = tl_view_f32(flowers.data(), 2, shape);
  tl_managed_tensor* result = nullptr;
  check(mlp_predict(model.get(), &x, &result));
  const Tensor scores(result);
  const auto* data = static_cast<const float*>(scores->tensor.data);
  return std::vector<float>(data, data + scores->tensor.shape[0] * scores->tensor.shape[1]);
}

int main(int argc, char** argv) {
  try {
    const Model model = open(argc > 1 ? argv[1] : nullptr);
    const std::vector<float> p =
        predict(model, {5.1f, 3.5f, 1.4f, 0.2f, 7.0f, 3.2f, 4.7f, 1.4f, 6.3f, 3.3f, 6.0f, 2.5f});
    for (std::size_t i = 0; i < p.size(); i += 3)
      std::printf("flower %d  %.4f %.4f %.4f\n", static_cast<int>(i / 3), static_cast<double>(p[i]),
                  static_cast<double>(p[i + 1]), static_cast<double>(p[i + 2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
