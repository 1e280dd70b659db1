// RuntimeDyld rather than ORC: one object is one piece of memory, there is nothing to look up across objects, and a
// session costs more than linking a kernel.
#include "backend/cpu/link.h"
#include "backend/cpu/llvm_guard.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <llvm/ExecutionEngine/RTDyldMemoryManager.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace tl {
namespace {

[[noreturn]] void fail(const std::string& reason) {
  throw std::logic_error("internal error: linking a kernel: " + reason);
}

// All sections of an object are in one mapping, so that they reach each other with 32-bit offsets: code, constants and
// data, each from a page of its own.
class Memory : public llvm::RTDyldMemoryManager {
public:
  ~Memory() override {
    if (base_) ::munmap(base_, size_);
  }

  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code, llvm::Align, uintptr_t constants, llvm::Align, uintptr_t data,
                              llvm::Align) override {
    uintptr_t at = 0;
    // RuntimeDyld does not count the addresses of functions outside (memset and its kind), which it puts among the
    // data.
    uintptr_t sizes[kParts] = {code, constants, data + kMostOutside * sizeof(void*)};
    for (int i = 0; i < kParts; ++i) {
      parts_[i] = {at, at};
      at += whole_pages(sizes[i]);
      parts_[i].limit = at;
    }
    size_ = at;
    void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) base_ = static_cast<uint8_t*>(memory);
  }
  uint8_t* allocateCodeSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef) override {
    return allocate(kCode, size, align);
  }
  uint8_t* allocateDataSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef, bool read_only) override {
    return allocate(read_only ? kConstants : kData, size, align);
  }
  bool finalizeMemory(std::string* reason) override { // true: it failed
    return protect(kCode, PROT_READ | PROT_EXEC, reason) || protect(kConstants, PROT_READ, reason);
  }

  uint64_t getSymbolAddress(const std::string& name) override {
    return reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, name.c_str())); // memset and its kind
  }

private:
  enum { kCode, kConstants, kData, kParts };
  static constexpr uintptr_t kMostOutside = 512; // a page of them
  struct Part {
    uintptr_t next = 0, start = 0, limit = 0; // offsets in the mapping
    Part() = default;
    Part(uintptr_t begin, uintptr_t end) : next(begin), start(begin), limit(end) {}
  };

  static uintptr_t whole_pages(uintptr_t size) {
    static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    return (size + page - 1) / page * page;
  }
  uint8_t* allocate(int part, uintptr_t size, unsigned align) {
    Part& p = parts_[part];
    uintptr_t at = llvm::alignTo(p.next, align ? align : 1);
    if (!base_ || at + size > p.limit) return nullptr; // RuntimeDyld reports it
    p.next = at + size;
    return base_ + at;
  }
  bool protect(int part, int how, std::string* reason) {
    const Part& p = parts_[part];
    if (p.start == p.limit || ::mprotect(base_ + p.start, p.limit - p.start, how) == 0) return false;
    if (reason) *reason = std::strerror(errno);
    return true;
  }

  uint8_t* base_ = nullptr;
  uintptr_t size_ = 0;
  Part parts_[kParts];
};

class Object : public LinkedObject {
public:
  explicit Object(std::string_view bytes) : linker_(memory_, memory_) {
    auto object = llvm::object::ObjectFile::createObjectFile(
        llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "kernel"));
    if (!object) fail(llvm::toString(object.takeError()));
    loaded_ = linker_.loadObject(**object);
    if (!loaded_ || linker_.hasError()) fail(linker_.getErrorString().str());
    linker_.resolveRelocations();
    if (linker_.hasError()) fail(linker_.getErrorString().str());
    std::string reason;
    if (memory_.finalizeMemory(&reason)) fail(reason);
  }

  void* find(const std::string& symbol) const override {
    return reinterpret_cast<void*>(linker_.getSymbol(symbol).getAddress());
  }

private:
  Memory memory_;
  llvm::RuntimeDyld linker_;
  std::unique_ptr<llvm::RuntimeDyld::LoadedObjectInfo> loaded_;
};

} // namespace

std::unique_ptr<LinkedObject> link_object(std::string_view bytes) {
  LlvmGuard guard;
  return std::make_unique<Object>(bytes);
}

} // namespace tl
