// Rules of effects, and of operations on devices and processes.
#include "abi/plot_op.h"
#include "abi/stopwatch.h"
#include "ir/graph/verify_checker.h"

namespace tl::ir {

void Checker::load() {
  if (!check(node_->operands.size() >= 2 && node_->operands.size() <= 3 && node_->results.size() >= 2,
             "wants a token, a path and perhaps a name"))
    return;
  for (size_t i = 1; i < node_->operands.size(); ++i)
    want(i, Type::str());
  check(out(1).is_tensor() && out(1).dims.size() == node_->results.size() - 2, "gives not one size per axis");
  for (size_t i = 2; i < node_->results.size(); ++i) {
    result(Type::scalar(DType::I64), i);
    check(i - 2 < out(1).dims.size() && out(1).dims[i - 2] == Dim::of(node_->results[i]),
          "the tensor's sizes are not the results beside it");
  }
}

void Checker::save() {
  if (!at_least(3, 1)) return;
  want(1, Type::str());
  if (in(2).is_tensor() && !counts(3, 1)) return;
  for (size_t i = in(2).is_tensor() ? 2 : 3; i < node_->operands.size(); ++i)
    check(in(i).is_tensor() || in(i).kind == Type::Kind::List, "saves no tensor");
}

void Checker::plot() {
  const auto& a = node_->as<PlotAttrs>();
  if (!check(static_cast<int>(a.kind) < kPlotKindCount, "does not say what it draws")) return;
  const size_t texts = a.has_path ? 4 : 3;
  if (!at_least(texts + 1, 1)) return;
  for (size_t i = 1; i < node_->operands.size(); ++i)
    if (i < texts)
      want(i, Type::str());
    else
      check(in(i).is_tensor(), "draws what is no tensor");
}

void Checker::stopwatch() {
  const StopwatchOp op = node_->as<StopwatchAttrs>().op;
  if (!check(static_cast<int>(op) < kStopwatchOpCount, "does nothing") || !counts(op == StopwatchOp::Start ? 1 : 2, 2))
    return;
  want_i64(1, node_->operands.size());
  result(Type::scalar(op == StopwatchOp::Start || op == StopwatchOp::Count ? DType::I64 : DType::F64), 1);
}

void Checker::effect() {
  switch (node_->op) {
  case Op::ReadLine:
    if (!counts(1, 2)) return;
    result(Type::str(), 1);
    return;
  case Op::Print:
    if (!at_least(1, 1)) return;
    for (size_t i = 1; i < node_->operands.size(); ++i)
      want(i, Type::str());
    return;
  case Op::Assert: {
    if (!at_least(2, 1)) return;
    want(1, Type::scalar(DType::Bool));
    const auto& a = node_->as<AssertAttrs>();
    site_exists(a.site);
    format(a.format, node_->operands.size() - 2);
    return;
  }
  case Op::Load: return load();
  case Op::Save: return save();
  case Op::Exists:
    if (!counts(node_->operands.size() > 2 ? 3 : 2, 2)) return;
    want(1, Type::str());
    if (node_->operands.size() > 2) want(2, Type::str());
    result(Type::scalar(DType::Bool), 1);
    return;
  case Op::ReadText:
    if (!counts(2, 2)) return;
    want(1, Type::str());
    result(Type::str(), 1);
    return;
  case Op::WriteText:
    if (!counts(3, 1)) return;
    want(1, Type::str());
    want(2, Type::str());
    return;
  case Op::Wait:
    if (!at_least(1, node_->operands.size())) return;
    for (size_t i = 1; i < node_->operands.size(); ++i)
      result(in(i), i);
    return;
  case Op::WaitAll: counts(1, 1); return;
  case Op::Time:
    if (!counts(1, 2)) return;
    result(Type::scalar(DType::F64), 1);
    return;
  case Op::Interrupted:
    if (!counts(1, 2)) return;
    result(Type::scalar(DType::Bool), 1);
    return;
  case Op::Exit:
    if (!counts(2, 1)) return;
    want_i64(1, 2);
    return;
  case Op::Debug:
    if (!counts(2, 2)) return;
    result(in(1), 1);
    return;
  case Op::Plot: return plot();
  case Op::Stopwatch: return stopwatch();
  case Op::Progress:
    if (!at_least(4, 1)) return;
    want_i64(1, 3);
    want(3, Type::str());
    return;
  default: return;
  }
}

void Checker::device_operation() {
  switch (node_->op) {
  case Op::DeviceCount:
  case Op::ProcessRank:
  case Op::WorldSize:
    if (counts(0, 1)) result(Type::scalar(DType::I64));
    return;
  case Op::DeviceOf:
    if (!counts(1, 1)) return;
    check(in(0).is_tensor() && !in(0).dims.empty(), "is not of a tensor");
    return result(Type::scalar(DType::I64));
  case Op::Transfer:
  case Op::Place:
    if (!counts(2, 1)) return;
    check((in(0).is_tensor() && !in(0).dims.empty()) || (node_->op == Op::Place && in(0).is_list()),
          "is not of a tensor");
    want(1, Type::scalar(DType::Device));
    return result(in(0));
  case Op::DeviceInfo:
    if (!counts(1, 4)) return;
    want(0, Type::scalar(DType::Device));
    result(Type::str());
    result(Type::scalar(DType::I64), 1);
    result(Type::scalar(DType::I64), 2);
    return result(Type::str(), 3);
  case Op::MemoryStats:
    if (!counts(2, 5)) return;
    want(1, Type::scalar(DType::Device));
    for (size_t i = 1; i < 5; ++i)
      result(Type::scalar(DType::I64), i);
    return;
  case Op::ReleaseCache:
    if (!counts(2, 1)) return;
    want(1, Type::scalar(DType::Device));
    return;
  case Op::AllReduce:
    if (counts(1, 1) && check(in(0).is_tensor(), "is not of a tensor")) result(in(0));
    return;
  case Op::BroadcastFrom:
    if (!counts(2, 1) || !check(in(0).is_tensor(), "is not of a tensor")) return;
    want_i64(1, 2);
    return result(in(0));
  default: return;
  }
}

} // namespace tl::ir
