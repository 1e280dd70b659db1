// The processes that `mpirun -n 4 tl run train.tl` started together, and what they do with each other. MPI (Open MPI)
// is loaded when a program first asks for its rank, never linked; without mpirun the world is this process alone.
//
// All processes run the same program, so all of them come to the same collective operations in the same order; before
// each they compare notes, and where they differ every one of them gets an error instead of waiting for ever.
// Operations are not thread-safe: the engine runs them one after the other in a lane of their own (kRankLane).
#pragma once
#include "abi/dtype.h"
#include <cstddef>
#include <memory>
#include <string>

namespace tl {

class Ranks {
public:
  // Of this process; made at the first call, which throws RuntimeError where MPI was promised and cannot be loaded.
  static Ranks& world();
  static bool promised(); // was this process started by mpirun?
  // Whether world() has found other processes: then the process must not end but through finish() or abort().
  static bool several();
  ~Ranks();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // x[i] of all ranks added in the order of their ranks, the same bits on each. f16 and bf16 add in f32 and round once.
  // in and out may be the same. Throws RuntimeError, without a place.
  void all_reduce(DType type, int64_t count, const std::byte* in, std::byte* out);
  void require(int64_t rank) const; // throws RuntimeError where there is no such rank
  // Everyone gets root's elements.
  void broadcast(DType type, int64_t count, std::byte* data, int root);

  // The end of a program that did what it should: waits for the others' end. Throws RuntimeError where one of them
  // still wants something of this one.
  void finish();
  // The end of one that failed: ends the others too.
  [[noreturn]] void abort(int exit_code);

private:
  enum class What : int64_t { End, AllReduce, Broadcast };
  struct Notes { // what is compared
    What what;
    int64_t type, count, root;
  };
  struct Mpi;

  Ranks();
  void agree(const Notes& mine);
  void reduce_piece(DType type, int64_t count, const std::byte* in, std::byte* out);

  std::unique_ptr<Mpi> mpi_; // null: alone
  int rank_ = 0, size_ = 1;
};

} // namespace tl
