// The passes, one per file. What each requires and guarantees is above its definition and in the table of
// pipeline.cpp.
#pragma once
#include "ir/graph/graph.h"

namespace tl {

ir::Module inline_calls(ir::Module module);
ir::Module derive(ir::Module module);
ir::Module claims(ir::Module module);
ir::Module leave_vectors(ir::Module module);
ir::Module simplify(ir::Module module);
ir::Module fold(ir::Module module);
ir::Module cse(ir::Module module);
ir::Module sizes(ir::Module module);
ir::Module dce(ir::Module module);
ir::Module products(ir::Module module);
ir::Module windows(ir::Module module);
ir::Module hoist(ir::Module module);
ir::Module outline_tensors(ir::Module module);
ir::Module outline(ir::Module module);
ir::Module batches(ir::Module module);
ir::Module place(ir::Module module);
ir::Module fuse(ir::Module module);
ir::Module make_kernels(ir::Module module);
ir::Module order(ir::Module module);

} // namespace tl
