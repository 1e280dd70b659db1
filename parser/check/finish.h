// Effects, captures and unused values, once everything is known.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

struct Uses { // what a body takes from around it, and from where
  std::set<uint32_t> callees;
  std::set<AtomId> used, defined;
  std::set<VarId> captures;
  std::set<VarId> variables; // that it mentions
};

void add_uses(Context& cx, const typed::Block& block, Uses& uses);
void add_uses(Context& cx, const Type& type, Uses& uses);
void finish_program(Context& cx);
std::vector<bool> reachable_instances(Context& cx);
bool has_effects(Context& cx, const typed::Block& block);
bool has_effects(Context& cx, const typed::Stmt& s);
void check_uses(Context& cx, const typed::Expr& e);
void check_uses(Context& cx, const typed::Stmt& s);

} // namespace tl::checker
