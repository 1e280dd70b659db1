#include "vm/ranks.h"
#include "abi/error.h"
#include "abi/scalar_op.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <thread>
#include <vector>

namespace tl {

namespace {

std::atomic<bool> others{false};

RuntimeError rank_error(std::string kind, std::string message, std::string hint = "") {
  return {std::move(kind), std::move(message), std::move(hint), {}, 3, {}};
}

} // namespace

// The functions that are used, by the interface of MPI 3 as Open MPI defines it: handles are pointers, and constants
// the addresses of the library's objects.
struct Ranks::Mpi {
  using Handle = void*;
  int (*init_thread)(int*, char***, int, int*);
  int (*comm_rank)(Handle, int*);
  int (*comm_size)(Handle, int*);
  int (*iallgather)(const void*, int, Handle, void*, int, Handle, Handle, Handle*);
  int (*iallgatherv)(const void*, int, Handle, void*, const int*, const int*, Handle, Handle, Handle*);
  int (*ialltoallv)(const void*, const int*, const int*, Handle, void*, const int*, const int*, Handle, Handle,
                    Handle*);
  int (*ibcast)(void*, int, Handle, int, Handle, Handle*);
  int (*test)(Handle*, int*, void*);
  int (*abort)(Handle, int);
  int (*finalize)();
  Handle world, byte;

  std::vector<std::byte> pieces, sum; // see reduce_piece

  Mpi() {
    void* library = ::dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL); // its plugins look for its symbols
    if (!library) library = ::dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      throw rank_error(
          "MpiNotFound",
          fmt::format("this process was started by mpirun, and Open MPI cannot be loaded: {}", ::dlerror()),
          "install Open MPI (Debian: openmpi-bin)");
    auto find = [&](auto& function, const char* name) {
      void* symbol = ::dlsym(library, name);
      if (!symbol)
        throw rank_error("MpiNotFound", fmt::format("the MPI that is installed is not Open MPI: it has no {}", name),
                         "install Open MPI (Debian: openmpi-bin)");
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    };
    find(world, "ompi_mpi_comm_world");
    find(byte, "ompi_mpi_byte");
    find(init_thread, "MPI_Init_thread");
    find(comm_rank, "MPI_Comm_rank");
    find(comm_size, "MPI_Comm_size");
    find(iallgather, "MPI_Iallgather");
    find(iallgatherv, "MPI_Iallgatherv");
    find(ialltoallv, "MPI_Ialltoallv");
    find(ibcast, "MPI_Ibcast");
    find(test, "MPI_Test");
    find(abort, "MPI_Abort");
    find(finalize, "MPI_Finalize");
    constexpr int serialized = 2; // MPI_THREAD_SERIALIZED: any thread, one at a time
    int provided = 0;
    init_thread(nullptr, nullptr, serialized, &provided);
    if (provided < serialized) throw rank_error("MpiNotFound", "this MPI does not work with threads");
  }

  // Without keeping a core busy: the workers need it.
  void wait(Handle request) {
    int done = 0;
    for (int tries = 0; test(&request, &done, nullptr), !done; ++tries)
      if (tries > 100) std::this_thread::sleep_for(std::chrono::microseconds(std::min(20 + tries / 10, 200)));
  }
};

bool Ranks::promised() { return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK"); }

Ranks::Ranks() {
  if (!promised()) return;
  mpi_ = std::make_unique<Mpi>();
  mpi_->comm_rank(mpi_->world, &rank_);
  mpi_->comm_size(mpi_->world, &size_);
  others = true;
}

Ranks::~Ranks() = default;

Ranks& Ranks::world() {
  static Ranks ranks;
  return ranks;
}

bool Ranks::several() { return others; }

void Ranks::agree(const Notes& mine) {
  std::vector<Notes> all(static_cast<size_t>(size_));
  Mpi::Handle request = nullptr;
  mpi_->iallgather(&mine, sizeof mine, mpi_->byte, all.data(), sizeof mine, mpi_->byte, mpi_->world, &request);
  mpi_->wait(request);
  auto text = [](const Notes& n) {
    if (n.what == What::End) return std::string("has ended its program");
    std::string tensor = fmt::format("{} elements of {}", n.count, name_of(static_cast<DType>(n.type)));
    if (n.what == What::AllReduce) return "adds " + tensor + " with all_reduce";
    return fmt::format("broadcasts {} from rank {}", tensor, n.root);
  };
  auto same = [](const Notes& a, const Notes& b) {
    return a.what == b.what && a.type == b.type && a.count == b.count && a.root == b.root;
  };
  for (size_t r = 1; r < all.size(); ++r)
    if (!same(all[r], all[0]))
      throw rank_error(
          "RanksDisagree",
          fmt::format("the processes do not do the same: rank 0 {}, rank {} {}", text(all[0]), r, text(all[r])),
          "every rank must come to the same collective operations, with the same sizes");
}

namespace {

// sum[i] = parts[0][i] + parts[1][i] + …, each part `count` elements after the one before.
template <class T, class Wide, class Load, class Store>
void add_parts(const std::byte* parts, std::byte* sum, int64_t count, int n, Load load, Store store) {
  const T* from = reinterpret_cast<const T*>(parts);
  T* to = reinterpret_cast<T*>(sum);
  for (int64_t i = 0; i < count; ++i) {
    Wide total = load(from[i]);
    for (int r = 1; r < n; ++r)
      total = static_cast<Wide>(total + load(from[r * count + i]));
    to[i] = store(total);
  }
}

template <class T> void add_numbers(const std::byte* parts, std::byte* sum, int64_t count, int n) {
  add_parts<T, T>(parts, sum, count, n, [](T x) { return x; }, [](T x) { return x; });
}

void add_parts(DType type, const std::byte* parts, std::byte* sum, int64_t count, int n) {
  switch (type) {
  case DType::F32: return add_numbers<float>(parts, sum, count, n);
  case DType::F64: return add_numbers<double>(parts, sum, count, n);
  case DType::F16: return add_parts<uint16_t, float>(parts, sum, count, n, f16_to_float, float_to_f16);
  case DType::BF16: return add_parts<uint16_t, float>(parts, sum, count, n, bf16_to_float, float_to_bf16);
  default: break;
  }
  switch (size_of(type)) { // integers wrap
  case 1: return add_numbers<uint8_t>(parts, sum, count, n);
  case 2: return add_numbers<uint16_t>(parts, sum, count, n);
  case 4: return add_numbers<uint32_t>(parts, sum, count, n);
  default: return add_numbers<uint64_t>(parts, sum, count, n);
  }
}

} // namespace

// Each rank gets its share of the elements from everyone, adds it, and gives the sum to everyone: 2 (n - 1) / n of the
// data goes in and out of a rank, as in a ring.
void Ranks::reduce_piece(DType type, int64_t count, const std::byte* in, std::byte* out) {
  const auto n = static_cast<size_t>(size_);
  const int bytes = size_of(type);
  std::vector<int> sizes(n), starts(n), mine(n), from(n);
  int64_t share = 0;
  for (size_t r = 0; r < n; ++r) {
    int64_t begin = count * static_cast<int64_t>(r) / size_, end = count * static_cast<int64_t>(r + 1) / size_;
    sizes[r] = static_cast<int>((end - begin) * bytes);
    starts[r] = static_cast<int>(begin * bytes);
    if (static_cast<int>(r) == rank_) share = end - begin;
  }
  for (size_t r = 0; r < n; ++r) {
    mine[r] = static_cast<int>(share * bytes);
    from[r] = static_cast<int>(static_cast<int64_t>(r) * share * bytes);
  }
  mpi_->pieces.resize(static_cast<size_t>(share * bytes) * n);
  mpi_->sum.resize(static_cast<size_t>(share * bytes));
  Mpi::Handle request = nullptr;
  mpi_->ialltoallv(in, sizes.data(), starts.data(), mpi_->byte, mpi_->pieces.data(), mine.data(), from.data(),
                   mpi_->byte, mpi_->world, &request);
  mpi_->wait(request);
  add_parts(type, mpi_->pieces.data(), mpi_->sum.data(), share, size_);
  mpi_->iallgatherv(mpi_->sum.data(), static_cast<int>(share * bytes), mpi_->byte, out, sizes.data(), starts.data(),
                    mpi_->byte, mpi_->world, &request);
  mpi_->wait(request);
}

void Ranks::all_reduce(DType type, int64_t count, const std::byte* in, std::byte* out) {
  if (!mpi_) {
    if (in != out) std::copy_n(in, count * size_of(type), out);
    return;
  }
  agree({What::AllReduce, static_cast<int64_t>(type), count, 0});
  constexpr int64_t most = 8 << 20; // bytes at a time: bounds the buffers, and MPI counts in int
  const int64_t piece = most / size_of(type);
  for (int64_t begin = 0; begin < count; begin += piece) {
    int64_t at = begin * size_of(type);
    reduce_piece(type, std::min(piece, count - begin), in + at, out + at);
  }
}

void Ranks::require(int64_t rank) const {
  if (rank >= 0 && rank < size_) return;
  throw rank_error("NoSuchRank", fmt::format("there is no rank {}: the processes are 0 to {}", rank, size_ - 1));
}

void Ranks::broadcast(DType type, int64_t count, std::byte* data, int root) {
  if (root < 0 || root >= size_)
    throw rank_error("NoSuchRank",
                     fmt::format("broadcast from rank {}, and there are {} (0 to {})", root, size_, size_ - 1));
  if (!mpi_) return;
  agree({What::Broadcast, static_cast<int64_t>(type), count, root});
  constexpr int64_t most = 1 << 30;
  for (int64_t begin = 0, bytes = count * size_of(type); begin < bytes; begin += most) {
    Mpi::Handle request = nullptr;
    mpi_->ibcast(data + begin, static_cast<int>(std::min(most, bytes - begin)), mpi_->byte, root, mpi_->world,
                 &request);
    mpi_->wait(request);
  }
}

void Ranks::finish() {
  if (!mpi_) return;
  agree({What::End, 0, 0, 0});
  others = false;
  mpi_->finalize();
}

void Ranks::abort(int exit_code) {
  if (mpi_) mpi_->abort(mpi_->world, exit_code);
  std::_Exit(exit_code);
}

} // namespace tl
