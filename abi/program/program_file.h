// A program as bytes: what built executables carry. Internal, and made for one build of tl: another one refuses it.
#pragma once
#include "abi/declaration.h"
#include "abi/kernel.h"
#include "abi/program/bytecode.h"
#include <span>
#include <string>

namespace tl {

// A source file, for messages.
struct ProgramSource {
  std::string name, text;
};

// The kernels of a program, compiled for one kind of processor.
struct KernelVariant {
  uint32_t features = 0;                // that the processor must have (abi/processor.h)
  std::vector<CompiledKernel> kernels;  // without functions
  std::vector<uint32_t> first_function; // of each kernel, in the table of all functions
};

// Which of the programs makes a call of a Python package.
struct ProgramCall {
  std::string expression; // what is called: "predict", "Model", a lambda; "f(x)" for the default of f's parameter x
  std::string function;   // of the program, which its failures may name: it stands for the expression
  uint32_t program = 0;
};

// What an executable or a library needs beside machine code. Its programs number the same kernels.
struct ProgramFile {
  std::vector<Program> programs;         // one; of a library, one for each function
  std::vector<ProgramSource> sources;    // the first is the program's own
  std::vector<Declaration> declarations; // of a Python package, with `calls`; none of others
  std::vector<ProgramCall> calls;
  std::vector<KernelVariant> variants; // the last that the processor can run is used
};

// Constants of the program are in it as they are, each at a multiple of 64 bytes from the start.
std::string write_program(const ProgramFile& file);

// Constants stay where they are: `bytes` must live as long as the program and start at a multiple of 64. Throws
// std::runtime_error where these are no bytes of write_program of this build, or broken ones.
ProgramFile read_program(std::span<const std::byte> bytes);

} // namespace tl
