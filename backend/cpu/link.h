// Object code in memory to functions of this process.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace tl {

// Holds the code of one object file; the functions live as long as it does.
class LinkedObject {
public:
  virtual ~LinkedObject() = default;
  virtual void* find(const std::string& symbol) const = 0; // null: there is none
};

// Relocates an ELF object file that LLVM wrote for this machine. What it does not define comes from the C library.
// Throws std::logic_error, naming the reason, if it cannot be linked.
std::unique_ptr<LinkedObject> link_object(std::string_view bytes);

} // namespace tl
