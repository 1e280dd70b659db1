// Operators about places in a tensor: triangles, diagonals, where it is not 0.
#include "importers/onnx/operators.h"
#include <fmt/format.h>

namespace tl::onnx {
namespace {

void eye_like(Op& op, const Row&) {
  op.require_axes(0, 2);
  const DType dtype =
      op.attribute("dtype") ? dtype_of(static_cast<int32_t>(op.integer("dtype", 1))).value_or(DType::F32) : op[0].dtype;
  const Dims dims = op[0].dims;
  const int64_t k = op.integer("k", 0);
  op.define(0,
            fmt::format("{}([j - i == {} for i in 0..{}, j in 0..{}])", name_of(dtype), k, op.in.size_text(dims[0]),
                        op.in.size_text(dims[1])),
            dtype, dims);
}

void nonzero(Op& op, const Row&) {
  const std::string x = op.text(0);
  const size_t rank = op.rank(0);
  if (rank == 0 || rank > 4) op.refuse(fmt::format("its input has {} axes, and 1 to 4 are read", rank));
  const std::string places = op.in.fresh_name("places");
  op.in.write(fmt::format("let {} = nonzero({})", places, x));
  std::vector<std::string> parts;
  for (size_t i = 0; i < rank; ++i)
    parts.push_back(fmt::format("{}[{}]", places, i));
  op.define(0, fmt::format("stack(({},))", fmt::join(parts, ", ")), DType::I64,
            {Size(static_cast<int64_t>(rank)), unknown_size()});
}

void trilu(Op& op, const Row&) {
  const bool upper = op.integer("upper", 1) != 0;
  std::string k;
  if (op.has(1)) {
    const Contents* known = op.contents(1);
    k = known && known->items.size() == 1 ? op.in.size_text(known->items[0].top)
        : op.rank(1) == 0                 ? op.text(1)
                                          : op.text(1) + "[0]";
    k = fmt::format(", k = {}", k);
  }
  op.define(0, fmt::format("{}({}{})", upper ? "triu" : "tril", op.text(0), k), op[0].dtype, op[0].dims);
}

} // namespace

std::vector<Row> place_rows() {
  return {
      {"EyeLike", 9, "", eye_like},
      {"NonZero", 9, "", nonzero},
      {"Trilu", 14, "", trilu},
  };
}

} // namespace tl::onnx
