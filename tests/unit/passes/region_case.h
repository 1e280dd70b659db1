// A region as a test of the vectorizer: unrolled, position after position, and vectorized.
#pragma once
#include "ir/graph/rewrite.h"
#include "ir/graph/text.h"
#include "passes/vectorize/vectorize.h"
#include "random_region.h"
#include <numeric>
#include <optional>
#include <regex>

namespace tl::test {

// The first Map of main, whose yields may be tensors here: the Map itself never runs.
struct RegionCase {
  ir::Module module;
  ir::NodeId map;
  std::vector<ir::Dim> dims;

  explicit RegionCase(ir::Module given) : module(std::move(given)) {
    const ir::Function& f = module.functions[0];
    for (ir::NodeId id : f.body.nodes)
      if (f[id].op == ir::Op::Map && !map.valid()) map = id;
    dims = f[f[map].results[0]].type.dims;
    dims.resize(f[map].regions[0].params.size());
  }

  // main with what `emit` gives as results: it is in place of the Map and may use the nodes before it.
  template <class Emit> ir::Module with(Emit emit) const {
    ir::Module result = module;
    ir::Function& f = result.functions[0];
    const std::vector<ir::NodeId> before = f.body.nodes;
    const ir::ValueId token = f.body.params[0];
    ir::Region body;
    body.params = f.body.params;
    for (ir::NodeId id : before) {
      if (id == map) break;
      body.nodes.push_back(id);
    }
    ir::Builder b(result, f, body);
    std::vector<ir::ValueId> yields = emit(result, f, b);
    body.yields = {token};
    body.yields.insert(body.yields.end(), yields.begin(), yields.end());
    result.interface.results.clear();
    for (ir::ValueId v : yields) {
      ResultInfo info;
      info.is_scalar = f[v].type.is_scalar();
      info.rank = static_cast<uint32_t>(f[v].type.dims.size());
      result.interface.results.push_back(info);
    }
    f.body = std::move(body);
    result.functions[0] = ir::compact(result, f);
    return result;
  }

  // One position after the other: the results of all of them in a row.
  ir::Module unrolled(const std::vector<int64_t>& sizes) const {
    return with([&](ir::Module& m, ir::Function& f, ir::Builder& b) {
      const ir::Region body = f[map].regions[0];
      std::vector<ir::ValueId> yields;
      std::vector<int64_t> at(sizes.size(), 0);
      const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
      for (int64_t k = 0; k < count; ++k) {
        ir::Cloner cloner(m, f, f);
        for (size_t i = 0; i < at.size(); ++i)
          cloner.map(body.params[i], b.i64(at[i]));
        for (ir::ValueId v : cloner.inline_region(body, b))
          yields.push_back(v);
        for (size_t i = at.size(); i-- > 0;) {
          if (++at[i] < sizes[i]) break;
          at[i] = 0;
        }
      }
      return yields;
    });
  }

  std::optional<ir::Module> vectorized() const {
    bool done = false;
    ir::Module result = with([&](ir::Module& m, ir::Function& f, ir::Builder& b) {
      const ir::Region body = f[map].regions[0];
      Vectorizer v(m, f, dims, b);
      for (size_t i = 0; i < body.params.size(); ++i)
        v.bind_index(body.params[i], static_cast<uint32_t>(i));
      std::vector<ir::ValueId> yields;
      done = v.region(body);
      for (ir::ValueId y : body.yields)
        if (done) yields.push_back(v.spread(v(y)));
      return yields;
    });
    if (!done) return std::nullopt;
    return result;
  }
};

// A module from text: parameters x: f32[n, m], y: f32[k], c: i64, and the Map.
inline ir::Module module_of(const std::string& map) {
  const std::string text = R"(
site 0 "Failed" "{0} of {1}" hint "" @0
site 1 "Failed" "a guard failed" hint "" @0
param "x" f32 tensor 2 type "" doc ""
param "y" f32 tensor 1 type "" doc ""
param "c" i64 type "" doc ""
entry @main
func @main(%t: token, %n: i64, %m: i64, %x: f32[%n, %m], %k: i64, %y: f32[%k], %c: i64) {
)" + map + "\n  yield %t\n}\n";
  return ir::parse_text(std::regex_replace(text, std::regex("(constant [^\\n]*)"), "$1 {}"));
}
inline RegionCase region_of(const std::string& map) { return RegionCase(module_of(map)); }
inline RegionCase random_region(uint32_t seed, int steps, bool failing) {
  ir::Module module = module_of("");
  RandomRegion(module, seed).make(steps, failing);
  return RegionCase(std::move(module));
}

} // namespace tl::test
