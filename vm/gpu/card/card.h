// One card through libcuda: memory, streams, modules, copies, launches.
#pragma once
#include "abi/gpu_kernel.h"
#include "vm/card.h"
#include "vm/gpu/card/products.h"
#include "vm/gpu/cuda_api.h"
#include "vm/operation.h"
#include <array>
#include <map>
#include <mutex>
#include <unordered_map>

namespace tl {

// All cards that the driver has. Throws RuntimeError where there is none, with the reason and what to do.
std::vector<std::shared_ptr<Card>> open_cards();

// What to compile for, so that it runs on all cards of these architectures (at least one): machine code for the least
// of them if they are of one major version, else PTX.
std::string common_architecture(const std::vector<std::string>& architectures);

class GpuCard : public Card, public MemorySource {
public:
  GpuCard(const cuda::Driver& driver, int ordinal);
  ~GpuCard() override;

  const CardFacts& facts() const override { return facts_; }
  MemorySource& memory() override { return *this; }
  uint64_t blocks_at_once() const override { return static_cast<uint64_t>(facts_.multiprocessors) * 8; }
  std::unique_ptr<CardQueue> open(Engine& engine, int device) override;
  bool takes_brief_copy(int64_t bytes) override;
  void copy_in(std::byte* to, const std::byte* from, int64_t bytes, uint64_t after) override;
  void copy_out(std::byte* to, const std::byte* from, int64_t bytes) override;
  // From another card's memory, which nobody writes any more.
  void copy_from(const GpuCard& peer, std::byte* to, const std::byte* from, int64_t bytes, uint64_t after);

  std::byte* map(uint64_t bytes) override;
  void unmap(std::byte* data, uint64_t bytes) override;
  void fill(std::byte* data, int value, uint64_t bytes) override;
  bool divisible() const override { return false; } // an allocation is freed as a whole
  uint64_t moment() const override { return moment_.load(std::memory_order_acquire); }

  // ---- of its queue (vm/gpu/card/queue.h) ----

  // Memory of the host that the card reads and writes: what a brief copy moves, or the words of Records.
  struct Pinned {
    std::byte* host = nullptr;
    cuda::Pointer device = 0;
    size_t bytes = 0; // a power of two
  };
  Pinned take_pinned(size_t bytes); // nothing for nothing
  void give_back(const Pinned& pinned);
  // Where a kernel records its failures: on the card, where many threads may look, a GpuRecord for each of its sites;
  // and a word of the host that says whether any is there, so that they are copied only then. Zeros between uses.
  struct Records {
    cuda::Pointer device = 0;
    size_t bytes = 0; // a power of two
    uint32_t* failed = nullptr;
    cuda::Pointer failed_device = 0;
  };
  Records take_records(size_t sites); // nothing for none
  void give_back(const Records& records);
  // What a kernel has recorded, which is done: nothing, or a record for each site. Then all are zeros again.
  std::vector<GpuRecord> failures(const Records& records, size_t sites);
  void end_brief_copy(int64_t bytes) { brief_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  // Puts an operation on the compute stream: a kernel's copies and phases, or a brief copy by way of `pinned`. One at a
  // time. True: a library has computed its product.
  bool launch(const Operation& op, const Pinned& pinned, const Records& records);
  // An event at the stream's end as it is now: everything up to a moment that was read before comes before it.
  cuda::Event mark();
  void wait(cuda::Event mark, uint64_t moment);                   // for the mark, which was made after this moment
  double seconds_between(cuda::Event from, cuda::Event to) const; // when both are done
  void give_back(cuda::Event mark);

private:
  static constexpr size_t kPiece = size_t{4} << 20; // of a copy, by way of pinned memory
  static constexpr int64_t kBrief = 256 << 10;      // 10 us on the stream
  static constexpr int64_t kBriefTogether = 64 << 20;
  struct Direction {
    std::mutex mutex;
    cuda::Stream stream = nullptr;
    std::array<void*, 2> staging{};
    std::array<cuda::Event, 2> free{};
  };
  struct LoadedImage {
    std::shared_ptr<const GpuImage> image;
    cuda::Module module = nullptr;
    std::unordered_map<std::string, cuda::Function> functions;
  };

  void make_current() const;
  void check(cuda::Result result, const char* function) const; // throws
  cuda::Event new_event() const;
  void prepare(Direction& direction);
  void wait_in(uint64_t after); // in_.stream, for a moment
  void close(Direction& direction);
  cuda::Function function(const GpuKernel& kernel, const std::string& name);
  void launch_phase(const Operation& op, const GpuPhase& phase); // with packed_
  void advance() { moment_.fetch_add(1, std::memory_order_acq_rel); }

  const cuda::Driver& cuda_;
  const cuda::Device device_;
  CardFacts facts_;
  cuda::Context context_ = nullptr;
  cuda::Stream compute_ = nullptr;
  std::atomic<uint64_t> moment_{0}, done_{0};
  Direction in_, out_;
  std::map<const GpuImage*, LoadedImage> images_; // with launch()
  std::vector<uint64_t> packed_;                  // the struct of a launch
  std::optional<GpuProducts> products_;           // the same; while the context is there
  std::mutex pinned_mutex_;
  std::array<std::vector<Pinned>, 64> free_pinned_; // by the exponent of their size
  std::vector<void*> pinned_chunks_;
  std::mutex records_mutex_;
  std::array<std::vector<Records>, 64> free_records_; // the same
  std::vector<cuda::Pointer> record_chunks_;
  std::atomic<int64_t> brief_bytes_{0}; // of brief copies that are issued and not done
  std::mutex marks_mutex_;
  std::vector<cuda::Event> free_marks_;
};

} // namespace tl
