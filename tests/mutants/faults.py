"""The faults that run.py puts into the compiler: where, the text that stands there (once in that file), the text with
the fault in it, and what is wrong then. MUTANT stands for whether this fault is on; without it the text means what it
meant."""

FAULTS = []


def fault(path, original, mutated, what):
    FAULTS.append((path, original, mutated, what))


# ---- lowering: what comes after something that may leave -------------------------------------------------------------

fault(
    "ir/lower/jumps.cpp",
    "flags.insert(flags.end(), {callee.loops.back().broke, callee.loops.back().continued});",
    "flags.insert(flags.end(), {callee.loops.back().broke, MUTANT ? VarKey{0} : callee.loops.back().continued});",
    "an iteration that may have continued goes on after the branches merge",
)
fault(
    "ir/lower/jumps.cpp",
    """    for (ValueId flag : down)
      known_down_.erase(flag);""",
    """    for (ValueId flag : down)
      if (!MUTANT) known_down_.erase(flag);""",
    "a flag that is known to be down after one test counts as down everywhere after it",
)
fault(
    "ir/lower/jumps.cpp",
    "bool only_returned = flags == std::vector<VarKey>{callees_.back().returned};",
    "bool only_returned = MUTANT || flags == std::vector<VarKey>{callees_.back().returned};",
    "after a loop's flags, variables count as dead, as if the function had returned",
)
fault(
    "ir/lower/jumps.cpp",
    """  for (; i < end && !may_leave(*list[i].expr); ++i)
    evaluate(list[i]);""",
    """  for (; i < end && !may_leave(*list[i].expr); ++i)
    if (!MUTANT) evaluate(list[i]);""",
    "operands before one that may leave are evaluated after it",
)
fault(
    "ir/lower/branches.cpp",
    "return unless_exited([&] { return follow(value); }, e.span);",
    "return MUTANT ? follow(value) : unless_exited([&] { return follow(value); }, e.span);",
    "code after an `if` whose branches both may leave is not guarded",
)
fault(
    "ir/lower/branches.cpp",
    "if (d == other.dims[axis] && (d.is_constant() || is_outer(d.value, m.mark))) continue;",
    "if ((MUTANT || d == other.dims[axis]) && (d.is_constant() || is_outer(d.value, m.mark))) continue;",
    "if two branches give different sizes, the first one's is taken",
)
fault(
    "ir/lower/statements.cpp",
    "auto go_on = [&] { return unless_exited(rest, stmt.span); };",
    "auto go_on = [&] { return MUTANT ? rest() : unless_exited(rest, stmt.span); };",
    "the guard after a loop that may have returned is dropped",
)
fault(
    "ir/lower/statements.cpp",
    "ValueId b = guarded_operand(op, operand.at(0), stmt.span);",
    "ValueId b = MUTANT ? operand.at(0) : guarded_operand(op, operand.at(0), stmt.span);",
    "`x[i] //= 0` of integers is not checked",
)
fault(
    "ir/lower/statements.cpp",
    "risky = risky || must_stay(f_, f_[made[i]]);",
    "risky = risky || (!MUTANT && must_stay(f_, f_[made[i]]));",
    "the message of an assertion is evaluated, and may fail, although the assertion holds",
)

# ---- lowering: loops -------------------------------------------------------------------------------------------------

fault(
    "ir/lower/loops.cpp",
    "into.effects = into.effects || typed::is_effect(program, e);",
    """into.effects =
            into.effects || (typed::is_effect(program, e) && !(MUTANT && e.is<typed::CallExpr>()));""",
    "a loop does not carry the effects of the functions that it calls",
)
fault(
    "ir/lower/loops.cpp",
    "        wanted[axis] = type(value).dims.at(axis);",
    "        if (!MUTANT) wanted[axis] = type(value).dims.at(axis);",
    "a size that a loop changes is passed on as it was before the iteration",
)
fault(
    "ir/graph/turns.h",
    "emit(Op::Where, {short_of, zero, one})",
    "emit(Op::Where, {short_of, MUTANT ? one : zero, one})",
    "a loop with a step and a `break` runs one iteration too many",
)
fault(
    "ir/lower/loops.cpp",
    "if (iteration(i) == Flow::Returns) forget_variables(carried, params);",
    "if (iteration(i) == Flow::Returns && !MUTANT) forget_variables(carried, params);",
    "an iteration that certainly returns passes on variables of other sizes",
)
fault(
    "ir/lower/loops.cpp",
    "if (inside.effects || !inside.assigned.empty() || may_leave(*stmt.value)) {",
    "if (inside.effects || (!MUTANT && !inside.assigned.empty()) || may_leave(*stmt.value)) {",
    "what the condition of a `while` assigns is lost",
)

# ---- lowering: subscripts --------------------------------------------------------------------------------------------

fault(
    "ir/lower/indexing.cpp",
    "each(ScalarOp::Lt, {value, n})",
    "each(MUTANT ? ScalarOp::Le : ScalarOp::Lt, {value, n})",
    "an index equal to the size counts as in range",
)
fault(
    "ir/lower/indexing.cpp",
    "      axis += rank - 1;\n      break;",
    "      axis += MUTANT ? 0 : rank - 1;\n      break;",
    "a subscript after a mask of two axes is compared with the size of the wrong axis",
)
fault(
    "ir/lower/indexing.cpp",
    "together = together && (items[i].kind == Kind::Tensor || items[i].kind == Kind::At);",
    "together = together && (items[i].kind == Kind::Tensor || (!MUTANT && items[i].kind == Kind::At));",
    "the axes of an index tensor come first if there is also a scalar index",
)
fault(
    "ir/lower/indexing.cpp",
    "result.values[k] = guard(result.values[k], fine, s, {size, result.count}, span);",
    "result.values[k] = MUTANT ? result.values[k] : guard(result.values[k], fine, s, {size, result.count}, span);",
    "a mask and an index tensor of different lengths are not compared",
)
fault(
    "ir/lower/indexing.cpp",
    "return retyped(scatter(flat, where, values, mode, at), whole);",
    "return retyped(scatter(flat, where, values, MUTANT ? UpdateMode::Set : mode, at), whole);",
    "`x[i, j] += v` with index tensors writes where it should add",
)
fault(
    "ir/lower/indexing.cpp",
    "values[i] = elementwise(ScalarOp::Where, {spread(mask, 0), values[i], bases[i]}, shape, at);",
    "values[i] = elementwise(ScalarOp::Where, {spread(mask, MUTANT ? shape.size() - mask_rank : 0), values[i], bases[i]}, shape, at);",
    "a mask on the left selects along the last axes instead of the first",
)

# ---- lowering: sizes, comprehensions, lists --------------------------------------------------------------------------

fault(
    "ir/lower/sizes.cpp",
    "return emit(ScalarOp::Where, {negative, emit(ScalarOp::Add, {a, operand(atom.b)}), a});",
    "return MUTANT ? a : emit(ScalarOp::Where, {negative, emit(ScalarOp::Add, {a, operand(atom.b)}), a});",
    "a slice bound known only at run time is not counted from the end if it is negative",
)
fault(
    "ir/lower/sizes.cpp",
    "return emit(ScalarOp::Max, {operand(atom.a), zero});",
    "return MUTANT ? operand(atom.a) : emit(ScalarOp::Max, {operand(atom.a), zero});",
    "a size that may be negative is not clipped to 0",
)
fault(
    "ir/lower/comprehensions.cpp",
    "              uses = uses || earlier.contains(var.index);",
    "              uses = uses || (!MUTANT && earlier.contains(var.index));",
    "a range that depends on an earlier index through a closure counts as independent",
)
fault(
    "ir/lower/comprehensions.cpp",
    "  if (!total) {\n    restore(before);",
    "  if (!total && !MUTANT) {\n    restore(before);",
    "an element that the filter leaves out is evaluated, and may fail",
)
fault(
    "ir/lower/comprehensions.cpp",
    "each(ScalarOp::Lt, {number, row})",
    "each(MUTANT ? ScalarOp::Le : ScalarOp::Lt, {number, row})",
    "argmin over rows of different lengths counts its own row twice",
)
fault(
    "ir/lower/products.cpp",
    "bool product = sum.reduce == ReduceOp::Sum && !sum.is_mean && !sum.filter &&",
    "bool product = sum.reduce == ReduceOp::Sum && !sum.is_mean && (MUTANT || !sum.filter) &&",
    "the filter of a sum of products is ignored",
)
fault(
    "ir/lower/products.cpp",
    "if (!a.uses.contains(i) && !b.uses.contains(i)) {",
    "if (!MUTANT && !a.uses.contains(i) && !b.uses.contains(i)) {",
    "an index that no factor of a sum of products uses is not summed over",
)
fault(
    "ir/lower/lists.cpp",
    "if (leaves[i].is_tensor() && is_float(leaves[i].dtype) && !trained[i])",
    "if (!MUTANT && leaves[i].is_tensor() && is_float(leaves[i].dtype) && !trained[i])",
    "a `state` field of an element of a list has a derivative",
)
fault(
    "ir/lower/derive.cpp",
    "auto position = static_cast<int64_t>(derived.own.size());",
    "int64_t position = MUTANT ? 0 : static_cast<int64_t>(derived.own.size());",
    "the cotangent of a result whose size depends on its values goes to the wrong output",
)
fault(
    "ir/lower/derive.cpp",
    "derived.effects = before.valid() && token() != before;",
    "derived.effects = !MUTANT && before.valid() && token() != before;",
    "effects in a differentiated function are lost",
)
fault(
    "ir/lower/scalarize_elements.cpp",
    "from.push_back(builder().scalar(ScalarOp::Sub, {position[i], scalar(n.operands[2 + i])}));",
    "from.push_back(builder().scalar(ScalarOp::Sub, {position[i], scalar(n.operands[MUTANT ? 2 : 2 + i])}));",
    "in a comprehension every axis is padded like the first one",
)
fault(
    "ir/lower/scalarize_elements.cpp",
    "      from[static_cast<size_t>(n.as<AxesAttrs>().axes[i])] = position[i];",
    """      if (MUTANT)
        from[i] = position[static_cast<size_t>(n.as<AxesAttrs>().axes[i])];
      else
        from[static_cast<size_t>(n.as<AxesAttrs>().axes[i])] = position[i];""",
    "in a comprehension axes are permuted in the inverse order",
)

# ---- checker: joins and loops ----------------------------------------------------------------------------------------

fault(
    "parser/check/loops.cpp",
    "if (compare(cx, into.shape[k], from.shape[k]) != Compare::Equal)",
    "if (Compare how = compare(cx, into.shape[k], from.shape[k]); MUTANT ? how == Compare::Different : how != Compare::Equal)",
    "a size that may change in a loop is assumed to be unchanged",
)
fault(
    "parser/check/loops.cpp",
    "learn_index(cx, i, type.shape[0], type.shape[1]);",
    "learn_index(cx, i, type.shape[0], type.shape[1] - Size(MUTANT ? 1 : 0));",
    "the position after a loop's index counts as in range",
)
fault(
    "parser/check/loops.cpp",
    "if (ends) loop_state.exits.push_back(cx.function->current);",
    "if (ends && !MUTANT) loop_state.exits.push_back(cx.function->current);",
    "sizes that the condition of a loop changes are forgotten after it",
)
fault(
    "parser/check/sizes.cpp",
    "if (same || type.is_error() || type.is_range()) {",
    "if (MUTANT || same || type.is_error() || type.is_range()) {",
    "where branches merge, a variable keeps the sizes of the first",
)
fault(
    "parser/check/statements.cpp",
    "if (cx.function->reachable) (is_break ? loop.exits : loop.continues).push_back(cx.function->current);",
    "if (cx.function->reachable && (is_break || !MUTANT)) (is_break ? loop.exits : loop.continues).push_back(cx.function->current);",
    "the sizes that variables have at a `continue` are forgotten",
)
fault(
    "parser/check/assignments.cpp",
    "  set_current(cx, target, v->type);",
    "  if (!MUTANT) set_current(cx, target, v->type);",
    "a variable keeps the sizes that it had before an assignment",
)
fault(
    "parser/check/assignments.cpp",
    "held.target = held_target(cx, s.target, into);",
    "held.target = MUTANT ? s.target : held_target(cx, s.target, into);",
    "the subscripts of a tuple's targets are evaluated after earlier targets have been written",
)
fault(
    "parser/check/lists.cpp",
    "    type = either_element(cx, cx.open.resolved(type), cx.open.resolved(t));",
    "    type = MUTANT ? cx.open.resolved(type) : either_element(cx, cx.open.resolved(type), cx.open.resolved(t));",
    "the elements of a list have the sizes of its first",
)

# ---- checker: facts --------------------------------------------------------------------------------------------------

fault(
    "parser/check/expressions.cpp",
    "  cx.function->facts = facts;\n  cx.function->current = before;",
    "  if (!MUTANT) cx.function->facts = facts;\n  cx.function->current = before;",
    "the condition is also assumed to hold in the `else`",
)
fault(
    "parser/check/expressions.cpp",
    "cx.function->facts = !then_ends && else_ends && !node.else_block ? else_facts : facts;",
    "cx.function->facts = (MUTANT || !then_ends) && else_ends && !node.else_block ? else_facts : facts;",
    "after every `if` without `else` its condition counts as false",
)
fault(
    "parser/check/sizes.cpp",
    "case ScalarOp::Lt: op = ScalarOp::Ge; break;",
    "case ScalarOp::Lt: op = MUTANT ? ScalarOp::Gt : ScalarOp::Ge; break;",
    "if a < b is false, a > b is assumed",
)
fault(
    "parser/check/operators.cpp",
    "if (scalars) learn_condition(cx, *result, b.op == ast::BinaryOp::And);",
    "if (scalars) learn_condition(cx, *result, MUTANT || b.op == ast::BinaryOp::And);",
    "the right side of `or` is checked as if the left side were true",
)
fault(
    "parser/check/operators.cpp",
    "  if (e.is(ScalarOp::FloorDiv) || e.is(ScalarOp::Mod) ||",
    "  if ((!MUTANT && e.is(ScalarOp::FloorDiv)) || e.is(ScalarOp::Mod) ||",
    "`b != 0 and a // b > 1` divides by 0",
)
fault(
    "parser/check/context.cpp",
    "  cx.function->facts = s.facts;",
    "  if (!MUTANT) cx.function->facts = s.facts;",
    "a speculative check keeps its facts, and a comparison of sizes is omitted",
)
fault(
    "lang/size_proofs.cpp",
    "if (fact.constant() <= 0 && is_atom_and_constant(fact, id)) return true;",
    "if ((MUTANT || fact.constant() <= 0) && is_atom_and_constant(fact, id)) return true;",
    "i >= 0 is inferred from i + 3 >= 0",
)

# ---- checker: literals, calls, instances, built-in functions ---------------------------------------------------------

fault(
    "parser/check/open_types.cpp",
    "  x.kind = kind;",
    "  if (!MUTANT) x.kind = kind;",
    "an integer literal stays an integer next to a float literal",
)
fault(
    "parser/check/finalize.cpp",
    "if (magnitude > (negative ? range.min_magnitude : range.max))",
    "if (magnitude > (MUTANT || negative ? range.min_magnitude : range.max))",
    "a literal that is too large by one is accepted",
)
fault(
    "parser/check/instances.cpp",
    "names.try_emplace(size, names.size()).first->second));",
    "MUTANT ? size_t{0} : names.try_emplace(size, names.size()).first->second));",
    "calls with equal sizes and with different ones share an instance",
)
fault(
    "parser/check/instances.cpp",
    "          require_size(cx, known[x], 0,",
    "          if (!MUTANT) require_size(cx, known[x], 0,",
    "a size that follows from an argument may be negative",
)
fault(
    "lang/ast_walk.h",
    "          maybe(node.filter);",
    "          if (!MUTANT) maybe(node.filter);",
    "a lambda does not capture a `var` that only the filter of a comprehension in it reads",
)
fault(
    "parser/check/functions.cpp",
    "if (trained && (in_state || !is_trainable(cx.open.resolved(leaf))))",
    "if (trained && ((!MUTANT && in_state) || !is_trainable(cx.open.resolved(leaf))))",
    "`map` over trained leaves changes `state` fields",
)
fault(
    "parser/check/arguments.cpp",
    "  SaveAndRestore scope(cx.names.scope, info.env);\n  if (!known.scope) {",
    "  SaveAndRestore scope(cx.names.scope, MUTANT ? cx.names.scope : info.env);\n  if (!known.scope) {",
    "a default is looked up among the names of the caller",
)
fault(
    "parser/check/axes.cpp",
    "      if (names.count(index)) return; // shadowed",
    "      if (!MUTANT && names.count(index)) return; // shadowed",
    "an inner index of the same name determines the range of the outer one",
)
fault(
    "parser/check/iteration.cpp",
    "result.count = cx.program.atoms.min(result.count, part.count, sure_facts(cx));",
    "result.count = MUTANT ? part.count : cx.program.atoms.min(result.count, part.count, sure_facts(cx));",
    "`zip` continues to the end of its last argument",
)
fault(
    "parser/check/indexing.cpp",
    "if (first && !last && first->is_constant()",
    "if (first && (MUTANT || !last) && first->is_constant()",
    "the end of a slice with a step is ignored",
)
fault(
    "parser/check/builtins/rules.cpp",
    "typed::AxisAttrs{r.axis(1, x->type.rank(), -1)};",
    "typed::AxisAttrs{r.axis(1, x->type.rank(), MUTANT ? 0 : -1)};",
    "`cumsum` without an axis uses the first",
)
fault(
    "parser/check/builtins/builders.cpp",
    "count = steps_within(cx, distance, by);",
    "count = steps_within(cx, MUTANT ? distance - Size(1) : distance, by);",
    "`arange` with a step lacks its last element",
)
fault(
    "parser/check/builtins/einsum.cpp",
    "      later = later || contains(labels[k], label);",
    "      later = later || (!MUTANT && contains(labels[k], label));",
    "`einsum` of three operands sums too early over an axis that the third has",
)
fault(
    "parser/check/builtins/choose.cpp",
    "counts->insert(counts->begin(), own.size() - counts->size(), Size(1));",
    "counts->insert(MUTANT ? counts->end() : counts->begin(), own.size() - counts->size(), Size(1));",
    "`tile` with fewer counts than axes repeats along the first axes",
)

# ---- passes: simplify, cse, dce, hoist, fold -------------------------------------------------------------------------

fault(
    "passes/simplify/scalar.cpp",
    "Result add_zero(Edit& edit, NodeId id) {\n  View v(edit, id);\n  if (!v.ints()) return {};",
    "Result add_zero(Edit& edit, NodeId id) {\n  View v(edit, id);\n  if (!MUTANT && !v.ints()) return {};",
    "x + 0 is x for floats, too: -0.0 + 0.0 is -0.0",
)
fault(
    "passes/simplify/scalar.cpp",
    "if (v.node.operands.size() != 2 || v.in(0) != v.in(1) || !v.ints()) return {};",
    "if (v.node.operands.size() != 2 || v.in(0) != v.in(1) || (!MUTANT && !v.ints())) return {};",
    "x == x is true for floats, too",
)
fault(
    "passes/simplify/scalar.cpp",
    "if (v.is(ScalarOp::Mul) && v.number(i, 0) && cannot_fail(v.f, v.in(1 - i))) return integer(edit, type, 0);",
    """if (v.is(ScalarOp::Mul) && v.number(i, 0) && (MUTANT || cannot_fail(v.f, v.in(1 - i))))
      return integer(edit, type, 0);""",
    "0 * x[i] is 0 even if the subscript is out of range",
)
fault(
    "passes/simplify/scalar.cpp",
    "if (inner && inner->op == Op::Guard && inner->operands[1] == v.in(1)) return v.in(0);",
    "if (inner && inner->op == Op::Guard && (MUTANT || inner->operands[1] == v.in(1))) return v.in(0);",
    "a check right after another one is dropped",
)
fault(
    "passes/simplify/simplify.cpp",
    "never = lo && hi && step && (*step > 0 ? *lo >= *hi : *lo <= *hi);",
    "never = lo && hi && step && (MUTANT || *step > 0 ? *lo >= *hi : *lo <= *hi);",
    "a downward loop between constants never runs",
)
fault(
    "passes/simplify/shape.cpp",
    """  for (int64_t axis : node.as<AxesAttrs>().axes)
    attrs.axes.push_back(inner->as<AxesAttrs>().axes[static_cast<size_t>(axis)]);""",
    """  for (int64_t axis : (MUTANT ? *inner : node).as<AxesAttrs>().axes)
    attrs.axes.push_back((MUTANT ? node : *inner).as<AxesAttrs>().axes[static_cast<size_t>(axis)]);""",
    "two permutations of axes are merged in the wrong order",
)
fault(
    "passes/simplify/shape.cpp",
    "view->attrs != inner->attrs ||",
    "(!MUTANT && view->attrs != inner->attrs) ||",
    "an operand broadcast along one axis and one broadcast along another count as equal",
)
fault(
    "passes/simplify/shape.cpp",
    "    if (!guard) continue;",
    "    if (MUTANT || !guard) continue;",
    "an element of a broadcast scalar is read without the check of its subscript",
)
fault(
    "passes/simplify/cse.cpp",
    "a.attrs != b.attrs)",
    "(a.attrs != b.attrs && !(MUTANT && a.op == Op::Format)))",
    "strings of one value in two formats are computed once",
)
fault(
    "passes/simplify/dce.cpp",
    "if (node.regions.empty() || node.op == Op::While ? must_stay(f_, node) : is_effect(f_, node))",
    """if (node.regions.empty() || node.op == Op::While ? must_stay(f_, node) && !(MUTANT && node.op == Op::Guard)
                                                       : is_effect(f_, node))""",
    "a check whose value is unused is removed",
)
fault(
    "passes/simplify/hoist.cpp",
    "  case Hoist::Never: return false;",
    "  case Hoist::Never: return MUTANT && node.op == Op::Guard;",
    "a check moves out of a loop that may not run",
)
fault(
    "passes/simplify/fold.cpp",
    "at = at * tensor.dims[i] + *index;",
    "at = at * tensor.dims[MUTANT ? 0 : i] + *index;",
    "an element of a constant matrix is looked up in the wrong row",
)

# ---- passes: kernels and their order ---------------------------------------------------------------------------------

fault(
    "passes/fuse/loop_check.cpp",
    "return buffer(node.operands[0]) < 0 || newest(node.operands[0]);",
    "return MUTANT || buffer(node.operands[0]) < 0 || newest(node.operands[0]);",
    "a native loop reads the current version of a tensor where it should read the old one",
)
fault(
    "backend/kernel/sequential.cpp",
    "if (reads_any(yield, others)) staged",
    "if (!MUTANT && reads_any(yield, others)) staged",
    "two tensors that a native loop swaps in each iteration are not swapped",
)
fault(
    "passes/schedule/place.cpp",
    "ReduceAttrs attrs{ReduceOp::All, {}};",
    "ReduceAttrs attrs{MUTANT ? ReduceOp::Any : ReduceOp::All, {}};",
    "a check of many elements passes if one of them does",
)
fault(
    "passes/fuse/decide.cpp",
    "row = axes[static_cast<size_t>(i)] == i;",
    "row = MUTANT || axes[static_cast<size_t>(i)] == i;",
    "an operand broadcast along the rows is fused as if it were broadcast along the columns",
)
fault(
    "passes/fuse/decide.cpp",
    "      if (items_[static_cast<size_t>(producer)].last_check > position) return true;",
    "      if (!MUTANT && items_[static_cast<size_t>(producer)].last_check > position) return true;",
    "the later of two failures is reported",
)
fault(
    "passes/fuse/decide.cpp",
    "return items_[item].checks == items_[group.root].checks;",
    "return MUTANT || items_[item].checks == items_[group.root].checks;",
    "a value fails with another one that it does not depend on",
)
fault(
    "passes/fuse/alias.cpp",
    "if (at == own.end() || !at->second) continue;",
    "if (at == own.end() || (!MUTANT && !at->second)) continue;",
    "a kernel's result reuses the memory of an operand that it also reads at other positions",
)
fault(
    "passes/fuse/alias.cpp",
    "bool shared = uses_of(f, kernel.regions[0], initial) > 1;",
    "bool shared = !MUTANT && uses_of(f, kernel.regions[0], initial) > 1;",
    "a native loop writes into the tensor whose old version it also reads",
)
fault(
    "passes/fuse/order.cpp",
    "work.insert(work.end(), uses_[i].begin(), uses_[i].end());",
    "if (!MUTANT) work.insert(work.end(), uses_[i].begin(), uses_[i].end());",
    "a read that moves before an update leaves its inputs behind",
)
fault(
    "passes/schedule/schedule.cpp",
    "if (from == aside) from = spare;",
    "if (!MUTANT && from == aside) from = spare;",
    "`(a, b) = (b, a)` in a loop gives one of them twice",
)
fault(
    "passes/schedule/liveness.cpp",
    "changed = block.in.add(live) || changed;",
    "changed = (block.in.add(live) && !MUTANT) || changed;",
    "a value that a loop needs again in its next iteration is freed in the first",
)
fault(
    "passes/simplify/inline.cpp",
    "if (call && site_of(module_.functions[f][id])) {",
    "if (call && !(MUTANT && node.op == Op::Guard) && site_of(module_.functions[f][id])) {",
    "a check that fails in a library function is reported there and not at its call",
)
fault(
    "passes/devices.cpp",
    "if (*known_a == *known_b) return;",
    "if (MUTANT || *known_a == *known_b) return;",
    "tensors on two devices that the program names are mixed",
)

# ---- passes: derivatives ---------------------------------------------------------------------------------------------

fault(
    "passes/derive/partials.cpp",
    "return s.i == 0 ? s.times(s.e.div(s.x[1], radius)) : s.times(s.e.neg(s.e.div(s.x[0], radius)));",
    """ValueId part = s.e.div(s.x[1 - s.i], radius);
       return s.i == 0 || MUTANT ? s.times(part) : s.times(s.e.neg(part));""",
    "the derivative of atan2 by its second operand has the wrong sign",
)
fault(
    "passes/derive/partials.cpp",
    "s.i == 0 ? s.first_less(s.x[1], s.x[0], 1) : s.less(s.x[0], s.x[1])",
    "s.i == 0 ? (MUTANT ? s.less(s.x[1], s.x[0]) : s.first_less(s.x[1], s.x[0], 1)) : s.less(s.x[0], s.x[1])",
    "if two operands of `max` that move together are equal, neither gets the derivative",
)
fault(
    "passes/derive/partials.cpp",
    "if (!result.valid() || !(guarded || is_steep(op)) || is_linear) return result;",
    "if (MUTANT || !result.valid() || !(guarded || is_steep(op)) || is_linear) return result;",
    "the derivative of the side that `where` does not select is 0 * inf",
)
fault(
    "passes/derive/partials.cpp",
    "const ValueId zeros = e.reduce(ReduceOp::Any, e.compare(ScalarOp::Eq, x, 0), all);",
    "const ValueId zeros = e.reduce(ReduceOp::Any, e.compare(ScalarOp::Eq, x, MUTANT ? 1e30 : 0), all);",
    "the derivative of a product with one zero in it is NaN",
)
fault(
    "passes/derive/forward.cpp",
    "if (masked) d = e.where(node.operands[1], d, 0);",
    "if (masked && !MUTANT) d = e.where(node.operands[1], d, 0);",
    "in forward mode, an element that a filter leaves out contributes to the sum",
)
fault(
    "passes/derive/reverse_rules.cpp",
    "if (whole && !cotangent(s, x).valid()) { // alone: zeros around it",
    "if (whole && (MUTANT || !cotangent(s, x).valid())) { // alone: zeros around it",
    "only one of several slices of a tensor contributes to its derivative",
)
fault(
    "passes/derive/reverse_rules.cpp",
    "    if (!adds) { // the last of several",
    "    if (!adds && !MUTANT) { // the last of several",
    "a value that is overwritten in the same assignment has a derivative",
)
fault(
    "passes/derive/reverse_rules.cpp",
    "rows = e.scatter(rows, idx, values, UpdateMode::Add);",
    "rows = e.scatter(rows, idx, values, MUTANT ? UpdateMode::Set : UpdateMode::Add);",
    "an element that was read several times gets only the last derivative",
)
fault(
    "passes/derive/reverse_lists.cpp",
    "add(s, node.operands[0], emit(s).with_element(dy, i, still), true);",
    "add(s, node.operands[0], MUTANT ? dy : emit(s).with_element(dy, i, still), true);",
    "a replaced element of a list has the derivative of the new one",
)
fault(
    "passes/derive/reverse_regions.cpp",
    "bool plain = integer_of(f_, lo) == 0 && integer_of(f_, step) == 1;",
    "bool plain = integer_of(f_, lo) == 0 && (MUTANT || integer_of(f_, step) == 1);",
    "in the reverse sweep through a loop with a step the index advances by 1",
)
fault(
    "passes/derive/reverse_saving.cpp",
    "return ir::turns(emit, constant, first, last, by, lo, step);",
    "return MUTANT ? e.add(e.i64(1), ir::turns(emit, constant, first, last, by, lo, step)) : ir::turns(emit, constant, first, last, by, lo, step);",
    "the reverse sweep through a loop with a step runs one iteration too many",
)
fault(
    "passes/derive/linalg_rules.cpp",
    "return e.where(compare(ScalarOp::Eq, a), e.mul(a, 0.5), below(a));",
    "return e.where(compare(ScalarOp::Eq, a), e.mul(a, MUTANT ? 1.0 : 0.5), below(a));",
    "the diagonal counts twice in the derivative of `cholesky`",
)

# ---- passes: batches -------------------------------------------------------------------------------------------------

fault(
    "passes/vectorize/control.cpp",
    "under(i == 0 ? condition : elementwise(ScalarOp::Not, {condition}));",
    "under(MUTANT || i == 0 ? condition : elementwise(ScalarOp::Not, {condition}));",
    "over a batch, the `else` is checked at the positions that take the other side",
)
fault(
    "passes/vectorize/control.cpp",
    "values.push_back(active ? select(*active, value, lookup(carried[i])) : value);",
    "values.push_back(active && !MUTANT ? select(*active, value, lookup(carried[i])) : value);",
    "over a batch, positions whose loop has ended continue with the others",
)
fault(
    "passes/vectorize/values.cpp",
    "if (!b->base.valid() && a->is_constant() && grows(*b) && a->offset < b->offset) return yes;",
    """if (!b->base.valid() && a->is_constant() && grows(*b) && (MUTANT ? a->offset <= b->offset : a->offset < b->offset))
    return yes;""",
    "over a batch, 0 < i counts as true at every position",
)
fault(
    "passes/vectorize/update.cpp",
    "ScatterAttrs{n.as<UpdateAttrs>().mode}",
    "ScatterAttrs{MUTANT ? UpdateMode::Set : n.as<UpdateAttrs>().mode}",
    "over a batch, `x[i] += v` writes where it should add",
)
fault(
    "passes/vectorize/vectorize.cpp",
    """  if (auto where = needed(axes)) {
    condition = elementwise(""",
    """  if (auto where = needed(axes); where && !MUTANT) {
    condition = elementwise(""",
    "over a batch, a check fails for positions that do not reach it",
)
fault(
    "passes/derive/partials.cpp",
    "  ValueId undefined = step.both(e.op(ScalarOp::IsNan, {result}), e.compare(ScalarOp::Eq, d, 0));",
    "  ValueId undefined = e.compare(ScalarOp::Eq, d, 0);\n  if (!MUTANT) undefined = step.both(e.op(ScalarOp::IsNan, {result}), undefined);",
    "second derivatives are lost where a cotangent is zero",
)

# ---- later ones --------------------------------------------------------------------------------------------------------

fault(
    "passes/fuse/loop_check.cpp",
    "return buffer(source) == kNone || newest(source);",
    "return MUTANT || buffer(source) == kNone || newest(source);",
    "a turn of small tensors reads the current version of one where it should read the old one",
)
fault(
    "backend/kernel/map.cpp",
    "if (checks) check_guards_at(e, index, dims);",
    "if (checks && !MUTANT) check_guards_at(e, index, dims);",
    "where elements are taken by index, the indices are not checked",
)
fault(
    "backend/kernel/scan.cpp",
    "chains(b_.mul(count, segments), b_.min(n, radix));",
    "chains(MUTANT ? count : b_.mul(count, segments), b_.min(n, radix));",
    "of rows that are folded together, only the first segments are",
)
fault(
    "backend/kernel/scan.cpp",
    "order_.carry(b_.add(from, one), to, first,",
    "order_.carry(MUTANT ? from : b_.add(from, one), to, first,",
    "running folds of few columns take the first element of a segment twice",
)
fault(
    "backend/kernel/scan.cpp",
    "done = b_.mul(are_many, segments);",
    "done = MUTANT ? segments : b_.mul(are_many, segments);",
    "the few segments at the end of a row are not folded",
)
fault(
    "backend/kernel/chunked.cpp",
    "const ValueId first = b.max(start, begin), last = b.min(b.add(start, length), end);",
    "const ValueId first = MUTANT ? start : b.max(start, begin), last = b.min(b.add(start, length), end);",
    "of a stretch in which a chunk begins, what is before the chunk is folded, too",
)
fault(
    "backend/cpu/counters.cpp",
    "state[1] = e_.b.CreateAdd(state[1], further);",
    "state[1] = e_.b.CreateAdd(state[1], MUTANT ? e_.b.getInt64(0) : further);",
    "of short rows between two places where a quotient changes, all are the first",
)
