#include "kernel_harness.h"
#include "backend/cuda/nvrtc.h"
#include "backend/cuda/print.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <set>

namespace tl::test {
namespace {

ir::NodeId kernel_of(const ir::Function& f) {
  for (ir::NodeId id : f.body.nodes)
    if (f[id].op == ir::Op::Kernel) return id;
  FAIL("no kernel in the text");
  return {};
}

// The values by the interpreter; without the kernel for its operands, so that it cannot fail then.
std::vector<HostTensor> values_of(ir::Module module, const std::vector<ir::ValueId>& values, bool before_kernel) {
  ir::Function& f = module.functions[module.entry];
  if (before_kernel) {
    ir::NodeId kernel = kernel_of(f);
    f.body.nodes.erase(std::find(f.body.nodes.begin(), f.body.nodes.end(), kernel), f.body.nodes.end());
  }
  f.body.yields.resize(1);
  module.interface.results.clear();
  for (ir::ValueId v : values) {
    f.body.yields.push_back(v);
    const ir::Type& t = f[v].type;
    ResultInfo& result = module.interface.results.emplace_back();
    result.is_scalar = t.is_scalar();
    result.dtype = t.dtype;
    result.rank = static_cast<uint32_t>(t.dims.size());
  }
  Outcome outcome = ir::interpret(module, {}, [](std::string_view) {});
  std::vector<HostTensor> tensors;
  if (outcome.error) return tensors;
  for (Argument& a : outcome.results)
    tensors.push_back(std::get<HostTensor>(a));
  return tensors;
}

HostTensor copy(const HostTensor& t) {
  HostTensor c = HostTensor::make(t.dtype, t.dims);
  std::memcpy(c.data(), t.data(), static_cast<size_t>(t.byte_count()));
  return c;
}

} // namespace

// Every kernel of these tests is CUDA C++ that NVRTC takes, where one is installed.
static void cuda_compiles(const kir::Kernel& kernel) {
  std::string source = to_cuda(kernel), why;
  if (!nvrtc_available(&why)) {
    static bool told = false;
    if (!told) MESSAGE("skipped: no NVRTC to compile CUDA kernels with (", why, ")");
    told = true;
    return;
  }
  static std::set<std::string> seen;
  if (!seen.insert(source).second) return;
  static int turn = 0; // one architecture each: compiling is slow
  NvrtcResult result = nvrtc_compile(source, kernel.name + ".cu", turn++ % 2 ? "sm_80" : "sm_90");
  if (!result.ok) FAIL_CHECK(result.log, source.substr(source.find("extern \"C\"")));
}

Lowered lower_text(const std::string& text, Target target) {
  Lowered l;
  l.module = ir::parse_text(text);
  for (const std::string& fault : ir::verify(l.module))
    FAIL_CHECK(fault);
  const ir::Function& f = l.module.functions[l.module.entry];
  l.kernel = lower_kernel(l.module, f, kernel_of(f), target);
  l.text = kir::to_text(l.kernel);
  INFO(l.text);
  CHECK(kir::verify(l.kernel) == "");
  const kir::Kernel for_gpu = lower_kernel(l.module, f, kernel_of(f), target == Target::Cpu ? Target::Gpu : target);
  CHECK(kir::verify(for_gpu) == "");
  cuda_compiles(for_gpu);
  return l;
}

std::optional<KirFailure> compare(const Lowered& l, const std::vector<int>& initial) {
  INFO(l.text);
  const ir::Function& f = l.module.functions[l.module.entry];
  const ir::Node& node = f[kernel_of(f)];
  std::vector<HostTensor> operands = values_of(l.module, node.operands, true);
  REQUIRE(operands.size() == node.operands.size());
  std::vector<HostTensor> expected;
  std::optional<KirFailure> failure;
  for (uint32_t seed : {0u, 1u}) {
    std::vector<HostTensor> arguments;
    for (const HostTensor& t : operands)
      arguments.push_back(copy(t));
    for (size_t i = 0; i < node.results.size(); ++i) {
      const ir::Type& type = f[node.results[i]].type;
      std::vector<int64_t> dims;
      for (const ir::Dim& dim : type.dims) {
        int64_t n = dim.constant;
        if (!dim.is_constant())
          for (size_t o = 0; o < node.operands.size(); ++o)
            if (node.operands[o] == dim.value) n = operands[o].get(0).as<int64_t>();
        dims.push_back(n);
      }
      HostTensor out = HostTensor::make(type.dtype, dims);
      std::memset(out.data(), type.dtype == DType::Bool ? 1 : 0xAB, static_cast<size_t>(out.byte_count()));
      if (i < initial.size() && initial[i] >= 0) out = copy(operands[static_cast<size_t>(initial[i])]);
      arguments.push_back(out);
    }
    KirEval eval(l.kernel, arguments, seed);
    eval.run();
    failure = eval.failure;
    if (failure) continue; // results of a failed kernel are nobody's business
    if (expected.empty()) expected = values_of(l.module, node.results, false);
    REQUIRE(expected.size() == node.results.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const HostTensor& got = arguments[operands.size() + i];
      REQUIRE(got.dims == expected[i].dims);
      int64_t wrong = 0;
      for (int64_t k = 0; k < got.count(); ++k) {
        if (got.get(k) == expected[i].get(k)) continue;
        if (wrong++ == 0) {
          INFO("result ", i, " element ", k);
          CHECK(convert_scalar(got.dtype, DType::F64, got.get(k)).as<double>() ==
                convert_scalar(got.dtype, DType::F64, expected[i].get(k)).as<double>());
        }
      }
      CHECK(wrong == 0);
    }
  }
  return failure;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

} // namespace tl::test
