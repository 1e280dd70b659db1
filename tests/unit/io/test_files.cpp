// Reading and writing .npy and PNG: files that other programs made, round trips, and broken files, which must be
// refused with a message and never crash.
#include "abi/scalar_op.h"
#include "folder.h"
#include "vm/io/formats.h"
#include <algorithm>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tl;
using namespace tl::test;
namespace fs = std::filesystem;

#include "file_bytes.inc"

namespace {

// A .npy file of version 1 with this header text.
std::string with_header(const std::string& header, const std::string& data = {}) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

} // namespace

TEST_CASE(".npy files that NumPy wrote") {
  Folder folder;
  HostTensor f32 = load_bytes(folder, bytes_of(kNpyF32));
  CHECK(f32.dtype == DType::F32);
  CHECK(f32.dims == std::vector<int64_t>{2, 3});
  CHECK(f32.get(5).as<float>() == 6.5f);
  HostTensor fortran = load_bytes(folder, bytes_of(kNpyFortran));
  CHECK(fortran.dims == std::vector<int64_t>{2, 3, 4});
  for (int64_t i = 0; i < 24; ++i)
    CHECK(fortran.get(i).as<int16_t>() == i);
  HostTensor big = load_bytes(folder, bytes_of(kNpyBigEndian));
  CHECK(big.get(0).as<double>() == 1.5);
  CHECK(big.get(2).as<double>() == 1e300);
  CHECK(load_bytes(folder, bytes_of(kNpyVersion2)).get(2).as<uint8_t>() == 3);
  HostTensor bools = load_bytes(folder, bytes_of(kNpyVersion3));
  CHECK(bools.dtype == DType::Bool);
  CHECK(bools.get(0).as<uint8_t>() == 1);
  HostTensor half = load_bytes(folder, bytes_of(kNpyHalf));
  CHECK(half.dtype == DType::F16);
  CHECK(f16_to_float(half.get(1).as<uint16_t>()) == 65504.0f);
  HostTensor scalar = load_bytes(folder, bytes_of(kNpyScalar));
  CHECK(scalar.dims.empty());
  CHECK(scalar.get(0).as<int64_t>() == -7);
  CHECK(load_bytes(folder, bytes_of(kNpyEmpty)).dims == std::vector<int64_t>{0, 3});
  CHECK(is_complex(load_bytes(folder, bytes_of(kNpyComplex)).dtype));
}

TEST_CASE("what tl writes is what NumPy writes, and reads back") {
  Folder folder;
  HostTensor x = load_bytes(folder, bytes_of(kNpyF32));
  save_tensor(folder / "y.npy", x);
  CHECK(read(folder / "y.npy") == bytes_of(kNpyF32));
  save_tensor(folder / "s.NPY", load_bytes(folder, bytes_of(kNpyScalar)));
  CHECK(read(folder / "s.NPY") == bytes_of(kNpyScalar));
  for (int t = 0; t < kDTypeCount; ++t) {
    auto type = static_cast<DType>(t);
    if (type == DType::BF16 || type == DType::Device) continue;
    HostTensor from = HostTensor::make(type, {3, 5});
    for (int64_t i = 0; i < from.byte_count(); ++i)
      from.data()[i] = std::byte(type == DType::Bool ? i % 2 : i * 37 % 256);
    save_tensor(folder / "t.npy", from);
    HostTensor back = load_tensor(folder / "t.npy");
    CHECK(back.dtype == (type == DType::Key ? DType::U64 : type));
    CHECK(std::memcmp(back.data(), from.data(), static_cast<size_t>(from.byte_count())) == 0);
  }
  CHECK_THROWS_WITH_AS(save_tensor(folder / "b.npy", HostTensor::make(DType::BF16, {1})), doctest::Contains("bf16"),
                       IoError);
  std::vector<int64_t> many(40, 1);
  save_tensor(folder / "m.npy", HostTensor::make(DType::U8, many));
  CHECK(load_tensor(folder / "m.npy").dims == many);
}

TEST_CASE("a .npy file cut anywhere is refused") {
  Folder folder;
  std::string whole = bytes_of(kNpyF32);
  for (size_t n = 0; n < whole.size(); ++n)
    CHECK(failure(folder, whole.substr(0, n)) != "none");
  CHECK(contains(failure(folder, whole.substr(0, whole.size() - 1)), "truncated"));
  CHECK(contains(failure(folder, ""), "empty"));
  CHECK(contains(failure(folder, "hello, world"), "no row of numbers"));
}

TEST_CASE("hostile .npy headers are refused") {
  Folder folder;
  auto refused = [&](const std::string& header) { return failure(folder, with_header(header)); };
  CHECK(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }\n") == "none");
  CHECK(refused("{\"shape\": (0L, ), \"descr\": \"|u1\", \"fortran_order\": True}") == "none");
  CHECK(
      contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (9999999999999999999999,), }"), "too large"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (4611686018427387904, 4, 4), }"),
                 "truncated"));
  CHECK(contains(refused("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,), }"), "truncated"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (-1,), }"), "tuple"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (3), }"), "tuple"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (3 4,), }"), "tuple"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': Maybe, 'shape': (3,), }"), "fortran_order"));
  CHECK(contains(refused("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"), "'|O'"));
  CHECK(contains(refused("{'descr': '|f4', 'fortran_order': False, 'shape': (3,), }"), "'|f4'"));
  CHECK(contains(refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }"), "structured"));
  CHECK(contains(refused("{'descr': '|u1', 'shape': (3,), }"), "lacks"));
  CHECK(contains(refused("{'descr': '|u1', 'descr': '|u1', }"), "unexpected"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (0,), } import os"), "goes on"));
  CHECK(contains(refused("{'descr': '|u1"), "ends inside"));
  CHECK(contains(refused(""), "'{'"));
  std::string axes;
  for (int i = 0; i < 65; ++i)
    axes += "1,";
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (" + axes + "), }"), "axes"));
  std::string version = bytes_of(kNpyF32);
  version[6] = 9;
  CHECK(contains(failure(folder, version), "version"));
  std::string claims("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  CHECK(contains(failure(folder, claims), "claims"));
}

TEST_CASE("PNG images of every kind become u8[h, w, c]") {
  Folder folder;
  auto check = [&](const char* hex, std::vector<int64_t> dims, std::vector<int> values) {
    HostTensor x = load_bytes(folder, bytes_of(hex));
    CHECK(x.dtype == DType::U8);
    CHECK(x.dims == dims);
    CHECK(peek_header(folder / "x").dims == dims);
    REQUIRE(x.count() == static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      CHECK(x.get(static_cast<int64_t>(i)).as<uint8_t>() == values[i]);
  };
  check(kPngGray, {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  check(kPngGray1, {1, 8, 1}, {255, 0, 255, 0, 0, 255, 0, 255});
  check(kPngPalette, {1, 4, 3}, {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120});
  check(kPngPaletteAlpha, {1, 2, 4}, {10, 20, 30, 7, 40, 50, 60, 255});
  check(kPngRgba, {1, 1, 4}, {1, 2, 3, 4});
  check(kPngGrayAlpha, {1, 1, 2}, {9, 8});
  check(kPngInterlaced, {2, 2, 1}, {1, 2, 3, 4});
}

TEST_CASE("a PNG image of 16 bits a channel becomes u16") {
  Folder folder;
  HostTensor x = load_bytes(folder, bytes_of(kPngGray16));
  CHECK(x.dtype == DType::U16);
  CHECK(x.dims == std::vector<int64_t>{1, 2, 1});
  CHECK(peek_header(folder / "x").dtype == DType::U16);
  CHECK(x.get(0).as<uint16_t>() == 0x1234);
  CHECK(x.get(1).as<uint16_t>() == 0xffff);
  ReadOptions options;
  options.load.channels = 4;
  HostTensor rgba = load_tensor(folder / "x", options);
  CHECK(rgba.dims == std::vector<int64_t>{1, 2, 4});
  for (int64_t i = 0; i < 3; ++i)
    CHECK(rgba.get(i).as<uint16_t>() == 0x1234);
  CHECK(rgba.get(3).as<uint16_t>() == 0xffff);
}

TEST_CASE("broken PNG images are refused") {
  Folder folder;
  std::string whole = bytes_of(kPngGray);
  for (size_t n = 1; n < whole.size(); ++n)
    CHECK(failure(folder, whole.substr(0, n)) != "none");
  int refused = 0;
  for (size_t i = 8; i < whole.size(); ++i) { // every byte is under a checksum
    std::string broken = whole;
    broken[i] = static_cast<char>(broken[i] ^ 0x55);
    refused += failure(folder, broken) != "none";
  }
  CHECK(refused > static_cast<int>(whole.size()) / 2);
  CHECK(contains(failure(folder, bytes_of(kPngHuge)), "can hold"));
}

TEST_CASE("PNG round trips") {
  Folder folder;
  for (int64_t c = 0; c <= 4; ++c) {
    std::vector<int64_t> dims{5, 7};
    if (c) dims.push_back(c);
    HostTensor x = HostTensor::make(DType::U8, dims);
    for (int64_t i = 0; i < x.count(); ++i)
      x.data()[i] = std::byte(i * 31 % 256);
    save_tensor(folder / "x.png", x);
    HostTensor back = load_tensor(folder / "x.png");
    CHECK(back.dims == std::vector<int64_t>{5, 7, c ? c : 1});
    CHECK(std::memcmp(back.data(), x.data(), static_cast<size_t>(x.count())) == 0);
  }
  CHECK_THROWS_WITH_AS(save_tensor(folder / "x.png", HostTensor::make(DType::F32, {2, 2})),
                       doctest::Contains("u8[h, w]"), IoError);
  CHECK_THROWS_AS(save_tensor(folder / "x.png", HostTensor::make(DType::U8, {2, 2, 5})), IoError);
  CHECK_THROWS_AS(save_tensor(folder / "x.png", HostTensor::make(DType::U8, {0, 2})), IoError);
  CHECK_THROWS_AS(save_tensor(folder / "x.png", HostTensor::make(DType::U8, {1, 2000000})), IoError);
}

TEST_CASE("saving replaces atomically and leaves nothing behind") {
  Folder folder;
  std::string path = folder / "x.npy";
  write(path, "old");
  ::chmod(path.c_str(), 0640);
  save_tensor(path, HostTensor::make(DType::F32, {2}));
  struct stat info{};
  ::stat(path.c_str(), &info);
  CHECK((info.st_mode & 0777) == 0640);
  fs::create_symlink("x.npy", folder.path / "link.npy");
  save_tensor(folder / "link.npy", HostTensor::make(DType::F32, {3}));
  CHECK(fs::is_symlink(folder.path / "link.npy"));
  CHECK(load_tensor(path).dims == std::vector<int64_t>{3});
  CHECK_THROWS_AS(write_file_atomically(path, [](int) { throw IoError("stop"); }), IoError);
  CHECK(load_tensor(path).dims == std::vector<int64_t>{3});
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 2);
}

namespace {

// How a process ends that has written half of a file: `kill` is called in it, between the halves.
template <class Kill> int end_in_the_middle(const std::string& path, WhileWritten how, Kill&& kill) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
      std::signal(signal, SIG_DFL); // the test program handles them
    write_file_atomically(
        path,
        [&](int file) {
          write_bytes(file, "half", 4);
          kill();
        },
        how);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

std::vector<std::string> names_in(const Folder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

TEST_CASE("a process that ends while it saves leaves the old file, and nothing beside it") {
  using Names = std::vector<std::string>;
  for (WhileWritten how : {WhileWritten::Unnamed, WhileWritten::Named})
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      Folder folder;
      CHECK(end_in_the_middle(folder / "x", how, [&] { ::raise(signal); }) == signal);
      CHECK(names_in(folder) == Names{});
      write(folder / "x", "old");
      CHECK(end_in_the_middle(folder / "x", how, [&] { ::raise(signal); }) == signal);
      CHECK(names_in(folder) == Names{"x"});
      CHECK(read(folder / "x") == "old");
      // What somebody else handles is his, before and afterwards.
      CHECK(end_in_the_middle(folder / "x", how, [&] {
              std::signal(signal, SIG_IGN);
              ::raise(signal);
            }) == 0);
      CHECK(read(folder / "x") == "half");
    }
  Folder folder; // nothing can be done against this one, but by files without names
  CHECK(end_in_the_middle(folder / "x", WhileWritten::Unnamed, [] { ::raise(SIGKILL); }) == SIGKILL);
  CHECK(names_in(folder) == Names{});
}

TEST_CASE("signals are handled as before once a file is written") {
  Folder folder;
  for (WhileWritten how : {WhileWritten::Unnamed, WhileWritten::Named})
    for (int round = 0; round < 2; ++round) // the second replaces
      for (auto handler : {SIG_DFL, SIG_IGN}) {
        std::signal(SIGTERM, handler);
        write_file_atomically(folder / "x", [](int file) { write_bytes(file, "x", 1); }, how);
        CHECK((std::signal(SIGTERM, SIG_DFL) == handler));
      }
}

TEST_CASE("saving follows links to where nothing is yet, as open(2) does") {
  for (WhileWritten how : {WhileWritten::Unnamed, WhileWritten::Named}) {
    Folder folder;
    fs::create_directory(folder.path / "d");
    auto save_by = [&](const std::string& name, const fs::path& to) {
      fs::create_symlink(to, folder.path / name);
      write_file_atomically(folder / name, [&](int file) { write_bytes(file, name.data(), name.size()); }, how);
      CHECK(fs::is_symlink(folder.path / name));
    };
    save_by("relative", "d/a");
    save_by("absolute", folder.path / "d" / "b");
    fs::create_symlink("../c", folder.path / "d" / "second");
    save_by("chain", "d/second");
    CHECK(read(folder / "d/a") == "relative");
    CHECK(read(folder / "d/b") == "absolute");
    CHECK(read(folder / "c") == "chain");
    fs::create_symlink("loop", folder.path / "loop");
    CHECK_THROWS_WITH_AS(write_text(folder / "loop", "x"), doctest::Contains("cannot write"), IoError);
    fs::create_symlink("none/x", folder.path / "nowhere");
    CHECK_THROWS_WITH_AS(write_text(folder / "nowhere", "x"), doctest::Contains("no such file"), IoError);
    CHECK(names_in(folder) == std::vector<std::string>{"absolute", "c", "chain", "d", "loop", "nowhere", "relative"});
  }
}

TEST_CASE("a file whose name is as long as names may be is saved and replaced") {
  Folder folder;
  const std::string name(NAME_MAX, 'n');
  for (WhileWritten how : {WhileWritten::Unnamed, WhileWritten::Named})
    for (const char* text : {"1", "2"}) {
      write_file_atomically(folder / name, [&](int file) { write_bytes(file, text, 1); }, how);
      CHECK(read(folder / name) == text);
      CHECK(names_in(folder).size() == 1);
    }
}

TEST_CASE("errors of the file system are told plainly") {
  Folder folder;
  CHECK_THROWS_WITH_AS(load_tensor(folder / "none.npy"), doctest::Contains("no such file"), IoError);
  CHECK_THROWS_WITH_AS(load_tensor(folder.path.string()), doctest::Contains("directory"), IoError);
  HostTensor x = HostTensor::make(DType::F32, {2});
  CHECK_THROWS_WITH_AS(save_tensor(folder / "none/x.npy", x), doctest::Contains("no such file or directory"), IoError);
  CHECK_THROWS_WITH_AS(save_tensor(folder / "x.xyz", x), doctest::Contains("ending"), IoError);
  fs::create_directory(folder.path / "d.npy");
  CHECK_THROWS_WITH_AS(save_tensor(folder / "d.npy", x), doctest::Contains("directory"), IoError);
  if (fs::exists("/dev/full")) {
    fs::create_symlink("/dev/full", folder.path / "full.npy");
    CHECK_THROWS_WITH_AS(save_tensor(folder / "full.npy", x), doctest::Contains("no space"), IoError);
  }
  if (::geteuid() != 0) {
    save_tensor(folder / "p.npy", x);
    ::chmod((folder / "p.npy").c_str(), 0000);
    CHECK_THROWS_WITH_AS(load_tensor(folder / "p.npy"), doctest::Contains("permission"), IoError);
    CHECK_THROWS_WITH_AS(save_tensor(folder / "p.npy", x), doctest::Contains("permission"), IoError);
  }
}

TEST_CASE("a pipe is read whole") {
  Folder folder;
  std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::string bytes = bytes_of(kNpyF32);
  pid_t child = ::fork();
  if (child == 0) {
    write(path, bytes);
    ::_exit(0);
  }
  CHECK(load_tensor(path).get(5).as<float>() == 6.5f);
}

TEST_CASE("a header of another type is told with both types") {
  TensorHeader header{DType::F64, {3, 4}};
  CHECK_NOTHROW(require_type("x.npy", header, DType::F64, 2));
  CHECK_THROWS_WITH_AS(require_type("x.npy", header, DType::F32, 2), "'x.npy' holds f64[3, 4], not f32[_, _]", IoError);
  CHECK_THROWS_WITH_AS(require_type("x.npy", header, DType::F64, 0), "'x.npy' holds f64[3, 4], not f64", IoError);
}
