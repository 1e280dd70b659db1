#include "vm/gpu/card/card.h"
#include "abi/orders.h"
#include "vm/gpu/card/queue.h"
#include "vm/gpu/libraries.h"
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <memory>

namespace tl {

std::vector<std::shared_ptr<Card>> open_cards() {
  const cuda::Loaded<cuda::Driver>& driver = cuda::driver();
  if (!driver.ok) throw RuntimeError{"DeviceError", driver.reason, driver.hint, {}, 2, {}};
  int count = 0;
  if (driver.functions.device_count(&count) != cuda::kSuccess) count = 0;
  std::vector<std::shared_ptr<Card>> cards;
  for (int k = 0; k < count; ++k)
    cards.push_back(std::make_shared<GpuCard>(driver.functions, k));
  return cards;
}

static cuda::Device device_at(const cuda::Driver& driver, int ordinal) {
  cuda::Device device = 0;
  driver.device(&device, ordinal);
  return device;
}

// Machine code runs on later cards of the same major version, and PTX on all later ones, for which the driver compiles
// it: where NVRTC does not know the card itself, the latest that it knows before.
static std::string architecture_of(int major, int minor) {
  const cuda::Loaded<cuda::Nvrtc>& nvrtc = cuda::nvrtc();
  int count = 0, best = -1;
  if (nvrtc.ok && nvrtc.functions.architecture_count(&count) == 0 && count > 0) {
    std::vector<int> known(static_cast<size_t>(count));
    if (nvrtc.functions.architectures(known.data()) == 0)
      for (int architecture : known)
        if (architecture <= 10 * major + minor) best = std::max(best, architecture);
  }
  if (best < 0) return fmt::format("sm_{}{}", major, minor); // NVRTC will say that it does not know it
  return fmt::format("{}_{}", best / 10 == major ? "sm" : "compute", best);
}

std::string common_architecture(const std::vector<std::string>& architectures) {
  auto number = [](const std::string& name) { return std::atoi(name.c_str() + name.find('_') + 1); };
  const std::string& least =
      *std::min_element(architectures.begin(), architectures.end(), [&](const std::string& a, const std::string& b) {
        return std::pair(number(a), a) < std::pair(number(b), b);
      });
  const bool is_code = std::all_of(architectures.begin(), architectures.end(), [&](const std::string& other) {
    return other.starts_with("sm_") && number(other) / 10 == number(least) / 10;
  });
  return is_code ? least : fmt::format("compute_{}", number(least));
}

GpuCard::GpuCard(const cuda::Driver& driver, int ordinal) : cuda_(driver), device_(device_at(driver, ordinal)) {
  char name[256] = "";
  cuda_.device_name(name, sizeof name, device_);
  facts_.name = name;
  auto attribute = [&](cuda::Attribute which) {
    int value = 0;
    cuda_.device_attribute(&value, which, device_);
    return value;
  };
  const int major = attribute(cuda::kMajor), minor = attribute(cuda::kMinor);
  facts_.compute = fmt::format("{}.{}", major, minor);
  facts_.architecture = architecture_of(major, minor);
  facts_.multiprocessors = std::max(1, attribute(cuda::kMultiprocessorCount));
  size_t bytes = 0;
  cuda_.device_memory(&bytes, device_);
  facts_.memory = bytes;
  int version = 0;
  cuda_.driver_version(&version);
  facts_.driver = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  check(cuda_.retain_context(&context_, device_), "cuDevicePrimaryCtxRetain");
  make_current();
  size_t free = bytes;
  check(cuda_.memory_info(&free, &bytes), "cuMemGetInfo");
  facts_.free = free;
  check(cuda_.create_stream(&compute_, cuda::kStreamNonBlocking), "cuStreamCreate");
  products_.emplace(cuda_, facts_.name);
}

GpuCard::~GpuCard() {
  cuda_.set_context(context_);
  cuda_.synchronize_stream(compute_);
  products_.reset();
  close(in_);
  close(out_);
  for (auto& [key, loaded] : images_)
    cuda_.unload_module(loaded.module);
  for (void* chunk : pinned_chunks_)
    cuda_.free_host(chunk);
  for (cuda::Pointer chunk : record_chunks_)
    cuda_.free(chunk);
  for (cuda::Event mark : free_marks_)
    cuda_.destroy_event(mark);
  cuda_.destroy_stream(compute_);
  cuda_.release_context(device_);
}

void GpuCard::make_current() const { check(cuda_.set_context(context_), "cuCtxSetCurrent"); }

void GpuCard::check(cuda::Result result, const char* function) const {
  if (result == cuda::kSuccess) return;
  if (result == cuda::kOutOfMemory)
    throw RuntimeError{"OutOfMemory", fmt::format("{} has no memory left ({})", facts_.name, function), "", {}, 3, {}};
  throw RuntimeError{"DeviceError", facts_.name + ": " + cuda::explain(cuda_, function, result), "", {}, 3, {}};
}

cuda::Event GpuCard::new_event() const {
  cuda::Event event = nullptr;
  check(cuda_.create_event(&event, cuda::kEventBlockingSync | cuda::kEventDisableTiming), "cuEventCreate");
  return event;
}

std::unique_ptr<CardQueue> GpuCard::open(Engine& engine, int device) {
  cuda_.set_context(context_);              // if that fails, so does what comes, and says so
  std::erase_if(images_, [&](auto& entry) { // of programs that are gone
    if (entry.second.image.use_count() > 1) return false;
    cuda_.unload_module(entry.second.module);
    return true;
  });
  return std::make_unique<GpuQueue>(engine, *this, device);
}

// ---- memory ----

std::byte* GpuCard::map(uint64_t bytes) {
  if (cuda_.set_context(context_) != cuda::kSuccess) return nullptr;
  cuda::Pointer address = 0;
  if (cuda_.allocate(&address, bytes) != cuda::kSuccess) return nullptr;
  return reinterpret_cast<std::byte*>(address);
}

void GpuCard::unmap(std::byte* data, uint64_t) {
  cuda_.set_context(context_);
  cuda_.free(reinterpret_cast<cuda::Pointer>(data)); // waits for the card
}

void GpuCard::fill(std::byte* data, int value, uint64_t bytes) {
  cuda_.set_context(context_);
  cuda_.fill_bytes(reinterpret_cast<cuda::Pointer>(data), static_cast<unsigned char>(value), bytes, compute_);
  advance();
}

// ---- copies ----

void GpuCard::prepare(Direction& direction) {
  if (direction.stream) return;
  cuda::Stream stream = nullptr;
  check(cuda_.create_stream(&stream, cuda::kStreamNonBlocking), "cuStreamCreate");
  for (size_t k = 0; k < 2; ++k) {
    check(cuda_.allocate_host(&direction.staging[k], kPiece, cuda::kHostAllocPortable), "cuMemHostAlloc");
    direction.free[k] = new_event();
  }
  direction.stream = stream;
}

void GpuCard::close(Direction& direction) {
  if (!direction.stream) return;
  cuda_.synchronize_stream(direction.stream);
  for (size_t k = 0; k < 2; ++k) {
    cuda_.free_host(direction.staging[k]);
    cuda_.destroy_event(direction.free[k]);
  }
  cuda_.destroy_stream(direction.stream);
}

void GpuCard::wait_in(uint64_t after) {
  if (after <= done_.load(std::memory_order_acquire)) return;
  const cuda::Event event = mark();
  check(cuda_.wait_event(in_.stream, event, 0), "cuStreamWaitEvent");
  give_back(event); // what waits keeps what was recorded
}

void GpuCard::copy_from(const GpuCard& peer, std::byte* to, const std::byte* from, int64_t bytes, uint64_t after) {
  make_current();
  std::lock_guard lock(in_.mutex);
  prepare(in_);
  wait_in(after);
  check(cuda_.copy_to_peer(reinterpret_cast<cuda::Pointer>(to), context_, reinterpret_cast<cuda::Pointer>(from),
                           peer.context_, static_cast<size_t>(bytes), in_.stream),
        "cuMemcpyPeerAsync");
  check(cuda_.record_event(in_.free[0], in_.stream), "cuEventRecord");
  check(cuda_.synchronize_event(in_.free[0]), "cuEventSynchronize");
}

void GpuCard::copy_in(std::byte* to, const std::byte* from, int64_t bytes, uint64_t after) {
  make_current();
  std::lock_guard lock(in_.mutex);
  prepare(in_);
  wait_in(after);
  size_t k = 0;
  for (auto at = size_t{0}; at < static_cast<size_t>(bytes); at += kPiece, ++k) {
    const size_t piece = std::min(kPiece, static_cast<size_t>(bytes) - at);
    const size_t buffer = k % 2;
    if (k >= 2) check(cuda_.synchronize_event(in_.free[buffer]), "cuEventSynchronize");
    std::memcpy(in_.staging[buffer], from + at, piece);
    check(cuda_.copy_to_device(reinterpret_cast<cuda::Pointer>(to + at), in_.staging[buffer], piece, in_.stream),
          "cuMemcpyHtoDAsync");
    check(cuda_.record_event(in_.free[buffer], in_.stream), "cuEventRecord");
  }
  for (size_t buffer = 0; buffer < std::min<size_t>(k, 2); ++buffer)
    check(cuda_.synchronize_event(in_.free[buffer]), "cuEventSynchronize");
}

void GpuCard::copy_out(std::byte* to, const std::byte* from, int64_t bytes) {
  make_current();
  std::lock_guard lock(out_.mutex);
  prepare(out_);
  const auto size = static_cast<size_t>(bytes);
  auto fetch = [&](size_t k) {
    const size_t at = k * kPiece;
    if (at >= size) return;
    check(cuda_.copy_to_host(out_.staging[k % 2], reinterpret_cast<cuda::Pointer>(from + at),
                             std::min(kPiece, size - at), out_.stream),
          "cuMemcpyDtoHAsync");
    check(cuda_.record_event(out_.free[k % 2], out_.stream), "cuEventRecord");
  };
  fetch(0);
  for (size_t k = 0; k * kPiece < size; ++k) {
    fetch(k + 1);
    check(cuda_.synchronize_event(out_.free[k % 2]), "cuEventSynchronize");
    std::memcpy(to + k * kPiece, out_.staging[k % 2], std::min(kPiece, size - k * kPiece));
  }
}

// ---- launches ----

bool GpuCard::takes_brief_copy(int64_t bytes) {
  if (bytes > kBrief) return false;
  if (brief_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kBriefTogether) return true;
  end_brief_copy(bytes);
  return false;
}

// Small blocks are parts of an allocation of so many bytes.
static constexpr size_t kSmallest = 64, kChunk = 64 << 10;

GpuCard::Pinned GpuCard::take_pinned(size_t bytes) {
  if (bytes == 0) return {};
  const size_t size = std::bit_ceil(std::max(bytes, kSmallest));
  std::lock_guard lock(pinned_mutex_);
  std::vector<Pinned>& free = free_pinned_[static_cast<size_t>(std::countr_zero(size))];
  if (free.empty()) {
    make_current();
    const size_t chunk = std::max(size, kChunk);
    void* memory = nullptr;
    check(cuda_.allocate_host(&memory, chunk, cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap), "cuMemHostAlloc");
    pinned_chunks_.push_back(memory);
    cuda::Pointer device = 0;
    check(cuda_.host_pointer(&device, memory, 0), "cuMemHostGetDevicePointer");
    for (size_t at = 0; at < chunk; at += size)
      free.push_back({static_cast<std::byte*>(memory) + at, device + at, size});
  }
  const Pinned pinned = free.back();
  free.pop_back();
  return pinned;
}

void GpuCard::give_back(const Pinned& pinned) {
  if (!pinned.bytes) return;
  std::lock_guard lock(pinned_mutex_);
  free_pinned_[static_cast<size_t>(std::countr_zero(pinned.bytes))].push_back(pinned);
}

GpuCard::Records GpuCard::take_records(size_t sites) {
  if (sites == 0) return {};
  const size_t size = std::bit_ceil(std::max(sites * sizeof(GpuRecord), kSmallest));
  std::lock_guard lock(records_mutex_);
  std::vector<Records>& free = free_records_[static_cast<size_t>(std::countr_zero(size))];
  if (free.empty()) {
    make_current();
    const size_t chunk = std::max(size, kChunk), count = chunk / size;
    cuda::Pointer memory = 0;
    check(cuda_.allocate(&memory, chunk), "cuMemAlloc");
    record_chunks_.push_back(memory);
    check(cuda_.fill_bytes(memory, 0, chunk, compute_), "cuMemsetD8Async");
    const Pinned words = take_pinned(count * sizeof(uint32_t)); // for as long as the card is there
    auto* const failed = reinterpret_cast<uint32_t*>(words.host);
    for (size_t k = 0; k < count; ++k) {
      failed[k] = 0;
      free.push_back({memory + k * size, size, failed + k, words.device + k * sizeof(uint32_t)});
    }
  }
  const Records records = free.back();
  free.pop_back();
  return records;
}

void GpuCard::give_back(const Records& records) {
  if (!records.bytes) return;
  std::lock_guard lock(records_mutex_);
  free_records_[static_cast<size_t>(std::countr_zero(records.bytes))].push_back(records);
}

std::vector<GpuRecord> GpuCard::failures(const Records& records, size_t sites) {
  if (!records.bytes || *records.failed == 0) return {};
  std::vector<GpuRecord> result(sites);
  const size_t bytes = sites * sizeof(GpuRecord);
  copy_out(reinterpret_cast<std::byte*>(result.data()), reinterpret_cast<const std::byte*>(records.device),
           static_cast<int64_t>(bytes));
  // Before whatever is launched with them next.
  check(cuda_.fill_bytes(records.device, 0, bytes, compute_), "cuMemsetD8Async");
  *records.failed = 0;
  return result;
}

cuda::Event GpuCard::mark() {
  make_current();
  cuda::Event mark = nullptr;
  {
    std::lock_guard lock(marks_mutex_);
    if (!free_marks_.empty()) {
      mark = free_marks_.back();
      free_marks_.pop_back();
    }
  }
  if (!mark) check(cuda_.create_event(&mark, cuda::kEventBlockingSync), "cuEventCreate");
  check(cuda_.record_event(mark, compute_), "cuEventRecord");
  return mark;
}

double GpuCard::seconds_between(cuda::Event from, cuda::Event to) const {
  float milliseconds = 0;
  check(cuda_.elapsed(&milliseconds, from, to), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

void GpuCard::give_back(cuda::Event mark) {
  std::lock_guard lock(marks_mutex_);
  free_marks_.push_back(mark);
}

cuda::Function GpuCard::function(const GpuKernel& kernel, const std::string& name) {
  LoadedImage& loaded = images_[kernel.image.get()];
  if (!loaded.module) {
    check(cuda_.load_module(&loaded.module, kernel.image->code.data()), "cuModuleLoadData");
    loaded.image = kernel.image;
  }
  cuda::Function& function = loaded.functions[name];
  if (!function) check(cuda_.function(&function, loaded.module, name.c_str()), "cuModuleGetFunction");
  return function;
}

static constexpr uint64_t kGpuWarps = kGpuThreads / 32; // of a block

// Where a launch's threads of a tile are among what it passes.
static constexpr size_t kGroup = 7;

// Threads for a row of independent elements, four for each.
static uint64_t threads_for(int64_t row) {
  return std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>((row + 3) / 4, 1, kGpuThreads)));
}

void GpuCard::launch_phase(const Operation& op, const GpuPhase& phase) {
  const int64_t tiles = phase.tiles.evaluate(op.args.data());
  if (tiles <= 0) return;
  packed_[0] = static_cast<uint64_t>(phase.first.evaluate(op.args.data()));
  packed_[1] = packed_[0] + static_cast<uint64_t>(tiles);
  const int64_t row = phase.row.steps.empty() ? kSumChunk : phase.row.evaluate(op.args.data());
  const bool by_row = !phase.by_row.empty() && row <= kShortRow;
  // Rows of more than kLongRow have a block each, unless there are enough of them.
  const bool many = static_cast<uint64_t>(tiles) >= 2 * blocks_at_once();
  const bool by_warp = !by_row && !phase.by_warp.empty() && row <= (many ? phase.longest_by_warp : kLongRow) &&
                       (op.local_bytes == 0 || op.blocks >= kGpuWarps);   // so many have workspace
  const uint64_t group = phase.by_group ? threads_for(row) : kGpuThreads; // of a tile
  packed_[kGroup] = group;
  const uint64_t at_once = phase.by_thread || by_row ? kGpuThreads // tiles of a block
                           : by_warp                 ? kGpuWarps
                                                     : kGpuThreads / group;
  uint64_t most = op.blocks;
  if (by_warp) most = op.local_bytes ? most / kGpuWarps : blocks_at_once();
  const auto grid = static_cast<unsigned>(std::min((static_cast<uint64_t>(tiles) + at_once - 1) / at_once, most));
  void* parameters[] = {packed_.data()};
  check(cuda_.launch(function(*op.gpu_kernel, by_row    ? phase.by_row
                                              : by_warp ? phase.by_warp
                                                        : phase.function),
                     grid, 1, 1, kGpuThreads, 1, 1, 0, compute_, parameters, nullptr),
        "cuLaunchKernel");
}

bool GpuCard::launch(const Operation& op, const Pinned& pinned, const Records& records) {
  make_current();
  if (op.kind == Operation::Kind::Copy) {
    for (const Operation::Copy& copy : op.copies) {
      const auto bytes = static_cast<size_t>(copy.bytes);
      if (bytes == 0) continue;
      if (op.device == op.card) {
        std::memcpy(pinned.host, copy.from, bytes);
        check(cuda_.copy_to_device(reinterpret_cast<cuda::Pointer>(copy.to), pinned.host, bytes, compute_),
              "cuMemcpyHtoDAsync");
      } else {
        check(cuda_.copy_to_host(pinned.host, reinterpret_cast<cuda::Pointer>(copy.from), bytes, compute_),
              "cuMemcpyDtoHAsync");
      }
    }
    advance();
    return false;
  }
  const GpuKernel& kernel = *op.gpu_kernel;
  for (const Operation::Copy& copy : op.copies)
    check(cuda_.copy_on_device(reinterpret_cast<cuda::Pointer>(copy.to), reinterpret_cast<cuda::Pointer>(copy.from),
                               static_cast<size_t>(copy.bytes), compute_),
          "cuMemcpyDtoDAsync");
  auto address = [](const void* p) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(p)); };
  packed_.assign({0, 0, address(op.card_shared.data), address(op.card_local.data), op.local_bytes, records.device,
                  records.failed_device, 0});
  for (size_t k = 0; k < op.args.size(); ++k) {
    const bool slot = k < op.in_slot.size() && op.in_slot[k];
    packed_.push_back(slot ? 0 : address(op.args[k]));
    if (!kernel.rank_0[k]) continue;
    uint64_t bits = 0;
    if (slot) std::memcpy(&bits, op.args[k], sizeof bits);
    packed_.push_back(bits);
  }
  const bool by_library = kernel.product && products_->launch(op, compute_);
  if (by_library) {
    if (kernel.product->epilogue) launch_phase(op, *kernel.product->epilogue);
  } else {
    for (const GpuPhase& phase : kernel.phases)
      launch_phase(op, phase);
  }
  advance();
  return by_library;
}

void GpuCard::wait(cuda::Event mark, uint64_t moment) {
  make_current();
  // To wake a thread takes longer than most kernels run: it looks for a while before it sleeps.
  constexpr auto awake = std::chrono::microseconds(60);
  const auto until = std::chrono::steady_clock::now() + awake;
  while (cuda_.query_event(mark) == cuda::kNotReady && std::chrono::steady_clock::now() < until) {
  }
  check(cuda_.synchronize_event(mark), "cuEventSynchronize");
  done_.store(moment, std::memory_order_release);
}

} // namespace tl
