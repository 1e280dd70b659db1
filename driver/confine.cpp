#include "driver/confine.h"
#include "driver/messages.h"
#include "vm/io/landlock.h"
#include "vm/ranks.h"
#include "vm/vm.h"

namespace tl::driver {
namespace {

// A file is written beside what it replaces; a pipe or a device as it is.
void add_output(std::vector<AllowedFiles>& files, const std::string& path) {
  const size_t slash = path.rfind('/');
  files.push_back({slash == std::string::npos ? "." : path.substr(0, slash + 1), true});
  files.push_back({path, true});
}

} // namespace

void confine(RunSetup& setup, const ProgramArguments& arguments, const std::string& cache_folder) {
  const FileRules& rules = setup.files;
  if (rules.reach == FileRules::Reach::All || Ranks::promised()) return;
  setup.run.memory_limit = memory_of_each_device(setup.run);
  std::vector<AllowedFiles> files = setup.of_cards;
  if (rules.reach == FileRules::Reach::Folder) files.push_back({rules.folder, true});
  if (!cache_folder.empty()) files.push_back({cache_folder, true});
  for (const std::string& path : arguments.outputs)
    add_output(files, path);
  if (!setup.trace.empty()) add_output(files, setup.trace);
  if (!keep_process_to(files))
    show("NoLandlock", "this system has no Landlock: tl keeps the program to its files, and the kernel does not");
}

} // namespace tl::driver
