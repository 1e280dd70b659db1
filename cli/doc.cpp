// tl doc: what a function of the library does, with an example, or a module; without a name, what there is; with --html
// all of it and the manual as pages.
#include "commands.h"
#include "documentation.h"
#include "options.h"
#include "parser/check/foreign_names.h"
#include "site.h"
#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace tl::cli {
namespace {

std::string indented(const std::string& text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    result += fmt::format("    {}\n", text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

} // namespace

std::string documentation_of(const Documented& entry) {
  std::string result;
  for (const std::string& signature : entry.signatures)
    result += signature + "\n";
  result += indented(entry.doc);
  for (const Example& example : entry.examples) {
    if (entry.doc.find('`' + example.code + '`') != std::string::npos) continue; // the text says it
    result += fmt::format("    {}\n", example.code);
    if (!example.value.empty()) result += fmt::format("    # {}{}\n", example.about ? "about " : "", example.value);
  }
  return result;
}

// What tl writes for a name of another library: np.cov, torch.einsum, concatenate.
static std::string documentation_of_foreign(const std::string& name) {
  const std::string member(foreign_member(name));
  if (!member.empty())
    if (std::string own = documentation_of(member); !own.empty()) return own;
  const auto hint = member.empty() ? foreign_hint(name) : member_hint(member);
  return hint ? fmt::format("tl has no {}: {}\n", name, *hint) : "";
}

static std::string documentation_of_own(const std::string& name) {
  std::string found;
  auto entry = [&](const Documented& documented) {
    found += (found.empty() ? "" : "\n") + documentation_of(documented);
  };
  const std::vector<DocumentedModule> modules = documented_library();
  for (const DocumentedModule& module : modules) {
    const bool is_named = module.name == name;
    if (is_named || (name.empty() && module.name != "prelude"))
      found += fmt::format("{}import {}\n{}", found.empty() ? "" : "\n", module.name, indented(module.doc));
    for (const Documented& documented : module.functions)
      if (name.empty() || is_named || documented.name == name) entry(documented);
  }
  if (found.empty()) // of a module that was not named
    for (const DocumentedModule& module : modules)
      for (const Documented& documented : module.functions)
        if (documented.name == module.name + "." + name) entry(documented);
  return found;
}

std::string documentation_of(const std::string& name) {
  std::string own = documentation_of_own(name);
  return own.empty() ? documentation_of_foreign(name) : own;
}

std::optional<std::string> help_on(compiler::Session& session, const std::string& name) {
  const std::vector<Documented> declared = session.declared();
  auto own = std::find_if(declared.rbegin(), declared.rend(), [&](const Documented& d) { return d.name == name; });
  if (own != declared.rend()) return documentation_of(*own);
  if (std::string text = documentation_of(name); !text.empty()) return text;
  const std::vector<std::string> names = session.names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  const auto type = session.type_of(name);
  return type ? *type + "\n" : "";
}

void add_doc(Command app, int& exit_code) {
  Command command =
      app.add_command("doc", "documentation of the standard library, of a module or of one function; or all as HTML");
  auto name = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  Option name_option = command.add_option("NAME", *name, "a function, struct or module");
  Option folder_option =
      command.add_option("--html", *folder, "write the manual and the library's reference as pages into this folder")
          .placeholder("FOLDER")
          .excludes(name_option);
  command.on_chosen([name, folder, folder_option, app, &exit_code] {
    if (folder_option.given()) {
      exit_code = write_site(*folder, app);
    } else if (const std::string text = documentation_of(*name); !text.empty()) {
      fmt::print("{}", text);
    } else {
      fmt::print(stderr, "tl: there is no documentation of '{}'; `tl doc` lists all\n", *name);
      exit_code = kUsage;
    }
  });
}

} // namespace tl::cli
