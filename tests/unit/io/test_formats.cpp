// Every format beside .npy and PNG: files of other programs, both ways, names, and what does not fit.
#include "abi/scalar_op.h"
#include "folder.h"
#include <cmath>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tl;
using namespace tl::test;
namespace fs = std::filesystem;

#include "file_bytes.inc"
#include "format_bytes.inc"

namespace {

ReadOptions named(std::string name) {
  ReadOptions options;
  options.name = std::move(name);
  return options;
}

ReadOptions as(DType type, size_t rank = 2) {
  ReadOptions options;
  options.dtype = type;
  options.rank = rank;
  return options;
}

ReadOptions header(TextHeader header) {
  ReadOptions options;
  options.load.header = header;
  return options;
}

std::vector<double> numbers(const HostTensor& x) {
  std::vector<double> values;
  for (int64_t i = 0; i < x.count(); ++i)
    values.push_back(convert_scalar(x.dtype, DType::F64, x.get(i)).as<double>());
  return values;
}

using Dims = std::vector<int64_t>;
using Numbers = std::vector<double>;

HostTensor ramp(DType type, Dims dims) {
  HostTensor x = HostTensor::make(type, std::move(dims));
  for (int64_t i = 0; i < x.byte_count() && is_complex(type); ++i)
    x.data()[i] = std::byte(i % 120);
  for (int64_t i = 0; i < x.count() && !is_complex(type); ++i)
    x.set(i, convert_scalar(DType::I64, type, Scalar::of(type == DType::Bool ? i % 2 : i * 7 % 120)));
  return x;
}

bool same(const HostTensor& a, const HostTensor& b) {
  return a.dtype == b.dtype && a.dims == b.dims &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_count())) == 0;
}

std::string save_failure(const std::string& path, const HostTensor& x) {
  try {
    save_tensor(path, x);
  } catch (const IoError& error) {
    return error.what();
  }
  return "none";
}

} // namespace

TEST_CASE(".npz files that NumPy wrote") {
  Folder folder;
  std::string packed = bytes_of(kNpzDeflated);
  HostTensor weights = load_bytes(folder, packed, named("weights"));
  CHECK(weights.dims == Dims{2, 3});
  CHECK(numbers(weights) == Numbers{0, 0.5, 1, 1.5, 2, 2.5});
  CHECK(numbers(load_bytes(folder, packed, named("labels"))) == Numbers{3, 1, 2});
  CHECK(tensor_names(folder / "x") == std::vector<std::string>{"weights", "labels"});
  CHECK(contains(failure(folder, packed), "say which"));
  CHECK(contains(failure(folder, packed, named("bias")), "'weights', 'labels'"));
  std::string stored = bytes_of(kNpzStored);
  CHECK(numbers(load_bytes(folder, stored, named("arr_0"))) == Numbers{1.5, 2.5});
  CHECK(numbers(load_bytes(folder, stored, named("1"))) == Numbers{1, 0}); // by position
}

TEST_CASE(".safetensors files that its own library wrote") {
  Folder folder;
  std::string bytes = bytes_of(kSafetensors);
  HostTensor w = load_bytes(folder, bytes, named("w"));
  CHECK(w.dtype == DType::F32);
  CHECK(w.dims == Dims{2, 3});
  CHECK(numbers(w) == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(load_bytes(folder, bytes, named("b")).dtype == DType::Bool);
  CHECK(numbers(load_bytes(folder, bytes, named("h"))) == Numbers{0, 1, 2});
  CHECK(load_bytes(folder, bytes, named("z")).dims == Dims{0, 4});
  CHECK(load_bytes(folder, bytes, named("s")).dims.empty());
  CHECK(tensor_names(folder / "x").size() == 5);
}

TEST_CASE("archives and safetensors round trips") {
  Folder folder;
  for (const char* file : {"x.npz", "x.safetensors"}) {
    std::vector<NamedTensor> tensors;
    for (int t = 0; t < kDTypeCount; ++t) {
      auto type = static_cast<DType>(t);
      if (!has_zero(type) || (type == DType::BF16 && std::string(file) == "x.npz")) continue;
      if (type == DType::C128 && std::string(file) != "x.npz") continue; // .safetensors has no such type
      tensors.push_back({"layer." + std::string(name_of(type)), ramp(type, {3, t})});
    }
    tensors.push_back({"large", ramp(DType::F32, {300, 300})});
    save_tensors(folder / file, tensors);
    CHECK(tensor_names(folder / file).size() == tensors.size());
    for (const NamedTensor& x : tensors)
      CHECK(same(load_tensor(folder / file, named(x.name)), x.tensor));
    TensorReader large(folder / file, named("large"));
    CHECK(large.map().mapped); // aligned, so that it need not be read
    save_tensor(folder / file, ramp(DType::I32, {4}));
    CHECK(same(load_tensor(folder / file), ramp(DType::I32, {4})));
  }
  CHECK(contains(save_failure(folder / "x.npz", ramp(DType::BF16, {1})), "bf16"));
  std::vector<NamedTensor> two(2, {"", ramp(DType::U8, {1})});
  set_names(two, "0\n1");
  save_tensors(folder / "x.npz", two);
  CHECK(tensor_names(folder / "x.npz") == std::vector<std::string>{"arr_0", "arr_1"}); // as np.savez names them
  CHECK_THROWS_WITH_AS(save_tensors(folder / "x.npy", two), doctest::Contains("2 tensors"), IoError);
}

TEST_CASE("IDX files") {
  Folder folder;
  HostTensor x =
      load_bytes(folder, bytes_of("00000c02000000020000000300000001fffffffe00000003000000040000000500000006"));
  CHECK(x.dtype == DType::I32);
  CHECK(x.dims == Dims{2, 3});
  CHECK(numbers(x) == Numbers{1, -2, 3, 4, 5, 6});
  for (DType type : {DType::U8, DType::I8, DType::I16, DType::I32, DType::F32, DType::F64}) {
    save_tensor(folder / "x.idx", ramp(type, {3, 1, 70000}));
    CHECK(same(load_tensor(folder / "x.idx"), ramp(type, {3, 1, 70000})));
  }
  CHECK(contains(save_failure(folder / "x.idx", ramp(DType::I64, {2})), "i64"));
  CHECK(contains(save_failure(folder / "x.idx", ramp(DType::U8, {})), "axes"));
  CHECK(contains(failure(folder, bytes_of("00000803ffffffffffffffffffffffff00")), "truncated"));
  CHECK(contains(failure(folder, bytes_of("000008030000")), "truncated"));
  // The product of the sizes overflows, though one of them is 0.
  CHECK(contains(failure(folder, bytes_of("00000804ffffffffffffffffffffffff00000000")), "truncated"));
}

TEST_CASE("gzip around a file") {
  Folder folder;
  CHECK(numbers(load_bytes(folder, bytes_of(kNpyGzip))) == Numbers{0, 1, 2, 3, 4});
  HostTensor x = ramp(DType::F32, {200, 300});
  for (const char* name : {"x.npy.gz", "x.idx.gz", "x.NPY.GZ"}) {
    save_tensor(folder / name, x);
    CHECK(same(load_tensor(folder / name), x));
    CHECK(fs::file_size(folder / name) < static_cast<uintmax_t>(x.byte_count()));
    CHECK_FALSE(TensorReader(folder / name).map().mapped);
  }
  std::string packed = read(folder / "x.npy.gz");
  for (size_t n = 3; n < packed.size(); n += packed.size() / 50)
    CHECK(contains(failure(folder, packed.substr(0, n)), "truncated"));
  std::string broken = packed;
  broken[broken.size() - 6] = static_cast<char>(broken[broken.size() - 6] ^ 1); // of the checksum
  CHECK(contains(failure(folder, broken), "check"));
  CHECK(contains(save_failure(folder / "x.png.gz", x), "ending"));
  write_text(folder / "t.txt", "text");
  CHECK(read_text(folder / "t.txt") == "text");
}

TEST_CASE("tables of text") {
  Folder folder;
  auto table = [&](const std::string& text, Dims dims, Numbers values, const ReadOptions& options = {}) {
    INFO(text);
    HostTensor x = load_bytes(folder, text, options);
    CHECK(x.dims == dims);
    Numbers got = numbers(x);
    REQUIRE(got.size() == values.size());
    for (size_t i = 0; i < got.size(); ++i)
      CHECK((got[i] == values[i] || (std::isnan(got[i]) && std::isnan(values[i]))));
  };
  const double missing = std::nan("");
  table("1,2\n3,4\n", {2, 2}, {1, 2, 3, 4});
  table("1,2\r\n3,4", {2, 2}, {1, 2, 3, 4});
  table("a,b\n1,2\n", {1, 2}, {1, 2});
  table("\xef\xbb\xbf\"x\",\"y, z\"\n\"1\",\" 2.5\"\n", {1, 2}, {1, 2.5});
  table("1;2\n3;4\n", {2, 2}, {1, 2, 3, 4});
  table("1\t2\n3\t4\n", {2, 2}, {1, 2, 3, 4});
  table("  1  2\n\n# comment, with commas\n 3\t4  \n", {2, 2}, {1, 2, 3, 4});
  table("1,,3\n4,NA,6\n7,?,\n", {3, 3}, {1, missing, 3, 4, missing, 6, 7, missing, missing});
  table("1e400,-1e400,1e-400,+5,inf,.5\n", {1, 6}, {INFINITY, -INFINITY, 0, 5, INFINITY, 0.5});
  table("5", {1, 1}, {5});
  table("5", {}, {5}, as(DType::F64, 0));
  table("1\n2\n3\n", {3}, {1, 2, 3}, as(DType::F64, 1));
  table("1,2,3\n", {3}, {1, 2, 3}, as(DType::F64, 1));
  table("1,2\n3,4\n", {1, 2}, {3, 4}, header(TextHeader::Yes));
  table("a,b\n", {0, 2}, {}, header(TextHeader::Yes));
  table("9223372036854775807,-5\n", {1, 2}, {9223372036854775807.0, -5}, as(DType::I64));
  table("true,0\nFALSE,1\n", {2, 2}, {1, 0, 0, 1}, as(DType::Bool));
  CHECK(load_bytes(folder, "0.1", as(DType::F32)).get(0).as<float>() == 0.1f);
  CHECK(load_bytes(folder, "16777217.0000001", as(DType::F32)).get(0).as<float>() == 16777218.0f); // not by way of f64
  CHECK(contains(failure(folder, "1,2\n3\n"), "line 2 has 1 field, not 2"));
  CHECK(contains(failure(folder, "1,2\n3,x\n"), "line 2 field 2 is 'x'"));
  CHECK(contains(failure(folder, "1,2\n3,\n", as(DType::I32)), "line 2 field 2 is missing"));
  CHECK(contains(failure(folder, "1,300\n", as(DType::U8)), "'300'"));
  CHECK(contains(failure(folder, "1.5\n", as(DType::I64)), "no i64"));
  CHECK(contains(failure(folder, "a,b\n1,2\n", header(TextHeader::No)), "line 1 field 1"));
  CHECK(contains(failure(folder, "a,b\n"), "no row"));
  CHECK(contains(failure(folder, "# nothing\n\n"), "no row"));
  CHECK(contains(failure(folder, "1,\"2\n"), "quote"));
  CHECK(contains(failure(folder, std::string(5000, '1')), "4096"));
  CHECK(contains(failure(folder, std::string("\xff\xfe"
                                             "1\0,\0",
                                             6)),
                 "UTF-16"));
  CHECK(contains(failure(folder, std::string("1,2\0\n", 5)), "no format"));
}

TEST_CASE("tables of text round trips") {
  Folder folder;
  HostTensor x = HostTensor::make(DType::F64, {50, 3});
  uint64_t bits = 88172645463325252; // any doubles
  for (int64_t i = 0; i < x.count(); ++i) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    x.set(i, Scalar{bits & 0xbfffffffffffffff});
  }
  for (const char* name : {"x.csv", "x.tsv", "x.txt", "x.csv.gz"}) {
    save_tensor(folder / name, x);
    CHECK(same(load_tensor(folder / name), x));
  }
  CHECK(read(folder / "x.csv").find(',') != std::string::npos);
  CHECK(read(folder / "x.tsv").find('\t') != std::string::npos);
  HostTensor column = ramp(DType::I16, {4});
  save_tensor(folder / "c.csv", column);
  CHECK(same(load_tensor(folder / "c.csv", as(DType::I16, 1)), column));
  CHECK(contains(save_failure(folder / "x.csv", ramp(DType::F32, {2, 2, 2})), "reshape"));
}

TEST_CASE("JPEG images") {
  Folder folder;
  auto pixel = [](const HostTensor& x, std::vector<int> wanted) {
    for (size_t c = 0; c < wanted.size(); ++c)
      CHECK(std::abs(x.get(static_cast<int64_t>(c)).as<uint8_t>() - wanted[c]) <= 2);
  };
  HostTensor colour = load_bytes(folder, bytes_of(kJpegColour));
  CHECK(colour.dims == Dims{5, 9, 3});
  pixel(colour, {200, 100, 50});
  HostTensor gray = load_bytes(folder, bytes_of(kJpegGray));
  CHECK(gray.dims == Dims{2, 3, 1});
  pixel(gray, {77});
  pixel(load_bytes(folder, bytes_of(kJpegCmyk)), {235, 117, 0});
  save_tensor(folder / "x.jpg", colour);
  pixel(load_tensor(folder / "x.jpg"), {200, 100, 50});
  save_tensor(folder / "g.jpeg", gray);
  CHECK(load_tensor(folder / "g.jpeg").dims == Dims{2, 3, 1});
  CHECK(contains(save_failure(folder / "x.jpg", ramp(DType::U8, {2, 2, 4})), "1 or 3"));
  std::string whole = bytes_of(kJpegColour);
  for (size_t n = 3; n + 2 < whole.size(); n += 7)
    CHECK(failure(folder, whole.substr(0, n)) != "none");
}

TEST_CASE("PNM images") {
  Folder folder;
  auto image = [&](const std::string& bytes, Dims dims, Numbers values) {
    HostTensor x = load_bytes(folder, bytes);
    CHECK(x.dims == dims);
    CHECK(numbers(x) == values);
  };
  image("P1\n# a comment\n3 2\n101\n0 1 0\n", {2, 3, 1}, {0, 255, 0, 255, 0, 255});
  image("P2 2 1 15 0 15", {1, 2, 1}, {0, 255});
  image("P3 1 1 255 1 2 3", {1, 1, 3}, {1, 2, 3});
  image("P4 9 1\n\x80\x80", {1, 9, 1}, {0, 255, 255, 255, 255, 255, 255, 255, 0});
  image("P5 2 1 255\n\x01\x02", {1, 2, 1}, {1, 2});
  image(std::string("P5 1 1 65535\n\xff\xff", 15), {1, 1, 1}, {255});
  image("P6 1 1 255\nabc", {1, 1, 3}, {97, 98, 99});
  HostTensor x = ramp(DType::U8, {4, 5, 3});
  save_tensor(folder / "x.ppm", x);
  CHECK(same(load_tensor(folder / "x.ppm"), x));
  save_tensor(folder / "x.pgm", ramp(DType::U8, {4, 5}));
  CHECK(load_tensor(folder / "x.pgm").dims == Dims{4, 5, 1});
  CHECK(contains(save_failure(folder / "x.pgm", x), "c = 1"));
  CHECK(contains(failure(folder, "P5 99999999 99999999 255\nx"), "truncated"));
  CHECK(contains(failure(folder, "P5 2 2 255\nx"), "truncated"));
  CHECK(contains(failure(folder, "P5 2 2 70000\nxxxx"), "largest"));
  CHECK(contains(failure(folder, "P2 1 1 10 11"), "larger"));
}

TEST_CASE("channels of an image are those asked for") {
  Folder folder;
  auto with = [](uint8_t channels) {
    ReadOptions options;
    options.load.channels = channels;
    return options;
  };
  std::string rgba = bytes_of(kPngRgba); // 1 2 3 4
  CHECK(numbers(load_bytes(folder, rgba, with(3))) == Numbers{1, 2, 3});
  CHECK(numbers(load_bytes(folder, rgba, with(2))) == Numbers{2, 4});
  CHECK(numbers(load_bytes(folder, rgba, with(1))) == Numbers{2});
  CHECK(numbers(load_bytes(folder, "P5 1 1 255\n\x07", with(4))) == Numbers{7, 7, 7, 255});
  CHECK(contains(failure(folder, "1,2\n", with(3)), "only images"));
  CHECK(contains(failure(folder, rgba, named("x")), "no name"));
}

TEST_CASE("a kind that is insisted on") {
  Folder folder;
  ReadOptions csv, idx;
  csv.load.kind = FileKind::Text;
  idx.load.kind = FileKind::Idx;
  CHECK(failure(folder, "1,2\n", csv) == "none");
  CHECK(contains(failure(folder, "1,2\n", idx), "is a table of text, not a IDX"));
  CHECK(contains(failure(folder, bytes_of(kNpyF32), csv), "is a .npy file, not a table"));
}

TEST_CASE("large files are mapped, and writing to them changes no file") {
  Folder folder;
  HostTensor x = ramp(DType::F32, {1000, 300});
  save_tensor(folder / "x.npy", x);
  HostTensor mapped = load_tensor(folder / "x.npy");
  CHECK(mapped.mapped);
  CHECK(same(mapped, x));
  mapped.set(5, Scalar::of(-1.0f));
  CHECK(same(load_tensor(folder / "x.npy"), x));
  save_tensor(folder / "x.npy", ramp(DType::F32, {2})); // another file of the same name
  CHECK(mapped.get(5).as<float>() == -1.0f);
  CHECK(mapped.get(299999).as<float>() == x.get(299999).as<float>());
  save_tensor(folder / "b.npy", ramp(DType::Bool, {1000, 300})); // bytes other than 0 and 1 would be no bools
  CHECK_FALSE(load_tensor(folder / "b.npy").mapped);
  CHECK_FALSE(load_bytes(folder, bytes_of(kNpyF32)).mapped); // not worth it
  // A file of 1 TB, of which nearly nothing is there.
  std::string head = read(folder / "b.npy").substr(0, 128);
  head.replace(head.find("|b1"), 3, "<f8");
  head.replace(head.find("(1000, 300), "), 13, "(134217728, 1000), ");
  head.erase(head.find("    "), 6);
  write(folder / "huge.npy", head);
  if (::truncate((folder / "huge.npy").c_str(), 128 + INT64_C(134217728000) * 8) == 0) {
    HostTensor huge = load_tensor(folder / "huge.npy");
    CHECK(huge.mapped);
    CHECK(huge.get(134217727999).as<double>() == 0.0);
  }
}

TEST_CASE("a mapped file that is cut short ends the process with a message, not by a signal") {
  Folder folder;
  save_tensor(folder / "x.npy", ramp(DType::F64, {100000}));
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[1], STDERR_FILENO);
    HostTensor x = load_tensor(folder / "x.npy");
    if (!x.mapped || ::truncate((folder / "x.npy").c_str(), 100) != 0) ::_exit(1);
    ::_exit(x.get(99999).as<double>() == 0 ? 2 : 0); // never reached
  }
  ::close(pipe_ends[1]);
  char text[200] = {};
  (void)!::read(pipe_ends[0], text, sizeof text - 1);
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(contains(text, "cut short"));
}

TEST_CASE("text files are UTF-8") {
  Folder folder;
  write_text(folder / "t", "h\xc3\xa9llo \xf0\x9f\x98\x80\n");
  CHECK(read_text(folder / "t") == "h\xc3\xa9llo \xf0\x9f\x98\x80\n");
  write(folder / "t", "\xef\xbb\xbfx");
  CHECK(read_text(folder / "t") == "x");
  write(folder / "t", std::string(200000, 'a'));
  CHECK(read_text(folder / "t").size() == 200000);
  for (const char* bad : {"\xff", "a\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80"}) {
    write(folder / "t", bad);
    CHECK_THROWS_WITH_AS(read_text(folder / "t"), doctest::Contains("UTF-8"), IoError);
  }
  CHECK(file_exists(folder / "t"));
  CHECK(file_exists(folder.path.string()));
  CHECK_FALSE(file_exists(folder / "none"));
}
