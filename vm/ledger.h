// What a program holds, in program order, and the memory that it gives up while it is still in use.
//
// With `--sync` memory is free again where the last handle on it goes. Running ahead, operations in flight may still
// use it there: it is *dying*. The ledger counts, for each device, what `--sync` would have in use where the program is
// being issued; a quarter more than the most of that, and kSlack, may be in use by running ahead. Beyond that bound
// dying memory goes to new operations, which come after those that use it, as on a GPU memory is reused in the order of
// its stream: one block that is large enough, or several that are given back when the operation begins, in exchange for
// addresses that it has from the start. So the issuing thread need not wait, and other devices get their work. (With an
// eighth more, training on two devices waited for memory in every step.)
//
// Issuing thread only, but for `gone`.
#pragma once
#include "vm/memory.h"
#include <atomic>
#include <deque>
#include <map>

namespace tl {

struct Node;
struct Operation;
class NodePool;

class Ledger {
public:
  void add_device() { accounts_.emplace_back(); }

  void charge(Node& node, int device, uint64_t bytes); // with its memory, until
  uint64_t credit(Node& node);                         // the last handle goes; returns what it was charged
  void take_over(Node& from, Node& to);                // or its memory becomes another's
  void charge_once(int device, uint64_t bytes);        // until the operation that is made is handed over

  // How many bytes more may be in use where so many bytes are asked for, beside all that is charged and dying.
  uint64_t room(int device, uint64_t bytes) const;
  // Whether so many bytes beside all that is charged and dying keep to the bound.
  bool has_room(int device, uint64_t bytes) const;

  // Operations in flight use the node's memory, and nobody else will.
  void dies(Node& node); // its account is that of its device
  void gone(Node& node); // any thread: its memory was given back

  // Dying memory for `op`, which from here on comes after what uses it: of this class, or cut from a larger block,
  // whose rest is workspace of `op`. Nothing: there is none.
  Block take(NodePool& nodes, Operation& op, int device, uint64_t bytes);

  // The same where no dying block is large enough: memory of its own, which it may touch once `op` begins; several that
  // die are given back then (Operation::claims), and so much of them together with what there is room for.
  Block claim(NodePool& nodes, Operation& op, int device, uint64_t bytes, Pool& pool);

private:
  static constexpr uint64_t kSlack = 1 << 20;
  static constexpr size_t kFewEntries = 1024;
  struct Dying {
    Node* node;
    uint64_t generation; // of the node then: else it is another one
    uint64_t number;     // of this death, in their order
  };
  struct Account { // of a device
    uint64_t now = 0, most = 0;
    std::atomic<uint64_t> dying{0};                // bytes
    std::map<uint64_t, std::deque<Dying>> by_size; // the longest dead first
    size_t entries = 0, most_entries = kFewEntries;
    uint64_t deaths = 0;
  };
  void leave_rest(NodePool& nodes, Operation& op, int16_t device, Block& block, uint64_t bytes);
  static void count_dying(Account& account, Node& node);
  static bool revive(const Dying& dying);
  static Node* revive(Account& account, std::deque<Dying>& waiting);
  static void forget_gone(Account& account);

  std::deque<Account> accounts_; // by device
};

} // namespace tl
