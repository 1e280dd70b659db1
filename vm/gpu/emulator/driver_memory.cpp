// Memory of cards and of the host, and copies.
#include "vm/gpu/emulator/world.h"
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>

namespace tl::emulator::driver {
namespace {

// Copies and fills happen when they run, not when they are issued: the host's memory is read and written then.
void add_copy(Stream stream, void* to, const void* from, size_t bytes) {
  stream->queue.add({[=] { std::memmove(to, from, bytes); }, nullptr});
}

// What must be the host's.
Result check_host(const Call& call, const void* memory) {
  if (memory && !call.world.window.covers(reinterpret_cast<uint64_t>(memory))) return kSuccess;
  return call.fail(kInvalidValue, fmt::format("{} is no memory of the host", memory));
}

void* host_of(const Call& call, Pointer address) {
  return reinterpret_cast<void*>(address + call.world.window.offset());
}

} // namespace

Result memory_info(size_t* free, size_t* total) {
  Call call("cuMemGetInfo_v2");
  if (Result error = call.context()) return error;
  const DeviceMemory& memory = Call::current()->memory;
  *total = memory.limit();
  *free = memory.limit() - memory.live_bytes();
  return kSuccess;
}

Result allocate(Pointer* address, size_t bytes) {
  Call call("cuMemAlloc_v2");
  if (Result error = call.context()) return error;
  if (bytes == 0) return call.fail(kInvalidValue, "no bytes");
  *address = Call::current()->memory.allocate(bytes);
  return *address ? kSuccess : kOutOfMemory;
}

// As on a card, first all that was issued on the device runs.
Result free(Pointer address) {
  Call call("cuMemFree_v2");
  if (Result error = call.context()) return error;
  if (address == 0) return kSuccess;
  for (const auto& context : call.world.contexts) {
    if (!context->memory.covers(address)) continue;
    for (const auto& any : call.world.contexts) // others may use it as peers
      call.world.force_all(any.get());
    if (context->memory.free(address)) return kSuccess;
    Line line;
    line.add("{:#x} begins no live allocation: ", address);
    context->memory.describe(line, address);
    return call.fail(kInvalidValue, line.text());
  }
  return call.fail(kInvalidValue, fmt::format("{:#x} is not an address of a card", address));
}

Result allocate_host(void** address, size_t bytes, unsigned flags) {
  Call call("cuMemHostAlloc");
  if (Result error = call.context()) return error;
  if (bytes == 0 || (flags & ~(kHostAllocPortable | kHostAllocDeviceMap)) != 0) return kInvalidValue;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kOutOfMemory;
  std::memset(memory, kPoison, bytes);
  call.world.host.emplace(reinterpret_cast<uint64_t>(memory), bytes);
  *address = memory;
  return kSuccess;
}

Result free_host(void* address) {
  Call call("cuMemFreeHost");
  if (Result error = call.context()) return error;
  auto found = call.world.host.find(reinterpret_cast<uint64_t>(address));
  if (found == call.world.host.end())
    return call.fail(kInvalidValue, fmt::format("{} begins no live pinned memory", address));
  for (const auto& context : call.world.contexts)
    call.world.force_all(context.get());
  munmap(address, found->second);
  call.world.host.erase(found);
  return kSuccess;
}

Result host_pointer(Pointer* address, void* host, unsigned flags) {
  Call call("cuMemHostGetDevicePointer_v2");
  if (Result error = call.context()) return error;
  if (flags != 0 || !call.world.pinned(reinterpret_cast<uint64_t>(host)))
    return call.fail(kInvalidValue, fmt::format("{} is not pinned memory", host));
  *address = reinterpret_cast<Pointer>(host);
  return kSuccess;
}

Result copy_to_device(Pointer to, const void* from, size_t bytes, Stream stream) {
  Call call("cuMemcpyHtoDAsync_v2");
  if (Result error = call.stream(stream)) return error;
  if (Result error = call.range(Call::current(), to, bytes)) return error;
  if (Result error = check_host(call, from)) return error;
  add_copy(stream, host_of(call, to), from, bytes);
  return kSuccess;
}

Result copy_to_host(void* to, Pointer from, size_t bytes, Stream stream) {
  Call call("cuMemcpyDtoHAsync_v2");
  if (Result error = call.stream(stream)) return error;
  if (Result error = call.range(Call::current(), from, bytes)) return error;
  if (Result error = check_host(call, to)) return error;
  add_copy(stream, to, host_of(call, from), bytes);
  return kSuccess;
}

Result copy_on_device(Pointer to, Pointer from, size_t bytes, Stream stream) {
  Call call("cuMemcpyDtoDAsync_v2");
  if (Result error = call.stream(stream)) return error;
  if (Result error = call.range(Call::current(), to, bytes)) return error;
  if (Result error = call.range(Call::current(), from, bytes)) return error;
  add_copy(stream, host_of(call, to), host_of(call, from), bytes);
  return kSuccess;
}

Result copy_to_peer(Pointer to, Context to_context, Pointer from, Context from_context, size_t bytes, Stream stream) {
  Call call("cuMemcpyPeerAsync");
  if (Result error = call.stream(stream)) return error;
  if (!to_context || !from_context) return kInvalidContext;
  if (Result error = call.range(to_context, to, bytes)) return error;
  if (Result error = call.range(from_context, from, bytes)) return error;
  add_copy(stream, host_of(call, to), host_of(call, from), bytes);
  return kSuccess;
}

Result fill_bytes(Pointer to, unsigned char value, size_t count, Stream stream) {
  Call call("cuMemsetD8Async");
  if (Result error = call.stream(stream)) return error;
  if (Result error = call.range(Call::current(), to, count)) return error;
  void* memory = host_of(call, to);
  stream->queue.add({[=] { std::memset(memory, value, count); }, nullptr});
  return kSuccess;
}

} // namespace tl::emulator::driver
