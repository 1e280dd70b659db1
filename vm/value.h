// What slots of a frame hold, and what in-flight operations compute into.
//
// A Node is one computed thing: a tensor's memory or a string. It is pending until its operation completes; it may
// carry a failure instead of contents. Handles (the Values in frames) belong to the issuing thread alone, so they are
// counted without atomics; operations in flight hold further references.
#pragma once
#include "abi/limits.h"
#include "abi/program/bytecode.h"
#include "vm/devices.h"
#include "vm/ledger.h"
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace tl {

// An intrusively counted reference to a T with an atomic member `refs` that starts at 0.
template <class T> class Ref {
public:
  Ref() = default;
  explicit Ref(T* p) : p_(p) {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(const Ref& other) : Ref(other.p_) {}
  Ref(Ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && p_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete p_;
  }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  T* get() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }

private:
  T* p_ = nullptr;
};

// A point in the course of a program.
struct Moment {
  uint64_t issue = 0; // the number of the instruction, in the order of execution
  uint64_t piece = 0; // that of the jump, call or return before it
};

// A failure and where it is in program order: among several, the first one is reported. Instructions between two
// jumps are in an order that suits the machine; that of the program is the one of their places, which the compiler
// numbers as it walks through it.
struct Failure {
  Failure(RuntimeError e, Moment m) : error(std::move(e)), moment(m), place(error.loc) {}
  // Number `n`, in their order, of a loop at `loc` that is one operation.
  Failure(RuntimeError e, Moment m, LocId loc, uint64_t n) : error(std::move(e)), moment(m), place(loc), number(n) {}
  bool before(const Failure& other) const {
    auto key = [](const Failure& f) { return std::tuple(f.moment.piece, f.place.index, f.moment.issue, f.number); };
    return key(*this) < key(other);
  }
  RuntimeError error;
  Moment moment;
  LocId place;
  uint64_t number = 0;
  std::atomic<uint32_t> refs{0};
};
using FailureRef = Ref<Failure>;

inline void take_first(FailureRef& first, const FailureRef& other) {
  if (other && (!first || other->before(*first))) first = other;
}

struct Operation;

// An entry in a list of what waits for a node.
struct Edge {
  Operation* consumer = nullptr;
  Edge* next = nullptr;
};

struct Node;

// A copy of a part of a node in another memory, kept as long as the node has handles. Issuing thread only.
struct Replica {
  Node* node;
  int device;
  int64_t offset, bytes; // of the part
  Replica* next;
};

struct Node {
  std::atomic<uint32_t> refs{0}; // operations in flight, and one for all handles together
  uint32_t handles = 0;          // issuing thread only
  uint64_t generation = 0;       // the same: of this node, which is used for one value after the other
  std::atomic<Edge*> waiters{nullptr};
  std::atomic<uint64_t> readers{0}; // operations in flight that read `data`; kExclusive: `exclusive` waits for them
  Edge* exclusive = nullptr;
  // In a card's memory, made by what its stream was given: what runs there too waits until it is launched, and its
  // memory goes back when nobody is left who will use it: the handles together, and operations that are not launched,
  // or on another device not done.
  int16_t card = -1; // its device
  std::atomic<Edge*> launch_waiters{nullptr};
  std::atomic<uint32_t> users{0};
  Replica* replicas = nullptr;
  FailureRef failure;        // set before the node is done
  FailureRef launch_failure; // on a card: set before it is launched, if it is known by then that it has failed
  std::byte* data = nullptr;
  Block block;                           // owned memory, or
  std::shared_ptr<std::byte[]> external; // somebody else's, never written
  uint64_t reserved = 0;                 // bytes of `external` that count towards the limit of
  Pool* account = nullptr;               // this memory
  uint64_t charged = 0, dying = 0;       // bytes, in the ledger of
  int16_t account_of = 0;                // this device
  std::string text;                      // of a string
  LocId loc;                             // where it was issued
  uint32_t record = 0;                   // of the operation that makes it: its number in a timeline (vm/profile.h),
  uint32_t maker = 0;                    // and in an audit (vm/watch.h)
  Node* next_free = nullptr;

  static constexpr uint64_t kExclusive = uint64_t{1} << 63;
  static Edge* done_mark() {
    static Edge mark;
    return &mark;
  }
  bool done() const { return waiters.load(std::memory_order_seq_cst) == done_mark(); }
  // Adds to a waiting list; false if what it waits for has happened already.
  static bool add_to(std::atomic<Edge*>& list, Edge* edge) {
    Edge* head = list.load(std::memory_order_acquire);
    do {
      if (head == done_mark()) return false;
      edge->next = head;
    } while (!list.compare_exchange_weak(head, edge, std::memory_order_acq_rel, std::memory_order_acquire));
    return true;
  }
  bool add_waiter(Edge* edge) { return add_to(waiters, edge); }
  void release_user() { // any thread
    if (users.fetch_sub(1, std::memory_order_acq_rel) == 1) Pool::free(block);
  }
};

// Sizes; of rank 0, as numbers and texts have, a null pointer. Copies share them. Issuing thread only.
class Dims {
public:
  Dims() = default;
  Dims(const Dims& other) : sizes_(other.sizes_) {
    if (sizes_) ++sizes_->users;
  }
  Dims(Dims&& other) noexcept : sizes_(std::exchange(other.sizes_, nullptr)) {}
  Dims& operator=(Dims other) noexcept {
    std::swap(sizes_, other.sizes_);
    return *this;
  }
  ~Dims() {
    if (sizes_) leave();
  }
  void clear() { *this = Dims(); }
  void push_back(int64_t size) {
    if (!sizes_ || sizes_->users > 1 || sizes_->rank == sizes_->room) make_own();
    sizes_->data()[sizes_->rank++] = size;
  }
  std::span<const int64_t> view() const {
    return sizes_ ? std::span<const int64_t>(sizes_->data(), sizes_->rank) : std::span<const int64_t>();
  }
  // Number of elements, or nothing if a size is none that an axis may have, or the product overflows.
  std::optional<int64_t> count() const {
    int64_t n = 1;
    bool empty = false, overflow = false;
    for (int64_t d : view()) {
      if (d < 0 || d > kLongestAxis) return std::nullopt;
      empty |= d == 0;
      overflow |= __builtin_mul_overflow(n, d, &n);
    }
    if (empty) return 0;
    if (overflow) return std::nullopt;
    return n;
  }

private:
  struct Sizes { // and behind it `room` sizes
    size_t users = 1;
    uint32_t rank = 0, room = 0;
    int64_t* data() { return reinterpret_cast<int64_t*>(this + 1); }
  };
  void leave(); // one user less
  void make_own();
  Sizes* sizes_ = nullptr;
};

class NodePool;
struct List;

// What a slot holds. Only the issuing thread touches values.
struct Value {
  enum class Kind : uint8_t { Empty, Scalar, Tensor, Str, List };
  Kind kind = Kind::Empty;
  DType dtype{};
  int16_t device = kNoDevice; // Tensor, as programs see it: its memory is that device's
  Scalar scalar;              // Scalar
  FailureRef failure;         // Scalar, List: poisoned
  Node* node = nullptr;       // Tensor, Str
  List* list = nullptr;       // List; null: of no elements, or poisoned
  int64_t offset = 0;         // Tensor: bytes from node->data
  Dims dims;                  // Tensor
  NodePool* pool = nullptr;

  Value() = default;
  inline Value(const Value& other);
  Value(Value&& other) noexcept
      : scalar(other.scalar), failure(std::move(other.failure)), node(std::exchange(other.node, nullptr)),
        list(std::exchange(other.list, nullptr)), offset(other.offset), dims(std::move(other.dims)), pool(other.pool) {
    take_head(other);
    other.kind = Kind::Empty;
  }
  Value& operator=(const Value& other) {
    if (holds_nothing() && other.holds_nothing())
      take_number(other);
    else
      assign(other);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    if (holds_nothing() && other.holds_nothing()) {
      take_number(other);
      other.kind = Kind::Empty;
    } else {
      assign(std::move(other));
    }
    return *this;
  }
  ~Value() {
    if (!holds_nothing()) release();
  }
  void reset() {
    if (!holds_nothing()) release();
    kind = Kind::Empty;
  }

  static Value of_scalar(DType type, Scalar scalar) {
    Value v;
    v.become(type, scalar);
    return v;
  }
  static Value of_list(List* list); // a new handle on a list
  // A number that is not poisoned.
  bool is_plain_number() const { return kind == Kind::Scalar && !failure; }
  // Such a number, or nothing: it may be written over.
  bool holds_nothing() const { return kind <= Kind::Scalar && !failure; }
  void become(DType type, Scalar number, int16_t of_device = kNoDevice) { // of what holds nothing
    set_head(Kind::Scalar, type, of_device);
    scalar = number;
  }
  // A new handle on a node.
  static Value of_node(NodePool& pool, Node* node, Kind kind, DType type = {}, Dims dims = {}, int64_t offset = 0);

private:
  // The first three are written, and read, together: a processor waits where it reads at once what it has just written
  // piece by piece.
  void set_head(Kind k, DType type, int16_t d) {
    const uint32_t head = static_cast<uint32_t>(k) | static_cast<uint32_t>(type) << 8 |
                          static_cast<uint32_t>(static_cast<uint16_t>(d)) << 16;
    std::memcpy(static_cast<void*>(this), &head, sizeof head);
  }
  void take_head(const Value& other) {
    uint32_t head = 0;
    std::memcpy(&head, static_cast<const void*>(&other), sizeof head);
    std::memcpy(static_cast<void*>(this), &head, sizeof head);
  }
  void take_number(const Value& other) {
    take_head(other);
    scalar = other.scalar;
  }
  void assign(const Value& other);
  void assign(Value&& other) noexcept;
  void release();
};

// Values in 16 bytes each: numbers and short texts as they are, which has them in the cache, and takes pages of memory
// for few. The first and the last ones leave at the cost of those that do.
class Elements {
public:
  Elements() = default;
  Elements(const Elements& other) { append(other, 0, other.size()); }
  Elements& operator=(const Elements&) = delete;
  ~Elements();
  size_t size() const { return end_ - begin_; }
  Value get(size_t k) const; // a new handle, or a new node for a short text
  Value take(size_t k);      // nothing is left there
  void put(size_t k, Value value);
  void push_back(Value value);
  void push_text(NodePool& pool, std::string&& text); // one that is known
  void reserve(size_t count) {
    if (begin_ + count > room_) make_room(count);
  }
  void append(const Elements& other, size_t first, size_t count); // also of itself
  void prepend(const Elements& other);                            // not itself
  void keep(size_t first, size_t count);                          // only those in [first, first + count) stay

  bool is_number(size_t k) const { return at(k).kind == Kind::Number; } // that is not poisoned
  bool are_numbers() const;                                             // all, without a device; and there is one
  Scalar number(size_t k) const { return at(k).number; }                // of such an element
  void get_number(size_t k, Value& into) const {                        // of such an element, into what holds nothing
    const Element& e = at(k);
    into.become(e.dtype, e.number, e.device);
  }
  void put_number(size_t k, const Value& number) { // in place of such an element
    Element& e = at(k);
    e.dtype = number.dtype;
    e.device = number.device;
    e.number = number.scalar;
  }
  void push_number(const Value& number) { // not poisoned
    if (end_ == room_) make_room(size() + 1);
    cells_[end_] = {Kind::Number, number.dtype, number.device, {}, number.scalar};
    ++end_;
  }
  bool has_handle(size_t k) const { return at(k).kind >= Kind::Text; } // on what others may know
  std::optional<std::string_view> known_text(size_t k) const;          // of a text, if it is there

private:
  enum class Kind : uint8_t { Nothing, Number, Short, Text, List, Value };
  struct Element {
    Kind kind;
    DType dtype; // Number; Short: the number of its bytes
    int16_t device;
    char more[4]; // Short: its bytes are from `device` on
    union {
      Scalar number;
      Node* node;
      List* list;
      Value* value; // what else there is: tensors, and what is poisoned
    };
    char* bytes() { return reinterpret_cast<char*>(&device); }
    const char* bytes() const { return reinterpret_cast<const char*>(&device); }
  };
  static constexpr size_t kShort = sizeof(Element) - 2;
  Element& at(size_t k) { return cells_[begin_ + k]; }
  const Element& at(size_t k) const { return cells_[begin_ + k]; }
  Element made_of(Value value);
  Element of_short(std::string_view text) const;
  void release(Element& e);
  Element shared(const Element& e) const; // another of the same
  void make_room(size_t count);           // at least for so many

  Element* cells_ = nullptr;
  size_t begin_ = 0, end_ = 0, room_ = 0;
  NodePool* pool_ = nullptr; // of the texts among them
};

// Elements of `width` values each. Issuing thread only; the only handle on it may change it.
struct List {
  uint32_t handles = 0;
  size_t width = 1;
  Elements values;
  size_t length() const { return width == 1 ? values.size() : values.size() / width; }
};

inline Value::Value(const Value& other)
    : scalar(other.scalar), failure(other.failure), node(other.node), list(other.list), offset(other.offset),
      dims(other.dims), pool(other.pool) {
  take_head(other);
  if (node) ++node->handles;
  if (list) ++list->handles;
}

// Makes and recycles nodes. Made and retained by the issuing thread, released by any.
class NodePool {
public:
  Ledger ledger;

  Node* create(); // no references yet
  void retain(Node* node) {
    if (node->refs.load(std::memory_order_relaxed) == 0) // nobody else's
      node->refs.store(1, std::memory_order_relaxed);
    else
      node->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void release(Node* node) {
    if (node->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle(node);
  }
  void release_handles(Node* node) { // the issuing thread, which alone could retain it
    if (node->replicas) drop_replicas(*node);
    if (node->card >= 0) node->release_user();
    ledger.credit(*node);
    if (node->refs.load(std::memory_order_acquire) != 1) {
      if (node->block && node->card < 0) ledger.dies(*node);
      return release(node);
    }
    node->refs.store(0, std::memory_order_relaxed);
    empty(*node);
    node->next_free = std::exchange(free_, node);
  }

  void add_replica(Node& node, Replica replica); // takes a handle of the copy
  void drop_replicas(Node& node);

private:
  void recycle(Node* node);
  void empty(Node& node);
  Node* free_ = nullptr;                 // issuing thread
  std::atomic<Node*> returned_{nullptr}; // from any thread, taken all at once
  std::vector<std::unique_ptr<Node[]>> slabs_;
};

} // namespace tl
