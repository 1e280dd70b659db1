// Numbers of devices: cpu(i) is i, gpu(i) is kFirstGpu + i. A value of the element type Device is such a number.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tl {

constexpr int64_t kFirstGpu = 1000;
constexpr int16_t kNoDevice = -1; // of a tensor that belongs to no device, and goes along with those that do

enum class DeviceKind : uint8_t { Cpu, Gpu };

std::string device_name(int64_t device); // "cpu(1)", "gpu(0)", "no device"
// Of "cpu", "cpu(1)", "cpu:1" and the same with gpu; nothing where it is no such text.
std::optional<int64_t> device_from_text(std::string_view text);

// Of the machine, as the system tells it.
std::string processor_name();
uint64_t physical_memory(); // bytes
int processor_count();

} // namespace tl
