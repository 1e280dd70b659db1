// Python's objects as arguments of the library.
#pragma once
#include "dlpack.h"
#include "parameter.h"
#include "session.h"
#include <memory>

namespace tl::python {

// Whose arrays the results are to be.
enum class Family : unsigned char { None, Numpy, Torch, Jax, Own };

// One argument, and what it needs to stay alive.
struct Slot {
  static constexpr int kRank = 8;
  tl_tensor tensor;
  Ref keep;                           // the object, its capsule, or its bytes
  DlVersioned* managed = nullptr;     // to be freed
  std::unique_ptr<int64_t[]> numbers; // strides and shapes that do not fit below
  std::unique_ptr<unsigned char[]> memory;
  int64_t inline_numbers[2 * kRank];
  tl_value* value = nullptr; // to be released

  Slot() {}
  Slot(const Slot&) = delete;
  ~Slot();
  int64_t* room(int count); // for that many numbers
};

class Arguments {
public:
  explicit Arguments(size_t count);
  ~Arguments();
  Arguments(const Arguments&) = delete;

  // Converts the next argument; `name` is that of a keyword, or null. False: an error is set.
  bool add(Session* session, const char* source, PyObject* object, const Parameter* parameter, const char* name);
  // A number, or lists of them, as a tensor of the parameter's element type.
  bool add_number(Session* session, PyObject* object, const Parameter& parameter);

  const tl_argument* data() const { return arguments; }
  size_t size() const { return count; }
  Family family = Family::None;        // of the first array
  Family struct_family = Family::None; // of the first struct
  bool borrows = false;                // memory that is Python's: it must live, and not change, while the call runs

private:
  static constexpr size_t kInline = 6;
  alignas(Slot) unsigned char inline_slots[kInline * sizeof(Slot)];
  tl_argument inline_arguments[kInline];
  std::unique_ptr<Slot[]> more_slots;
  std::unique_ptr<tl_argument[]> more_arguments;
  Slot* slots;
  tl_argument* arguments;
  size_t count = 0, capacity;
  int depth = 0; // of the lists and tuples that these are elements of

  struct Place {
    Session* session;
    const char* source;
    const Parameter* parameter;
    Slot& slot;
    tl_argument& out;
  };
  std::pair<Slot&, tl_argument&> next(const char* name);
  bool convert(const Place& place, PyObject* object);
  bool array(const Place& place, PyObject* object);
  bool interface(const Place& place, PyObject* object);
  bool exchange(const Place& place, PyObject* object, const DlExchange& api);
  bool refuse_layout(const Place& place, PyObject* object);
  bool dlpack(const Place& place, PyObject* object);
  bool buffer(const Place& place, PyObject* object);
  bool real(const Place& place, PyObject* object);
  bool integer(const Place& place, PyObject* object);
  bool text(const Place& place, PyObject* object);
  bool sequence(const Place& place, PyObject* object);
  bool numbers(const Place& place, PyObject* object, const Dtype* dtype);
  bool list(const Place& place, PyObject* object, const Parameter* parameter);
  bool tuple(const Place& place, PyObject* object);
  // One of a list or tuple, whose types the library does not know: a number gets its type now.
  bool add_element(const Place& place, PyObject* object, const Parameter* inside);
  void take(const Place& place, tl_value* value);
  bool nest(const Place& place, Arguments& elements) const; // false: too deeply, and an error is set
  void note(Family of) {
    if (family == Family::None) family = of;
  }
};

// What a type's objects are, looked up once for each type.
struct ArrayType {
  PyTypeObject* type;
  Family family;
  enum Way { None, Interface, Exchange, Dlpack } way;
  const DlExchange* exchange;   // to be used if not null, also for results
  bool is_float_scalar = false; // of NumPy
  bool is_complex_scalar = false;
};
const ArrayType& array_type(PyTypeObject* type);
const DlExchange* torch_exchange(); // of torch.Tensor, or null

} // namespace tl::python
