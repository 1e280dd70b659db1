// One card through libcuda: memory, streams, modules, copies, launches.
#pragma once
#include "vm/abi/gpu_kernel.h"
#include "vm/card.h"
#include "vm/gpu/cuda_api.h"
#include "vm/operation.h"
#include <array>
#include <map>
#include <mutex>
#include <unordered_map>

namespace tl {

// All cards that the driver has. Throws RuntimeError where there is none, with the reason and what to do.
std::vector<std::shared_ptr<Card>> open_cards();

class GpuCard : public Card, public MemorySource {
public:
  GpuCard(const cuda::Driver& driver, int ordinal);
  ~GpuCard() override;

  const CardFacts& facts() const override { return facts_; }
  MemorySource& memory() override { return *this; }
  uint64_t blocks_at_once() const override { return static_cast<uint64_t>(facts_.multiprocessors) * 8; }
  std::unique_ptr<CardQueue> open(Engine& engine, int device) override;
  void copy_in(std::byte* to, const std::byte* from, int64_t bytes, uint64_t after) override;
  void copy_out(std::byte* to, const std::byte* from, int64_t bytes) override;

  std::byte* map(uint64_t bytes) override;
  void unmap(std::byte* data, uint64_t bytes) override;
  void fill(std::byte* data, int value, uint64_t bytes) override;
  bool divisible() const override { return false; } // an allocation is freed as a whole
  uint64_t moment() const override { return moment_.load(std::memory_order_acquire); }

  // ---- of its queue (vm/gpu/card/queue.h) ----

  // Pinned memory that kernels write failures to, one record for each site of a kernel.
  struct Records {
    GpuRecord* host = nullptr;
    cuda::Pointer device = 0;
    size_t count = 0;
  };
  Records take_records(size_t count);
  void give_back(const Records& records);
  // Puts an operation's copies and phases on the compute stream. One at a time.
  void launch(const Operation& op, const Records& records);
  // Waits until all is done that was launched before it is called, and returns the moment of that.
  uint64_t finish();

private:
  static constexpr size_t kPiece = size_t{4} << 20; // of a copy, by way of pinned memory
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
  void close(Direction& direction);
  cuda::Function function(const GpuKernel& kernel, const std::string& name);
  void advance() { moment_.fetch_add(1, std::memory_order_acq_rel); }

  const cuda::Driver& cuda_;
  const cuda::Device device_;
  CardFacts facts_;
  cuda::Context context_ = nullptr;
  cuda::Stream compute_ = nullptr;
  cuda::Event finished_ = nullptr; // of finish()
  std::atomic<uint64_t> moment_{0}, done_{0};
  Direction in_, out_;
  std::map<const GpuImage*, LoadedImage> images_; // with launch()
  std::vector<uint64_t> packed_;                  // the struct of a launch
  std::mutex records_mutex_;
  std::map<size_t, std::vector<Records>> free_records_; // by count
  std::vector<void*> record_chunks_;
  Records unused_; // of the last chunk
};

} // namespace tl
