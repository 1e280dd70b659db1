// Random functions of a vector, in tl: all constructs that derivatives go through.
#pragma once
#include "values.h"
#include <string>
#include <vector>

namespace tl::generated {

class RandomProgram {
public:
  static constexpr int kSize = 20; // elements of the vector

  explicit RandomProgram(uint64_t seed) : random_(seed) {}

  // fn f(x: f64[n]) -> f64, of some statements, loops in loops first; it takes a vector of kSize elements.
  std::string make(int statements, int nests = 0);

private:
  struct Variable {
    std::string name;
    std::vector<int> shape;
  };

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  template <class T> const T& any(const std::vector<T>& from) { return from[below(from.size())]; }
  const Variable& pick();
  const Variable* pick(int rank); // null: there is none of this rank
  const Variable* pick(const std::vector<int>& shape);
  std::string scalar();
  std::string other(const Variable& v); // of v's shape, or a scalar
  std::string name() { return "v" + std::to_string(count_++); }
  void let(const std::string& value, std::vector<int> shape);
  void line(const std::string& text) { body_ += indent_ + text + "\n"; }
  void step();
  void one_operand();
  void two_operands();
  void reduction();
  void view();
  void chosen();
  void updated();
  void product();
  void ordered();
  void comprehension();
  void loop();
  void nest();
  void branch();
  void function();

  Random random_;
  std::vector<Variable> variables_;
  std::string body_, indent_ = "  ";
  int count_ = 0, depth_ = 0;
};

} // namespace tl::generated
