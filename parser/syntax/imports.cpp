#include "parser/syntax/imports.h"
#include "lang/stdlib.h"
#include "lang/suggest.h"
#include "parser/check/foreign_names.h"
#include "parser/syntax/parse.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace tl {
namespace {

namespace fs = std::filesystem;

std::string missing_module_hint(const std::string& name) {
  if (is_foreign_module(name.substr(0, name.find('.'))))
    return "tl's own functions are called without a prefix: `sum(x)`";
  Nearest near(name);
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name.ends_with(".tl") && file.name != "prelude.tl")
      near.consider(file.name.substr(0, file.name.size() - 3));
  return near.best().empty() ? fmt::format("a file of your own is written as a path: `import \"{}.tl\"`", name)
                             : fmt::format("did you mean `{}`?", near.best());
}

class Loader {
public:
  Loader(SourceManager& sources, Diagnostics& diagnostics, const ImportReader& reader, Imports& result)
      : sources_(sources), diagnostics_(diagnostics), reader_(reader), result_(result) {}

  void load(const ast::File& file, const std::string& name) {
    way_.push_back(name);
    for (const ast::Stmt* statement : file.statements)
      if (auto* import = ast::as<ast::Import>(statement)) {
        if (import->is_file || in_library_)
          follow(*import, name);
        else
          modules_.push_back(import);
      }
    way_.pop_back();
  }
  // The library's modules, once all of the program's own files have been read.
  void load_modules() {
    in_library_ = true;
    for (const ast::Import* import : modules_)
      follow(*import, {});
  }

private:
  void follow(const ast::Import& import, const std::string& from) {
    bool is_module = !import.is_file;
    std::string name;
    if (is_module) {
      name = library_file_name(import.path);
    } else {
      fs::path path(import.path);
      bool in_folder = from.rfind('<', 0) != 0; // not standard input or the command line
      if (path.is_relative() && in_folder) path = fs::path(from).parent_path() / path;
      name = path.lexically_normal().string();
    }
    auto circle = std::find(way_.begin(), way_.end(), name);
    if (circle != way_.end()) {
      std::string way;
      for (auto it = circle; it != way_.end(); ++it)
        way += *it + " → ";
      diagnostics_.error("ImportCycle", import.path_span, fmt::format("these files import each other: {}{}", way, name),
                         "put what both need into a third file");
      return;
    }
    auto [known, is_new] = result_.by_name.try_emplace(name, nullptr);
    if (!is_new) {
      if (known->second) result_.targets[&import] = known->second;
      return;
    }
    std::string problem;
    std::optional<std::string> text = is_module ? reader_.module(import.path) : reader_.file(name, problem);
    if (!text) {
      if (is_module)
        diagnostics_.error("ImportNotFound", import.path_span,
                           fmt::format("the standard library has no module `{}`", import.path),
                           missing_module_hint(import.path));
      else
        diagnostics_.error("ImportNotFound", import.path_span, fmt::format("{}: {}", name, problem),
                           "the path is relative to the file that imports it");
      return;
    }
    FileId id = sources_.add(name, std::move(*text));
    if (is_module) result_.library.insert(id.index);
    const ast::File& file = result_.files.emplace_back(parse(sources_, id, diagnostics_, {.is_library = is_module}));
    result_.by_name[name] = &file;
    result_.targets[&import] = &file;
    load(file, name);
  }

  SourceManager& sources_;
  Diagnostics& diagnostics_;
  const ImportReader& reader_;
  Imports& result_;
  std::vector<std::string> way_;            // the files that are being read, from the program on
  std::vector<const ast::Import*> modules_; // that files of the program name
  bool in_library_ = false;
};

} // namespace

void load_imports(SourceManager& sources, const ast::File& root, Diagnostics& diagnostics, const ImportReader& reader,
                  Imports& imports) {
  std::string name = sources.name(root.id);
  Loader loader(sources, diagnostics, reader, imports);
  loader.load(root, name.rfind('<', 0) == 0 ? name : fs::path(name).lexically_normal().string());
  loader.load_modules();
}

} // namespace tl
