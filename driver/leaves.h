// Parameters and results of `main` from and to files: a tensor, or the leaves of a struct or list under their names, as
// `load` and `save` have them ("layers.0.w").
#pragma once
#include "abi/interface.h"
#include "abi/outcome.h"
#include "vm/io/io.h"
#include <string>
#include <vector>

namespace tl::driver {

// Reads what the file holds of this parameter: a tensor, or a list with as many elements as there are names for. Throws
// UsageError: no such tensor, one of another element type or rank, a list with gaps, names in it that no part has; and
// IoError of kind OutOfMemory where all that was read so far (`bytes`, to which it adds) is more than may be.
Argument read_leaf(const ParamInfo& param, const std::string& path, uint64_t& bytes);

// The tensors of a result, or of a leaf of one, under their names.
void add_leaves(const ResultInfo& info, const Argument& value, std::vector<NamedTensor>& leaves);

} // namespace tl::driver
