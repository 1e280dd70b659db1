// Where libraries are searched: folders that the test makes, named by the environment.
#include "vm/gpu/libraries.h"
#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace tl;

namespace {

// An empty folder, and an environment that names nothing, until the test ends.
class World {
public:
  World() {
    std::string name = (fs::temp_directory_path() / "tl_search_XXXXXX").string();
    root = fs::canonical(mkdtemp(name.data()));
    for (const char* variable :
         {"TL_CUDA_PATH", "CUDA_HOME", "CUDA_PATH", "PATH", "HOME", "VIRTUAL_ENV", "PYENV_VERSION"}) {
      const char* value = std::getenv(variable);
      before_[variable] = value ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(variable);
    }
  }
  ~World() {
    for (const auto& [variable, value] : before_)
      if (value)
        setenv(variable.c_str(), value->c_str(), 1);
      else
        unsetenv(variable.c_str());
    fs::remove_all(root);
  }
  void set(const char* variable, const std::string& folder) { setenv(variable, (root / folder).c_str(), 1); }
  void file(const std::string& path, const std::string& text = "", bool runs = false) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
    if (runs) fs::permissions(root / path, fs::perms::owner_all);
  }
  void link(const std::string& path, const std::string& to) {
    fs::create_directories((root / path).parent_path());
    fs::create_symlink(to, root / path);
  }
  // What is found in the folder of the test, and bare names: the machine may have libraries of its own.
  std::vector<std::string> found(const std::string& stem, const std::vector<std::string>& versions) {
    std::vector<std::string> own;
    for (const std::string& file : cuda::candidates(stem, versions)) {
      if (file.rfind(root.string() + "/", 0) == 0) own.push_back(file.substr(root.string().size() + 1));
      if (file.find('/') == std::string::npos) own.push_back(file);
    }
    return own;
  }
  std::vector<std::string> nvrtc() { return found("libnvrtc.so", {"13", "12", ""}); }

  fs::path root;

private:
  std::map<std::string, std::optional<std::string>> before_;
};

using Names = std::vector<std::string>;
const Names kBare = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

Names with_bare(Names before, const Names& after = {}) {
  before.insert(before.end(), kBare.begin(), kBare.end());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

} // namespace

TEST_CASE("search: nothing is named, so the loader alone is asked") {
  World world;
  CHECK(world.nvrtc() == kBare);
  CHECK(world.found("libcuda.so", {"1"}) == Names{"libcuda.so.1"});
}

TEST_CASE("search: TL_CUDA_PATH alone, where it holds the library") {
  World world;
  world.set("TL_CUDA_PATH", "own");
  world.set("CUDA_HOME", "home");
  world.file("home/lib64/libnvrtc.so.13");
  CHECK(world.nvrtc() == with_bare({"home/lib64/libnvrtc.so.13"}));
  world.file("own/libnvrtc.so.12");
  world.file("own/targets/x86_64-linux/lib/libnvrtc.so");
  world.file("own/lib/libnvrtc.so.13");
  world.file("own/lib64/libnvrtc.so");
  world.file("own/lib64/libnvrtc.so.13");
  CHECK(world.nvrtc() == Names{"own/lib64/libnvrtc.so.13", "own/lib64/libnvrtc.so", "own/lib/libnvrtc.so.13",
                               "own/targets/x86_64-linux/lib/libnvrtc.so", "own/libnvrtc.so.12"});
  // It is asked for each library: one that it does not hold is searched elsewhere.
  world.file("home/lib64/libcuda.so.1");
  CHECK(world.found("libcuda.so", {"1"}) == Names{"home/lib64/libcuda.so.1", "libcuda.so.1"});
}

TEST_CASE("search: CUDA_HOME before CUDA_PATH, both before the loader") {
  World world;
  world.set("CUDA_PATH", "path");
  world.set("CUDA_HOME", "home");
  world.file("path/lib64/libnvrtc.so.13");
  world.file("home/lib/libnvrtc.so.12");
  world.file("home/lib/libnvrtc.so.11");         // no version that is asked for
  world.file("home/lib64/stubs/libnvrtc.so.13"); // stubs are not searched
  CHECK(world.nvrtc() == with_bare({"home/lib/libnvrtc.so.12", "path/lib64/libnvrtc.so.13"}));
}

TEST_CASE("search: a folder under two names counts once, by the first") {
  World world;
  world.set("CUDA_HOME", "home");
  world.set("CUDA_PATH", "other");
  world.file("home/lib/libnvrtc.so.13");
  world.link("home/lib64", "lib");
  world.link("other", "home");
  CHECK(world.nvrtc() == with_bare({"home/lib64/libnvrtc.so.13"}));
}

TEST_CASE("search: empty variables, and files where folders are meant, name nothing") {
  World world;
  setenv("TL_CUDA_PATH", "", 1);
  world.file("file");
  world.set("CUDA_HOME", "file");
  world.set("CUDA_PATH", "nowhere");
  setenv("PATH", "::.:relative", 1);
  CHECK(world.nvrtc() == kBare);
}

TEST_CASE("search: a path that is not absolute is made so") {
  World world;
  world.file("own/lib64/libnvrtc.so.13");
  const fs::path before = fs::current_path();
  fs::current_path(world.root);
  setenv("TL_CUDA_PATH", "own", 1);
  CHECK(world.nvrtc() == Names{"own/lib64/libnvrtc.so.13"}); // under the root, which found() takes off
  fs::current_path(before);
}

TEST_CASE("search: the toolkit of the nvcc on the path, through links") {
  World world;
  world.file("toolkit/bin/nvcc", "", true);
  world.file("toolkit/targets/x86_64-linux/lib/libnvrtc.so.13");
  world.link("bin/nvcc", "../toolkit/bin/nvcc");
  world.set("PATH", "bin");
  CHECK(world.nvrtc() == with_bare({}, {"toolkit/targets/x86_64-linux/lib/libnvrtc.so.13"}));
  fs::permissions(world.root / "toolkit/bin/nvcc", fs::perms::owner_read); // no program
  CHECK(world.nvrtc() == kBare);
}

TEST_CASE("search: the wheels beside python3, newest Python first") {
  World world;
  world.file("python/bin/python3", "", true);
  world.set("PATH", "python/bin");
  const std::string nine = "python/lib/python3.9/site-packages/nvidia/",
                    eleven = "python/lib/python3.11/dist-packages/nvidia/";
  world.file(nine + "cuda_nvrtc/lib/libnvrtc.so.12");
  world.file(eleven + "cuda_nvrtc/lib/libnvrtc.so.12");
  world.file(eleven + "cu13/lib/libnvrtc.so.13");
  CHECK(world.nvrtc() == with_bare({}, {eleven + "cu13/lib/libnvrtc.so.13", eleven + "cuda_nvrtc/lib/libnvrtc.so.12",
                                        nine + "cuda_nvrtc/lib/libnvrtc.so.12"}));
}

TEST_CASE("search: the wheels of a virtual environment, then of the Python under it, then of the user") {
  World world;
  const std::string wheel = "/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
  world.file("base/bin/python3.11", "", true);
  world.file("base" + wheel);
  world.link("venv/bin/python3", "../../base/bin/python3.11");
  world.file("venv" + wheel);
  world.file("home/.local" + wheel);
  world.set("HOME", "home");
  world.set("PATH", "venv/bin");
  CHECK(world.nvrtc() == with_bare({}, {"venv" + wheel, "base" + wheel, "home/.local" + wheel}));
  world.set("PATH", "empty"); // active, but its programs are not on the path
  world.set("VIRTUAL_ENV", "venv");
  CHECK(world.nvrtc() == with_bare({}, {"venv" + wheel, "home/.local" + wheel}));
}

TEST_CASE("search: the wheels of the version that pyenv starts") {
  World world;
  auto wheel = [](const std::string& version) {
    return "pyenv/versions/" + version + "/lib/python" + version.substr(0, 4) +
           "/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
  };
  world.file("pyenv/shims/python3", "#!/bin/sh\nexit 1\n", true);
  world.file("pyenv/version", "3.11.7\n3.12.1\n");
  world.file(wheel("3.11.7"));
  world.file(wheel("3.12.1"));
  world.set("PATH", "pyenv/shims");
  CHECK(world.nvrtc() == with_bare({}, {wheel("3.11.7")}));
  setenv("PYENV_VERSION", "3.12.1:3.11.7", 1);
  CHECK(world.nvrtc() == with_bare({}, {wheel("3.12.1")}));
}
