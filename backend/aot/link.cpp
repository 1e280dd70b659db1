#include "backend/aot/link.h"
#include "backend/cpu/llvm_guard.h"
#include <fmt/format.h>
#include <fstream>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

LLD_HAS_DRIVER(elf)

namespace tl {

void link_elf(const LinkJob& job) {
  std::vector<std::string> words = {"ld.lld", "-o", job.output, "--build-id=none", "-z", "noexecstack", "--threads=1"};
  auto add = [&](std::initializer_list<const char*> more) { words.insert(words.end(), more.begin(), more.end()); };
  if (job.kind == LinkJob::Kind::Relocatable) {
    add({"-r", "--unique", "--force-group-allocation"});
  } else {
    // Without the header of the unwind table exceptions end the program.
    // Identical functions become one: nothing that is linked compares their addresses. But a debugger names them.
    add({"--gc-sections", job.keep_symbols ? "--icf=safe" : "--icf=all", "--eh-frame-hdr", "-z", "relro", "-z", "now",
         "--hash-style=gnu"});
    if (!job.keep_symbols) add({"--strip-all"});
  }
  if (job.kind == LinkJob::Kind::Executable) add({"-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", "-e", "_start"});
  if (job.kind == LinkJob::Kind::SharedLibrary) {
    // It stays until the process ends: results that are still in use are freed by its functions, and its threads may be
    // at work (vm/lasting.cpp).
    add({"-shared", "-Bsymbolic", "-z", "nodelete", "--wrap=__cxa_atexit"});
    if (!job.is_extension) add({"--no-undefined"});
    const std::string script = job.output + ".exports";
    std::ofstream(script) << fmt::format("{{ global: {}; local: *; }};\n", fmt::join(job.exports, "; "));
    words.push_back("--version-script=" + script);
  }
  words.insert(words.end(), job.inputs.begin(), job.inputs.end());
  std::vector<const char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(word.c_str());
  LlvmGuard guard;
  std::string said;
  llvm::raw_string_ostream text(said);
  lld::Result result = lld::lldMain(arguments, text, text, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0) return;
  while (said.ends_with('\n'))
    said.pop_back();
  for (size_t end; (end = said.find('\n')) != std::string::npos;) // a message is one line
    said.replace(end, 1, "; ");
  throw BuildError("linking failed: " + said);
}

} // namespace tl
