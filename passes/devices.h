// Where tensors of two devices may meet.
#pragma once
#include "ir/graph/graph.h"
#include <stdexcept>

namespace tl {

// A program that surely mixes tensors of two devices.
struct MixedDevices : std::runtime_error {
  MixedDevices(const std::string& what, std::string h, LocId l)
      : std::runtime_error(what), hint(std::move(h)), loc(l) {}
  std::string hint;
  LocId loc;
  std::vector<Location> locations; // of the module
};

// Puts a Guard before each operation whose tensors may be on two devices, and takes out each Place of what surely has a
// device. Leaves modules alone in which nothing names a device. Throws MixedDevices.
//
// Needs: no transforms of functions.
// Gives: an operation whose operands are not poisoned has them on one device (those of no device aside).
ir::Module check_devices(ir::Module module);

// Does something in it name a device?
bool has_devices(const ir::Module& module);

// Which operands of a Kernel node its result number `result` has its device from: tensors that it is computed from
// through tensors. (What is computed from a scalar is where it is computed.)
std::vector<uint32_t> device_operands(const ir::Function& function, const ir::Node& kernel, size_t result);

} // namespace tl
