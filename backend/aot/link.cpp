#include "backend/aot/link.h"
#include <fstream>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <stdexcept>

LLD_HAS_DRIVER(elf)

namespace tl {

void link_elf(const LinkJob& job) {
  std::vector<std::string> words = {"ld.lld",
                                    "-o",
                                    job.output,
                                    "--gc-sections",
                                    "--icf=safe",
                                    "--build-id=none",
                                    "--eh-frame-hdr", // without it exceptions end the program
                                    "-z",
                                    "relro",
                                    "-z",
                                    "now",
                                    "-z",
                                    "noexecstack",
                                    "--threads=1"};
  if (!job.keep_symbols) words.push_back("--strip-all");
  if (job.shared) {
    words.insert(words.end(), {"-shared", "-Bsymbolic", "--no-undefined"});
    std::string script = job.output + ".exports";
    std::ofstream out(script);
    out << "{ global:";
    for (const std::string& name : job.exports)
      out << ' ' << name << ';';
    out << " local: *; };\n";
    words.push_back("--version-script=" + script);
  } else {
    words.insert(words.end(), {"-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", "-e", "_start"});
  }
  words.insert(words.end(), job.inputs.begin(), job.inputs.end());
  std::vector<const char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(word.c_str());
  std::string said;
  llvm::raw_string_ostream text(said);
  lld::Result result = lld::lldMain(arguments, text, text, {{lld::Gnu, &lld::elf::link}});
  if (job.shared) std::remove((job.output + ".exports").c_str());
  if (result.retCode != 0) throw std::runtime_error("linking failed: " + said);
}

} // namespace tl
