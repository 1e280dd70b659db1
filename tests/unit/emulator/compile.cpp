#include "card.h"
#include <filesystem>
#include <fstream>

namespace tl {

using namespace test;
namespace fs = std::filesystem;

namespace {

const char* const kText = "struct f_arguments { unsigned long long a0; };\n"
                          "TL_KERNEL(f, f_arguments) { *tl_at<int>(a.a0) = %; }\n";

std::string text_of(const std::string& value) {
  std::string text = kText;
  return text.replace(text.find('%'), 1, value);
}

} // namespace

TEST_CASE("no compiler: the log says so") {
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  setenv("PATH", "/nowhere", 1);
  emulator::Compiled made = emulator::compile(text_of("1"), {});
  setenv("PATH", path.c_str(), 1);
  CHECK(!made.ok);
  CHECK(contains(made.log, "no C++ compiler: none of clang++-19, c++, g++, clang++ is on the PATH"));
  made = emulator::compile(text_of("1"), {"/nowhere/c++", ""});
  CHECK(!made.ok);
  CHECK(contains(made.log, "/nowhere/c++, which is no program"));
}

TEST_CASE("errors of a text are in the log, by its lines") {
  TL_NEEDS_COMPILER();
  Card card;
  std::string log, image = card.compile(text_of("nobody"), &log);
  CHECK(image.empty());
  CHECK(contains(log, "kernel.cu:2:"));
  CHECK(contains(log, "nobody"));
}

TEST_CASE("images are kept by what they were made of; damaged ones are made anew") {
  TL_NEEDS_COMPILER();
  std::string name = (fs::temp_directory_path() / "tl-emulator-test-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()));
  std::string cache = name + "/inner/cache";
  auto files = [&] {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(cache))
      found.push_back(entry.path());
    return found;
  };
  emulator::Compiled first = emulator::compile(text_of("1"), {"", cache});
  REQUIRE(first.ok);
  REQUIRE(files().size() == 1);
  auto written = fs::last_write_time(files()[0]);
  CHECK(emulator::compile(text_of("1"), {"", cache}).image == first.image);
  CHECK(fs::last_write_time(files()[0]) == written);
  CHECK(emulator::compile(text_of("2"), {"", cache}).image != first.image);
  CHECK(files().size() == 2);
  for (const fs::path& path : files()) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('x').put('y').put('z');
  }
  emulator::Compiled again = emulator::compile(text_of("1"), {"", cache});
  CHECK(again.ok);
  CHECK(again.image == first.image);
  fs::remove_all(name);
}

TEST_CASE("modules: each its own copy; images that are none are refused") {
  TL_NEEDS_COMPILER();
  Card card;
  cuda::Pointer p = card.allocate(4);
  for (int round = 0; round < 3; ++round)
    for (const char* value : {"1", "2"}) {
      Kernel one(card, text_of(value)), two(card, text_of("3"));
      CHECK(emulator::live().modules == 2);
      REQUIRE(one.launch(p, 1, 1) == 0);
      CHECK(card.get<int>(p, 1)[0] == value[0] - '0');
      REQUIRE(two.launch(p, 1, 1) == 0);
      CHECK(card.get<int>(p, 1)[0] == 3);
    }
  CHECK(emulator::live().modules == 0);
  std::string image = card.compile(text_of("1"));
  image[image.size() / 2] ^= 1;
  cuda::Module module = nullptr;
  CHECK(card.d.load_module(&module, image.data()) == cuda::kInvalidImage);
  std::string cubin(100, '\x7f');
  CHECK(card.d.load_module(&module, cubin.data()) == cuda::kInvalidImage);
  CHECK(card.d.free(p) == 0);
}

} // namespace tl
