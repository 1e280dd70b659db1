// What a process may do with files: the rules of open_file, and the kernel's. Each in a process of its own, which they
// bind for good.
#include "folder.h"
#include "vm/io/access.h"
#include "vm/io/formats.h"
#include "vm/io/landlock.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tl;
using namespace tl::test;
namespace fs = std::filesystem;

namespace {

// The exit code of a process that calls f; 99: it threw or was ended.
template <class F> int in_process(F&& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = f();
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

bool opens(const std::string& path, int flags = O_RDONLY) {
  return bool(Descriptor(::open(path.c_str(), flags, 0600)));
}

enum class Answer { Opened, Failed, Forbidden };
Answer ask(const std::string& path) {
  try {
    return open_file(path, O_RDONLY) ? Answer::Opened : Answer::Failed;
  } catch (const IoError&) {
    return Answer::Forbidden;
  }
}

constexpr int kNoLandlock = 77;

} // namespace

TEST_CASE("paths that lead below a folder, and those that do not") {
  Folder folder;
  const fs::path root = folder.path / "root";
  fs::create_directories(root / "sub");
  write(root / "a", "a");
  write(root / "sub" / "b", "b");
  write(folder / "outside", "x");
  fs::create_directory_symlink("root", folder.path / "alias");
  fs::create_symlink("../outside", root / "out");
  fs::create_symlink("sub/b", root / "in");
  fs::create_symlink((root / "a").string(), root / "absolute");
  struct Case {
    std::string current, given, path;
    Answer answer;
  };
  const std::string base = folder.path.string();
  const Case cases[] = {
      {base, "root", "root/a", Answer::Opened},
      {base, "root", "./root//sub/./b", Answer::Opened},
      {base, "root/", base + "/root/a", Answer::Opened},
      {base, base + "/root", "root/in", Answer::Opened},
      {base, "root", "root/sub/../a", Answer::Opened},
      {base, "root", "root", Answer::Opened},
      {base, "root", "root/none", Answer::Failed},
      {base, "root", "root/a/b", Answer::Failed},
      {base, "root", "outside", Answer::Forbidden},
      {base, "root", "rooting", Answer::Forbidden},
      {base, "root", "root/../outside", Answer::Forbidden},
      {base, "root", "root/../root/a", Answer::Forbidden}, // it leads out on the way
      {base, "root", "root/out", Answer::Forbidden},
      {base, "root", "root/absolute", Answer::Forbidden},
      {base, "root", "/", Answer::Forbidden},
      {base, "root", "", Answer::Forbidden},
      {base, "root", "/proc/self/root" + base + "/root/a", Answer::Forbidden},
      {base, "alias", "alias/a", Answer::Opened}, // by its own name, and by that of where it leads
      {base, "alias", "root/a", Answer::Opened},
      {base + "/root/sub", "..", "../a", Answer::Opened},
      {base + "/root/sub", "..", "b", Answer::Opened},
      {base + "/root/sub", "..", "../../outside", Answer::Forbidden},
      {base + "/root", ".", "a", Answer::Opened},
      {base, "/", base + "/outside", Answer::Opened},
  };
  for (const Case& c : cases)
    CHECK_MESSAGE(in_process([&] {
                    if (::chdir(c.current.c_str()) != 0) return 98;
                    restrict_files({FileRules::Reach::Folder, c.given});
                    return static_cast<int>(ask(c.path));
                  }) == static_cast<int>(c.answer),
                  c.given << ": " << c.path);
  CHECK(in_process([&] {
          restrict_files({FileRules::Reach::None, ""});
          return static_cast<int>(ask(root / "a"));
        }) == static_cast<int>(Answer::Forbidden));
  CHECK(in_process([&] { // while the user has named it
          restrict_files({FileRules::Reach::None, ""});
          const NamedByUser by_user;
          return static_cast<int>(ask(root / "a"));
        }) == static_cast<int>(Answer::Opened));
  CHECK_THROWS_WITH_AS(restrict_files({FileRules::Reach::Folder, folder / "none"}), doctest::Contains("no such file"),
                       IoError);
  restrict_files({});
}

TEST_CASE("a folder that somebody exchanges for a link does not lead out") {
  Folder folder;
  fs::create_directories(folder.path / "root" / "d");
  fs::create_directories(folder.path / "outside");
  const int code = in_process([&] {
    restrict_files({FileRules::Reach::Folder, folder / "root"});
    const pid_t swapper = ::fork();
    if (swapper == 0)
      for (;;) {
        fs::rename(folder.path / "root" / "d", folder.path / "root" / "e");
        fs::create_directory_symlink("../outside", folder.path / "root" / "d");
        fs::remove(folder.path / "root" / "d");
        fs::rename(folder.path / "root" / "e", folder.path / "root" / "d");
      }
    for (int i = 0; i < 500; ++i)
      try {
        write_text(folder / "root/d/x", "x");
      } catch (const IoError&) {
      }
    ::kill(swapper, SIGKILL);
    ::waitpid(swapper, nullptr, 0);
    return fs::is_empty(folder.path / "outside") ? 0 : 1;
  });
  CHECK(code == 0);
}

TEST_CASE("the kernel keeps a process to its files") {
  Folder folder;
  fs::create_directories(folder.path / "may" / "sub");
  write(folder / "may/a", "a");
  write(folder / "reads", "r");
  write(folder / "secret", "s");
  const int code = in_process([&] {
    const Descriptor before(::open((folder / "secret").c_str(), O_RDONLY));
    if (!keep_process_to({{folder / "may", true}, {folder / "reads"}, {folder / "nowhere", true}})) return kNoLandlock;
    char byte;
    if (::read(before.get(), &byte, 1) != 1) return 1; // what is open stays open
    if (opens(folder / "secret") || opens("/etc/passwd") || opens(folder / "new", O_WRONLY | O_CREAT)) return 2;
    if (!opens(folder / "reads") || opens(folder / "reads", O_WRONLY)) return 3;
    if (!opens(folder / "may/a", O_RDWR) || !opens(folder / "may/sub/b", O_WRONLY | O_CREAT)) return 4;
    write_text(folder / "may/a", "replaced"); // all that saving does
    write_text(folder / "may/made", "made");
    if (read_text(folder / "may/a") != "replaced" || read_text(folder / "may/made") != "made") return 5;
    ::execl("/bin/true", "true", nullptr);
    if (errno != EACCES) return 6;
    return 0;
  });
  if (code == kNoLandlock) MESSAGE("skipped: this kernel has no Landlock");
  CHECK((code == 0 || code == kNoLandlock));
}
