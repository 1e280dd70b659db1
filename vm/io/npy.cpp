// NumPy's .npy files (its "NEP 1": magic, version, a Python dictionary as header, the elements).
#include "vm/io/formats.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace tl {

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr uint64_t kLongestHeader = 1 << 20; // NumPy itself stops at 10,000 characters

[[noreturn]] void malformed(const std::string& path, const std::string& what) {
  throw IoError(fmt::format("'{}' is not a sound .npy file: {}", path, what));
}

// Reads the header's Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  void parse(std::string& descr, bool& fortran, std::vector<int64_t>& shape) {
    bool have_descr = false, have_order = false, have_shape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = string();
      expect(':');
      if (key == "descr" && !have_descr) {
        have_descr = true;
        if (peek() == '[') malformed(path_, "structured element types are not supported");
        descr = string();
      } else if (key == "fortran_order" && !have_order) {
        have_order = true;
        if (accept_word("True"))
          fortran = true;
        else if (accept_word("False"))
          fortran = false;
        else
          malformed(path_, "'fortran_order' is neither True nor False");
      } else if (key == "shape" && !have_shape) {
        have_shape = true;
        tuple(shape);
      } else {
        malformed(path_, fmt::format("its header has an unexpected entry '{}'", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) malformed(path_, "its header goes on after the dictionary");
    if (!have_descr || !have_order || !have_shape)
      malformed(path_, "its header lacks 'descr', 'fortran_order' or 'shape'");
  }

private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed(path_, fmt::format("its header has no '{}' where one must be (at {})", c, at_));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string string() {
    char quote = peek();
    if (quote != '\'' && quote != '"') malformed(path_, fmt::format("its header has no string at {}", at_));
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) malformed(path_, "its header ends inside a string");
    std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }
  void tuple(std::vector<int64_t>& shape) {
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) malformed(path_, "its shape is not a tuple of sizes");
      shape.push_back(size());
      if (shape.size() > kMostAxes) malformed(path_, fmt::format("it has more than {} axes", kMostAxes));
      comma = accept(',');
    }
    if (shape.size() == 1 && !comma) malformed(path_, "its shape is not a tuple of sizes");
  }
  int64_t size() {
    skip_space();
    int64_t value = 0;
    size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        malformed(path_, "a size is too large");
    if (at_ == begin) malformed(path_, "its shape is not a tuple of sizes");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_; // as Python 2 wrote it
    return value;
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

DType element_type(const std::string& path, const std::string& descr, bool& swap) {
  char order = descr.empty() ? '\0' : descr[0];
  std::string_view code = std::string_view(descr).substr(descr.empty() ? 0 : 1);
  struct Row {
    std::string_view code;
    DType type;
  };
  constexpr Row rows[] = {{"b1", DType::Bool}, {"u1", DType::U8},   {"i1", DType::I8},  {"u2", DType::U16},
                          {"i2", DType::I16},  {"u4", DType::U32},  {"i4", DType::I32}, {"u8", DType::U64},
                          {"i8", DType::I64},  {"f2", DType::F16},  {"f4", DType::F32}, {"f8", DType::F64},
                          {"c8", DType::C64},  {"c16", DType::C128}};
  if (order == '<' || order == '>' || order == '|' || order == '=')
    for (const Row& row : rows)
      if (row.code == code) {
        if (order == '|' && size_of(row.type) > 1) break; // no byte order where there must be one
        swap = order == '>' && size_of(row.type) > 1;
        return row.type;
      }
  throw IoError(fmt::format("'{}' has elements of NumPy type '{}', which tl has not", path, descr));
}

// From first-axis-fastest to last-axis-fastest.
void from_fortran(const std::byte* in, std::byte* out, const TensorHeader& header) {
  size_t rank = header.dims.size(), width = static_cast<size_t>(size_of(header.dtype));
  std::vector<int64_t> stride(rank), index(rank, 0);
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    stride[i] = count;
    count *= header.dims[i];
  }
  int64_t from = 0;
  for (int64_t to = 0; to < count; ++to) {
    std::memcpy(out + to * static_cast<int64_t>(width), in + from * static_cast<int64_t>(width), width);
    for (size_t axis = rank; axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < header.dims[axis]) break;
      from -= stride[axis] * header.dims[axis];
      index[axis] = 0;
    }
  }
}

struct Layout {
  TensorHeader header;
  uint64_t data_offset = 0;
  bool swap_bytes = false;    // the file is big-endian
  bool fortran_order = false; // the first axis runs fastest
};

Layout read_layout(const Source& source) {
  const std::string& path = source.path();
  unsigned char prefix[12] = {};
  size_t got = source.read_some(0, reinterpret_cast<std::byte*>(prefix), 12);
  unsigned major = prefix[6], minor = prefix[7];
  if (got < 10) malformed(path, "it ends inside its header");
  if (major < 1 || major > 3 || minor != 0)
    malformed(path, fmt::format("its version is {}.{}, not 1 to 3", major, minor));
  if (major > 1 && got < 12) malformed(path, "it ends inside its header");
  uint64_t length = prefix[8] | uint64_t{prefix[9]} << 8;
  if (major > 1) length |= uint64_t{prefix[10]} << 16 | uint64_t{prefix[11]} << 24;
  uint64_t start = major > 1 ? 12 : 10;
  if (length > kLongestHeader) malformed(path, fmt::format("its header claims {} bytes", length));
  if (start + length > source.size()) malformed(path, "it ends inside its header");
  std::string text(length, '\0');
  source.read(start, reinterpret_cast<std::byte*>(text.data()), length);

  Layout layout;
  std::string descr;
  HeaderParser(text, path).parse(descr, layout.fortran_order, layout.header.dims);
  layout.header.dtype = element_type(path, descr, layout.swap_bytes);
  layout.data_offset = start + length;
  require_room(source, layout.header, layout.data_offset);
  return layout;
}

void read_data(const Source& source, const Layout& layout, std::byte* out) {
  int64_t count = element_count(layout.header.dims);
  auto bytes = static_cast<size_t>(count * size_of(layout.header.dtype));
  bool turn = layout.fortran_order && layout.header.dims.size() > 1;
  std::unique_ptr<std::byte[]> turned(turn ? new std::byte[bytes] : nullptr);
  std::byte* target = turn ? turned.get() : out;
  source.read(layout.data_offset, target, bytes);
  if (layout.swap_bytes) swap_parts(target, count, layout.header.dtype);
  if (layout.header.dtype == DType::Bool) make_bools(target, count);
  if (turn) from_fortran(target, out, layout.header);
}

} // namespace

bool is_npy(const Source& source) {
  std::byte magic[6];
  return source.read_some(0, magic, 6) == 6 && std::memcmp(magic, kMagic, 6) == 0;
}

OpenTensor open_npy(const Source& source) {
  Layout layout = read_layout(source);
  OpenTensor result;
  result.header = layout.header;
  bool as_in_memory = !layout.swap_bytes && (!layout.fortran_order || layout.header.dims.size() < 2);
  if (as_in_memory && layout.header.dtype != DType::Bool) {
    result.raw = &source;
    result.raw_offset = layout.data_offset;
  }
  result.read = [&source, layout](std::byte* out) { read_data(source, layout, out); };
  return result;
}

void write_npy(const Output& out, const std::string& path, const HostTensor& x) {
  if (x.dtype == DType::BF16)
    throw IoError(fmt::format("cannot save '{}': .npy has no bf16; convert to f32 first", path));
  std::string head = npy_header(x.dtype, x.dims);
  out(head.data(), head.size());
  out(x.data(), static_cast<size_t>(x.byte_count()));
}

std::string npy_header(DType dtype, std::span<const int64_t> dims) {
  constexpr std::string_view codes[] = {"|b1", "|u1", "|i1", "<u2", "<i2", "<u4", "<i4",  "<u8",
                                        "<i8", "<f2", "",    "<f4", "<f8", "<c8", "<c16", "<u8"};
  std::string shape;
  for (int64_t d : dims)
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", d);
  if (dims.size() == 1) shape += ',';
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", codes[static_cast<int>(dtype)], shape);
  size_t prefix = text.size() + 1 + 10 > 65535 ? 12 : 10;
  text.append(63 - (text.size() + prefix) % 64, ' '); // the elements start at a multiple of 64
  text += '\n';
  std::string head(kMagic, 6);
  head += static_cast<char>(prefix == 12 ? 2 : 1);
  head += '\0';
  for (size_t i = 0; i < prefix - 8; ++i)
    head += static_cast<char>(text.size() >> (8 * i) & 255);
  return head + text;
}

} // namespace tl
