// A region once for a whole batch of positions: what `vmap` is made of, and a comprehension as operations on tensors.
//
// The batch has axes 0 … q-1 with sizes `dims`. A value of the region becomes one tensor for all positions, and depends
// on as few axes as it can: what does not depend on the position stays as it was. Position by position the bits are
// those that the region gives: sums keep their order.
//
//   Vectorizer v(module, function, {n, m}, into);
//   v.bind_index(body.params[0], 0); v.bind_index(body.params[1], 1);
//   if (v.region(body)) … v.spread(v(body.yields[0])) …
//
// What a position would not have evaluated (the other branch, a loop that has ended, an empty batch) neither fails nor
// reads out of range. Where several positions fail, the failure that is reported may be another one than position
// after position would give.
#pragma once
#include "ir/graph/graph.h"
#include <memory>

namespace tl {

// A value over the positions. It depends on the axes in `axes` (ascending, perhaps none), and its sizes are theirs,
// then those of the value at one position.
struct Batched {
  ir::ValueId value;
  std::vector<uint32_t> axes;
};

class Vectorizer {
public:
  // New nodes go to `into`, in the same function. The sizes are known where it is.
  Vectorizer(ir::Module& module, ir::Function& function, std::vector<ir::Dim> dims, ir::Builder& into);
  ~Vectorizer();

  // What a parameter of the region is. Values that are not bound are from outside: the same for all positions.
  void bind(ir::ValueId original, Batched value);
  void bind_index(ir::ValueId original, uint32_t axis); // the position along this axis, from 0: a parameter of a Map

  // Emits the region. False where it holds what can't be vectorized (effects, lists, text, calls, a size in the type of
  // a value that differs between positions and is more than a sum's range); then nothing has been emitted.
  bool region(const ir::Region& region);

  Batched operator()(ir::ValueId original); // of the region, or from outside
  ir::ValueId spread(const Batched& value); // with all axes of the batch in front

private:
  class State;
  std::unique_ptr<State> state_;
};

} // namespace tl
