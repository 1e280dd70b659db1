// What tests of passes share: graphs from text, counting nodes, running a module and comparing what came out.
#pragma once
#include "ir/graph/rewrite.h"
#include "ir/graph/text.h"
#include "ir/graph/verify.h"
#include "ir/interpret/interpret.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "passes/schedule/schedule.h"
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <regex>

namespace tl::test {

inline void require_sound(const ir::Module& module, const std::string& when) {
  auto faults = ir::verify(module);
  if (faults.empty()) return;
  FAIL((when + ": " + faults[0] + "\n" + ir::to_text(module)));
}

inline ir::Module read(const std::string& text) {
  ir::Module module = ir::parse_text(std::regex_replace(text, std::regex("(constant [^\\n]*)"), "$1 {}"));
  require_sound(module, "as read");
  return module;
}

inline int count(const ir::Module& module, ir::Op op) {
  int n = 0;
  for (const ir::Function& f : module.functions)
    ir::walk(f, f.body, [&](ir::NodeId id) { n += f[id].op == op; });
  return n;
}
inline int count(const ir::Module& module, ir::KernelKind kind) {
  int n = 0;
  for (const ir::Function& f : module.functions)
    ir::walk(f, f.body,
             [&](ir::NodeId id) { n += f[id].op == ir::Op::Kernel && f[id].as<ir::KernelAttrs>().kind == kind; });
  return n;
}

// Numbers that are neither round nor equal.
inline HostTensor numbers(DType type, std::vector<int64_t> dims, double from = -1.3, double step = 0.37) {
  HostTensor t = HostTensor::make(type, std::move(dims));
  for (int64_t i = 0; i < t.count(); ++i) {
    double value = from + std::fmod(step * static_cast<double>(i * i + i), 5.0);
    t.set(i, convert_scalar(DType::F64, type, Scalar::of(value)));
  }
  return t;
}
inline HostTensor scalar_of(DType type, double value) {
  HostTensor t = HostTensor::make(type, {});
  t.set(0, convert_scalar(DType::F64, type, Scalar::of(value)));
  return t;
}

// Everything that a user could see of an outcome.
inline std::string text_of(const Outcome& outcome, const std::string& printed) {
  std::string text = printed;
  if (outcome.error) return text + "error " + outcome.error->kind + ": " + outcome.error->message;
  text += fmt::format("exit {}\n", outcome.exit_code);
  for (const Argument& result : outcome.results) {
    if (auto* s = std::get_if<std::string>(&result)) text += *s;
    if (auto* t = std::get_if<HostTensor>(&result)) {
      text += fmt::format("{}[{}]", name_of(t->dtype), fmt::join(t->dims, ","));
      for (int64_t i = 0; i < t->count(); ++i)
        text += fmt::format(" {:x}", t->get(i).bits);
    }
    text += "\n";
  }
  return text;
}

inline std::string interpreted(const ir::Module& module, const std::vector<Argument>& arguments) {
  std::string printed;
  Outcome outcome = ir::interpret(module, arguments, [&](std::string_view text) { printed += text; });
  return text_of(outcome, printed);
}

// All passes, sound after each, and the same to the bit as before.
inline ir::Module optimised(const ir::Module& module, const std::vector<Argument>& arguments,
                            std::set<std::string> disabled = {}) {
  std::string expected = interpreted(module, arguments);
  PassOptions options;
  options.disabled = std::move(disabled);
  options.hook = [&](std::string_view name, const ir::Module& now) {
    require_sound(now, "after " + std::string(name));
    std::string got = interpreted(now, arguments);
    if (got != expected)
      FAIL(("after " + std::string(name) + ":\n" + got + "\nnot\n" + expected + ir::to_text(now) + "\nwas\n" +
            ir::to_text(module)));
  };
  return run_passes(module, options);
}

} // namespace tl::test
