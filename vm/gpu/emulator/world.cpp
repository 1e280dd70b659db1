#include "vm/gpu/emulator/world.h"
#include "vm/gpu/emulator/nvrtc.h"
#include "vm/gpu/emulator/report.h"
#include <fmt/format.h>

namespace tl::emulator {
namespace {

using namespace cuda;

std::mutex& the_lock() {
  static auto* const lock = new std::mutex;
  return *lock;
}

Options& the_options() {
  static auto* const options = new Options;
  return *options;
}

// Made by the first call; it is never destroyed, as threads may use it when the process ends.
std::unique_ptr<World>& the_world() {
  static auto* const world = new std::unique_ptr<World>;
  return *world;
}

World& world_now() {
  std::unique_ptr<World>& world = the_world();
  if (!world) world = std::make_unique<World>(the_options());
  return *world;
}

thread_local Context current_context = nullptr;
thread_local const World* current_of = nullptr; // the world that the context is of

Live count(const World& world) {
  Live live;
  for (const auto& context : world.contexts) {
    live.allocations += context->memory.allocations();
    live.bytes += context->memory.live_bytes();
    live.contexts += context->retained > 0;
  }
  live.host_allocations = world.host.size();
  live.modules = world.modules.size();
  live.streams = world.streams.size();
  live.events = world.events.size();
  live.cublas =
      world.cublas.size() + world.cublas_descs.size() + world.cublas_layouts.size() + world.cublas_preferences.size();
  return live;
}

} // namespace

World::World(const Options& o)
    : options(o), window(o.devices, o.memory), scheduler(o.seed), random(o.seed ^ 0x6b65726e656c73),
      races(o.racecheck ? std::make_unique<Races>() : nullptr) {
  for (int d = 0; d < o.devices; ++d)
    contexts.push_back(std::unique_ptr<OpaqueContext>(
        new OpaqueContext{d, 0, kSuccess, {}, {window.begin(d), window.span(), window.offset(), o.memory}}));
}

bool World::pinned(uint64_t address) const {
  auto after = host.upper_bound(address);
  if (after == host.begin()) return false;
  auto found = std::prev(after);
  return address - found->first < found->second;
}

void World::force_all(Context context) {
  std::vector<Queue*> queues;
  for (const auto& [stream, owned] : streams)
    if (stream->context == context) queues.push_back(&stream->queue);
  scheduler.force_all(queues);
}

Call::Call(const char* function)
    : world((the_lock().lock(), world_now())), lock_(the_lock(), std::adopt_lock), function_(function) {}

Context Call::current() { return current_of == the_world().get() ? current_context : nullptr; }

void Call::make_current(Context context) {
  current_context = context;
  current_of = the_world().get();
}

Result Call::fail(Result error, std::string_view why) const {
  complain(fmt::format("{}: {}", function_, why));
  return error;
}

Result Call::ready() const { return world.ready ? kSuccess : fail(kNotInitialized, "before cuInit"); }

Result Call::context() const {
  if (Result error = ready()) return error;
  if (!current()) return fail(kInvalidContext, "this thread has no current context");
  if (current()->retained == 0) return fail(kInvalidContext, "the current context was released");
  return current()->error;
}

Result Call::stream(Stream stream) const {
  if (Result error = context()) return error;
  if (!stream) return fail(kInvalidHandle, "the default stream, which tl never uses");
  if (!world.streams.count(stream)) return fail(kInvalidHandle, "no stream, or one that was destroyed");
  if (stream->context == current()) return kSuccess;
  return fail(kInvalidHandle, fmt::format("a stream of device {} while the context of device {} is current",
                                          stream->context->device, current()->device));
}

Result Call::event(Event event) const {
  if (Result error = context()) return error;
  return world.events.count(event) ? kSuccess : fail(kInvalidHandle, "no event, or one that was destroyed");
}

Result Call::range(Context context, Pointer address, uint64_t bytes) const {
  if (context->memory.holds(address, bytes)) return kSuccess;
  Line line;
  line.add("{} bytes at {:#x} are not all in one live allocation of device {}: ", bytes, address, context->device);
  size_t before = line.text().size();
  for (const auto& other : world.contexts)
    if (other->memory.covers(address)) {
      line.add("on device {}, ", other->device);
      other->memory.describe(line, address);
    }
  if (line.text().size() == before) line.add("not an address of a card");
  current()->error = kIllegalAddress;
  return fail(kIllegalAddress, line.text());
}

void configure(const Options& options) {
  std::lock_guard held(the_lock());
  if (std::unique_ptr<World>& world = the_world()) {
    Live live = count(*world);
    if (live.allocations + live.host_allocations + live.modules + live.streams + live.events + live.contexts +
            live.cublas >
        0)
      stop("configure: what another card holds is still in use");
    world.reset();
    current_of = nullptr;
  }
  the_options() = options;
  configure_nvrtc(options);
  if (options.devices > 0) world_now(); // what it needs of the system is refused here, not in the midst of a call
}

size_t racing_kernels() {
  std::lock_guard held(the_lock());
  const World* world = the_world().get();
  return world && world->races ? world->races->kernels() : 0;
}

Live live() {
  std::lock_guard held(the_lock());
  return the_world() ? count(*the_world()) : Live{};
}

} // namespace tl::emulator
