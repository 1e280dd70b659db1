// tl doc: what a function of the library does, with an example, or a module; without a name, what there is; with --html
// all of it and the manual as pages.
#include "commands.h"
#include "documentation.h"
#include "options.h"
#include "parser/check/foreign_names.h"
#include "site.h"
#include <fmt/format.h>
#include <memory>

namespace tl::cli {
namespace {

void show_lines(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    fmt::print("    {}\n", text.substr(begin, end - begin));
    begin = end + 1;
  }
}

} // namespace

void show_documentation(const Documented& entry) {
  for (const std::string& signature : entry.signatures)
    fmt::print("{}\n", signature);
  show_lines(entry.doc);
  for (const Example& example : entry.examples) {
    if (entry.doc.find('`' + example.code + '`') != std::string::npos) continue; // the text says it
    fmt::print("    {}\n", example.code);
    if (!example.value.empty()) fmt::print("    # {}{}\n", example.about ? "about " : "", example.value);
  }
}

// What tl writes for a name of another library: np.cov, torch.einsum, concatenate.
static bool show_foreign(const std::string& name) {
  const std::string member(foreign_member(name));
  if (!member.empty() && show_documentation(member)) return true;
  const auto hint = member.empty() ? foreign_hint(name) : member_hint(member);
  if (hint) fmt::print("tl has no {}: {}\n", name, *hint);
  return hint.has_value();
}

static bool show_own(const std::string& name) {
  bool found = false;
  auto entry = [&](const Documented& documented) {
    if (found) fmt::print("\n");
    show_documentation(documented);
    found = true;
  };
  const std::vector<DocumentedModule> modules = documented_library();
  for (const DocumentedModule& module : modules) {
    const bool is_named = module.name == name;
    if (is_named || (name.empty() && module.name != "prelude")) {
      fmt::print("{}import {}\n", found ? "\n" : "", module.name);
      show_lines(module.doc);
      found = true;
    }
    for (const Documented& documented : module.functions)
      if (name.empty() || is_named || documented.name == name) entry(documented);
  }
  if (!found) // of a module that was not named
    for (const DocumentedModule& module : modules)
      for (const Documented& documented : module.functions)
        if (documented.name == module.name + "." + name) entry(documented);
  return found;
}

bool show_documentation(const std::string& name) { return show_own(name) || show_foreign(name); }

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
    } else if (!show_documentation(*name)) {
      fmt::print(stderr, "tl: there is no documentation of '{}'; `tl doc` lists all\n", *name);
      exit_code = kUsage;
    }
  });
}

} // namespace tl::cli
