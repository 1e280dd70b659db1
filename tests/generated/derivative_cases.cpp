#include "derivative_cases.h"

namespace tl::generated {

// Without a default: a new row of the op table does not compile before it says here how its derivative is tested.
DerivativeCases derivative_cases(Builtin op) {
  switch (op) {
  case Builtin::Sum:
    return {"sum(m * m)",
            "sum(m, axis = 0) ** 2",
            "sum(m[::2, ::-1] ** 2, axis = 1)",
            "sum(q * q, axis = (0, 2))",
            "sum(q * q, axis = -1, keep = true)",
            "sum(m.T * 0.5, axis = 0) ** 2",
            "sum(s) * s",
            "sum(one) ** 2",
            "sum(none_of_it) + s",
            "sum(no_rows, axis = 0) + v[0:3]",
            "sum(v[v > 0.2] ** 2)",
            "sum(v[i] * u[j] for i in 0..6, j in 0..6 if i < j)",
            "sum(list(v, u * u)[1])"};
  case Builtin::Mean:
    return {
        "mean(m * m)", "mean(m ** 2, axis = 0)",         "mean(q * q, axis = (1, 2), keep = true)", "mean(one) ** 2",
        "mean(s) * s", "mean(m[:, ::2] ** 2, axis = -1)"};
  case Builtin::Prod:
    return {"prod(m[0])",
            "prod(m, axis = 0)",
            "prod(q, axis = (0, 1))",
            "prod(one) * s",
            "prod(s) * s",
            "prod(none_of_it) * s",
            "prod(where(arange(6) == 2, v * 0.0, v))",
            "prod(where(arange(6) % 4 == 1, v * 0.0, v))",
            "prod(m[::2, ::-1], axis = 1, keep = true)"};
  case Builtin::ReduceMin:
    return {"min(m) * s",
            "min(m, axis = 0) ** 2",
            "min(q, axis = (0, 2), keep = true) ** 2",
            "min(one) ** 2",
            "min(s) * s",
            "min(no_rows, axis = 1).flatten()",
            "min(m[::-1, ::2], axis = 1) ** 2"};
  case Builtin::ReduceMax:
    return {"max(m) * s",
            "max(m, axis = 0) ** 2",
            "max(q, axis = (0, 2), keep = true) ** 2",
            "max(one) ** 2",
            "max(s) * s",
            "max(no_rows, axis = 1).flatten()",
            "max(m[::-1, ::2], axis = 1) ** 2",
            "max(v[i] * u[i] for i in 0..6)"};
  case Builtin::CumSum:
    return {"cumsum(v) ** 2",     "cumsum(m, axis = 0) ** 2", "cumsum(q * q, axis = 1)",    "cumsum(one) ** 2",
            "cumsum(none_of_it)", "cumsum(m[:, ::-1] ** 2)",  "cumsum(m.T * m.T, axis = 0)"};
  case Builtin::CumProd:
    return {"cumprod(v)",          "cumprod(m, axis = 0)",      "cumprod(q, axis = 1)",
            "cumprod(one) * s",    "cumprod(none_of_it)",       "cumprod(where(arange(6) == 2, v * 0.0, v))",
            "cumprod(m[:, ::-2])", "cumprod(no_rows, axis = 0)"};
  case Builtin::SortRows:
    return {"sort_rows(v) ** 2",          "sort_rows(m) * arange(m.shape[1])",
            "sort_rows(q) ** 2 * q",      "sort_rows(one) ** 2",
            "sort_rows(none_of_it)",      "sort(m, axis = 0) * m",
            "sort_rows(m[:, ::-1])",      "sort_rows(no_rows)",
            "sort_rows(sort_rows(v) * u)"};
  case Builtin::ArgSortRows: return {"v[argsort_rows(u)] * v"};
  case Builtin::ArgTopRows: return {"v[argtop_rows(v, 3)] ** 2", "topk(m, 2)[0] ** 2"};
  case Builtin::CumMax:
    return {"cummax(v)",          "cummax(m, axis = 0) ** 2", "cummax(q * q, axis = 1)",  "cummax(one) * s",
            "cummax(none_of_it)", "cummax(m[:, ::-1]) ** 2",  "cummax(no_rows, axis = 0)"};
  case Builtin::CumMin:
    return {"cummin(v)",          "cummin(m, axis = 0) ** 2", "cummin(q * q, axis = 1)",
            "cummin(none_of_it)", "cummin(m[:, ::-2]) ** 2",  "cummin(sin(m).T, axis = 0)"};
  case Builtin::Reshape:
    return {"reshape(m, [2, 6]) ** 2", "reshape(m.T, [-1, 2]) ** 2", "reshape(one, []) ** 2", "reshape(s, [1, 1]) ** 2",
            "reshape(no_rows, [3, 0])"};
  case Builtin::Flatten:
    return {"flatten(m.T) ** 2", "flatten(q, from = 1) ** 2", "flatten(s) * s", "flatten(no_rows)"};
  case Builtin::Permute:
    return {"permute(q, [2, 0, 1]) ** 2", "permute(m, [1, 0]) ** 2", "permute(v, [0]) ** 2",
            "permute(no_rows, [1, 0])"};
  case Builtin::Transpose: return {"transpose(q, 0, 2) ** 2", "transpose(q, -1, -2) ** 2", "transpose(m, 0, 0) ** 2"};
  case Builtin::TransposeAll: return {"q.T ** 2", "m[::2].T ** 2", "v.T ** 2", "s.T ** 2"};
  case Builtin::ExpandDims: return {"expand_dims(m, axis = 1) ** 2", "expand_dims(s, axis = 0) ** 2"};
  case Builtin::Squeeze: return {"squeeze(m[1:2], axis = 0) ** 2", "squeeze(one, axis = 0) ** 2"};
  case Builtin::BroadcastTo:
    return {"broadcast_to(v[new, :], [3, 6]) ** 2", "broadcast_to(m[:, new, 0:1], [3, 2, 4]) ** 2",
            "broadcast_to(s, [2, 2]) ** 2", "broadcast_to(one, [1]) ** 2"};
  case Builtin::Concat:
    return {"concat((v, u, v)) ** 2",
            "concat((m, m[:, 1:2] * 2.0), axis = 1) ** 2",
            "concat((none_of_it, one)) ** 2",
            "concat((q, q * q), axis = -1)",
            "concat(list(v, u[::2], one)) ** 2",
            "concat((no_rows, m[:, 0:3])) ** 2"};
  case Builtin::Stack:
    return {"stack((v, u)) ** 2",    "stack((m, m * m), axis = 1)",      "stack((q, q * s), axis = -1)",
            "stack((s, v[0])) ** 2", "stack(list(v, u), axis = 1) ** 2", "stack((none_of_it, none_of_it))"};
  case Builtin::Pad:
    return {"pad(v, [(1, 2)]) ** 2", "pad(m, [(0, 1), (2, 0)], value = s) ** 2",
            "pad(q, [(1, 1), (0, 0), (0, 1)]) ** 2", "pad(none_of_it, [(1, 1)], value = s) ** 2",
            "pad(m[::2, ::-1], [(1, 0), (0, 1)]) ** 2"};
  case Builtin::Tile:
    return {"tile(v, [2]) ** 2", "tile(m, [2, 3]) ** 2", "tile(one, [4]) ** 2", "tile(v, [0])",
            "tile(q, [1, 1, 2]) ** 2"};
  case Builtin::Repeat:
    return {"repeat(v, 2) ** 2", "repeat(m, 3, axis = 1) ** 2", "repeat(q, 1, axis = -2) ** 2", "repeat(one, 0)"};
  case Builtin::Flip:
    return {"flip(v) * u", "flip(m, axis = 1) * m", "flip(q) * q", "flip(one) * s", "flip(none_of_it)"};
  case Builtin::Full: return {"full([2, 3], s) ** 2", "full([], s) * s", "full([0], s)"};
  case Builtin::Linspace: return {"linspace(s, v[1], 5) ** 2", "linspace(s, 2.0, 1) ** 2", "linspace(0.5, s, 2) ** 2"};
  case Builtin::Arange: return {"arange(s, s + 2.2, 0.5) ** 2"};
  case Builtin::Take:
    return {"take(v, [3, 0, 3]) ** 2",
            "take(m, [1, 1, -1], axis = 1) ** 2",
            "take(q, [[0, 1], [1, 1]], axis = -1) ** 2",
            "take(v, 2) ** 2",
            "take(one, [0, 0]) ** 2",
            "take(v, i64(zeros([0])))",
            "take(m[::2, ::-1], [1, 0]) ** 2"};
  case Builtin::Gather:
    return {"gather(v, [3, 0, 3], axis = 0) ** 2", "gather(m, [[0, 3], [1, 1], [2, 0]], axis = 1) ** 2",
            "gather(m, [[2, 0, 1, 1]], axis = 0) ** 2", "gather(one, [0, 0], axis = 0) ** 2"};
  case Builtin::ScatterAdd:
    return {"scatter_add(v, [3, 0, 3], u[0:3]) ** 2", "scatter_add(m, [1, 1], m[::2] * m[1:]) ** 2",
            "scatter_add(m, [3, 0, 3], m[:, 1:], axis = 1) ** 2", "scatter_add(one, [0, 0], v[0:2]) ** 2",
            "scatter_add(v, i64(zeros([0])), none_of_it) ** 2"};
  case Builtin::Einsum:
    return {"einsum(\"ij,kj->ik\", m, m * m)",
            "einsum(\"ij->ji\", m) ** 2",
            "einsum(\"ij->\", m) * s",
            "einsum(\"i,j->ij\", v, u)",
            "einsum(\"bij,bkj->bik\", q, q)",
            "einsum(\"ii->i\", m[:, 0:3]) ** 2",
            "einsum(\"ii\", m[:, 0:3]) * s",
            "einsum(\"ij,jk,k->i\", m, m.T, m[:, 0])",
            "einsum(\"i,i->\", none_of_it, none_of_it) + s",
            "einsum(\"i,i->i\", v[::2], u[::-2])",
            "einsum(\"ij,j->j\", m, m[0])",
            "einsum(\",i->i\", s, v)",
            "einsum(\"...ij,...jk->...ik\", q, transpose(q, 1, 2))"};
  case Builtin::Matmul:
    return {"matmul(m, m.T)",
            "m[::2, ::-1] @ m.T",
            "m @ m[0]",
            "m[:, 0] @ m",
            "v @ u * s",
            "q @ transpose(q, -1, -2)",
            "q @ m[0:2, 0:3]",
            "m[1] @ m[2]",
            "no_rows @ m",
            "m[:, 0:0] @ m[0:0] + s",
            "one.reshape([1, 1]) @ one.reshape([1, 1])",
            "q @ v[0:2]"};
  case Builtin::Dot: return {"dot(v, u)", "dot(v[::-1], v)", "dot(one, one)", "dot(none_of_it, none_of_it) + s"};
  case Builtin::Uniform: return {"uniform(key(1), [4], lo = s, hi = v[0] + 3.0) ** 2"};
  case Builtin::List:
    return {"let l = list(v, u[::2], one)\nsum(l[0] ** 2) * sum(l[1]) + sum(l[-1])",
            "sum(stack(list(y * y for y in list(v, u) if sum(y) > -100.0)))",
            "var l = list(v)\nfor i in 0..3 { if u[i] > 0.0 { l = l + list(sin(l[-1]) * u[i]) } }\nstack(l)",
            "var l = list(v)\nfor i in 0..3 { for j in 0..i { l = l + list(sin(l[j]) * u[i]) } }\nstack(l)",
            "var t = s\nvar l = list(v, u)\nfor i in 0..3 { l[i % 2] = sin(l[1 - i % 2] * t)\n  t += sum(stack(l)) * "
            "0.1 }\nt"};
  case Builtin::Enumerate:
    return {"var t = s\nfor (i, y) in enumerate(list(v, u)) { t += f64(i + 1) * sum(y * y) }\nt",
            "var t = s\nfor (i, row) in enumerate(m) { t = sin(t) + row[i] }\nt"};
  case Builtin::Zip: return {"var t = s\nfor (a, b) in zip(v, u) { t = sin(t * a) + b }\nt"};
  case Builtin::Batches:
    return {
        "var t = s\nfor y in batches(v, size = 4) { t = sin(t) + sum(y * y) }\nt",
        "var t = s\nfor (y, z) in batches(m, m[:, 0], size = 2, key = key(3)) { t = t * 0.5 + sum(y * z[:, new]) }\nt"};
  case Builtin::Map: return {"sum(map(|y| sin(y) * s, (v, u))[1])"};
  case Builtin::Fold: return {"fold(|total, y| total * 0.5 + sum(y * y), s, (v, list(u, u * s)))"};
  case Builtin::SplitKey: return {"split(m, 1)[0] ** 2", "let parts = split(v, [2, 4])\nparts[1] * sum(parts[0])"};
  case Builtin::Wait: return {"wait(v * v)", "wait(s) * s"};
  case Builtin::To: return {"v.to(cpu) * u", "(v * v).to(cpu(0)) * s.to(cpu)", "list(v, u).to(cpu)[1] ** 2"};
  case Builtin::AllReduce: return {"let l = all_reduce(list(v, u * u))\nl[0] * l[1]"};
  case Builtin::DataParallel: return {"data_parallel(|w, y| mean(w * sin(y)), list(cpu(0), cpu(0)))(s, v) * s"};
  case Builtin::BroadcastFrom: // a value of another process: a constant
  case Builtin::Cpu:
  case Builtin::Gpu:
  case Builtin::DeviceCount:
  case Builtin::DeviceOf:
  case Builtin::DeviceFacts:
  case Builtin::MemoryFacts:
  case Builtin::ReleaseCache:
  case Builtin::ProcessRank:
  case Builtin::WorldSize: return {};
  case Builtin::Debug: return {}; // it writes to standard error: tests/golden
  case Builtin::Cholesky:
    return {"linalg.cholesky(m @ m.T + 2.0 * eye(3, f64))", "linalg.cholesky(one.reshape([1, 1]) ** 2 + 0.5)",
            "linalg.cholesky(transpose(q, 1, 2) @ q + eye(2, f64))", "linalg.cholesky(m[0:0, 0:0])"};
  case Builtin::LuFactor:
    return {"linalg.lu_factor(m[:, 0:3] + 2.0 * eye(3, f64))[0]",
            "linalg.lu_factor(transpose(q, 1, 2) @ q + eye(2, f64))[0]",
            "linalg.lu_factor(one.reshape([1, 1]) + 3.0)[0]"};
  case Builtin::Solve:
    return {"linalg.solve(m[:, 0:3] + 3.0 * eye(3, f64), m)", "linalg.solve(m[:, 0:3] + 3.0 * eye(3, f64), v[0:3])",
            "linalg.solve(transpose(q, 1, 2) @ q + eye(2, f64), transpose(q, 1, 2))",
            "linalg.solve(one.reshape([1, 1]) + 3.0, one)", "linalg.solve(m[0:0, 0:0], m[0:0])"};
  case Builtin::TriangularSolve:
    return {"linalg.triangular_solve(m[:, 0:3] + 3.0 * eye(3, f64), m)",
            "linalg.triangular_solve(m[:, 0:3] + 3.0 * eye(3, f64), m, lower = false)",
            "linalg.triangular_solve(transpose(q, 1, 2) @ q + eye(2, f64), transpose(q, 1, 2))"};
  case Builtin::Qr:
    return {"let (a, b) = linalg.qr(m.T)\nweighed(a) + weighed(b)",
            "let (a, b) = linalg.qr(m)\nweighed(a) + weighed(b)", "let (a, b) = linalg.qr(q)\nweighed(a) + weighed(b)"};
  case Builtin::Svd:
    return {"linalg.svd(m)[1]", "let (a, b, c) = linalg.svd(m.T)\nweighed(a * a) + weighed(b) + weighed(c * c)",
            "linalg.svd(q)[1]"};
  case Builtin::Eigh:
    return {"linalg.eigh(m @ m.T)[0]", "let (a, b) = linalg.eigh(m @ m.T)\nweighed(a) + weighed(b * b)",
            "linalg.eigh(transpose(q, 1, 2) @ q)[0]"};
  case Builtin::EigParts: return {}; // tests/oracles/complex_numbers.py: it has none
  case Builtin::Complex:
    return {"abs(complex(v, u)) ** 2", "real(complex(m, s) * complex(s, m))", "imag(complex(one, s) / complex(s, one))",
            "real(complex(no_rows, no_rows))"};
  case Builtin::RealPart: return {"real(complex(v, u) ** 2)", "real(exp(complex(m, 0.3 * m)))", "real(v) * v"};
  case Builtin::ImaginaryPart: return {"imag(complex(v, u) ** 3)", "imag(sin(complex(m, 0.3 * m)))"};
  case Builtin::FftRows:
    return {"abs(fft_rows(complex(m, 0.5 * m))) ** 2", "real(fft_rows(complex(v, u)))",
            "imag(fft_rows(complex(one, one)))", "real(fft_rows(complex(q, q * q)))"};
  case Builtin::InverseFftRows:
    return {"abs(inverse_fft_rows(complex(m, 0.5 * m))) ** 2", "imag(inverse_fft_rows(complex(v, u)))",
            "real(inverse_fft_rows(complex(m, m), axis = 0))"};
  case Builtin::RealFftRows:
    return {"abs(real_fft_rows(m)) ** 2", "real(real_fft_rows(v * v))", "imag(real_fft_rows(m, axis = 0))",
            "real(real_fft_rows(q, axis = 1))"};
  case Builtin::RealFftTransposedRows:
    return {"real_fft_transposed_rows(real_fft_rows(v) ** 2, v.shape[0])",
            "real_fft_transposed_rows(complex(m, m * m), 2 * m.shape[1] - 1)",
            "real_fft_transposed_rows(complex(m, 0.5 * m), 2 * m.shape[0] - 2, axis = 0) ** 2"};
  case Builtin::Grad: return {"grad(|y| sum(sin(y * s) * u))(v)"};
  case Builtin::ValueAndGrad: return {"let (y, g) = value_and_grad(|y| sum(sin(y) * u))(v)\ng * y"};
  case Builtin::Vjp: return {"let (y, back) = vjp(|y| sin(y) * u, v)\ny * back(u * s)"};
  case Builtin::Jvp: return {"let (y, dy) = jvp(|y| sin(y) * u, v, u * s)\ny * dy"};
  case Builtin::Vmap:
    return {"vmap(|row| cumsum(row) * sum(row))(m)", "vmap(|a, b| a * sum(b), axes = (0, none))(v, u)",
            "vmap(|row| row * 2.0)(no_rows)"};
  case Builtin::Jacobian: return {"jacobian(|y| sin(y) * sum(y))(v[0:3]) * s"};
  case Builtin::Hessian: return {"hessian(|y| sum(y ** 3) * y[0])(v[0:3]) * s"};
  case Builtin::CustomVjp:
    return {"custom_vjp(|y| y * y * s, |y, z, dz| 2.0 * y * dz * stop_gradient(s))(v) * 0.0 + v"};
  case Builtin::StopGradient: return {"stop_gradient(v) * 0.0 + v"};
  case Builtin::Checkpoint:
    return {"checkpoint(|y| sin(y) * u)(v)", "checkpoint(|y| sin(y) * s)(s)",
            "checkpoint(|y, z| sum(y * z) * s)(v, u)"};
  case Builtin::Progress:
  case Builtin::Range:
  case Builtin::Print:
  case Builtin::Load:
  case Builtin::Save:
  case Builtin::ReadCsv:
  case Builtin::ReadTable:
  case Builtin::ReadIdx:
  case Builtin::ReadNpz:
  case Builtin::ReadSafetensors:
  case Builtin::TensorNames:
  case Builtin::Exists:
  case Builtin::ReadText:
  case Builtin::WriteText:
  case Builtin::WaitAll:
  case Builtin::Time:
  case Builtin::Interrupted:
  case Builtin::Exit:
  case Builtin::Shape:
  case Builtin::Rank:
  case Builtin::Len:
  case Builtin::Any:
  case Builtin::All:
  case Builtin::ArgMin:
  case Builtin::ArgMax:
  case Builtin::Zeros:
  case Builtin::Ones:
  case Builtin::Eye:
  case Builtin::ZerosLike:
  case Builtin::OnesLike:
  case Builtin::Key:
  case Builtin::Bits:
  case Builtin::Normal:
  case Builtin::RandInt:
  case Builtin::Bernoulli:
  case Builtin::ReadLine:
  case Builtin::Str:
  case Builtin::Bytes:
  case Builtin::Lines:
  case Builtin::Strip:
  case Builtin::Replace:
  case Builtin::Find:
  case Builtin::Join:
  case Builtin::Parse:
  case Builtin::PlotLine:
  case Builtin::PlotDescribed:
  case Builtin::PlotImage:
  case Builtin::StopwatchStart:
  case Builtin::StopwatchLap:
  case Builtin::StopwatchTotal:
  case Builtin::StopwatchCount: return {};
  }
  return {};
}

std::span<const NamedCases> other_derivative_cases() {
  static const std::vector<NamedCases> cases{
      {"a subscript", {"m[1, 2] * s", "m[-1] ** 2", "q[1, :, 0] ** 2", "one[0] * s", "v[i64(s) % 2] * s"}},
      {"a slice",
       {"v[1:4] ** 2", "v[::-1] * u", "m[::2, 1:] ** 2", "m[:, ::-2] ** 2", "q[..., 1] ** 2", "v[4:2]",
        "v[new, ::3] ** 2", "v[-3:] ** 2", "m[1:2, 3:4] ** 2"}},
      {"a gather by a list", {"v[[3, 0, 3]] ** 2", "m[[1, 1]] ** 2", "m[:, [0, 2, 0]] ** 2", "v[arange(0)]"}},
      {"a mask", {"v[v > 0.0] ** 2", "m[m[:, 0] > -9.0] ** 2", "v[v > 99.0]"}},
      {"an update of an element",
       {"var t = v * 1.0\nt[2] = s * s\nt * t", "var t = m\nt[1, -1] += s * s\nt * t",
        "var t = one\nt[0] = s * t[0]\nt", "var t = v\nt[1] *= t[2]\nt"}},
      {"an update of a slice",
       {"var t = v\nt[1:4] = u[::2]\nt * t", "var t = m\nt[::2, 1:] += m[1:, :3]\nt * t", "var t = m\nt[1] = s\nt * t",
        "var t = v\nt[::-2] *= u[:3]\nt * v", "var t = v\nt[3:3] = none_of_it\nt * t",
        "var t = q\nt[:, 1] = v[:2]\nt * t", "var t = v\nt[1:] = t[:-1] * u[1:]\nt"}},
      {"an update by a list",
       {"var t = v\nt[[3, 0, 3]] = u[:3]\nt * t", "var t = v\nt[[3, 0, 3]] += u[:3] ** 2\nt * t",
        "var t = m\nt[[1, 1]] = m[1:] * s\nt * t"}},
      {"an update by a mask", {"var t = v\nt[v > 0.0] = s\nt * t", "var t = v\nt[v > 0.0] *= 2.0\nt * t"}},
      {"a broadcast", {"m * v[:4]", "v[:, new] * u", "s * q", "one * v", "q + m[0, :2]", "m[:, 0:1] * m[0:1]"}},
      {"windows",
       {"[sum(v[i + j] * u[j] for j in 0..3) for i in 0..4]", "[sum(v[2 * i + j] * u[j] for j in 0..2) for i in 0..3]",
        "[m[i, j] * m[2 - i, 3 - j] for i in 0..3, j in 0..4]", "[v[max(i - 1, 0)] * v[min(i + 1, 5)] for i in 0..6]",
        "[if i % 2 == 0 { v[i] * s } else { sin(u[i]) } for i in 0..6]", "[v[i] for i in 0..0]",
        "[sum(m[i, k] * m[j, k] for k in 0..4) for i in 0..3, j in 0..3]"}},
      {"conversions", {"f64(v) ** 2", "where(v > 0.0, v, u) ** 2", "f64(i64(v)) + v"}},
      {"a scan written as a loop",
       {"var t = v\nfor i in 1..6 { t[i] = sin(t[i - 1]) * u[i] }\nt",
        "var h = v[:2]\nfor row in q[0] { h = sin(h * row) }\nh", "var h = s\nfor i in 0..0 { h = h * h }\nh"}},
      {"sorting",
       {"sort(v) ** 2 * u", "sort(m, axis = 0) * m", "sort(one) * s", "sort(none_of_it)", "topk(v, 2)[0] ** 2",
        "topk(m, 1)[0] ** 2", "v[argsort(u)] * u", "shuffle(key(2), v) * u", "unique(v)[0] ** 2"}},
      {"the prelude",
       {"softmax(m)",
        "log_softmax(m, axis = 0)",
        "logsumexp(m, axis = 1)",
        "logsumexp(one) * s",
        "variance(v)",
        "std(m, axis = 0)",
        "norm(v)",
        "norm(m, axis = 1)",
        "outer(v, u)",
        "diag(v)",
        "diag(m)",
        "diag(v, 1) ** 2",
        "diag(m, -1) ** 2",
        "tril(m) * m",
        "triu(m, k = 1) * m",
        "diff(v) ** 2",
        "diff(m, axis = 0) ** 2",
        "roll(v, 2) * u",
        "roll(m, -1, axis = 1) * m",
        "gelu(v)",
        "silu(v)",
        "softplus(v)"}},
      {"convolutions",
       {"nn.conv1d(x[0:10].reshape([1, 2, 5]), nn.Conv1d(w = x[10:22].reshape([2, 2, 3]), b = x[22:24]))",
        "nn.conv1d(x[0:10].reshape([1, 2, 5]), nn.Conv1d(w = x[10:22].reshape([2, 2, 3]), b = x[22:24]), stride = 2, "
        "padding = 1)",
        "nn.conv2d(x[0:16].reshape([1, 1, 4, 4]), nn.Conv2d(w = x[16:22].reshape([1, 1, 3, 2]), b = x[22:23]), stride "
        "= 2, padding = 1)",
        "nn.conv2d(x[0:8].reshape([2, 2, 2, 1]), nn.Conv2d(w = x[8:12].reshape([2, 2, 1, 1]), b = x[22:24]))"},
       "nn"},
      {"pools",
       {"nn.max_pool2d(x[0:16].reshape([1, 1, 4, 4]), 2)",
        "nn.max_pool2d(x[0:20].reshape([1, 1, 4, 5]), 3, stride = 1)",
        "nn.avg_pool2d(x[0:16].reshape([1, 1, 4, 4]), 2) ** 2",
        "nn.avg_pool2d(x[0:20].reshape([1, 1, 4, 5]), 3, stride = 2) ** 2"},
       "nn"},
      {"attention", {"nn.attention(m, m * 0.5, m.T[:3])", "nn.attention(m[:, :2], q[0], q[1], causal = true)"}, "nn"},
      {"linear systems",
       {"linalg.inv(m[:, :3] + 3.0 * eye(3, f64))", "linalg.det(m[:, :3])", "linalg.slogdet(m[:, :3])[1]",
        "linalg.pinv(m)", "linalg.pinv(m.T)", "linalg.lstsq(m.T, v[:4])", "linalg.lstsq(m, m[:, 0])",
        "linalg.det(transpose(q, 1, 2) @ q)"},
       "linalg"},
  };
  return cases;
}

} // namespace tl::generated
