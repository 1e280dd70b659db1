#include "vm/io/landlock.h"
#include "abi/descriptor.h"
#include <cstdint>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace tl {
namespace {

// Rights that came after the first version (linux/landlock.h of the machine that builds tl may be older).
constexpr uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kDeviceControl = 1 << 15; // versions 2, 3, 5
constexpr uint64_t kBind = 1 << 0, kConnect = 1 << 1;                               // version 4: TCP

constexpr uint64_t kFirst = (1 << 13) - 1; // those of version 1
constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE, kReadFolder = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr uint64_t kWriteFolder = LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | kRefer;

struct Rights { // landlock_ruleset_attr of version 4
  uint64_t files, network;
};

uint64_t known(long version) {
  return kFirst | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0) | (version >= 5 ? kDeviceControl : 0);
}

bool allow(const Descriptor& rules, const AllowedFiles& files, uint64_t known_rights) {
  Descriptor file(::open(files.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) return true; // it is not there
  landlock_path_beneath_attr rule{};
  rule.parent_fd = file.get();
  uint64_t rights = kReadFile | (files.writes ? kWriteFile : 0);
  if (S_ISDIR(info.st_mode)) rights |= kReadFolder | (files.writes ? kWriteFolder : 0);
  if (files.runs) rights |= LANDLOCK_ACCESS_FS_EXECUTE;
  if (files.controls) rights |= kDeviceControl;
  if (files.tidies) rights = LANDLOCK_ACCESS_FS_REMOVE_DIR;
  rule.allowed_access = rights & known_rights;
  return ::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

} // namespace

bool keep_process_to(const std::vector<AllowedFiles>& allowed) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  const Rights rights{known(version), version >= 4 ? kBind | kConnect : 0};
  const size_t size = version >= 4 ? sizeof rights : sizeof rights.files;
  const Descriptor rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rights, size, 0)));
  if (!rules) return false;
  for (const AllowedFiles& files : allowed)
    if (!allow(rules, files, rights.files)) return false;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return ::syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0;
}

} // namespace tl
