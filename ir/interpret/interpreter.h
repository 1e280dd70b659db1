// The state of the reference interpreter and what it does, by subject; internal to ir/interpret/*.cpp.
#pragma once
#include "abi/stopwatch.h"
#include "ir/graph/graph.h"
#include "ir/interpret/interpret.h"
#include "ir/interpret/values.h"
#include "vm/io/text.h"
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tl::ir {

class Interpreter {
public:
  Interpreter(const Module& module, const OutputSink& out, const OutputSink& err, const std::atomic<bool>* interrupt,
              int cpu_devices)
      : module_(module), out_(out), err_(err), interrupt_(interrupt), cpu_devices_(cpu_devices),
        single_uses_(module.functions.size()) {}

  Outcome run(const std::vector<Argument>& arguments);

private:
  std::vector<Cell> run_entry(const std::vector<Argument>& arguments);

  // ---- failures
  Poison fail(RuntimeError error);
  Poison fail_at(const ErrorSite& site, const std::string& message);
  [[noreturn]] static void fault(const std::string& what) { throw std::logic_error("interpreter: " + what); }
  static std::string filled(std::string text, const std::vector<std::pair<std::string, int64_t>>& holes);
  void poison_results(const Node& n, Frame& frame, const Poison& poison);

  // ---- interpret.cpp: control
  // What runs at every level of a recursion keeps its frame small: rare and large things are functions of their own.
  [[noreturn, gnu::noinline]] void too_deep(LocId loc);
  std::vector<Cell> call(uint32_t index, std::vector<Cell> arguments, LocId loc);
  // The value of an operand or yield; moved where this is its only use.
  Cell take(Frame& frame, ValueId id) { return (*single_)[id.index] ? std::move(frame[id.index]) : frame[id.index]; }
  std::vector<Cell> region(const Function& f, const Region& r, Frame& frame);
  // Inside a map a condition that failed poisons the element; elsewhere the program must know it and stops.
  bool needs(const Node& n, Frame& frame, const Poison& poison);
  static void give(Frame& frame, const std::vector<ValueId>& to, std::vector<Cell>&& values) {
    for (size_t i = 0; i < to.size(); ++i)
      frame[to[i].index] = std::move(values[i]);
  }
  void run_if(const Function& f, const Node& n, Frame& frame);
  void run_for(const Function& f, const Node& n, Frame& frame);
  void run_while(const Function& f, const Node& n, Frame& frame);
  void run_map(const Function& f, const Node& n, Frame& frame);
  void run_kernel(const Function& f, const Node& n, Frame& frame);
  void run_call(const Node& n, Frame& frame);
  Dims sizes(const Type& type, const Frame& frame, Poison& poison);
  void node(const Function& f, const Node& n, Frame& frame);

  // ---- compute.cpp: values
  // Pure tensor operations: poisoned if an operand or a size is.
  [[gnu::noinline]] void compute(const Function& f, const Node& n, Frame& frame);
  Data pure(const Function& f, const Node& n, Frame& frame, const Dims& dims);
  void guard(const Node& n, Frame& frame);
  std::string fill(const FormatTemplate& format, const Node& n, const Frame& frame, size_t from) const;
  void format_node(const Node& n, Frame& frame);
  [[gnu::noinline]] void linalg(const Function& f, const Node& n, Frame& frame);

  // ---- lists.cpp: lists and text
  // The list of operand 0, to be changed: a copy unless nobody else has it.
  std::shared_ptr<List> own_list(const Node& n, Frame& frame);
  [[gnu::noinline]] void list(const Function& f, const Node& n, Frame& frame);
  void list_join(const Function& f, const Node& n, Frame& frame);
  [[gnu::noinline]] void text(const Function& f, const Node& n, Frame& frame);

  // ---- effects.cpp
  void effect(const Function& f, const Node& n, Frame& frame);
  void plot(const Node& n, Frame& frame);
  void assertion(const Node& n, Frame& frame);
  void print_error(const std::string& text);
  void debug(const Node& n, Frame& frame);

  const Module& module_;
  const OutputSink& out_;
  const OutputSink& err_;
  const std::atomic<bool>* interrupt_; // may be null
  int cpu_devices_;
  std::vector<std::vector<bool>> single_uses_; // by function, filled when it is first called
  const std::vector<bool>* single_ = nullptr;  // of the function that runs
  Poison first_failure_;
  Stopwatches stopwatches_;
  uint64_t next_order_ = 0;
  LocId loc_; // of the node that runs
  int depth_ = 0;
  std::vector<LocId> calls_; // of the calls that run, the innermost last
  int map_depth_ = 0;
  std::shared_ptr<const std::string> indexed_text_; // whose characters were asked for last,
  std::optional<TextIndex> text_index_;             // and where they begin
};

} // namespace tl::ir
