// What a library shows of itself: its functions for C, as a header and as LLVM IR.
#pragma once
#include "abi/interface.h"
#include <string>
#include <vector>

namespace tl {

struct LibraryFunction {
  std::string name; // in the program
  std::string doc;
  ProgramInterface interface; // as the checker gives it for an exported function
};

struct Library {
  std::string name; // what all symbols begin with; a C identifier
  std::string doc;
  std::vector<LibraryFunction> functions;
};

// The symbols that can be seen of it.
std::vector<std::string> exported_symbols(const Library& library);
std::string c_header(const Library& library);
// Functions of a few instructions, which put their arguments into memory and call tl_library_call with the function's
// number (driver/built/library.cpp).
std::string c_functions(const Library& library);

} // namespace tl
