#include "vm/gpu/emulator/modules.h"
#include "vm/gpu/emulator/fibers.h"
#include "vm/gpu/emulator/hash.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tl::emulator {
namespace {

struct Header {
  char kind[8];
  uint64_t bytes, checksum;
};
constexpr char kKind[8] = {'t', 'l', ' ', 'e', 'm', 'u', '1', '\n'};

bool write_all(int file, const char* data, size_t bytes) {
  while (bytes > 0) {
    ssize_t count = write(file, data, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

const char* body_of(const void* image, Header& header) {
  std::memcpy(&header, image, sizeof header);
  return static_cast<const char*>(image) + sizeof header;
}

} // namespace

std::string image_of(const std::string& shared_object) {
  Header header{};
  std::memcpy(header.kind, kKind, sizeof kKind);
  header.bytes = shared_object.size();
  header.checksum = hash(shared_object);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + shared_object;
}

bool is_image(const void* image, size_t bytes) {
  Header header;
  if (bytes < sizeof header) return false;
  const char* body = body_of(image, header);
  return std::memcmp(header.kind, kKind, sizeof kKind) == 0 && header.bytes == bytes - sizeof header &&
         hash({body, header.bytes}) == header.checksum;
}

std::unique_ptr<Code> Code::load(const void* image, std::string* why) {
  Header header;
  const char* body = body_of(image, header);
  if (std::memcmp(header.kind, kKind, sizeof kKind) != 0) {
    *why = "an image that was not compiled for the emulator";
    return nullptr;
  }
  if (hash({body, header.bytes}) != header.checksum) {
    *why = "a damaged image";
    return nullptr;
  }
  int file = memfd_create("tl-kernels", MFD_CLOEXEC);
  if (file < 0 || !write_all(file, body, header.bytes)) {
    *why = fmt::format("no memory for an image of {} bytes: {}", header.bytes, std::strerror(errno));
    if (file >= 0) close(file);
    return nullptr;
  }
  void* library = dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* message = dlerror();
    *why = message ? message : "dlopen has failed";
    close(file);
    return nullptr;
  }
  std::unique_ptr<Code> code(new Code(file, library));
  auto bind = reinterpret_cast<Bind>(dlsym(library, kBindSymbol));
  if (!bind) {
    *why = fmt::format("an image without {}", kBindSymbol);
    return nullptr;
  }
  bind(&runtime(), &code->shared_begin_, &code->shared_end_);
  return code;
}

Code::~Code() {
  dlclose(library_);
  close(file_);
}

const tl_kernel* Code::kernel(const std::string& name) const {
  return static_cast<const tl_kernel*>(dlsym(library_, (name + kKernelSuffix).c_str()));
}

} // namespace tl::emulator
