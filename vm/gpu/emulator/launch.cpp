// A kernel on the memory of its card, and what is said when it touches what it must not.
#include "vm/gpu/emulator/fibers.h"
#include "vm/gpu/emulator/report.h"
#include "vm/gpu/emulator/world.h"
#include <csignal>
#include <unistd.h>

namespace tl::emulator {
namespace {

// Of the kernel that runs; under the lock.
World* running_world = nullptr;
cuda::Context running_context = nullptr;
uint64_t strange = 0; // the last address that it decoded and may not use
uint64_t of_host = 0; // how many addresses of the host's memory it has decoded
constexpr uint64_t kMostOfHost = 1000;
thread_local bool running_here = false;

// For addresses that are not in the memory of the running card.
void* elsewhere(unsigned long long address) {
  const World& world = *running_world;
  if (address == 0) return nullptr;
  if (world.pinned(address)) {
    ++of_host;
    return reinterpret_cast<void*>(address);
  }
  for (int peer : running_context->peers)
    if (world.contexts[static_cast<size_t>(peer)]->memory.covers(address))
      return reinterpret_cast<void*>(address + world.window.offset());
  strange = address; // a fault only where it is used: in the part of the window that nobody may touch
  return reinterpret_cast<void*>(world.window.begin(0) + address % 4096);
}

// With racecheck.
void on_access(const void* at, unsigned bytes, unsigned write) {
  const tl_runtime& r = runtime();
  World& world = *running_world;
  Races::Found f;
  if (!world.races->access(reinterpret_cast<uint64_t>(at), bytes, write != 0, r.block.x, r.thread.x, f)) return;
  const char* name = "";
  unsigned block = 0, thread = 0;
  running(&name, &block, &thread);
  Line line;
  line.add("race in kernel {}: thread {} of block {} {} ", std::string_view(name), f.other_thread, f.other_block,
           f.other_writes ? "writes" : "reads");
  if (f.shared)
    line.add("shared memory");
  else
    running_context->memory.describe(line, f.at - world.window.offset());
  line.add(", thread {} of {} {} it, and nothing orders them", f.thread,
           f.block == f.other_block ? "the same block" : fmt::format("block {}", f.block),
           f.writes ? "writes" : "reads");
  complain(line.text());
}

void say_where(Line& line, uint64_t address) {
  const World& world = *running_world;
  uint64_t offset = world.window.offset();
  if (world.window.covers(address)) {
    if (!strange) return line.add("{:#x}, an address that was not decoded", address);
    return line.add("{:#x}, which is no memory of device {}, of an enabled peer, or pinned", strange,
                    running_context->device);
  }
  for (const auto& context : world.contexts)
    if (context->memory.covers(address - offset)) {
      line.add("{:#x} of device {}: ", address - offset, context->device);
      return context->memory.describe(line, address - offset);
    }
  if (address < 4096) return line.add("a null pointer");
  line.add("{:#x} of the host, or its stack is too small", address);
}

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
struct sigaction before[std::size(kSignals)];

// Says which kernel it was; then the signal comes again, to who handled it before.
void on_fault(int signal, siginfo_t* info, void*) {
  const char* name = nullptr;
  unsigned block = 0, thread = 0;
  if (running_here && running(&name, &block, &thread)) {
    Line line;
    line.add("tl emulator: kernel {}, block {}, thread {} ", std::string_view(name), block, thread);
    if (signal == SIGSEGV || signal == SIGBUS) {
      line.add("touches ");
      say_where(line, reinterpret_cast<uint64_t>(info->si_addr));
    } else {
      line.add("{}", signal == SIGFPE ? "divides an integer by zero" : "traps");
    }
    line.add("\n");
    if (write(2, line.text().data(), line.text().size()) < 0) return;
  }
  for (size_t i = 0; i < std::size(kSignals); ++i)
    sigaction(kSignals[i], &before[i], nullptr);
}

// While a kernel runs. Its stack may be what is exhausted, so the handler has one of its own.
class Watch {
public:
  Watch() {
    stack_t now{};
    if (sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE)) {
      static thread_local char stack[64 << 10];
      stack_t own{};
      own.ss_sp = stack;
      own.ss_size = sizeof stack;
      sigaltstack(&own, nullptr);
      own_stack_ = true;
    }
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &action, &before[i]);
    running_here = true;
  }
  ~Watch() {
    running_here = false;
    for (size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &before[i], nullptr);
    if (!own_stack_) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

private:
  bool own_stack_ = false;
};

} // namespace

void run_kernel(World& world, const Launch& launch) {
  const Code& code = *launch.function->module->code;
  const DeviceMemory& memory = launch.context->memory;
  tl_runtime& r = runtime();
  r.memory = memory.begin();
  r.memory_bytes = memory.span();
  r.to_host = world.window.offset();
  r.elsewhere = elsewhere;
  running_world = &world;
  running_context = launch.context;
  strange = 0;
  of_host = 0;
  Grid grid{launch.function->name.c_str(),
            launch.function->kernel->run,
            launch.arguments.data(),
            launch.blocks,
            launch.threads,
            launch.shared_bytes,
            code.shared_begin(),
            code.shared_end(),
            world.races.get()};
  if (world.races) {
    r.access = on_access;
    r.warp_fence = [] { running_world->races->warp_barrier(runtime().thread.x); };
    world.races->begin_launch(launch.function->name,
                              {memory.begin() + r.to_host, memory.begin() + memory.span() + r.to_host});
  }
  Watch watch;
  run_grid(grid, world.random);
  if (of_host > kMostOfHost)
    complain(fmt::format("kernel {} reaches memory of the host {} times, across the bus", grid.name, of_host));
}

} // namespace tl::emulator
