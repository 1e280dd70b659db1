// Effects: output, files, assertions, the clock, ends of the program.
#include "abi/interrupted.h"
#include "abi/stopwatch.h"
#include "abi/visible.h"
#include "ir/interpret/interpreter.h"
#include "vm/io/io.h"
#include "vm/io/text.h"
#include "vm/plot/plot.h"
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <functional>

namespace tl::ir {

void Interpreter::effect(const Function& f, const Node& n, Frame& frame) {
  // An assertion needs only its condition; its values once it has failed. Debug passes failures on.
  size_t needed = n.op == Op::Assert ? 2 : n.op == Op::Debug ? 1 : n.operands.size();
  Poison poison;
  for (size_t i = 1; i < needed; ++i)
    poison = first(poison, frame[n.operands[i].index].poison);
  std::function<void(const Cell&)> elements = [&](const Cell& c) { // what is waited for is needed to its last leaf
    poison = first(poison, c.poison);
    if (c.list)
      for (const Cell& element : c.list->values)
        elements(element);
  };
  if (n.op == Op::Wait || n.op == Op::Save)
    for (size_t i = 1; i < needed; ++i)
      elements(frame[n.operands[i].index]);
  if (n.op == Op::WaitAll || n.op == Op::Exit) poison = first(poison, first_failure_);
  if (poison) throw Stop{poison, 0};
  auto in = [&](size_t i) -> const Cell& { return frame[n.operands[i].index]; };
  auto out = [&](size_t i) -> Cell& { return frame[n.results[i].index]; };
  try {
    switch (n.op) {
    case Op::Print:
      for (size_t i = 1; i < n.operands.size(); ++i)
        n.as<PrintAttrs>().to_stderr ? print_error(*in(i).text) : out_(*in(i).text);
      return;
    case Op::Plot: return plot(n, frame);
    case Op::Stopwatch: {
      const Scalar value = stopwatches_(n.as<StopwatchAttrs>().op, n.operands.size() > 1 ? in(1).data.i64() : 0);
      out(1) = cell(Data::of(f[n.results[1]].type.dtype, value));
      return;
    }
    case Op::Progress:
      return print_error(
          progress_text(in(1).data.i64(), in(2).data.i64(), *in(3).text, {.is_last = n.as<ProgressAttrs>().last}));
    case Op::Assert: return assertion(n, frame);
    case Op::Load: {
      DType type = f[n.results[1]].type.dtype;
      std::string name = n.operands.size() > 2 ? *in(2).text : std::string();
      TensorReader reader(*in(1).text,
                          {LoadOptions::unpacked({n.as<LoadAttrs>().options}), name, type, n.results.size() - 2});
      require_type(*in(1).text, reader.header(), type, n.results.size() - 2);
      HostTensor t = reader.take();
      t.dtype = type; // keys are kept as u64
      for (size_t i = 0; i < t.dims.size(); ++i)
        out(2 + i) = cell(Data::of(t.dims[i]));
      out(1) = cell(Data::of(std::move(t)));
      return;
    }
    case Op::Save: {
      std::vector<NamedTensor> tensors;
      bool named = in(2).text != nullptr;
      for (size_t i = named ? 3 : 2; i < n.operands.size(); ++i)
        if (in(i).list)
          for (const Cell& element : in(i).list->values)
            tensors.push_back({"", element.data.host()});
        else
          tensors.push_back({"", in(i).data.host()});
      if (named) set_names(tensors, *in(2).text);
      return save_tensors(*in(1).text, tensors);
    }
    case Op::Exists: {
      bool there = n.operands.size() > 2 ? holds_tensor(*in(1).text, *in(2).text) : file_exists(*in(1).text);
      out(1) = cell(Data::of(DType::Bool, Scalar::of(there)));
      return;
    }
    case Op::ReadText:
      out(1) = cell(n.as<ReadTextAttrs>().names ? tensor_names_text(*in(1).text) : read_text(*in(1).text));
      return;
    case Op::WriteText: return write_text(*in(1).text, *in(2).text);
    case Op::Wait:
      for (size_t i = 1; i < n.operands.size(); ++i) {
        Cell value = in(i);
        out(i) = std::move(value);
      }
      return;
    case Op::WaitAll:
    case Op::ReleaseCache: return; // nothing is kept
    case Op::MemoryStats:          // nor counted
      for (size_t i = 1; i < n.results.size(); ++i)
        out(i) = cell(Data::of(int64_t{0}));
      return;
    case Op::Time: {
      std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
      out(1) = cell(Data::of(DType::F64, Scalar::of(now.count())));
      return;
    }
    case Op::Interrupted:
      out(1) = cell(Data::of(DType::Bool, Scalar::of(static_cast<uint8_t>(tl::interrupted()))));
      return;
    case Op::ReadLine: out(1) = cell(read_input_line()); return;
    case Op::Exit: throw Stop{nullptr, static_cast<int>(in(1).data.i64() & 0xff)};
    case Op::Debug: return debug(n, frame);
    default: fault("not an effect");
    }
  } catch (const IoError& error) {
    throw Stop{fail({error.kind, error.what(), "", n.loc, 3, {}}), 0};
  }
}

void Interpreter::plot(const Node& n, Frame& frame) {
  auto in = [&](size_t i) -> const Cell& { return frame[n.operands[i].index]; };
  PlotRequest request;
  const auto& a = n.as<PlotAttrs>();
  request.kind = a.kind;
  request.description = *in(1).text;
  size_t next = 2;
  if (a.has_path) request.path = *in(next++).text;
  request.labels = *in(next++).text;
  request.has_x = a.has_x;
  for (; next < n.operands.size(); ++next)
    request.tensors.push_back(in(next).data.host());
  if (!draw_on_page(request, out_)) out_(draw_plot(request, terminal()));
}

void Interpreter::assertion(const Node& n, Frame& frame) {
  if (frame[n.operands[1].index].data.truth()) return;
  Poison poison;
  for (size_t i = 2; i < n.operands.size(); ++i)
    poison = first(poison, frame[n.operands[i].index].poison);
  if (poison) throw Stop{poison, 0};
  const auto& a = n.as<AssertAttrs>();
  throw Stop{fail_at(module_.sites[a.site], fill(a.format, n, frame, 2)), 0};
}

void Interpreter::print_error(const std::string& text) {
  if (err_)
    err_(text);
  else
    std::fputs(text.c_str(), stderr);
}

void Interpreter::debug(const Node& n, Frame& frame) {
  Cell value = frame[n.operands[1].index];
  const Location& at = module_.locations[n.loc.index];
  std::string summary = "failed: ";
  if (value.poison) {
    summary += visible(value.poison->error.message);
  } else if (value.text) {
    summary = *value.text;
  } else {
    HostTensor t = value.data.host();
    summary = debug_summary(t.dtype, t.dims, t.data());
  }
  print_error(fmt::format("{}:{}: {}{}\n", visible(at.file), at.line, n.as<DebugAttrs>().name, summary));
  frame[n.results[1].index] = std::move(value);
}

} // namespace tl::ir
