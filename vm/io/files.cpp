// Which format a file has, and replacing one atomically.
#include "vm/io/npy.h"
#include "vm/io/png_file.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tl {

struct TensorReader::Impl {
  Source source;
  TensorHeader header;
  std::optional<NpyLayout> npy; // else a PNG
};

TensorReader::TensorReader(const std::string& path) : impl_(new Impl{Source(path), {}, {}}) {
  if (is_npy(impl_->source)) {
    impl_->npy = read_npy_layout(impl_->source);
    impl_->header = impl_->npy->header;
  } else if (is_png(impl_->source)) {
    impl_->header = read_png_header(impl_->source);
  } else {
    throw IoError(fmt::format("cannot read '{}': {}", path,
                              impl_->source.size() ? "it is neither .npy nor PNG by its content" : "it is empty"));
  }
}
TensorReader::~TensorReader() = default;
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;

const TensorHeader& TensorReader::header() const { return impl_->header; }

void TensorReader::read(std::byte* out) {
  if (impl_->npy)
    read_npy_data(impl_->source, *impl_->npy, out);
  else
    read_png_data(impl_->source, impl_->header, out);
}

TensorHeader peek_header(const std::string& path) { return TensorReader(path).header(); }

HostTensor load_tensor(const std::string& path) {
  TensorReader reader(path);
  HostTensor result = HostTensor::make(reader.header().dtype, reader.header().dims);
  reader.read(result.data());
  return result;
}

void require_type(const std::string& path, const TensorHeader& header, DType dtype, size_t rank) {
  if (header.dtype == dtype && header.dims.size() == rank) return;
  std::string wanted{name_of(dtype)};
  for (size_t i = 0; i < rank; ++i)
    wanted += i ? ", _" : "[_";
  if (rank) wanted += ']';
  throw IoError(fmt::format("'{}' holds {}, not {}", path, type_text(header.dtype, header.dims), wanted),
                "FileMismatch");
}

namespace {

// Closes a descriptor and removes a temporary file unless it was renamed.
struct Temporary {
  int descriptor = -1;
  std::string path;
  ~Temporary() {
    if (descriptor >= 0) ::close(descriptor);
    if (!path.empty()) ::unlink(path.c_str());
  }
};

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw IoError(fmt::format("cannot write '{}': {}", path, system_error_text(error)));
}

void write_bytes(int descriptor, const std::byte* data, size_t count) {
  while (count > 0) {
    ssize_t done = ::write(descriptor, data, std::min<size_t>(count, size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw std::system_error(errno, std::generic_category());
    data += done;
    count -= static_cast<size_t>(done);
  }
}

std::string extension_of(const std::string& path) {
  size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return "";
  std::string extension = path.substr(dot);
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return extension;
}

} // namespace

void write_file_atomically(const std::string& path, const std::function<void(int descriptor)>& write) {
  std::string target = path;
  char real[PATH_MAX];
  if (::realpath(path.c_str(), real)) target = real; // through a link, to the file it names
  struct stat info {};
  bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) cannot_write(path, EISDIR);
  if (exists && ::access(target.c_str(), W_OK) != 0) cannot_write(path, errno);
  try {
    if (exists && !S_ISREG(info.st_mode)) { // a pipe or a device: nothing to replace
      Temporary direct;
      direct.descriptor = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
      if (direct.descriptor < 0) cannot_write(path, errno);
      write(direct.descriptor);
      return;
    }
    static std::atomic<unsigned> counter{0};
    Temporary file;
    for (int attempt = 0; attempt < 100 && file.descriptor < 0; ++attempt) {
      std::string name = fmt::format("{}.{}-{}.tmp", target, ::getpid(), counter++);
      file.descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file.descriptor >= 0)
        file.path = name;
      else if (errno != EEXIST)
        break;
    }
    if (file.descriptor < 0) cannot_write(path, errno);
    if (exists) (void)!::fchmod(file.descriptor, info.st_mode & 07777);
    write(file.descriptor);
    int closed = ::close(file.descriptor); // where some file systems tell of a full disk
    file.descriptor = -1;
    if (closed != 0 || ::rename(file.path.c_str(), target.c_str()) != 0) cannot_write(path, errno);
    file.path.clear();
  } catch (const std::system_error& error) {
    cannot_write(path, error.code().value());
  }
}

void save_tensor(const std::string& path, DType dtype, std::span<const int64_t> dims, const std::byte* data) {
  std::string extension = extension_of(path);
  int64_t count = 1;
  for (int64_t d : dims)
    count *= d;
  if (extension == ".npy") {
    if (dtype == DType::BF16)
      throw IoError(fmt::format("cannot save '{}': .npy has no bf16; convert to f32 first", path));
    std::string head = npy_header(dtype, dims);
    write_file_atomically(path, [&](int descriptor) {
      write_bytes(descriptor, reinterpret_cast<const std::byte*>(head.data()), head.size());
      write_bytes(descriptor, data, static_cast<size_t>(count * size_of(dtype)));
    });
    return;
  }
  if (extension == ".png") {
    bool fits = dtype == DType::U8 && (dims.size() == 2 || (dims.size() == 3 && dims[2] >= 1 && dims[2] <= 4));
    if (!fits)
      throw IoError(fmt::format("cannot save '{}': a PNG image is u8[h, w] or u8[h, w, c] with c from 1 to 4, not {}",
                                path, type_text(dtype, dims)));
    constexpr int64_t largest = 1000000; // libpng's limit for either side
    if (count == 0 || dims[0] > largest || dims[1] > largest)
      throw IoError(fmt::format("cannot save '{}': a PNG image has 1 to {} rows and columns, not {}", path, largest,
                                type_text(dtype, dims)));
    std::vector<std::byte> bytes = encode_png(dims, data);
    write_file_atomically(path, [&](int descriptor) { write_bytes(descriptor, bytes.data(), bytes.size()); });
    return;
  }
  throw IoError(fmt::format("cannot save '{}': its ending is neither .npy nor .png", path));
}

} // namespace tl
