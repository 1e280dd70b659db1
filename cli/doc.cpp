// tl doc: what a function of the library does, with an example, or a module; without a name, what there is.
#include "commands.h"
#include "lang/diagnostics.h"
#include "lang/stdlib.h"
#include "options.h"
#include "parser/parse.h"
#include "parser/reference.h"
#include <fmt/format.h>
#include <memory>

namespace tl::cli {
namespace {

struct Module {
  std::string name, doc;
  std::vector<Documented> functions;
};

std::vector<Module> library() { // the prelude first
  std::vector<Module> modules;
  SourceManager sources;
  Diagnostics diagnostics;
  for (const EmbeddedFile& file : embedded_stdlib()) {
    if (!file.name.ends_with(".tl")) continue;
    const std::string name = file.name.substr(0, file.name.size() - 3);
    ast::File tree = parse(sources, sources.add(file.name, file.text), diagnostics, {true});
    Module module{name, tree.doc, documented(name, tree, sources)};
    modules.insert(name == "prelude" ? modules.begin() : modules.end(), std::move(module));
  }
  return modules;
}

void show_lines(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    fmt::print("    {}\n", text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void show(const Documented& entry) {
  for (const std::string& signature : entry.signatures)
    fmt::print("{}\n", signature);
  show_lines(entry.doc);
  for (const Example& example : entry.examples) {
    if (entry.doc.find('`' + example.code + '`') != std::string::npos) continue; // the text says it
    fmt::print("    {}\n", example.code);
    if (!example.value.empty()) fmt::print("    # {}{}\n", example.about ? "about " : "", example.value);
  }
}

} // namespace

bool show_documentation(const std::string& name) {
  bool found = false;
  auto entry = [&](const Documented& documented) {
    if (found) fmt::print("\n");
    show(documented);
    found = true;
  };
  const std::vector<Module> modules = library();
  for (const Module& module : modules) {
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
    for (const Module& module : modules)
      for (const Documented& documented : module.functions)
        if (documented.name == module.name + "." + name) entry(documented);
  return found;
}

void add_doc(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("doc", "documentation of the standard library, of a module or of one function");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "a function or module");
  command->callback([name, &exit_code] {
    if (show_documentation(*name)) return;
    fmt::print(stderr, "tl: there is no documentation of '{}'; `tl doc` lists all\n", *name);
    exit_code = kUsage;
  });
}

} // namespace tl::cli
