// Which format a file has: by its content when it is read, by its ending when it is written.
#include "abi/repr.h"
#include "vm/io/access.h"
#include "vm/io/formats.h"
#include "vm/io/input_lines.h"
#include "vm/io/table.h"
#include "vm/io/text.h"
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <zlib.h>

namespace tl {

// ---- reading --------------------------------------------------------------------------------------------------------

namespace {

constexpr uint64_t kWorthMapping = 256 << 10; // below, a copy costs less than pages

enum class Kind { Npy, Npz, Safetensors, Idx, Png, Jpeg, Pnm, Text };

struct KindRow {
  Kind kind;
  bool (*is)(const Source&);
  const char* name;
};
// In the order in which they are tried: the surest first.
constexpr KindRow kKinds[] = {
    {Kind::Npy, is_npy, ".npy file"},    {Kind::Png, is_png, "PNG image"},
    {Kind::Jpeg, is_jpeg, "JPEG image"}, {Kind::Npz, is_npz, ".npz file"},
    {Kind::Idx, is_idx, "IDX file"},     {Kind::Safetensors, is_safetensors, ".safetensors file"},
    {Kind::Pnm, is_pnm, "PNM image"},    {Kind::Text, is_text, "table of text"}};

const KindRow& recognise(const Source& source) {
  for (const KindRow& row : kKinds)
    if (row.is(source)) return row;
  unsigned char head[6] = {};
  size_t n = source.read_some(0, reinterpret_cast<std::byte*>(head), sizeof head);
  const std::string_view magic(reinterpret_cast<const char*>(head), n);
  for (const auto& [begin, format] : {std::pair{"PAR1", "Parquet"}, {"ARROW1", "Arrow"}, {"\x89HDF", "HDF5"}})
    if (magic.starts_with(begin))
      throw IoError(fmt::format("cannot read '{}': it is in the format {}, which tl does not read; write it as CSV or "
                                ".npz (with pandas: `pandas.read_{}(path).to_csv(\"x.csv\", index=False)`)",
                                source.path(), format,
                                format == std::string_view("Parquet") ? "parquet"
                                : format == std::string_view("Arrow") ? "feather"
                                                                      : "hdf"));
  bool utf16 = n >= 2 && ((head[0] == 0xff && head[1] == 0xfe) || (head[0] == 0xfe && head[1] == 0xff));
  throw IoError(fmt::format("cannot read '{}': {}", source.path(),
                            n == 0  ? "it is empty"
                            : utf16 ? "it is text in UTF-16; save it as UTF-8"
                                    : "it is of no format that tl knows (.npy, .npz, .safetensors, IDX, PNG, JPEG, "
                                      "PNM, a table as text; or gzip of one)"));
}

void require_kind(const Source& source, const KindRow& row, FileKind wanted) {
  bool fits = true;
  const char* name = "";
  switch (wanted) {
  case FileKind::Any: break;
  case FileKind::Text:
  case FileKind::Table: fits = row.kind == Kind::Text, name = "table of text"; break;
  case FileKind::Idx: fits = row.kind == Kind::Idx, name = "IDX file"; break;
  case FileKind::Npz: fits = row.kind == Kind::Npz, name = ".npz file"; break;
  case FileKind::Safetensors: fits = row.kind == Kind::Safetensors, name = ".safetensors file"; break;
  }
  if (!fits) throw IoError(fmt::format("'{}' is a {}, not a {}", source.path(), row.name, name));
}

[[noreturn]] void no_name(const std::string& path, const KindRow& row) {
  throw IoError(fmt::format("'{}' is a {}: its one tensor has no name", path, row.name));
}

// Complex numbers as real ones, which is how they lie in memory.
void as_pairs(const std::string& path, TensorHeader& header, const ReadOptions& options) {
  const DType part = part_of(header.dtype);
  if (part == header.dtype || part != options.dtype)
    require_type(path, header, complex_of(options.dtype.value_or(DType::F32)).value_or(DType::C64),
                 options.rank.value_or(1) - 1);
  header.dtype = part;
  header.dims.push_back(2);
}

} // namespace

struct TensorReader::Impl {
  std::unique_ptr<Source> source;
  OpenTensor tensor;
};

TensorReader::TensorReader(const std::string& path, const ReadOptions& options)
    : impl_(new Impl{open_source(path), {}}) {
  const Source& source = *impl_->source;
  const KindRow& row = recognise(source);
  require_kind(source, row, options.load.kind);
  const bool has_names = row.kind == Kind::Npz || row.kind == Kind::Safetensors || row.kind == Kind::Text;
  if (!options.name.empty() && !has_names) no_name(path, row);
  bool image = row.kind == Kind::Png || row.kind == Kind::Jpeg || row.kind == Kind::Pnm;
  if (options.load.channels && !image)
    throw IoError(fmt::format("'{}' is a {}: only images have channels", path, row.name));
  switch (row.kind) {
  case Kind::Npy: impl_->tensor = open_npy(source); break;
  case Kind::Npz: impl_->tensor = open_npz(source, options.name); break;
  case Kind::Safetensors: impl_->tensor = open_safetensors(source, options.name); break;
  case Kind::Idx: impl_->tensor = open_idx(source); break;
  case Kind::Png: impl_->tensor = open_png(source); break;
  case Kind::Jpeg: impl_->tensor = open_jpeg(source); break;
  case Kind::Pnm: impl_->tensor = open_pnm(source); break;
  case Kind::Text:
    impl_->tensor = options.name.empty() ? open_text_table(source, options) : open_table_column(source, options);
    break;
  }
  if (image) impl_->tensor = with_channels(std::move(impl_->tensor), options.load.channels);
  if (options.load.pairs) as_pairs(path, impl_->tensor.header, options);
}
TensorReader::~TensorReader() = default;
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;

const TensorHeader& TensorReader::header() const { return impl_->tensor.header; }

void TensorReader::read(std::byte* out) {
  impl_->tensor.read(out);
  impl_->source->finish();
}

HostTensor TensorReader::map() const {
  const OpenTensor& tensor = impl_->tensor;
  uint64_t bytes = byte_count(tensor.header);
  bool aligned = tensor.raw_offset % static_cast<uint64_t>(size_of(tensor.header.dtype)) == 0;
  if (!tensor.raw || bytes < kWorthMapping || !aligned) return {};
  HostTensor result;
  result.dtype = tensor.header.dtype;
  result.dims = tensor.header.dims;
  result.bytes = tensor.raw->map(tensor.raw_offset, bytes);
  // Mapped memory is aligned as it is in the file, which for a member of an archive is another matter.
  if (reinterpret_cast<uintptr_t>(result.data()) % static_cast<uintptr_t>(size_of(result.dtype)) != 0) return {};
  result.mapped = result.bytes != nullptr;
  return result;
}

HostTensor TensorReader::take() {
  HostTensor result = map();
  if (result.bytes) return result;
  require_readable(impl_->source->path(), byte_count(header()));
  result = HostTensor::make(header().dtype, header().dims);
  read(result.data());
  return result;
}

TensorHeader peek_header(const std::string& path) { return TensorReader(path).header(); }

HostTensor load_tensor(const std::string& path, const ReadOptions& options) {
  return TensorReader(path, options).take();
}

namespace {
std::vector<std::string> names_in(const std::string& path, bool is_archive) {
  auto source = open_source(path);
  const KindRow& row = recognise(*source);
  switch (row.kind) {
  case Kind::Npz: return npz_names(*source);
  case Kind::Safetensors: return safetensors_names(*source);
  case Kind::Text:
    if (!is_archive && has_line_of_names(*source)) return table_names(*source);
    break;
  default: break;
  }
  if (is_archive) no_name(path, row);
  return {};
}
} // namespace

std::vector<std::string> tensor_names(const std::string& path) { return names_in(path, false); }
std::vector<std::string> archive_names(const std::string& path) { return names_in(path, true); }

std::string tensor_names_text(const std::string& path) {
  std::string text;
  for (const std::string& name : tensor_names(path)) {
    if (name.find_first_of("\r\n") != std::string::npos)
      throw IoError(fmt::format("'{}' has a tensor whose name holds the end of a line", path));
    text += name + '\n';
  }
  return text;
}

std::vector<TableColumn> table_columns(const std::string& path) {
  auto source = open_source(path);
  require_kind(*source, recognise(*source), FileKind::Table);
  std::shared_ptr<const Table> table = table_in(*source);
  std::vector<ColumnContent> contents = table->contents();
  std::vector<TableColumn> columns;
  for (size_t k = 0; k < contents.size(); ++k)
    columns.push_back({table->fields()[k], contents[k]});
  return columns;
}

void require_type(const std::string& path, const TensorHeader& header, DType dtype, size_t rank) {
  // Keys are kept as u64.
  const DType kept = dtype == DType::Key ? DType::U64 : dtype;
  if (header.dtype == kept && header.dims.size() == rank) return;
  std::string wanted{name_of(dtype)};
  for (size_t i = 0; i < rank; ++i)
    wanted += i ? ", _" : "[_";
  if (rank) wanted += ']';
  throw IoError(fmt::format("'{}' holds {}, not {}", path, type_text(header.dtype, header.dims), wanted),
                "FileMismatch");
}

// ---- writing --------------------------------------------------------------------------------------------------------

namespace {

// The last two endings of a path in lower case: ".csv" and ".gz" of "a.b/x.CSV.gz".
std::pair<std::string, bool> ending_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  bool gzip = name.ends_with(".gz");
  if (gzip) name.resize(name.size() - 3);
  size_t dot = name.rfind('.');
  return {dot == std::string::npos ? "" : name.substr(dot), gzip};
}

// Gzips what goes through it. The bytes do not depend on time or place.
class Gzip {
public:
  explicit Gzip(Output out) : out_(std::move(out)) {
    if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Gzip() { ::deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(const void* data, size_t count) {
    constexpr size_t most = 1 << 30;
    for (auto* at = static_cast<const Bytef*>(data); count > 0;) {
      size_t piece = std::min(count, most);
      run(at, piece, Z_NO_FLUSH);
      at += piece;
      count -= piece;
    }
  }
  void finish() { run(nullptr, 0, Z_FINISH); }

private:
  void run(const Bytef* data, size_t count, int flush) {
    stream_.next_in = const_cast<Bytef*>(data);
    stream_.avail_in = static_cast<uInt>(count);
    do {
      stream_.next_out = buffer_;
      stream_.avail_out = sizeof buffer_;
      ::deflate(&stream_, flush);
      out_(buffer_, sizeof buffer_ - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  Output out_;
  z_stream stream_{};
  Bytef buffer_[65536];
};

bool is_table(const std::string& ending) { return ending == ".csv" || ending == ".tsv"; }

void write_as(const Output& out, const std::string& ending, const std::string& path,
              std::span<const NamedTensor> tensors) {
  const HostTensor& x = tensors[0].tensor;
  for (const NamedTensor& one : tensors)
    if (is_complex(one.tensor.dtype) && ending != ".npy" && ending != ".npz" && ending != ".safetensors")
      throw IoError(fmt::format("cannot save '{}': complex numbers go to .npy, .npz and .safetensors", path));
  for (const NamedTensor& one : tensors)
    if (one.tensor.dtype == DType::C128 && ending == ".safetensors")
      throw IoError(fmt::format("cannot save '{}': .safetensors has no c128; convert to c64 first", path));
  if (ending == ".npz") return write_npz(out, path, tensors);
  if (ending == ".safetensors") return write_safetensors(out, path, tensors);
  if (ending == ".npy") return write_npy(out, path, x);
  if (ending == ".idx") return write_idx(out, path, x);
  if (is_table(ending)) {
    const char separator = ending == ".csv" ? ',' : '\t';
    const bool is_alone = tensors.size() == 1 && (tensors[0].name.empty() || x.dims.size() != 1);
    return is_alone ? write_text_table(out, path, x, separator) : write_table(out, path, tensors, separator);
  }
  if (ending == ".txt") return write_text_table(out, path, x, ' ');
  if (ending == ".png") return write_png(out, path, x);
  if (ending == ".jpg" || ending == ".jpeg") return write_jpeg(out, path, x);
  write_pnm(out, path, x, ending);
}

} // namespace

void set_names(std::vector<NamedTensor>& tensors, const std::string& names) {
  size_t at = 0;
  for (NamedTensor& x : tensors) {
    const size_t end = std::min(names.find('\n', at), names.size());
    x.name = names.substr(at, end - at);
    at = std::min(end + 1, names.size());
    if (!x.name.starts_with(kComplexParts)) continue;
    x.name.erase(0, kComplexParts.size());
    x.tensor.dtype = complex_of(x.tensor.dtype).value_or(x.tensor.dtype);
    x.tensor.dims.pop_back();
  }
}

static bool holds_several(const std::string& ending) {
  return ending == ".npz" || ending == ".safetensors" || is_table(ending);
}

void require_known_ending(const std::string& path) {
  auto [ending, gzip] = ending_of(path);
  bool several = holds_several(ending);
  bool image = ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".ppm" || ending == ".pgm" ||
               ending == ".pnm";
  bool plain = ending == ".npy" || ending == ".idx" || ending == ".csv" || ending == ".tsv" || ending == ".txt";
  if ((!several && !image && !plain) || (gzip && !plain))
    throw IoError(fmt::format("cannot save '{}': its ending is none of .npy .npz .safetensors .idx .csv .tsv .txt .png "
                              ".jpg .ppm .pgm, or .npy .idx .csv .tsv .txt with .gz",
                              path));
}

void save_tensors(const std::string& path, std::span<const NamedTensor> tensors) {
  require_known_ending(path);
  auto [ending, gzip] = ending_of(path);
  bool several = holds_several(ending);
  if (tensors.empty()) throw IoError(fmt::format("cannot save '{}': there is no tensor to save", path));
  if (tensors.size() > 1 && !several)
    throw IoError(
        fmt::format("cannot save '{}': {} tensors go into a .npz or .safetensors file, or columns into a .csv", path,
                    tensors.size()));
  write_file_atomically(path, [&, &ending = ending, gzip = gzip](int descriptor) {
    Output file = [descriptor](const void* data, size_t count) { write_bytes(descriptor, data, count); };
    if (!gzip) return write_as(file, ending, path, tensors);
    Gzip packer(file);
    write_as([&](const void* data, size_t count) { packer.write(data, count); }, ending, path, tensors);
    packer.finish();
  });
}

void save_tensor(const std::string& path, const HostTensor& x) {
  NamedTensor one{"", x};
  save_tensors(path, {&one, 1});
}

void hold_tensors(const std::string& path, std::span<const NamedTensor> tensors) {
  Descriptor file(::memfd_create("tensors", MFD_CLOEXEC));
  if (!file) throw IoError(fmt::format("cannot keep '{}' in memory: {}", path, system_error_text(errno)));
  write_safetensors([&](const void* data, size_t count) { write_bytes(file.get(), data, count); }, path, tensors);
  hold_file(path, std::move(file));
}

// ---- text -----------------------------------------------------------------------------------------------------------

bool file_exists(const std::string& path) { return bool(open_file(path, O_PATH)); }

bool holds_tensor(const std::string& path, const std::string& name) {
  auto source = open_source(path);
  if (recognise(*source).kind == Kind::Text) return has_table_column(*source, name);
  std::vector<std::string> names = archive_names(path);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& x) { // NumPy calls the parts of a tuple arr_0, arr_1
                       return x == name || x == "arr_" + name || x.starts_with(name + ".");
                     });
}

std::string read_whole(const Source& source) {
  std::string text;
  for (size_t filled = 0;; filled = text.size()) {
    require_readable(source.path(), filled);
    // One byte beyond the limit tells that there is more.
    text.resize(std::min<uint64_t>(filled + std::max<size_t>(filled, 65536), reading_limit() + 1));
    size_t got = source.read_some(filled, reinterpret_cast<std::byte*>(text.data()) + filled, text.size() - filled);
    bool more = got == text.size() - filled;
    text.resize(filled + got);
    if (!more) return text;
  }
}

std::string read_text(const std::string& path) {
  const bool is_input = path == "-";
  std::string text = is_input ? rest_of_input(reading_limit()) : read_whole(*open_source(path));
  if (is_input) require_readable("standard input", text.size());
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  if (size_t at = invalid_utf8(text); at != std::string::npos)
    throw IoError(fmt::format("'{}' is not text: byte {} is not UTF-8", path, at));
  return text;
}

void write_text(const std::string& path, std::string_view text) {
  write_file_atomically(path, [&](int descriptor) { write_bytes(descriptor, text.data(), text.size()); });
}

} // namespace tl
