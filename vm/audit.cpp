#include "vm/audit.h"
#include "vm/operation.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {

static uintptr_t number_of(const void* address) { return reinterpret_cast<uintptr_t>(address); }

void Audit::report(std::string what, uint32_t number, uint32_t other) {
  auto loc = [&](uint32_t i) { return i > base_ && i - base_ <= ops_.size() ? op(i).loc : LocId{}; };
  if (findings_.size() < kMostFindings) findings_.push_back({std::move(what), loc(number), loc(other)});
}

void Audit::add_with_before(Set& set, uint32_t number) {
  if (number <= base_) return;
  set.add(op(number).before);
  set.add(number - base_);
}

Audit::UseRef Audit::use_at(const void* address) const {
  auto next = memory_.upper_bound(number_of(address));
  if (next == memory_.begin()) return nullptr;
  const Span& span = std::prev(next)->second;
  return number_of(address) < span.end && span.use->live ? span.use : nullptr;
}

// The spans of `memory_` are disjoint.
std::vector<Audit::UseRef> Audit::cut(const Block& block) {
  std::vector<UseRef> uses;
  const uintptr_t begin = number_of(block.data), end = begin + block.bytes;
  auto at = memory_.upper_bound(begin);
  if (at != memory_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != memory_.end() && at->first < end) {
    const auto [old_begin, span] = *at;
    uses.push_back(span.use);
    at = memory_.erase(at);
    if (old_begin < begin) memory_[old_begin] = {begin, std::make_shared<Use>(*span.use)};
    if (span.end > end) memory_[end] = {span.end, std::make_shared<Use>(*span.use)};
  }
  return uses;
}

void Audit::allocated(const Block& block) {
  std::lock_guard lock(mutex_);
  ++blocks_;
  for (const UseRef& use : cut(block)) {
    if (use->live) report("a block is given out that is still in use", 0, use->writer);
    for (uint32_t holder : use->holders)
      add_with_before(finished_, holder);
    for (uint32_t reader : use->readers)
      if (!known(finished_, reader)) report("a block is given out that an operation may still read", 0, reader);
    if (!known(finished_, use->writer))
      report("a block is given out that an operation may still write", 0, use->writer);
  }
  memory_[number_of(block.data)] = {number_of(block.data) + block.bytes, std::make_shared<Use>()};
}

// Who touched it is among its readers, so that the next writer must come after them.
void Audit::reused(const Block& block) {
  std::lock_guard lock(mutex_);
  auto use = std::make_shared<Use>();
  for (const UseRef& before : cut(block)) {
    use->readers.insert(use->readers.end(), before->readers.begin(), before->readers.end());
    use->readers.push_back(before->writer);
    use->owner = before->owner;
  }
  memory_[number_of(block.data)] = {number_of(block.data) + block.bytes, std::move(use)};
}

void Audit::freed(const Block& block) {
  std::lock_guard lock(mutex_);
  auto at = memory_.find(number_of(block.data));
  if (at == memory_.end()) return; // given out before the audit began
  Use& use = *at->second.use;
  if (!use.live) return report("a block is given back twice", 0, use.writer);
  use.live = false;
  if (auto owner = nodes_.find(use.owner); owner != nodes_.end()) use.holders = owner->second.holders;
  for (uint32_t holder : use.holders)
    if (holder > base_ && !op(holder).ended)
      report("a block is given back before an operation that holds it has ended", 0, holder);
}

void Audit::read(uint32_t number, Use& use, const Operation& operation, const void* address) {
  // The input that it belongs to, and who makes that.
  const Node* through = nullptr;
  for (const Operation::Input& input : operation.inputs)
    if (input.node->data && use_at(input.node->data).get() == &use) through = input.node;
  if (through && through->done() && through->failure) return; // it will not run; the memory may be somebody else's
  use.readers.push_back(number);
  if (!through) return report("an operation reads memory that none of its inputs holds", number, use.writer);
  if (address < through->data) report("an operation reads before the beginning of its input", number);
  if (through->maker != use.writer)
    report("an operation reads what another one has written over its input", number, use.writer);
  if (!known(op(number).before, use.writer))
    report("an operation may read memory before another one has written it", number, use.writer);
}

void Audit::write(uint32_t number, Use& use) {
  const Set& before = op(number).before;
  if (use.writer != number && !known(before, use.writer))
    report("two operations may write the same memory at once", number, use.writer);
  for (uint32_t reader : use.readers)
    if (reader != number && !known(before, reader))
      report("an operation may write memory that another one still reads", number, reader);
  use.writer = number;
  use.readers.clear();
}

uint32_t Audit::submitted(const Operation& operation, bool alone) {
  std::lock_guard lock(mutex_);
  const uint32_t number = ++count_;
  ops_.push_back({operation.loc, {}, finished_, false});
  Op& made = ops_.back();
  for (const Operation::Input& input : operation.inputs)
    if (input.node->maker > base_) made.waits.push_back(input.node->maker);
  auto wait_for_users = [&](const Node* node) {
    if (node->maker > base_) made.waits.push_back(node->maker);
    for (uint32_t reader : nodes_[node].readers)
      if (reader > base_) made.waits.push_back(reader);
  };
  for (const Node* node : operation.overwrites)
    wait_for_users(node);
  for (const Operation::Claim& claim : operation.claims) {
    wait_for_users(claim.node);
    Held& held = nodes_[claim.node]; // until then, and not until those end that it is only an input of
    held.holders = held.readers;
    if (claim.node->maker > base_) held.holders.push_back(claim.node->maker);
  }
  for (uint32_t other : made.waits)
    add_with_before(made.before, other);

  for (const Operation::Input& input : operation.inputs) {
    if (!input.node->maker) continue; // arguments, constants and files: nobody writes them
    Held& held = nodes_[input.node];
    held.holders.push_back(number);
    if (input.reads) held.readers.push_back(number);
  }
  for (const Node* node : operation.overwrites)
    nodes_[node].holders.push_back(number);
  for (const auto* made_here : {&operation.outputs, &operation.workspaces})
    for (const Node* node : *made_here)
      nodes_[node] = {{number}, {}};

  auto reads = [&](const void* address) {
    if (UseRef use = use_at(address)) read(number, *use, operation, address);
  };
  auto writes = [&](const void* address, const Node* owner) { // or would, had it not failed
    UseRef use = use_at(address);
    if (!use) return;
    write(number, *use);
    use->owner = owner;
  };
  const auto results = static_cast<size_t>(std::count_if(operation.outputs.begin(), operation.outputs.end(),
                                                         [](const Node* node) { return node->data != nullptr; }));
  if (operation.kind == Operation::Kind::Kernel)
    for (size_t k = 0; k + results < operation.args.size(); ++k)
      reads(operation.args[k]); // those of scalars lie elsewhere
  if (operation.kind == Operation::Kind::Task)
    for (const Operation::Input& input : operation.inputs)
      if (input.reads) reads(input.node->data);
  for (const Operation::Copy& copy : operation.copies)
    reads(copy.from);
  for (const Node* node : operation.outputs)
    if (node->data) writes(node->data, node);
  for (const Node* node : operation.workspaces)
    writes(node->data, node); // some is what it leaves of a block that it got, and comes after those before, too
  if (operation.card_shared) {
    writes(operation.card_shared.data, nullptr);
    use_at(operation.card_shared.data)->holders = {number};
  }
  if (alone) add_with_before(finished_, number);
  if (finished_.size() == count_ - base_) forget();
  return number;
}

void Audit::began(uint32_t number) {
  std::lock_guard lock(mutex_);
  if (number <= base_) return;
  for (uint32_t other : op(number).waits)
    if (other > base_ && !op(other).ended) report("an operation begins before one that it waits for", number, other);
}

void Audit::ended(uint32_t number) {
  std::lock_guard lock(mutex_);
  if (number > base_) op(number).ended = true;
}

void Audit::rested() {
  std::lock_guard lock(mutex_);
  for (Op& each : ops_)
    if (!each.ended)
      return report("the engine rests while an operation runs", static_cast<uint32_t>(&each - ops_.data()) + base_ + 1);
  forget();
}

void Audit::forget() {
  base_ = count_;
  ops_.clear();
  finished_.clear();
  nodes_.clear();
}

std::string to_text(const Audit& audit, const std::function<std::string(LocId)>& place) {
  std::string text = fmt::format("audit: {} operations, {} blocks: {}\n", audit.operations(), audit.blocks(),
                                 audit.findings().empty() ? "no order of theirs mixes up memory" : "a fault of tl");
  for (const Audit::Finding& finding : audit.findings()) {
    const std::string at = place(finding.loc), other = place(finding.other);
    text += fmt::format("  {}{}{}\n", at.empty() ? "" : at + ": ", finding.what,
                        other.empty() ? "" : fmt::format(" (the other: {})", other));
  }
  return text;
}

} // namespace tl
