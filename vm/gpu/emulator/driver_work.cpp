// Streams, events, modules and launches.
#include "vm/gpu/emulator/fibers.h"
#include "vm/gpu/emulator/world.h"
#include <fmt/format.h>

namespace tl::emulator::driver {

Result create_stream(Stream* stream, unsigned flags) {
  Call call("cuStreamCreate");
  if (Result error = call.context()) return error;
  if ((flags & ~kStreamNonBlocking) != 0) return kInvalidValue;
  auto owned = std::make_unique<OpaqueStream>();
  *stream = owned.get();
  owned->context = Call::current();
  call.world.scheduler.add(&owned->queue);
  call.world.streams.emplace(*stream, std::move(owned));
  return kSuccess;
}

Result destroy_stream(Stream stream) {
  Call call("cuStreamDestroy_v2");
  if (Result error = call.stream(stream)) return error;
  call.world.scheduler.force(&stream->queue, stream->queue.issued());
  call.world.scheduler.remove(&stream->queue);
  call.world.streams.erase(stream);
  return kSuccess;
}

Result query_stream(Stream stream) {
  Call call("cuStreamQuery");
  if (Result error = call.stream(stream)) return error;
  return call.world.scheduler.poll(&stream->queue, stream->queue.issued()) ? kSuccess : kNotReady;
}

Result synchronize_stream(Stream stream) {
  Call call("cuStreamSynchronize");
  if (Result error = call.stream(stream)) return error;
  call.world.scheduler.force(&stream->queue, stream->queue.issued());
  return stream->context->error;
}

Result wait_event(Stream stream, Event event, unsigned flags) {
  Call call("cuStreamWaitEvent");
  if (Result error = call.stream(stream)) return error;
  if (Result error = call.event(event)) return error;
  if (flags != 0) return kInvalidValue;
  if (event->mark && !event->mark->reached) stream->queue.add({nullptr, event->mark});
  return kSuccess;
}

Result create_event(Event* event, unsigned flags) {
  Call call("cuEventCreate");
  if (Result error = call.context()) return error;
  if ((flags & ~(kEventBlockingSync | kEventDisableTiming)) != 0) return kInvalidValue;
  auto owned = std::make_unique<OpaqueEvent>();
  *event = owned.get();
  owned->context = Call::current();
  owned->timed = (flags & kEventDisableTiming) == 0;
  call.world.events.emplace(*event, std::move(owned));
  return kSuccess;
}

// What waits for it keeps what was recorded.
Result destroy_event(Event event) {
  Call call("cuEventDestroy_v2");
  if (Result error = call.event(event)) return error;
  call.world.events.erase(event);
  return kSuccess;
}

Result record_event(Event event, Stream stream) {
  Call call("cuEventRecord");
  if (Result error = call.stream(stream)) return error;
  if (Result error = call.event(event)) return error;
  if (event->context != stream->context)
    return call.fail(kInvalidHandle, fmt::format("an event of device {} on a stream of device {}",
                                                 event->context->device, stream->context->device));
  auto mark = std::make_shared<Mark>();
  mark->queue = &stream->queue;
  stream->queue.add({[mark] {
                       mark->reached = true;
                       mark->at = std::chrono::steady_clock::now();
                     },
                     nullptr});
  mark->place = stream->queue.issued();
  event->mark = mark;
  return kSuccess;
}

Result query_event(Event event) {
  Call call("cuEventQuery");
  if (Result error = call.event(event)) return error;
  const Mark* mark = event->mark.get();
  return !mark || mark->reached || call.world.scheduler.poll(mark->queue, mark->place) ? kSuccess : kNotReady;
}

Result synchronize_event(Event event) {
  Call call("cuEventSynchronize");
  if (Result error = call.event(event)) return error;
  if (const Mark* mark = event->mark.get(); mark && !mark->reached)
    call.world.scheduler.force(mark->queue, mark->place);
  return event->context->error;
}

Result elapsed(float* milliseconds, Event from, Event to) {
  Call call("cuEventElapsedTime");
  for (Event event : {from, to}) {
    if (Result error = call.event(event)) return error;
    if (!event->timed || !event->mark)
      return call.fail(kInvalidHandle, "an event that was made without timing, or never recorded");
    if (!event->mark->reached) return kNotReady;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(to->mark->at - from->mark->at).count();
  return kSuccess;
}

Result load_module(Module* module, const void* image) {
  Call call("cuModuleLoadData");
  if (Result error = call.context()) return error;
  if (!image) return kInvalidValue;
  std::string why;
  std::unique_ptr<Code> code = Code::load(image, &why);
  if (!code) return call.fail(kInvalidImage, why);
  auto owned = std::make_unique<OpaqueModule>();
  *module = owned.get();
  owned->context = Call::current();
  owned->code = std::move(code);
  call.world.modules.emplace(*module, std::move(owned));
  return kSuccess;
}

// First runs what was issued: it may be kernels of the module.
Result unload_module(Module module) {
  Call call("cuModuleUnload");
  if (Result error = call.context()) return error;
  if (!call.world.modules.count(module)) return call.fail(kInvalidHandle, "no module, or one that was unloaded");
  call.world.force_all(module->context);
  for (auto& [name, known] : module->functions)
    call.world.functions.erase(&known);
  call.world.modules.erase(module);
  return kSuccess;
}

Result function(Function* function, Module module, const char* name) {
  Call call("cuModuleGetFunction");
  if (Result error = call.context()) return error;
  if (!call.world.modules.count(module)) return call.fail(kInvalidHandle, "no module, or one that was unloaded");
  auto [found, added] = module->functions.try_emplace(name, OpaqueFunction{module, name, nullptr});
  if (added) found->second.kernel = module->code->kernel(name);
  if (!found->second.kernel) {
    module->functions.erase(found);
    return kNotFound;
  }
  *function = &found->second;
  call.world.functions.insert(*function);
  return kSuccess;
}

Result launch(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
              unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters, void** extra) {
  Call call("cuLaunchKernel");
  if (Result error = call.stream(stream)) return error;
  if (!call.world.functions.count(function))
    return call.fail(kInvalidHandle, "no function, or one of a module that was unloaded");
  Module module = function->module;
  if (module->context != stream->context)
    return call.fail(kInvalidHandle, fmt::format("kernel {} of device {} on a stream of device {}", function->name,
                                                 module->context->device, stream->context->device));
  bool flat = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
  if (!flat || grid_x == 0 || grid_x > 0x7fffffff || block_x == 0 || block_x > kMaxThreads ||
      shared_bytes > kMaxShared || !parameters || extra)
    return call.fail(kInvalidValue,
                     fmt::format("kernel {}: {}×{}×{} blocks of {}×{}×{} threads, {} bytes of shared "
                                 "memory: it takes one parameter, and blocks and threads in x",
                                 function->name, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes));
  const char* arguments = static_cast<const char*>(parameters[0]);
  Launch l{stream->context, function, grid_x, block_x, shared_bytes, {arguments, arguments + function->kernel->bytes}};
  World& world = call.world;
  stream->queue.add({[&world, l = std::move(l)] { run_kernel(world, l); }, nullptr});
  return kSuccess;
}

} // namespace tl::emulator::driver
