#include "backend/cuda/print.h"
#include "abi/gpu_kernel.h"
#include "backend/cuda/prelude.h"
#include "backend/kernel/kernel_ops.h"
#include "lang/save_and_restore.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>

namespace tl {
namespace {

using namespace kir;

std::string_view type_name(DType type) {
  switch (type) {
  case DType::Bool: return "bool";
  case DType::U8: return "u8";
  case DType::I8: return "i8";
  case DType::U16: return "u16";
  case DType::I16: return "short";
  case DType::U32: return "u32";
  case DType::I32: return "int";
  case DType::U64:
  case DType::Key: return "u64";
  case DType::Device:
  case DType::I64: return "i64";
  case DType::F16:
  case DType::BF16: return "u16"; // in memory
  case DType::F32: return "float";
  case DType::F64: return "double";
  case DType::C64: // in no kernel
  case DType::C128: break;
  }
  return "void";
}

std::string_view memory_name(DType type) { return type == DType::Bool ? "u8" : type_name(type); }

std::string number(DType type, Scalar value) {
  switch (type) {
  case DType::Bool: return value.as<uint8_t>() ? "true" : "false";
  case DType::F32: {
    float x = value.as<float>();
    return std::isfinite(x) ? fmt::format("{:a}f", x) : fmt::format("__int_as_float(0x{:08x})", value.as<uint32_t>());
  }
  case DType::F64: {
    double x = value.as<double>();
    return std::isfinite(x) ? fmt::format("{:a}", x) : fmt::format("__longlong_as_double(0x{:016x}ll)", value.bits);
  }
  case DType::Device:
  case DType::I64: {
    int64_t x = value.as<int64_t>();
    return x == INT64_MIN ? "(-9223372036854775807ll - 1)" : fmt::format("{}ll", x);
  }
  case DType::U64:
  case DType::Key: return fmt::format("{}ull", value.bits);
  case DType::U32: return fmt::format("{}u", value.as<uint32_t>());
  case DType::I32:
    return value.as<int32_t>() == INT32_MIN ? "(-2147483647 - 1)" : fmt::format("{}", value.as<int32_t>());
  case DType::U8: return fmt::format("u8({})", value.as<uint8_t>());
  case DType::I8: return fmt::format("i8({})", value.as<int8_t>());
  case DType::U16: return fmt::format("u16({})", value.as<uint16_t>());
  default: return fmt::format("short({})", value.as<int16_t>());
  }
}

bool has(const Block& block, const std::function<bool(const Instr&)>& test) {
  for (const Instr& instr : block.instrs) {
    if (test(instr)) return true;
    for (const Block& inner : instr.blocks)
      if (has(inner, test)) return true;
  }
  return false;
}

// Whether all threads of a block load something in the same way: not as parts of a vector loop or a reduction.
bool loads_alike(const Block& block) {
  return std::any_of(block.instrs.begin(), block.instrs.end(), [](const Instr& in) {
    if (in.vector || in.op == KOp::Reduce || in.op == KOp::ReduceChunk || in.op == KOp::Contract) return false;
    return in.op == KOp::Load || std::any_of(in.blocks.begin(), in.blocks.end(), loads_alike);
  });
}

bool is_reduction(const Instr& in) { return in.op == KOp::Reduce || in.op == KOp::ReduceChunk; }

// How the threads of a block share a phase.
enum class Mode {
  Block,  // one tile at a time: vector loops and reductions over all threads, the rest by all in the same way
  Warp,   // the same by each warp
  Group,  // a tile by threads side by side, as many as it has use for: one vector loop and nothing around it
  Thread, // a tile per thread
  Solo,   // a tile at a time by one thread: sequential code with workspace of its own
};

// A tile is a row of elements that are independent of each other.
bool is_space(const Kernel& kernel, const Phase& phase) {
  size_t loops = 0;
  for (const Instr& in : phase.body.instrs) {
    if (in.op == KOp::For && in.vector)
      ++loops;
    else if (!in.blocks.empty() || in.op == KOp::Store || in.op == KOp::Check || in.op == KOp::Scatter)
      return false;
    for (const Block& inner : in.blocks)
      if (has(inner, [](const Instr& x) { return x.vector; })) return false;
  }
  return loops == 1 && !phase.row.steps.empty() &&
         std::none_of(kernel.params.begin(), kernel.params.end(),
                      [](const Param& p) { return p.kind == ParamKind::Local; });
}

Mode mode_of(const Kernel& kernel, const Phase& phase) {
  if (is_space(kernel, phase)) return Mode::Group;
  if (has(phase.body, [](const Instr& in) { return in.vector || is_reduction(in) || in.op == KOp::Scatter; }))
    return Mode::Block;
  const bool local = std::any_of(kernel.params.begin(), kernel.params.end(),
                                 [](const Param& p) { return p.kind == ParamKind::Local && !p.of_block; });
  return local ? Mode::Solo : Mode::Thread;
}

// Does a whole tile reduce something, and not columns of it? Then warps may have tiles of their own.
bool has_warps(const Kernel& kernel, size_t phase) {
  const std::vector<Instr>& instrs = kernel.phases[phase].body.instrs;
  return mode_of(kernel, kernel.phases[phase]) == Mode::Block &&
         std::any_of(instrs.begin(), instrs.end(), [](const Instr& in) { return !in.vector && is_reduction(in); });
}

// Can the threads of a block share the columns of this vector loop? What it reduces, it reduces for all of them alike,
// and nothing but its own statements stores.
bool shares_columns(const Instr& loop) {
  bool reduces = false;
  for (const Instr& in : loop.blocks[0].instrs) {
    reduces = reduces || is_reduction(in);
    if (is_reduction(in) || in.op == KOp::Contract) continue;
    for (const Block& inner : in.blocks)
      if (has(inner, [](const Instr& x) { return is_reduction(x) || x.op == KOp::Store || x.op == KOp::Check; }))
        return false;
  }
  return reduces;
}

// A thread for each row needs no workspace of a block.
bool has_short_rows(const Kernel& kernel, size_t phase) {
  return !kernel.phases[phase].row.steps.empty() && mode_of(kernel, kernel.phases[phase]) == Mode::Block &&
         std::none_of(kernel.params.begin(), kernel.params.end(),
                      [](const Param& p) { return p.kind == ParamKind::Local; });
}

// What a thread loads and stores at once where it takes four elements of a vector loop that lie side by side.
struct Quads {
  std::vector<const Instr*> loads, stores; // of the loop's own statements
  bool any() const { return !loads.empty() || !stores.empty(); }
};

// The statements of a vector loop whose addresses grow by one from element to element. Every load comes before the
// first store; what is large or loops is left alone.
Quads quads_of(const Instr& loop) {
  constexpr size_t kMost = 500;
  const Block& body = loop.blocks[0];
  std::set<uint32_t> varying{body.params[0].index}, side_by_side = varying;
  Quads quads;
  bool stored = false;
  if (body.instrs.size() > kMost) return {};
  for (const Instr& in : body.instrs) {
    if (!in.blocks.empty() && in.op != KOp::If) return {};
    bool varies = in.op == KOp::Load;
    for (ValueId v : in.operands)
      varies = varies || varying.count(v.index) > 0;
    for (const Block& inner : in.blocks) {
      if (stored && has(inner, [](const Instr& x) { return x.op == KOp::Load; })) return {};
      if (has(inner, [](const Instr& x) { return !x.blocks.empty() && x.op != KOp::If; })) return {};
      stored = stored || has(inner, [](const Instr& x) { return x.op == KOp::Store; });
      varies = true;
    }
    if (in.op == KOp::Add || in.op == KOp::Sub) {
      auto steady = [&](size_t i) { return !varying.count(in.operands[i].index); };
      auto grows = [&](size_t i) { return side_by_side.count(in.operands[i].index) > 0; };
      if ((grows(0) && steady(1)) || (in.op == KOp::Add && grows(1) && steady(0)))
        side_by_side.insert(in.results[0].index);
    }
    if (in.op == KOp::Load && stored) return {};
    stored = stored || in.op == KOp::Store;
    if (in.op == KOp::Load && side_by_side.count(in.operands[0].index)) quads.loads.push_back(&in);
    if (in.op == KOp::Store && side_by_side.count(in.operands[0].index)) quads.stores.push_back(&in);
    for (ValueId v : in.results)
      if (varies) varying.insert(v.index);
  }
  return quads;
}

class Printer {
public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), sites_(check_sites(kernel)) {}

  std::string print() {
    arguments();
    if (kernel_.is_gemm) gemm();
    if (kernel_.is_gemm && kernel_.gemm.is_plain && sums_of(kernel_) != Sums::Result) gemm_epilogue();
    for (size_t i = 0; i < kernel_.phases.size(); ++i)
      phase(i);
    return std::move(out_);
  }

private:
  void line(const std::string& text) { out_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + "\n"; }
  void open(const std::string& text) {
    line(text + " {");
    ++depth_;
  }
  void close(const std::string& after = "") {
    --depth_;
    line("}" + after);
  }

  std::string v(ValueId id) const { return fmt::format("v{}", id.index); }
  DType type(ValueId id) const { return kernel_.types[id.index]; }
  std::string pointer(uint32_t param) const { return fmt::format("p{}", param); }
  void define(ValueId id, const std::string& value) {
    line(fmt::format("const {} {} = {};", type_name(type(id)), v(id), value));
  }

  std::string formula(const SizeFormula& f) const {
    std::vector<std::string> stack;
    for (const SizeFormula::Step& step : f.steps) {
      using Op = SizeFormula::Op;
      if (step.op == Op::Const)
        stack.push_back(fmt::format("{}ll", step.value));
      else if (step.op == Op::Arg)
        stack.push_back(pointer(static_cast<uint32_t>(step.value)));
      else {
        std::string b = stack.back();
        stack.pop_back();
        std::string& a = stack.back();
        switch (step.op) {
        case Op::Add: a = fmt::format("({} + {})", a, b); break;
        case Op::Sub: a = fmt::format("({} - {})", a, b); break;
        case Op::Mul: a = fmt::format("({} * {})", a, b); break;
        case Op::CeilDiv: a = fmt::format("(({} + {} - 1) / {})", a, b, b); break;
        case Op::FloorDiv: a = fmt::format("({} / {})", a, b); break;
        case Op::Min: a = fmt::format("({0} < {1} ? {0} : {1})", a, b); break;
        default: a = fmt::format("({0} > {1} ? {0} : {1})", a, b); break;
        }
      }
    }
    return stack.empty() ? "0ll" : stack.back();
  }

  int64_t site_slot(int32_t site) const {
    return std::lower_bound(sites_.begin(), sites_.end(), site) - sites_.begin();
  }

  // What a launch passes: one struct by value, of 8-byte members.
  void arguments() {
    std::string fields = "i64 tile_begin, tile_end; char* shared; char* local; i64 local_bytes; tl_errors* errors; "
                         "u32* failed; i64 group;";
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const Param& p = kernel_.params[i];
      switch (p.kind) {
      case ParamKind::Input:
      case ParamKind::Size:
        fields += fmt::format(" const {}* a{};", memory_name(p.dtype), i);
        if (p.rank_0) fields += fmt::format(" u64 b{};", i);
        break;
      case ParamKind::Output: fields += fmt::format(" {}* a{};", memory_name(p.dtype), i); break;
      case ParamKind::Shared:
      case ParamKind::Local: break;
      }
    }
    line(fmt::format("struct {}_arguments {{ {} }};", kernel_.name, fields));
  }

  void signature(const std::string& suffix) {
    open(fmt::format("TL_KERNEL({0}_{1}, {0}_arguments)", kernel_.name, suffix));
    bool any_shared = false, any_local = false;
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const Param& p = kernel_.params[i];
      std::string_view name = memory_name(p.dtype);
      switch (p.kind) {
      case ParamKind::Input:
        line(p.rank_0 ? fmt::format("const {0}* const p{1} = a.a{1} ? tl_at(a.a{1}) : (const {0}*)&a.b{1}; // {2}",
                                    name, i, p.name)
                      : fmt::format("const {0}* const p{1} = tl_at(a.a{1}); // {2}", name, i, p.name));
        break;
      case ParamKind::Size:
        line(fmt::format("const i64 p{0} = a.a{0} ? *tl_at(a.a{0}) : i64(a.b{0}); // {1}", i, p.name));
        break;
      case ParamKind::Output:
        line(fmt::format("{0}* const {3}p{1} = tl_at(a.a{1}); // {2}", name, i, p.name,
                         p.exclusive ? "__restrict__ " : ""));
        break;
      case ParamKind::Shared:
      case ParamKind::Local: {
        bool is_shared = p.kind == ParamKind::Shared;
        if (p.of_block) {
          line(fmt::format("__shared__ {} p{}[{}]; // {}", name, i, formula(p.count), p.name));
          break;
        }
        bool& any = is_shared ? any_shared : any_local;
        std::string_view offset = is_shared ? "shared_at" : "local_at";
        if (!any) line(fmt::format("i64 {} = 0;", offset));
        any = true;
        std::string_view base = is_shared             ? "tl_at(a.shared)"
                                : mode_ == Mode::Warp ? "tl_at(a.local) + tl_warp() * a.local_bytes"
                                                      : "tl_at(a.local) + i64(blockIdx.x) * a.local_bytes";
        line(fmt::format("{0}* const p{1} = ({0}*)({2} + {3}); // {4}", name, i, base, offset, p.name));
        line(fmt::format("{0} += ({1} * {2} + 63) / 64 * 64;", offset, formula(p.count), size_of(p.dtype)));
        break;
      }
      }
    }
  }

  void phase(size_t i) {
    phase(i, mode_of(kernel_, kernel_.phases[i]), "");
    if (has_short_rows(kernel_, i)) phase(i, Mode::Thread, kShortRows);
    if (longest_by_warp(kernel_, i) > 0) phase(i, Mode::Warp, kWarps);
  }

  void phase(size_t i, Mode mode, std::string_view suffix) {
    const Block& body = kernel_.phases[i].body;
    phase_ = &body.instrs;
    mode_ = mode;
    together_ = mode_ == Mode::Block || mode_ == Mode::Warp;
    loads_alike_ = together_ && loads_alike(body);
    shares_columns_ = mode_ == Mode::Block && kernel_.phases[i].shares_columns;
    signature(fmt::format("phase{}{}", i, suffix));
    std::string tile = v(body.params[0]);
    if (mode_ == Mode::Block && has(body, [](const Instr& in) { return is_reduction(in) || in.op == KOp::Scatter; }))
      line("__shared__ __align__(16) unsigned char scratch[kTlScratch];");
    if (mode_ == Mode::Solo) line("if (threadIdx.x != 0) return;");
    if (mode_ == Mode::Thread)
      open(fmt::format(
          "for (i64 {0} = a.tile_begin + i64(blockIdx.x) * blockDim.x + threadIdx.x; {0} < a.tile_end; {0} += "
          "i64(gridDim.x) * "
          "blockDim.x)",
          tile));
    else if (mode_ == Mode::Group) {
      line("const int group = int(a.group), me = int(threadIdx.x) % group, groups = int(blockDim.x) / group;");
      open(fmt::format("for (i64 {0} = a.tile_begin + i64(blockIdx.x) * groups + int(threadIdx.x) / group; "
                       "{0} < a.tile_end; {0} += i64(gridDim.x) * groups)",
                       tile));
    } else if (mode_ == Mode::Warp)
      open(fmt::format("for (i64 {0} = a.tile_begin + tl_warp(); {0} < a.tile_end; {0} += tl_warps())", tile));
    else
      open(fmt::format("for (i64 {0} = a.tile_begin + blockIdx.x; {0} < a.tile_end; {0} += gridDim.x)", tile));
    block(body);
    close();
    close();
  }

  // Values of C[l, i, j]: a block computes kGemmRows by kGemmColumns of them, each thread 4 by 8, k in steps of 16
  // through shared memory, in the order of contractions. Where the factors of the next 256 products lie, tables tell.
  void gemm() {
    const Gemm& g = kernel_.gemm;
    signature("phase0");
    gemm_header();
    const std::string acc(type_name(value_type(g.type)));
    // While a step is multiplied, the next one is on its way, where elements are copied as they are.
    const DType in_memory = kernel_.params[g.a].dtype;
    const bool ahead =
        size_of(in_memory) == 4 && in_memory == value_type(g.type) && in_memory == kernel_.params[g.b].dtype;
    for (const char* text :
         {"__shared__ i64 a_at[256], b_at[256];", "const int t = int(threadIdx.x), right = t % 16, below = t / 16;",
          "const i64 across = (n + 127) / 128, down = (m + 63) / 64;",
          "const i64 tiles = batch * across * down, tile_end = a.tile_end < tiles ? a.tile_end : tiles;"})
      line(text);
    line(
        fmt::format("__shared__ __align__(16) {} a_part[{}][16][68], b_part[{}][16][128];", acc, 1 + ahead, 1 + ahead));
    open("for (i64 tile = a.tile_begin + blockIdx.x; tile < tile_end; tile += gridDim.x)");
    line("const i64 l = tile / (across * down), top = tile / across % down * 64, left = tile % across * 128;");
    line("i64 a_tile = a_base, b_tile = b_base, c_tile = 0;");
    gemm_walk("l", "batch", {{"a_tile", 0}, {"b_tile", 1}, {"c_tile", 2}});
    line("const i64 column = left + t % 128;");
    line("i64 b_column = b_tile;");
    gemm_walk("column", "column", {{"b_column", 0}});
    line("const bool works = top + 4 * below < m && left + 4 * right < n;");
    line(fmt::format("{} total[4][8] = {{}}, acc[4][8] = {{}};", acc));
    line("auto fetch = [&](i64 k0) {");
    ++depth_;
    open("if (k0 % 256 == 0)");
    line("i64 a_k = 0, b_k = 0;");
    line("const i64 product = k0 + t;");
    gemm_walk("product", "sum", {{"a_k", 0}, {"b_k", 1}});
    line("a_at[t] = a_k; b_at[t] = b_k; // nobody reads them before the last barrier");
    line("__syncthreads();");
    close();
    line(fmt::format("const int at = int(k0 % 256), buffer = {}, count = k - k0 < 16 ? int(k - k0) : 16;",
                     ahead ? "int(k0 / 16 % 2)" : "0"));
    auto element = [&](const std::string& to, const std::string& valid, uint32_t param, const std::string& from) {
      if (ahead)
        return line(fmt::format("tl_copy_async(&{}, {} + ({} ? {} : 0), {});", to, pointer(param), valid, from, valid));
      line(fmt::format("{} = {} ? {} : {}(0);", to, valid, load(param, from), acc));
    };
    line("#pragma unroll");
    open("for (int q = 0; q < 4; ++q)");
    line("const i64 i = top + below + 16 * q;");
    line("const bool there = i < m && right < count;");
    element("a_part[buffer][right][below + 16 * q]", "there", g.a, "a_tile + i * a_row + a_at[at + right]");
    close();
    line("#pragma unroll");
    open("for (int q = 0; q < 8; ++q)");
    line("const int kb = t / 128 + 2 * q;");
    line("const bool there = kb < count && column < n;");
    element("b_part[buffer][kb][t % 128]", "there", g.b, "b_column + b_at[at + kb]");
    close();
    if (ahead) line("tl_commit();");
    close(";");
    if (ahead) line("if (k > 0) fetch(0);");
    open("for (i64 k0 = 0; k0 < k; k0 += 16)");
    if (ahead) {
      open("if (k0 + 16 < k)");
      line("fetch(k0 + 16);");
      line("tl_arrived<1>();");
      close(" else {");
      line("  tl_arrived<0>();");
      line("}");
    } else {
      line("fetch(k0);");
    }
    line("__syncthreads();");
    line(fmt::format("const int buffer = {}, count = k - k0 < 16 ? int(k - k0) : 16;",
                     ahead ? "int(k0 / 16 % 2)" : "0"));
    open("if (works)");
    line("if (count == 16) tl_multiply<16>(16, a_part[buffer], b_part[buffer], below, right, acc);");
    line("else tl_multiply<1>(count, a_part[buffer], b_part[buffer], below, right, acc);");
    open("if ((k0 + 16) % 512 == 0 || k0 + 16 >= k)");
    open("for (int r = 0; r < 4; ++r) for (int c = 0; c < 8; ++c)");
    line("total[r][c] = k0 < 512 ? acc[r][c] : total[r][c] + acc[r][c];");
    line("acc[r][c] = 0;");
    close();
    close();
    close();
    line("__syncthreads();");
    close();
    open("if (works)");
    line("#pragma unroll");
    open("for (int r = 0; r < 4; ++r)");
    line("const i64 i = top + 4 * below + r;");
    line("#pragma unroll");
    open("for (int c = 0; c < 8; ++c)");
    line("const i64 j = left + 64 * (c / 4) + 4 * right + c % 4;");
    open("if (i < m && j < n)");
    gemm_store("c_tile + i * c_row + j", "total[r][c]");
    close();
    close();
    close();
    close();
    close();
    close();
  }

  // The axes that a number is over, the slowest first, as names of their counts and strides.
  struct GemmAxes {
    std::vector<std::string> counts;
    std::vector<std::vector<std::string>> strides; // by axis, then operand
  };

  void gemm_header() {
    together_ = false;
    const Gemm& g = kernel_.gemm;
    const Block& header = g.header;
    block(header);
    const char* names[] = {"batch", "m",       "n",     "k",     "a_batch", "a_row",
                           "a_col", "b_batch", "b_row", "b_col", "a_base",  "b_base"};
    for (size_t i = 0; i < std::size(names); ++i)
      line(fmt::format("const i64 {} = {};", names[i], v(header.yields[i])));
    line(fmt::format("const i64 c_row = {};", g.is_plain ? "n" : v(header.yields[12])));
    gemm_axes_ = {{"batch", {{"batch"}, {{"a_batch", "b_batch", "(m * n)"}}}},
                  {"sum", {{"k"}, {{"a_col", "b_row"}}}},
                  {"column", {{"n"}, {{"b_col"}}}}};
    if (g.is_plain) return;
    if (g.dots || g.row_axes > 0) throw std::logic_error("kernel: a product of scattered rows is for the CPU");
    size_t next = 13;
    auto read = [&](const char* name, size_t count, size_t strides) {
      GemmAxes axes;
      for (size_t i = 0; i < count; ++i) {
        axes.counts.push_back(v(header.yields[next++]));
        axes.strides.emplace_back();
        for (size_t k = 0; k < strides; ++k)
          axes.strides.back().push_back(v(header.yields[next++]));
      }
      if (name != std::string_view("column") || count > 0) gemm_axes_[name] = axes;
    };
    read("batch", g.batch_axes, 3);
    read("sum", g.sum_axes, 2);
    read("column", g.column_axes, 1);
  }

  // Adds to each of `to` how far its operand moves by `number`, which is over these axes.
  void gemm_walk(const std::string& number, const std::string& axes,
                 const std::vector<std::pair<const char*, size_t>>& to) {
    const GemmAxes& of = gemm_axes_.at(axes);
    for (size_t i = of.counts.size(), left = of.counts.size(); i-- > 0; left = i) {
      const std::string rest = left == of.counts.size() ? number : fmt::format("{}_{}", number, left);
      std::string at = rest;
      if (i > 0) {
        at = fmt::format("tl_urem({}, {})", rest, of.counts[i]);
        line(fmt::format("const i64 {}_{} = tl_udiv({}, {});", number, i, rest, of.counts[i]));
      }
      for (const auto& [name, operand] : to)
        line(fmt::format("{} += {} * {};", name, at, of.strides[i][operand]));
    }
  }

  void gemm_store(const std::string& offset, const std::string& total) {
    const Block& e = kernel_.gemm.epilogue;
    const std::string values[] = {"l", "i", "j", total};
    for (size_t p = 0; p < 4; ++p)
      define(e.params[p], values[p]);
    block(e);
    line(store(kernel_.gemm.c, offset, v(e.yields[0])));
  }

  // C of the sums that a library has written.
  void gemm_epilogue() {
    signature("phase1");
    gemm_header();
    std::string_view acc = type_name(value_type(kernel_.gemm.type));
    line(sums_of(kernel_) == Sums::InPlace
             ? fmt::format("const {}* const totals = {};", acc, pointer(kernel_.gemm.c))
             : fmt::format("const {0}* const totals = (const {0}*)tl_at(a.shared);", acc));
    open("for (i64 at = a.tile_begin + i64(blockIdx.x) * blockDim.x + threadIdx.x; at < a.tile_end; at += "
         "i64(gridDim.x) * blockDim.x)");
    line("const i64 l = at / (m * n), i = at / n % m, j = at % n;");
    gemm_store("at", "totals[at]");
    close();
    close();
  }

  std::string from_memory(uint32_t param, const std::string& element) const {
    switch (kernel_.params[param].dtype) {
    case DType::Bool: return fmt::format("({} != 0)", element);
    case DType::F16: return fmt::format("tl_from_f16({})", element);
    case DType::BF16: return fmt::format("tl_from_bf16({})", element);
    default: return element;
    }
  }
  std::string to_memory(uint32_t param, const std::string& value) const {
    switch (kernel_.params[param].dtype) {
    case DType::Bool: return fmt::format("u8({})", value);
    case DType::F16: return fmt::format("tl_to_f16({})", value);
    case DType::BF16: return fmt::format("tl_to_bf16({})", value);
    default: return value;
    }
  }
  std::string load(uint32_t param, const std::string& offset) const {
    return from_memory(param, fmt::format("{}[{}]", pointer(param), offset));
  }
  std::string store(uint32_t param, const std::string& offset, const std::string& value) const {
    return fmt::format("{}[{}] = {};", pointer(param), offset, to_memory(param, value));
  }

  void block(const Block& b) {
    for (const Instr& instr : b.instrs)
      print(instr);
  }

  std::string convert(DType from, DType to, const std::string& x) const {
    if (to == DType::Bool) return fmt::format("{} != {}(0)", x, type_name(from));
    if (!is_float(from) || is_float(to)) return fmt::format("{}({})", type_name(to), x);
    bool is_signed = !is_unsigned(to);
    int bits = 8 * size_of(to);
    // The bounds are powers of two, so exact in either float.
    double past = std::ldexp(1.0, is_signed ? bits - 1 : bits), least = is_signed ? -past : 0.0;
    std::string_view f = type_name(from), t = type_name(to);
    return fmt::format("tl_saturate<{0}, {1}>({2}, {1}({3:a}), {1}({4:a}), tl_bounds<{0}>::lo(), tl_bounds<{0}>::hi())",
                       t, f, x, least, past);
  }

  std::string expression(const Instr& in) const {
    auto o = [&](size_t i) { return v(in.operands[i]); };
    DType t = in.operands.empty() ? in.dtype : type(in.operands[0]);
    bool flt = is_float(t), wide = t == DType::F64, logical = t == DType::Bool;
    auto infix = [&](const char* op) { return fmt::format("{} {} {}", o(0), op, o(1)); };
    auto call = [&](std::string_view name) {
      std::string text = std::string(name) + "(" + o(0);
      for (size_t i = 1; i < in.operands.size(); ++i)
        text += ", " + o(i);
      return text + ")";
    };
    auto math = [&](const char* name) { return call(std::string(name) + (wide ? "" : "f")); };
    auto integral = [&](const char* op) { return fmt::format("{}({})", type_name(t), infix(op)); };
    switch (in.op) {
    case KOp::Const: return number(in.dtype, in.imm);
    case KOp::Arg: return pointer(in.param);
    case KOp::Load: return load(in.param, o(0));
    case KOp::Add: return flt ? infix("+") : call("tl_add");
    case KOp::Sub: return flt ? infix("-") : call("tl_sub");
    case KOp::Mul: return flt ? infix("*") : call("tl_mul");
    case KOp::Neg: return flt ? "-" + o(0) : fmt::format("tl_sub({}(0), {})", type_name(t), o(0));
    case KOp::Div: return infix("/");
    case KOp::FloorDivInt: return call("tl_floor_div");
    case KOp::ModInt: return call("tl_mod");
    case KOp::UDiv: return call("tl_udiv");
    case KOp::URem: return call("tl_urem");
    case KOp::Fma: return math("fma");
    case KOp::Sqrt: return math("sqrt");
    case KOp::Abs: return call("tl_abs");
    case KOp::Floor: return math("floor");
    case KOp::Ceil: return math("ceil");
    case KOp::RoundEven: return math("rint");
    case KOp::Trunc: return math("trunc");
    case KOp::CopySign: return math("copysign");
    case KOp::And: return logical ? infix("&&") : integral("&");
    case KOp::Or: return logical ? infix("||") : integral("|");
    case KOp::Xor: return logical ? infix("!=") : integral("^");
    case KOp::Not: return logical ? "!" + o(0) : fmt::format("{}(~{})", type_name(t), o(0));
    case KOp::Shl: return call("tl_shl");
    case KOp::LShr: {
      constexpr std::string_view unsigned_names[] = {"u8", "u16", "u32", "u64"};
      int bytes = size_of(t);
      std::string_view u = unsigned_names[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
      return fmt::format("{}({}({}) >> {})", type_name(t), u, o(0), o(1));
    }
    case KOp::AShr: return integral(">>");
    case KOp::MulHiU32: return fmt::format("{}(__umulhi(u32({}), u32({})))", type_name(t), o(0), o(1));
    case KOp::Eq: return infix("==");
    case KOp::Ne: return infix("!=");
    case KOp::Lt: return infix("<");
    case KOp::Le: return infix("<=");
    case KOp::Select: return fmt::format("{} ? {} : {}", o(0), o(1), o(2));
    case KOp::Convert: return convert(t, in.dtype, o(0));
    case KOp::Bitcast:
      if (t == DType::F32) return fmt::format("{}(__float_as_int({}))", type_name(in.dtype), o(0));
      if (t == DType::F64) return fmt::format("{}(__double_as_longlong({}))", type_name(in.dtype), o(0));
      if (in.dtype == DType::F32) return fmt::format("__int_as_float(int({}))", o(0));
      if (in.dtype == DType::F64) return fmt::format("__longlong_as_double(i64({}))", o(0));
      return fmt::format("{}({})", type_name(in.dtype), o(0));
    case KOp::Round16: return call(in.dtype == DType::F16 ? "tl_round_f16" : "tl_round_bf16");
    default: return "";
    }
  }

  // Results of a branch or loop are variables that its blocks assign.
  void assign(const std::vector<ValueId>& to, const std::vector<ValueId>& from) {
    if (to.size() == 1) return line(fmt::format("{} = {};", v(to[0]), v(from[0])));
    for (size_t i = 0; i < to.size(); ++i)
      line(fmt::format("const {} next{} = {};", type_name(type(to[i])), i, v(from[i])));
    for (size_t i = 0; i < to.size(); ++i)
      line(fmt::format("{} = next{};", v(to[i]), i));
  }
  void variables(const std::vector<ValueId>& ids, const std::vector<ValueId>& init, size_t from = 0) {
    for (size_t i = 0; i < ids.size(); ++i)
      line(fmt::format("{} {}{};", type_name(type(ids[i])), v(ids[i]), init.empty() ? "" : " = " + v(init[i + from])));
  }

  void print(const Instr& in) {
    if (const auto quad = in_quad_.find(&in); quad != in_quad_.end()) {
      if (in.op == KOp::Load) return define(in.results[0], from_memory(in.param, quad->second));
      return line(fmt::format("{} = {};", quad->second, to_memory(in.param, v(in.operands[1]))));
    }
    switch (in.op) {
    case KOp::Store: {
      std::string text = store(in.param, v(in.operands[0]), v(in.operands[1]));
      if (columns_) {
        barrier();
        line("if (of_column == 0 && is_column) " + text);
        return barrier();
      }
      if (!together_) return line(text);
      barrier();
      line(fmt::format("if ({} == 0) {}", me(), text));
      return barrier();
    }
    case KOp::Scatter: return print_scatter(in);
    case KOp::CopyTransposed: throw std::logic_error("kernel: a block copied transposed is for the CPU");
    case KOp::Check:
      return line(fmt::format("if (!{}{}) tl_record(a.errors, a.failed, {}, {}, {}, {});", v(in.operands[0]),
                              columns_    ? " && of_column == 0 && is_column"
                              : together_ ? fmt::format(" && {} == 0", me())
                                          : "",
                              site_slot(in.site), v(in.operands[1]), v(in.operands[2]), v(in.operands[3])));
    case KOp::For: return print_for(in);
    case KOp::While: {
      // The condition's parameters are the carried variables; the body's are the same.
      const Block &condition = in.blocks[0], &body = in.blocks[1];
      variables(in.results, in.operands);
      open("while (true)");
      for (size_t i = 0; i < in.results.size(); ++i)
        define(condition.params[i], v(in.results[i]));
      block(condition);
      line(fmt::format("if (!{}) break;", v(condition.yields[0])));
      for (size_t i = 0; i < in.results.size(); ++i)
        define(body.params[i], v(in.results[i]));
      block(body);
      if (!in.results.empty()) assign(in.results, body.yields);
      return close();
    }
    case KOp::If:
      variables(in.results, {});
      open(fmt::format("if ({})", v(in.operands[0])));
      block(in.blocks[0]);
      if (!in.results.empty()) assign(in.results, in.blocks[0].yields);
      if (in.blocks[1].instrs.empty() && in.results.empty()) return close();
      close(" else {");
      ++depth_;
      block(in.blocks[1]);
      if (!in.results.empty()) assign(in.results, in.blocks[1].yields);
      return close();
    case KOp::Reduce:
    case KOp::ReduceChunk: return print_reduce(in);
    case KOp::Contract: {
      std::string_view t = type_name(in.dtype);
      line(fmt::format("const {0} {1} = tl_contract<{0}>({2}, [&](i64 {3}) -> tl_pair<{0}, {0}> {{", t,
                       v(in.results[0]), v(in.operands[0]), v(in.blocks[0].params[0])));
      nested(in.blocks[0]);
      line(fmt::format("  return {{{}, {}}};", v(in.blocks[0].yields[0]), v(in.blocks[0].yields[1])));
      return line("});");
    }
    default: return define(in.results[0], expression(in));
    }
  }

  // The body of a lambda or vector loop: each thread works for itself.
  void nested(const Block& b, bool columns = false) {
    SaveAndRestore together(together_, false), shared(columns_, columns);
    ++depth_;
    block(b);
    --depth_;
  }

  // Of those that do the same together.
  std::string_view me() const { return mode_ == Mode::Warp ? "threadIdx.x % 32" : "threadIdx.x"; }
  void barrier() { line(mode_ == Mode::Warp ? "__syncwarp();" : "__syncthreads();"); }

  // Some columns at a time, each by several threads, which differ in what they reduce alone.
  void print_columns(const Instr& in) {
    const Block& body = in.blocks[0];
    const std::string lo = v(in.operands[0]), hi = v(in.operands[1]);
    line(fmt::format("for (i64 first = {}; first < {}; first += 8) {{", lo, hi));
    line(fmt::format("  const int width = tl_width({} - first), of_column = int(threadIdx.x) / width;", hi));
    line("  const i64 at_column = first + int(threadIdx.x) % width;");
    line(fmt::format("  const bool is_column = at_column < {};", hi));
    line(fmt::format("  const i64 {} = is_column ? at_column : {} - 1;", v(body.params[0]), hi));
    nested(body, true);
    line("}");
  }

  // A vector loop by some threads, four elements side by side at a time where that saves accesses.
  void print_lanes(const Instr& in, const std::string& me, const std::string& threads) {
    const Block& body = in.blocks[0];
    const std::string i = v(body.params[0]), lo = v(in.operands[0]), hi = v(in.operands[1]);
    const Quads quads = quads_of(in);
    if (!quads.any() || mode_ == Mode::Warp) { // a warp's rows may be shorter than four for each thread
      line(fmt::format("for (i64 {0} = {1} + {3}; {0} < {2}; {0} += {4}) {{", i, lo, hi, me, threads));
      nested(body);
      return line("}");
    }
    open(fmt::format("for (i64 four = {}; {} + 4 * four < {}; four += {})", me, lo, hi, threads));
    line(fmt::format("const i64 quad = {} + 4 * four;", lo));
    open(fmt::format("if ({} - quad >= 4)", hi));
    for (const Instr* load : quads.loads)
      quad_access(body, *load, true);
    for (const Instr* store : quads.stores)
      line(fmt::format("tl_quad<{}> {};", memory_name(kernel_.params[store->param].dtype), quad_name(body, *store)));
    for (const std::vector<const Instr*>* accesses : {&quads.loads, &quads.stores})
      for (const Instr* access : *accesses)
        in_quad_[access] = quad_name(body, *access) + ".at[q]";
    // Not a loop: those are unrolled too late for what the elements have in common to be seen.
    line("const auto element = [&](const int q) {");
    // NVRTC sees that such elements have their upper bits in common, as words of one random block do.
    line(fmt::format("  const i64 {} = quad {} q;", i, is_of_fours(in.operands[0]) ? "|" : "+"));
    nested(body);
    line("};");
    line("element(0); element(1); element(2); element(3);");
    in_quad_.clear();
    for (const Instr* store : quads.stores)
      quad_access(body, *store, false);
    --depth_;
    line("} else {");
    line("#pragma unroll 1");
    line(fmt::format("  for (i64 {0} = quad; {0} < {1}; ++{0}) {{", i, hi));
    nested(body);
    line("  }");
    line("}");
    close();
  }

  // Is this value of the phase a multiple of four, as the first of a block of elements is?
  bool is_of_fours(ValueId value) const {
    for (const Instr& in : *phase_) {
      if (in.results.empty() || in.results[0] != value) continue;
      if (in.op == KOp::Const) return in.imm.as<int64_t>() % 4 == 0;
      return in.op == KOp::Mul && (is_of_fours(in.operands[0]) || is_of_fours(in.operands[1]));
    }
    return false;
  }

  std::string quad_name(const Block& body, const Instr& access) const {
    return fmt::format("quad{}", &access - body.instrs.data());
  }

  // Loads or stores four elements of a vector loop's body, the first at `quad`.
  void quad_access(const Block& body, const Instr& access, bool loads) {
    const std::string name = quad_name(body, access);
    if (loads) line(fmt::format("tl_quad<{}> {};", memory_name(kernel_.params[access.param].dtype), name));
    line("{");
    ++depth_;
    line(fmt::format("const i64 {} = quad;", v(body.params[0])));
    std::set<uint32_t> needed{access.operands[0].index};
    std::vector<const Instr*> before;
    for (const Instr* in = &access; in-- != body.instrs.data();) {
      if (in->results.empty() || !needed.count(in->results[0].index)) continue;
      before.push_back(in);
      for (ValueId operand : in->operands)
        needed.insert(operand.index);
    }
    SaveAndRestore together(together_, false);
    for (; !before.empty(); before.pop_back())
      print(*before.back());
    const std::string at = fmt::format("{} + {}", pointer(access.param), v(access.operands[0]));
    line(loads ? fmt::format("{} = tl_load_quad({});", name, at) : fmt::format("tl_store_quad({}, {});", at, name));
    close();
  }

  void print_for(const Instr& in) {
    const Block& body = in.blocks[0];
    std::string i = v(body.params[0]), lo = v(in.operands[0]), hi = v(in.operands[1]), step = v(in.operands[2]);
    if (in.vector && mode_ == Mode::Group) return print_lanes(in, "me", "group");
    if (in.vector && together_) {
      if (shares_columns_ && shares_columns(in)) return print_columns(in);
      // Threads that are ahead must not write what others have yet to load.
      if (loads_alike_ && has(body, [](const Instr& inner) { return inner.op == KOp::Store; })) barrier();
      print_lanes(in, std::string(me()), mode_ == Mode::Warp ? "32" : "blockDim.x");
      return barrier();
    }
    std::vector<ValueId> carried(body.params.begin() + 1, body.params.end());
    variables(in.results, in.operands, 3);
    open(fmt::format("for (i64 {0} = {1}; {3} > 0 ? {0} < {2} : {0} > {2}; {0} += {3})", i, lo, hi, step));
    for (size_t c = 0; c < carried.size(); ++c)
      define(carried[c], v(in.results[c]));
    block(body);
    if (!in.results.empty()) assign(in.results, body.yields);
    // The index after the last may be no i64.
    line(fmt::format(
        "if ({3} > 0 ? (unsigned long long){2} - {0} <= {3} : (unsigned long long){0} - {2} <= 0ull - {3}) break;", i,
        lo, hi, step));
    close();
  }

  void print_scatter(const Instr& in) {
    const std::string_view t = type_name(value_type(kernel_.params[in.param].dtype));
    const std::string lists = pointer(in.source), counts = pointer(in.source + 1), totals = pointer(in.source + 2);
    const std::string n = v(in.operands[0]), lo = v(in.operands[1]), hi = v(in.operands[2]), part = v(in.operands[4]);
    const Block &key = in.blocks[0], &value = in.blocks[1];
    const bool adds = in.blocks.size() > 2;
    auto block_of = [&](const Block& b, const std::string& head, const char* after) {
      line(head + " {");
      nested(b);
      line(fmt::format("  return {};", v(b.yields[0])));
      line(fmt::format("}}{}", after));
    };
    auto keys = [&](const char* after) { block_of(key, fmt::format("[&](i64 {}) -> i64", v(key.params[0])), after); };
    switch (in.stage) {
    case ScatterStage::Count:
      line(fmt::format("tl_scatter_count(scratch, {}, {}, {}, {}, {},", n, lo, hi, part, counts));
      return keys(");");
    case ScatterStage::Add:
      return line(fmt::format("tl_scatter_add(scratch, {}, {}, {}, {});", lo, hi, counts, totals));
    case ScatterStage::Move:
      line(fmt::format("tl_scatter_move(scratch, {}, {}, {}, {}, {}, {}, {},", n, lo, hi, part, counts, totals, lists));
      return keys(");");
    case ScatterStage::Write: break;
    }
    line(fmt::format("const tl_entries entries = tl_scatter_entries(scratch, {}, {}, {}, {}, {});", n, lo, part, totals,
                     lists));
    line(fmt::format("tl_scatter<{}, {}>(scratch, entries, {}, {}, {},", t, adds, lo, hi, v(in.operands[3])));
    keys(",");
    block_of(value, fmt::format("[&](i64 {}, i64 {}) -> {}", v(value.params[0]), v(value.params[1]), t), ",");
    if (adds)
      block_of(in.blocks[2],
               fmt::format("[&]({0} {1}, {0} {2}) -> {0}", t, v(in.blocks[2].params[0]), v(in.blocks[2].params[1])),
               ",");
    else
      line(fmt::format("[&]({0}, {0} value) -> {0} {{ return value; }},", t));
    line(fmt::format("[&](i64 at) -> {} {{ return {}; }},", t, load(in.param, "at")));
    line(fmt::format("[&](i64 at, {} value) {{ {} }});", t, store(in.param, "at", "value")));
  }

  void print_reduce(const Instr& in) {
    bool arg = gives_position(in.reduce), chunk = in.op == KOp::ReduceChunk;
    const Block& body = in.blocks[0];
    std::string_view t = type_name(in.dtype);
    std::string op = fmt::format("tl_{}<{}>", name_of(in.reduce), t), r = v(in.results[0]);
    std::string k = v(body.params[0]), begin = chunk ? v(in.operands[0]) : "0ll", end = v(in.operands[chunk ? 1 : 0]);
    const bool by_block = together_ && mode_ == Mode::Block;
    line(fmt::format("bool {}_any = false;", r));
    line(fmt::format("const {0}::total {1}_total = tl_reduce_{2}<{0}>({6}{3}, {4}, &{1}_any, [&](i64 {5}) -> "
                     "tl_element<{0}::acc> {{",
                     op, r,
                     columns_    ? "column"
                     : by_block  ? "block"
                     : together_ ? "warp"
                                 : "thread",
                     begin, end, k,
                     columns_   ? "scratch, width, "
                     : by_block ? "scratch, "
                                : ""));
    nested(body);
    std::string value = v(body.yields[0]), taken = body.yields.size() > 1 ? v(body.yields[1]) : "true";
    line(arg ? fmt::format("  return {{{{{}, {}}}, {}}};", value, k, taken)
             : fmt::format("  return {{{}, {}}};", value, taken));
    line("});");
    if (arg) {
      define(in.results[0], r + "_total.value");
      define(in.results[1], fmt::format("{0}_any ? {0}_total.at : 0ll", r));
    } else if (!chunk && in.reduce == ReduceOp::Sum) {
      define(in.results[0], fmt::format("{0}_any ? {1}({0}_total) : {1}(0)", r, t));
    } else {
      define(in.results[0], fmt::format("{}({}_total)", type_name(type(in.results[0])), r));
    }
  }

  const Kernel& kernel_;
  const std::vector<int32_t> sites_;
  std::string out_;
  int depth_ = 0;
  Mode mode_ = Mode::Block;
  std::map<std::string, GemmAxes> gemm_axes_;
  const std::vector<Instr>* phase_ = nullptr;   // the statements of the phase that is printed
  std::map<const Instr*, std::string> in_quad_; // loads and stores that are done for four elements at once
  bool together_ = false;                       // all threads of the block are doing the same
  bool loads_alike_ = false;                    // of this phase
  bool shares_columns_ = false;                 // likewise
  bool columns_ = false;                        // the threads of a block share columns here
};

} // namespace

std::vector<int32_t> check_sites(const kir::Kernel& kernel) {
  std::vector<int32_t> sites;
  auto note = [&](const kir::Instr& in) {
    if (in.op == kir::KOp::Check) sites.push_back(in.site);
    return false;
  };
  for (const kir::Phase& phase : kernel.phases)
    has(phase.body, note);
  if (kernel.is_gemm) {
    has(kernel.gemm.header, note);
    has(kernel.gemm.epilogue, note);
  }
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  return sites;
}

Sums sums_of(const kir::Kernel& kernel) {
  const kir::Gemm& g = kernel.gemm;
  const DType stored = kernel.params[g.c].dtype;
  const kir::ValueId sum = g.epilogue.params[3], result = g.epilogue.yields[0];
  const bool checks = has(g.epilogue, [](const kir::Instr& in) { return in.op == kir::KOp::Check; });
  if (!checks && result == sum && stored == value_type(g.type)) return Sums::Result;
  for (const kir::Instr& in : g.epilogue.instrs)
    if (!checks && in.op == kir::KOp::Round16 && in.results[0] == result && in.operands[0] == sum &&
        in.dtype == stored && stored == g.type)
      return Sums::Result;
  // Nothing that a product reads shares memory with what it makes.
  return stored == value_type(g.type) && kernel.params[g.c].exclusive ? Sums::InPlace : Sums::Workspace;
}

bool takes_short_rows(const kir::Kernel& kernel, size_t phase) { return has_short_rows(kernel, phase); }
int64_t longest_by_warp(const kir::Kernel& kernel, size_t phase) {
  if (!has_warps(kernel, phase)) return 0;
  size_t passes = 0;
  for (const Instr& in : kernel.phases[phase].body.instrs)
    passes += is_reduction(in) || in.op == KOp::For;
  return passes == 1 ? INT64_MAX : kLongRow;
}

bool runs_by_group(const kir::Kernel& kernel, size_t phase) {
  return mode_of(kernel, kernel.phases[phase]) == Mode::Group;
}

bool runs_by_thread(const kir::Kernel& kernel, size_t phase) {
  return !kernel.is_gemm && mode_of(kernel, kernel.phases[phase]) == Mode::Thread;
}

std::string cuda_prelude() {
  return fmt::format(
      "// Generated by tl.\nenum {{ kTlBuckets = {}, kTlParts = {}, kTlFew = {}, kTlChunk = {} }};\n{}\n",
      kScatterBuckets, kScatterParts, kScatterFew, kSumChunk, kCudaPrelude);
}
std::string cuda_kernel(const kir::Kernel& kernel) { return Printer(kernel).print(); }
std::string to_cuda(const kir::Kernel& kernel) { return cuda_prelude() + cuda_kernel(kernel); }

} // namespace tl
