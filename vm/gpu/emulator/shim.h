// What is in front of a kernel text when it is compiled for the host: the words of CUDA C++ as C++17.
#pragma once
#include <string>

namespace tl::emulator {

// Everything up to the text, whose lines then count from 1. It includes no header: a compile takes a tenth of a second.
const std::string& shim();

} // namespace tl::emulator
