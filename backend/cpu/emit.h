// The emitter: one LLVM function per phase of a kernel. Internal to backend/cpu; includes LLVM's headers.
//
// Code is scalar, or runs in lanes: then a value is uniform (one scalar for all lanes), varying (a vector with one
// element per lane) or, for i64, a line (base + stride * lane with scalar base and stride), which is what makes a load
// with consecutive offsets one vector load. Where short rows are run through as one line, it may have terms, too: how
// many rows further on a lane is, times a scalar. Lanes may be switched off by a mask.
#pragma once
#include "backend/cpu/debug_lines.h"
#include "backend/cpu/uniform.h"
#include "backend/kernel/kernel_ir.h"
#include <functional>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <map>
#include <optional>

namespace tl::cpu {

// What the emitter must know of the processor.
struct Machine {
  bool avx512 = false;
  bool x86 = false;
  bool vnni = false; // with avx512: products of pairs, added, are one instruction
  unsigned vector_bytes() const { return avx512 ? 64 : 32; }
};

// By how much each lane's quotient is more than the first one's: small numbers that do not descend.
struct Steps {
  llvm::Value* lanes = nullptr; // i32
  llvm::Value* last = nullptr;  // of the last lane that is on, i32
};

// times * steps, or the negative of it.
struct Term {
  Steps steps;
  llvm::Value* times = nullptr; // i64, the same for all lanes; null: 1
  bool negative = false;
};

// A kernel value as LLVM sees it.
struct Val {
  llvm::Value* v = nullptr; // scalar, or one element per lane; null for a line not yet needed as a vector
  bool varying = false;
  llvm::Value *base = nullptr, *stride = nullptr; // a line
  std::vector<Term> terms;                        // and what is added to it
  bool is_sum() const { return base != nullptr; }
  bool is_line() const { return base != nullptr && terms.empty(); }
  static Val uniform(llvm::Value* v) { return {v, false, nullptr, nullptr, {}}; }
  static Val vector(llvm::Value* v) { return {v, true, nullptr, nullptr, {}}; }
  static Val line(llvm::Value* base, llvm::Value* stride) { return {nullptr, true, base, stride, {}}; }
};

struct Lanes {
  unsigned width = 0;           // 0: scalar code
  llvm::Value* mask = nullptr;  // <width x i1>; null: every lane is on
  llvm::Value* tail = nullptr;  // `mask`, where it is that of the lanes before the end of a loop
  llvm::Value* count = nullptr; // of those, i64
};

using Values = std::vector<llvm::Value*>;

// Value and position of the best element; index is null except for ArgMin and ArgMax. nan: was there one? Null where
// the value tells.
struct Partial {
  llvm::Value *v = nullptr, *index = nullptr, *nan = nullptr;
};

[[noreturn]] void fault(const kir::Kernel& kernel, const std::string& what);

class Counters;

class Emitter {
public:
  // `lines`: null for code without debug information.
  Emitter(llvm::Module& module, const kir::Kernel& kernel, const Machine& machine, DebugLines* lines = nullptr);

  // Defines void `symbol`(args, tile_begin, tile_end, workspace, errors), of which the phase is the body per tile.
  void emit_phase(const kir::Phase& phase, const std::string& symbol);
  // Defines `symbol`_0 and `symbol`_1 of a matrix product (emit_gemm.cpp).
  void emit_gemm(const std::string& symbol);

private:
  friend class Counters;
  friend class GemmEmitter;
  friend class LaneArray;
  friend class Linear;
  friend class PanelEmitter;
  friend class Splitter;

  // --- emit_kernel.cpp: functions, parameters, memory
  llvm::Function* begin_function(const std::string& symbol);
  void end_function();
  void begin_lines(llvm::Function* function);       // what comes next is at the kernel's line in `function`
  llvm::Value* formula(const SizeFormula& formula); // in the entry block
  llvm::Value* pointer(uint32_t param);             // address of a parameter's element 0
  void bind_params();
  void block(const kir::Block& block);
  void instruction(const kir::Instr& instr);
  void translate(const kir::Instr& instr);
  void load(const kir::Instr& instr);
  llvm::Value* line_place(llvm::Type* element, llvm::Value* base, llvm::Value* first);
  llvm::Value* load_strided(llvm::FixedVectorType* vector, llvm::Value* first, int64_t stride, uint32_t param);
  void store(const kir::Instr& instr);
  // emit_rows.cpp: rows of few elements as one line
  bool short_rows(const kir::Phase& phase, const std::function<void()>& otherwise);
  Steps steps_of(llvm::Value* remainder, llvm::Value* divisor);
  bool divide_neighbours(const kir::Instr& instr);
  bool divide_line(const kir::Instr& instr);
  bool can_permute(unsigned bits) const;
  llvm::Value* permute(const Values& sources, llvm::Value* places);
  llvm::Value* load_near(llvm::FixedVectorType* vector, llvm::Value* place, const Val& offset, uint32_t param);
  // The elements at `places` of the lanes in `mask`; note: called for each load.
  llvm::Value* gather(llvm::FixedVectorType* vector, llvm::Value* places, llvm::Value* mask,
                      const std::function<void(llvm::Instruction*)>& note);
  void check(const kir::Instr& instr);
  void copy_transposed(const kir::Instr& instr); // transpose.cpp
  void record(const kir::Instr& instr, llvm::Value* element, llvm::Value* a, llvm::Value* b);
  llvm::Value* from_memory(DType memory, llvm::Value* raw);
  llvm::Value* to_memory(DType memory, llvm::Value* value);
  llvm::Instruction* note_alias(llvm::Instruction* access, uint32_t param);
  void prefetch(llvm::Value* place, uint32_t locality = 3);        // 3: into the nearest cache
  llvm::Value* local_variable(llvm::Type* type, const char* name); // alloca in the entry block

  // --- values
  Val get(kir::ValueId value) const { return values_[value.index]; }
  void set(kir::ValueId value, Val v) { values_[value.index] = v; }
  llvm::Value* scalar(kir::ValueId value) const; // of a uniform value
  llvm::Value* in_lanes(Val value);              // as a vector; in scalar code as it is
  llvm::Value* in_lanes(kir::ValueId value) { return in_lanes(get(value)); }
  llvm::Value* splat(llvm::Value* value) { return b.CreateVectorSplat(lanes_.width, value); }
  llvm::Value* lane_ids(llvm::Type* integer); // <0, 1, 2, …>
  bool varies(kir::ValueId value) const { return lanes_.width != 0 && varying_[value.index]; }
  DType type_of(kir::ValueId value) const { return kernel_.types[value.index]; }

  // --- emit_ops.cpp: arithmetic on scalars and vectors
  llvm::Type* value_type(DType type);
  llvm::Type* memory_type(DType type);
  llvm::Type* shaped(DType type, bool varying); // value type, or vector of it
  llvm::Constant* constant(DType type, Scalar value);
  void arithmetic(const kir::Instr& instr);
  bool line_arithmetic(const kir::Instr& instr);
  llvm::Value* operation(const kir::Instr& instr, DType type, const Values& x);
  llvm::Value* floor_division(DType type, llvm::Value* x, llvm::Value* y, bool remainder);
  llvm::Value* unsigned_division(llvm::Value* x, llvm::Value* y, bool remainder);
  llvm::Value* convert(DType from, DType to, llvm::Value* x);
  llvm::Value* float_to_int(DType to, llvm::Value* x);
  llvm::Value* round16(DType to, llvm::Value* x);
  llvm::Value* half_to_float(llvm::Value* x);
  llvm::Value* float_to_half(llvm::Value* x);
  llvm::Value* round_to_odd(DType from, llvm::Value* x);       // f64 or integers -> f32
  llvm::Type* like(llvm::Value* x, llvm::Type* element) const; // the type with x's lanes and this element

  // --- emit_control.cpp: loops and branches
  // for (i = lo; i < hi; i += step) with step a positive constant; returns the carried values at the end.
  using LoopBody = std::function<Values(llvm::Value* index, const Values& carried)>;
  Values loop(llvm::Value* lo, llvm::Value* hi, int64_t step, Values init, const LoopBody& body);
  // emit_stretches.cpp: vector code over [lo, hi), `wide` lanes at a time and the rest `narrow` ones under a mask;
  // step(index, carried) runs in these lanes, of which `body` has the code.
  using VectorStep = LoopBody;
  Values vector_loop(const kir::Block& body, llvm::Value* lo, llvm::Value* hi, unsigned wide, unsigned narrow,
                     Values init, const VectorStep& step, bool keeps_lanes = false);
  // Where `body` divides its index, or the sum of it and what is fixed (a position cut into indices): between two
  // multiples of what it divides by, all lanes have the same quotient.
  struct Stretch {
    kir::ValueId dividend, divisor;
    llvm::Value *by = nullptr, *added = nullptr;           // the divisor; the dividend less the index
    llvm::Value *quotient = nullptr, *remainder = nullptr; // of the first lane
    std::shared_ptr<Counters> parts;                       // of the quotient; null: it is divided as it comes
    Values state;                                          // of these
    bool divides(const kir::Instr& instr) const {
      return instr.operands[0] == dividend && instr.operands[1] == divisor;
    }
  };
  std::vector<Stretch> stretches_of(const kir::Block& body, unsigned shortest);
  Values loop_over_stretches(std::vector<Stretch> stretches, llvm::Value* lo, llvm::Value* hi, unsigned wide,
                             unsigned narrow, const Values& init, const VectorStep& step, bool small, bool keeps_lanes);
  // if (condition) results = then() else results = otherwise
  Values branch(llvm::Value* condition, const std::function<Values()>& then, const Values& otherwise);
  void serial_for(const kir::Instr& instr);
  void vector_for(const kir::Instr& instr);
  void while_loop(const kir::Instr& instr);
  void masked_while(const kir::Instr& instr);
  void if_instr(const kir::Instr& instr);
  void masked_if(const kir::Instr& instr);
  llvm::Value* any(llvm::Value* mask);
  llvm::Value* tail_mask(llvm::Value* count);                         // lane < count, count an i64 that is at least 0
  llvm::Value* masked(llvm::Value* condition);                        // condition and the current mask, both vectors
  std::pair<unsigned, unsigned> widths(const kir::Block& body) const; // lanes of the main loop and of the rest
  llvm::BasicBlock* new_block(const char* name);

  // --- emit_reduce.cpp
  void reduce(const kir::Instr& instr);
  void reduce_few(const kir::Instr& instr);
  void reduce_unrolled(const kir::Instr& instr, int64_t n);
  void reduce_along_k(const kir::Instr& instr);
  void reduce_in_lanes(const kir::Instr& instr);
  Partial chunk_along_k(const kir::Instr& instr, llvm::Value* begin, llvm::Value* end, Partial* any_taken);
  Partial with_first(const kir::Instr& instr, Partial result, llvm::Value* begin);
  Partial along_k(const kir::Instr& instr, Partial lanes, llvm::Value* begin);
  struct NarrowSum {
    llvm::Type* type = nullptr; // in which the lanes of a chunk are added; null: as they are
    bool is_signed = false;
  };
  NarrowSum narrow_sum(const kir::Instr& instr);
  Partial lanes_along_k(const kir::Instr& instr, llvm::Value* begin, llvm::Value* end, llvm::Value* origin,
                        Partial* any_taken, const std::function<Partial(Partial, Partial)>& fold);
  Partial first_best(const kir::Instr& instr, llvm::Value* begin, llvm::Value* end,
                     const std::function<Partial(Partial, Partial)>& plain);
  llvm::Value* is_before(const kir::Instr& instr, llvm::Value* x, llvm::Value* y);
  Partial element(const kir::Instr& instr, Val k, llvm::Value** taken, bool varying);
  Partial identity(const kir::Instr& instr, bool varying);
  Partial combine(const kir::Instr& instr, Partial x, Partial y, bool ascending = false);
  llvm::Value* part_of_lanes(llvm::Value* x, unsigned from, unsigned count); // null of null
  Partial halved(const kir::Instr& instr, Partial lanes);
  using Chunk = std::function<Partial(llvm::Value* begin, llvm::Value* end, llvm::Value** taken)>;
  Partial fold_chunks(const kir::Instr& instr, llvm::Value* n, bool varying, llvm::Value** any_taken,
                      const Chunk& chunk);
  llvm::Value* lanes_at(llvm::Value* lanes, llvm::Value* level, llvm::Type* type);
  void fill_lanes(llvm::Value* lanes, llvm::Value* level, llvm::Value* none);
  llvm::Value* fold_total(const kir::Instr& instr, llvm::Value* lanes, llvm::Value* none, llvm::Value* value,
                          llvm::Value* number, llvm::Value* is_last);
  llvm::Value* widen(const kir::Instr& instr, llvm::Value* x);
  void finish_reduce(const kir::Instr& instr, Partial result, llvm::Value* taken, bool varying);
  void contract(const kir::Instr& instr);

  // --- emit_panel.cpp: vector loops around reductions, a panel of columns at a time
  struct Panel {
    std::vector<const kir::Instr*> reductions; // of one extent, independent of each other
    std::vector<const kir::Instr*> before;     // what their elements need of the loop's body
    int instructions = 0;                      // of an element of each
  };
  std::optional<Panel> panel_of(const kir::Block& body) const;
  void panel_for(const kir::Instr& instr, const Panel& panel);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const kir::Kernel& kernel_;
  Machine machine_;
  DebugLines* lines_;
  llvm::IRBuilder<> b;
  Lanes lanes_;
  int64_t ahead_ = 0; // so many vectors further on, what lies side by side is asked of memory already; 0: is not
  std::vector<Stretch> stretches_; // around what is emitted
  std::vector<Val> values_;
  std::vector<bool> varying_;
  std::vector<const kir::Instr*> definition_;
  std::map<kir::ValueId, bool> known_; // conditions that are decided where code is emitted (emit_split.cpp)

  // The line of short rows that is run through: how long rows are, and what is read or written element by element.
  llvm::Value *row_length_ = nullptr, *column_base_ = nullptr; // and the column of the first lane
  int scattered_ = 0;

  llvm::Function* function_ = nullptr;
  llvm::Instruction* entry_end_ = nullptr; // code for the whole call is inserted before it
  Values param_;                           // by parameter: address, or the value of a Size
  llvm::Value* argument_array_ = nullptr;
  llvm::Value* errors_ = nullptr;
  std::vector<llvm::MDNode*> scope_, others_; // alias scopes by parameter
};

// emit_stretches.cpp: values of a vector loop's body that are its index and what is the same in all turns.
class Linear {
public:
  Linear(Emitter& emitter, const kir::Block& body);
  bool inside(kir::ValueId value) const { return inside_[value.index]; } // defined in the body?
  // A value that is the same for all lanes and there before the loop; null: it is not.
  llvm::Value* uniform(kir::ValueId value) const;
  // What is added to the index to give this value, saturated; null: it is not a sum of the index and uniform values.
  llvm::Value* offset(kir::ValueId value) const;

private:
  Emitter& e_;
  const kir::Block& body_;
  std::vector<bool> inside_; // by value
};

// emit_split.cpp: cuts a vector loop over [lo, hi) at the places where conditions on its index change.
class Splitter {
public:
  Splitter(Emitter& emitter, const kir::Block& body);
  using Piece = std::function<void(llvm::Value* lo, llvm::Value* hi)>; // emits the loop over a part
  // Loops of few vectors of this width stay whole.
  void run(llvm::Value* lo, llvm::Value* hi, unsigned width, const Piece& piece);

private:
  struct Cut { // the condition holds below `at`, or from there on
    kir::ValueId condition;
    bool below;
    llvm::Value* at;
  };
  std::optional<bool> known(kir::ValueId condition) const;
  std::optional<Cut> cut_by(kir::ValueId condition) const;
  std::optional<Cut> next(const kir::Block& block) const;
  void run(llvm::Value* lo, llvm::Value* hi, const Piece& piece, int cuts);

  Emitter& e_;
  const kir::Block& body_;
  Linear linear_;
};

} // namespace tl::cpu
