// Where a kernel's workspace parameters lie, as formulas in its arguments. No LLVM here.
#pragma once
#include "backend/kernel/kernel_ir.h"
#include <optional>

namespace tl::cpu {

// Bytes from the start of the launch's shared (or the worker's local) memory to parameter `param`; with
// param = params.size(), all bytes of that kind. Each parameter starts at a multiple of 64.
SizeFormula workspace_offset(const kir::Kernel& kernel, kir::ParamKind kind, size_t param);

// The kernel argument that a parameter is: its position among those that are no workspace.
uint32_t argument_index(const kir::Kernel& kernel, uint32_t param);

// Formulas put together.
SizeFormula operator+(SizeFormula x, const SizeFormula& y);
SizeFormula operator-(SizeFormula x, const SizeFormula& y);
SizeFormula operator*(SizeFormula x, const SizeFormula& y);
SizeFormula ceil_div(SizeFormula x, const SizeFormula& y);
SizeFormula floor_div(SizeFormula x, const SizeFormula& y);
SizeFormula min(SizeFormula x, const SizeFormula& y);
SizeFormula max(SizeFormula x, const SizeFormula& y);
SizeFormula number(int64_t value);
std::optional<int64_t> constant_of(const SizeFormula& formula); // nothing: it depends on sizes
bool is_number(const SizeFormula& formula, int64_t value);

// The value of a block of index arithmetic without parameters as a formula; std::logic_error where it has no such form.
SizeFormula formula_of(const kir::Kernel& kernel, const kir::Block& block, kir::ValueId value);

} // namespace tl::cpu
