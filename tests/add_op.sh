#!/usr/bin/env bash
# Adds operations to a copy of the sources, as docs/add-an-op.md says, and tries them: an elementwise function and a
# scan. What the page does not name is not touched; a rule that is left out must not compile. Builds tl, which takes
# minutes: ./dev test-long runs it. tests/add_op.sh [FOLDER FOR THE COPY].
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
copy=$(realpath -m "${1:-build/add_op}")
rm -rf "$copy/source"
mkdir -p "$copy/source"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$copy/source"
build=$copy/build

# insert FILE BEFORE TEXT: a line in front of the first that holds BEFORE.
insert() {
  python3 - "$copy/source/$1" "$2" "$3" <<'PYTHON'
import sys
path, before, text = sys.argv[1:]
lines = open(path).read().split("\n")
at = next((i for i, line in enumerate(lines) if before in line), None)
if at is None:
    sys.exit(f"{path}: there is no line with {before}")
lines.insert(at, text)
open(path, "w").write("\n".join(lines))
PYTHON
}
failed=0
expect() { # NAME EXPECTED COMMAND…
  local name=$1 expected=$2 got
  shift 2
  got=$("$@" 2>&1 || true)
  if [[ $got == "$expected" ]]; then
    echo "ok   $name"
  else
    printf 'FAIL %s\n  expected %s\n  got      %s\n' "$name" "$expected" "$got"
    failed=1
  fi
}

# ---- An elementwise function: a row, a body, a row of derivatives.
insert abi/ops.def 'TL_ELEMENTWISE(Erf,' \
  'TL_ELEMENTWISE(Softsign, "softsign", 1, FloatSame, -50, 50, 2, "x / (1 + |x|)", "softsign(1.0) is 0.5")'
insert abi/scalar_simple.h 'template <class M, class V> V Neg(M& m, V x)' \
  'template <class M, class V> V Softsign(M& m, V x) { return m.div(x, m.add(m.constant(1, x), m.abs(x))); }'
cmake -S "$copy/source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
partials=CMakeFiles/tl_passes.dir/passes/derive/partials.cpp.o
if message=$(ninja -C "$build" $partials 2>&1) || [[ $message != *"static assertion failed"* ]]; then
  echo "FAIL without a row of its derivative it compiles"
  failed=1
else
  echo "ok   without a row of its derivative it does not compile"
fi
insert passes/derive/partials.cpp '{S::Erf,' '    {S::Softsign, OfOperands, Gentle, [](const Step& s) {
       return s.by(s.square(s.one_plus(s.op(S::Abs, {s.x[0]})))); }},'

# ---- A built-in function, a scan of bools: a declaration, a row, what the rule of its row does with it, a case of lowering.
insert stdlib/prelude.tl '## The greatest element so far' '## Are all elements so far true? `cumall([true, false, true])` is `[true, false, false]`.
fn cumall(x: bool[..s], .., axis = -1) -> bool[..s]
'
insert abi/ops.def 'TL_BUILTIN(CumMax,' 'TL_BUILTIN(CumAll, "cumall", Pure, reduction)'
python3 - "$copy/source/parser/check/builtins/rules.cpp" <<'PYTHON'
import sys
path = sys.argv[1]
text = open(path).read()
head, tail = text.split("bool of_bools = false;")  # the types of the operand, further down
assert "  case Builtin::All:\n" in tail
open(path, "w").write(head + "bool of_bools = false;" + tail.replace("  case Builtin::All:\n", "  case Builtin::All:\n  case Builtin::CumAll:\n", 1))
PYTHON
if message=$(ninja -C "$build" CMakeFiles/tl_ir.dir/ir/lower/builtins.cpp.o 2>&1) || [[ $message != *CumAll* ]]; then
  echo "FAIL without a case of lowering it compiles"
  failed=1
else
  echo "ok   without a case of lowering it does not compile"
fi
insert ir/lower/builtins.cpp 'case Builtin::CumMax:' \
  '  case Builtin::CumAll: return {builtin_scan(e, ReduceOp::All, x())};'

insert tests/generated/derivative_cases.cpp '  case Builtin::Any:' '  case Builtin::CumAll:' # it has none

ninja -C "$build" tl tests/tl_generated >"$copy/build.log" 2>&1 || { tail -n 30 "$copy/build.log"; exit 1; }
tl=$build/tl
export TL_CACHE_DIR=$copy/cache
program='let x = [1.0, -3.0, 0.0]
print(softsign(x), grad(|x| sum(softsign(x) * 16.0))(x), sum(softsign(x[i]) for i))
print(cumall(x > -1.0), cumall([[true, false], [false, true]], axis = 0).flatten())'
result='[ 0.5  -0.75  0.  ] [ 4.  1. 16.] -0.25
[ true false false] [ true false false false]'
expect "compiled" "$result" "$tl" -e "$program"
expect "interpreted" "$result" "$tl" run --interp -e "$program"
expect "on an emulated GPU" "$result" "$tl" run --device gpu-emu -e "$program"
expect "in one kernel with what stands around it" 1 bash -c "'$tl' dump --after order - <<<'fn main(x: f32[n]) -> f32[n] = softsign(x * 2.0) + 1.0' | grep -c '= kernel'"
expect "documented" "cumall(x: bool[..s], axis = -1) -> bool[..s]" sh -c "'$tl' doc cumall | head -n 1"
"$build/tests/tl_generated" elementwise | tail -n 1
"$build/tests/tl_generated" examples | tail -n 1
exit $failed
