// Parts of a program that come again with other weights, as layers do, become a function of these.
//
//   let q = x @ w.layer_0_q     struct Layer { q: f32[8, 8] }
//   let x1 = relu(q + x)        fn layer(w: Layer, x: f32[n, 8]) -> f32[n, 8] { … }
//   let q_1 = x1 @ w.layer_1_q  let x1 = layer(w.layer_0, x)
//   let x2 = relu(q_1 + x1)     let x2 = layer(w.layer_1, x1)
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tl::onnx {

struct Statements {
  std::vector<std::string> lines;             // one each; what holds more than one is left as it is
  std::string results;                        // names that are read behind them
  std::map<std::string, std::string> types;   // of names, "f32[batch, _]", as far as they are known; sizes are i64
  std::map<std::string, std::string> weights; // the types of the fields of `w`
};

// Takes out each `let` on one line whose names nothing behind it reads, and writes `_` for names beside others that
// are. Gives the words that are left, `results` among them.
std::set<std::string> drop_unread(std::vector<std::string>& lines, const std::string& results);

struct Functions {
  std::vector<std::string> lines;
  std::string text;                           // structs and functions
  std::vector<std::string> fields;            // of structs of weights: "layer_0: Layer"
  std::map<std::string, std::string> renamed; // weights that went into them: "layer_0_q" is "layer_0.q"
};

// `fresh_name` gives a name that nothing else has.
Functions with_functions(Statements statements, const std::function<std::string(const std::string&)>& fresh_name);

} // namespace tl::onnx
