#include "lsp/analysis.h"
#include "compiler/compile.h"
#include "compiler/constants.h"
#include "compiler/library.h"
#include "ir/lower/lower.h"
#include "lang/stdlib.h"
#include "lsp/library_copy.h"
#include "parser/lint/lint.h"
#include "parser/syntax/parse.h"
#include <algorithm>

namespace tl::lsp {

using namespace compiler;

constexpr double kConstSeconds = 5; // for the consts of a program that is being edited

Analyzer::Analyzer() {
  Diagnostics none;
  Library library(sources_, true);
  prelude_ = tl::parse(sources_, sources_.add(library_file_name(kPrelude), library.module(kPrelude).value()), none,
                       {.is_library = true});
  std::string imports;
  for (const EmbeddedFile& file : embedded_stdlib())
    if (const size_t end = file.name.rfind(".tl"); end != std::string::npos && file.name.substr(0, end) != kPrelude)
      imports += "import " + file.name.substr(0, end) + "\n";
  every_module_ = tl::parse(sources_, sources_.add("<library>", std::move(imports)), none);
  load_imports(sources_, every_module_, none, import_reader(library), library_);
}

void Analysis::note_effects(const typed::Program& of) {
  for (const typed::Instance& instance : of.instances)
    if (instance.has_effects && instance.span.file == file) acting.insert(instance.name);
}

std::unique_ptr<Analysis> Analyzer::parse(const std::string& name, const std::string& text) {
  auto result = std::make_unique<Analysis>();
  result->name = name;
  result->text = text;
  result->file = sources_.add(name, text);
  result->tree = tl::parse(sources_, result->file, result->diagnostics, {.is_library = is_library_copy(name)});
  result->parses = !result->diagnostics.has_errors();
  return result;
}

bool Analyzer::check(Analysis& analysis, const Held& held, const std::atomic<bool>* interrupt) {
  Imports imports;
  imports.targets = library_.targets;
  imports.library = library_.library;
  imports.by_name = library_.by_name;
  Library library(sources_, true);
  ImportReader reader = import_reader(library);
  reader.module = [](const std::string&) { return std::nullopt; }; // all that there are have been read
  reader.file = [&held, from_disk = reader.file](const std::string& path, std::string& problem) {
    const std::string* text = held(path);
    return text ? std::optional(*text) : from_disk(path, problem);
  };
  Diagnostics found = analysis.diagnostics, ignored;
  // Where the text does not parse, `tl check` says nothing else.
  Diagnostics& of_imports = analysis.parses ? found : ignored;
  load_imports(sources_, analysis.tree, of_imports, reader, imports);
  analysis.imports = std::move(imports);
  Diagnostics& of_check = of_imports.has_errors() ? ignored : of_imports;
  analysis.parses = analysis.parses && !of_imports.has_errors();
  CheckOptions options = check_options(analysis.imports);
  options.missing_file_is_warning = true;
  options.types = &analysis.types;
  options.interrupt = interrupt;
  try {
    analysis.program = tl::check(analysis.tree, prelude_, sources_, of_check, options);
  } catch (const CheckInterrupted&) {
    forget_imports(analysis);
    analysis.types.clear();
    return false;
  }
  analysis.note_effects(analysis.program);
  analysis.diagnostics = std::move(found);
  analysis.is_checked = true;
  if (analysis.program.ok && !analysis.diagnostics.has_errors())
    lint::warn({analysis.tree, index(analysis), analysis.types, analysis.imports, prelude_}, analysis.diagnostics);
  return true;
}

std::unique_ptr<Analysis> Analyzer::analyse(const std::string& name, const std::string& text, const Held& held) {
  std::unique_ptr<Analysis> result = parse(name, text);
  check(*result, held);
  return result;
}

bool Analyzer::look_deeper(Analysis& analysis, const std::atomic<bool>& interrupt) {
  if (!analysis.program.ok || analysis.diagnostics.has_errors()) return true;
  RunFlags flags;
  flags.const_seconds = kConstSeconds;
  PassOptions options = flags.pass_options();
  options.hook = [&](std::string_view, const ir::Module&) {
    if (interrupt) throw CheckInterrupted();
  };
  Diagnostics found;
  try {
    const auto constants = compute_constants(analysis.program, sources_, analysis.file, found, flags, &interrupt);
    if (interrupt) return false;
    const auto lower = [&] { return ir::lower(analysis.program, sources_, flags.device_number(), *constants); };
    std::optional<ir::Module> module;
    if (constants) module = expand_lowered(lower, sources_, analysis.file, found, options);
    if (module) add_warnings_of_loops(*module, sources_, analysis.file, options, found);
  } catch (const CheckInterrupted&) {
    return false;
  }
  for (const Diagnostic& diagnostic : found.sorted())
    analysis.diagnostics.report(diagnostic);
  return true;
}

const Index& Analyzer::index(Analysis& analysis) {
  if (!analysis.index)
    analysis.index = tl::index(
        analysis.tree,
        {analysis.types, analysis.program, analysis.imports,
         [&](const ast::File& file) -> const std::vector<Symbol>& { return outline(analysis, file); }, prelude_});
  return *analysis.index;
}

const std::vector<Symbol>& Analyzer::outline(Analysis& analysis, const ast::File& file) {
  const bool is_library = file.id == prelude_.id || library_.library.count(file.id.index);
  auto& outlines = is_library ? outlines_ : analysis.outlines;
  const auto [it, is_new] = outlines.try_emplace(&file);
  if (is_new) it->second = tl::outline(file);
  return it->second;
}

const ast::File* Analyzer::file(const Analysis& analysis, FileId id) const {
  if (id == analysis.file) return &analysis.tree;
  if (id == prelude_.id) return &prelude_;
  for (const std::deque<ast::File>* files : {&analysis.imports.files, &library_.files})
    for (const ast::File& file : *files)
      if (file.id == id) return &file;
  return nullptr;
}

const Symbol* Analyzer::symbol(Analysis& analysis, Span span) {
  if (!span.valid()) return nullptr;
  if (span.file == analysis.file) return index(analysis).find(span);
  const ast::File* from = file(analysis, span.file);
  if (!from) return nullptr;
  const std::vector<Symbol>& symbols = outline(analysis, *from);
  const auto it = std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.span == span; });
  return it == symbols.end() ? nullptr : &*it;
}

void Analyzer::forget(std::unique_ptr<Analysis> analysis) {
  if (!analysis) return;
  forget_imports(*analysis);
  if (analysis->file.valid()) sources_.forget(analysis->file);
}

void Analyzer::forget_imports(Analysis& analysis) {
  for (const ast::File& file : analysis.imports.files)
    sources_.forget(file.id);
  analysis.imports = {};
}

} // namespace tl::lsp
