#include "compiler/session.h"
#include "backend/cuda/print.h"
#include "driver/messages.h"
#include "ir/graph/text.h"
#include "ir/interpret/interpret.h"
#include "ir/lower/lower.h"
#include "parser/check/modules.h"
#include "vm/io/io.h"
#include "vm/profile.h"
#include <algorithm>
#include <chrono>
#include <unistd.h>

namespace tl::compiler {

Session::Session(const RunFlags& flags, const std::atomic<bool>* interrupt, bool is_prompt)
    : flags_(flags), interrupt_(interrupt) {
  options_.is_prompt = is_prompt;
  Diagnostics diagnostics;
  FileId file = sources_.add(library_file_name(kPrelude), library_.module(kPrelude).value());
  prelude_ = parse(sources_, file, diagnostics, {.is_library = true});
  checker_ = std::make_unique<CheckSession>(prelude_, sources_, options_);
}

// Values under their new ids, and only the texts that something refers to.
void Session::renew() {
  CheckSession::Renewal renewal = checker_->renew();
  std::map<typed::VarId, std::vector<Argument>> values;
  for (const auto& [before, now] : renewal.variables)
    if (auto it = values_.find(before); it != values_.end()) values[now] = std::move(it->second);
  values_ = std::move(values);
  std::map<AtomId, int64_t> sizes;
  for (const auto& [before, now] : renewal.atoms)
    if (auto it = sizes_.find(before); it != sizes_.end()) sizes[now] = it->second;
  sizes_ = std::move(sizes);
  for (auto it = pieces_.begin(); it != pieces_.end();)
    it = renewal.files.count(it->first) ? std::next(it) : forget(it);
}

Session::Pieces::iterator Session::forget(Pieces::iterator piece) {
  for (const ast::Stmt* statement : piece->second.statements)
    if (auto* import = ast::as<ast::Import>(statement)) imports_.targets.erase(import);
  sources_.forget(FileId{piece->first});
  undone_.erase(piece->first);
  return pieces_.erase(piece);
}

const typed::Program* Session::check(const std::string& text, const std::string& name) {
  if (checker_->is_worn()) renew();
  Diagnostics diagnostics;
  file_ = sources_.add(name, text);
  const auto piece = pieces_.emplace(file_.index, parse(sources_, file_, diagnostics)).first;
  const ast::File& tree = piece->second;
  std::set<std::string> known;
  for (const auto& [path, file] : imports_.by_name)
    known.insert(path);
  if (!diagnostics.has_errors()) load_imports(sources_, tree, diagnostics, import_reader(library_), imports_);
  const typed::Program* program = diagnostics.has_errors() ? nullptr : &checker_->add(tree, diagnostics);
  show(diagnostics, sources_);
  if (!diagnostics.has_errors()) return program;
  if (!program) forget(piece); // the checker has not seen it
  // A file that was wrong is read again when it is imported again.
  std::erase_if(imports_.by_name, [&](const auto& entry) { return !known.count(entry.first); });
  return nullptr;
}

std::vector<Argument> Session::arguments(const typed::Program& program) const {
  std::vector<Argument> result;
  for (AtomId size : program.session.sizes) {
    HostTensor value = HostTensor::make(DType::I64, {});
    value.set(0, Scalar::of(sizes_.at(size)));
    result.emplace_back(std::move(value));
  }
  for (typed::VarId var : program.session.given)
    for (const Argument& leaf : values_.at(var))
      result.push_back(leaf);
  return result;
}

// False: the program ended before its end.
bool Session::keep(const typed::Program& program, const std::vector<AtomId>& sizes, std::vector<Argument> results) {
  size_t expected = sizes.size() + 1;
  for (typed::VarId var : program.session.kept)
    expected += ir::leaf_count(program.variables[var.index].type);
  if (results.size() != expected) return false;
  size_t next = 0;
  for (typed::VarId var : program.session.dropped)
    values_.erase(var);
  for (typed::VarId var : program.session.kept) {
    size_t count = ir::leaf_count(program.variables[var.index].type);
    auto first = results.begin() + static_cast<long>(next);
    values_[var].assign(std::make_move_iterator(first), std::make_move_iterator(first + static_cast<long>(count)));
    next += count;
  }
  for (AtomId size : sizes)
    sizes_[size] = std::get<HostTensor>(results[next++]).get(0).as<int64_t>();
  checker_->accept(sizes);
  return true;
}

std::optional<ir::Module> Session::lower(const typed::Program& program,
                                         const std::function<ir::Module(const ir::Constants&)>& how) {
  Diagnostics diagnostics;
  std::optional<ir::Module> module;
  if (auto constants = compute_constants(program, sources_, file_, diagnostics, flags_, interrupt_))
    module = expand_lowered([&] { return how(*constants); }, sources_, file_, diagnostics, flags_.pass_options());
  if (!module) show(diagnostics, sources_);
  return module;
}

std::optional<Session::Compiled> Session::compile(const typed::Program& program) {
  std::optional<ir::Piece> piece;
  std::optional<ir::Module> lowered = lower(program, [&](const ir::Constants& constants) {
    piece = ir::lower_piece(program, sources_, checker_->atoms(), flags_.device_number(), constants);
    return std::move(piece->module);
  });
  if (!lowered) {
    undo();
    return std::nullopt;
  }
  Compiled result{std::move(*lowered), std::move(piece->sizes), {}};
  if (flags_.interpreter) return result;
  result.module = optimise(std::move(result.module), flags_);
  result.executable = make_executable(result.module, flags_);
  return result;
}

Outcome Session::execute(const Compiled& piece, const typed::Program& program, const OutputSink& out,
                         const OutputSink& err, Profile* profile, Stats* counters) const {
  if (!piece.executable)
    return ir::interpret(piece.module, arguments(program), out, {}, interrupt_, flags_.run.cpu_devices);
  RunOptions options = flags_.run;
  options.flush_each_effect = out_ || isatty(STDOUT_FILENO) != 0;
  options.interrupt = interrupt_;
  options.profile = profile;
  return tl::run(piece.executable->program, *piece.executable->kernels, arguments(program), options, out, err,
                 counters);
}

void Session::report(const Outcome& outcome, const Compiled& piece) const {
  if (!outcome.error) {
    if (is_interrupted()) show("Interrupted", "interrupted");
    return;
  }
  if (!is_interrupted()) {
    report_failure(*outcome.error, piece.module.locations, sources_, file_);
    return;
  }
  const Span place = place_of(outcome.error->loc, piece.module.locations, sources_, file_);
  if (!place.valid()) return show("Interrupted", "interrupted");
  Diagnostic at = diagnostic_of(*outcome.error, piece.module.locations, sources_, file_);
  at.labels.clear();
  show(at, sources_);
}

void Session::undo() {
  checker_->undo();
  undone_.insert(file_.index);
}

Session::End Session::run(const std::string& text, const std::string& name) {
  const typed::Program* program = check(text, name);
  if (!program) return End::Rejected;
  StandardOutput standard;
  const OutputSink out = out_ ? out_ : standard.sink(), err = err_ ? err_ : error_output();
  std::optional<Compiled> piece = compile(*program);
  if (!piece) return End::Rejected;
  Stats counters;
  std::optional<Profile> profile;
  if (flags_.stats && piece->executable) profile.emplace(false);
  Outcome outcome = execute(*piece, *program, out, err, profile ? &*profile : nullptr, &counters);
  standard.flush();
  report(outcome, *piece);
  if (profile) std::fputs((to_text(counters) + cache_text(piece->executable->cache.get())).c_str(), stderr);
  if (outcome.error || is_interrupted()) {
    undo();
    return End::Failed;
  }
  if (keep(*program, piece->sizes, std::move(outcome.results))) {
    note_imports();
    return End::Done;
  }
  exit_code_ = outcome.exit_code;
  return End::Exited;
}

std::optional<Session::Timing> Session::time(const std::string& text, double seconds) {
  const typed::Program* program = check(text, "<input>");
  if (!program) return std::nullopt;
  std::optional<Compiled> piece = compile(*program);
  if (!piece) return std::nullopt;
  using Clock = std::chrono::steady_clock;
  const OutputSink nowhere = [](std::string_view) {};
  Timing timing;
  double sum = 0;
  for (const auto begin = Clock::now();
       timing.runs == 0 || Clock::now() - begin < std::chrono::duration<double>(seconds); ++timing.runs) {
    const auto start = Clock::now();
    const Outcome outcome = execute(*piece, *program, nowhere, nowhere, nullptr, nullptr);
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    report(outcome, *piece);
    if (outcome.error || is_interrupted()) {
      undo();
      return std::nullopt;
    }
    timing.least = timing.runs == 0 ? taken : std::min(timing.least, taken);
    sum += taken;
  }
  undo();
  timing.mean = sum / static_cast<double>(timing.runs);
  return timing;
}

void Session::note_imports() {
  for (const ast::Stmt* statement : pieces_.at(file_.index).statements) {
    const auto* import = ast::as<ast::Import>(statement);
    if (!import || !is_own(*import)) continue;
    std::string text(sources_.text(statement->span));
    std::erase(own_imports_, text);
    own_imports_.push_back(std::move(text));
  }
}

// Does it name a file of the user's?
bool Session::is_own(const ast::Import& import) const {
  auto target = imports_.targets.find(&import);
  return target != imports_.targets.end() && target->second && !imports_.library.count(target->second->id.index);
}

void Session::forget_imports() {
  std::erase_if(imports_.by_name,
                [&](const auto& entry) { return !entry.second || !imports_.library.count(entry.second->id.index); });
}

std::map<std::string, std::string> Session::library_modules() const {
  std::map<std::string, std::string> modules;
  for (const auto& [index, piece] : pieces_)
    for (const ast::Stmt* statement : piece.statements)
      if (const auto* import = ast::as<ast::Import>(statement); import && !import->is_file && !undone_.count(index))
        modules[checker::name_of_module(*import)] = import->path;
  return modules;
}

std::vector<Documented> Session::declared() const {
  std::vector<Documented> result;
  auto add = [&](const std::string& module, const ast::File& file) {
    for (auto* list : {documented_functions, documented_structs}) {
      std::vector<Documented> found = list(module, file, sources_);
      std::move(found.begin(), found.end(), std::back_inserter(result));
    }
  };
  for (const auto& [index, piece] : pieces_) {
    if (undone_.count(index)) continue;
    for (const ast::Stmt* statement : piece.statements)
      if (const auto* import = ast::as<ast::Import>(statement); import && is_own(*import))
        add(checker::name_of_module(*import), *imports_.targets.at(import));
    add(kPrelude, piece);
  }
  return result;
}

std::optional<std::string> Session::type_of(const std::string& text) {
  const typed::Program* program = check(text, "<type>");
  if (!program) return std::nullopt;
  std::string type = checker_->shown_type();
  undo();
  return type.empty() ? "()" : type;
}

std::optional<std::string> Session::made_of(const std::string& text, Stage stage) {
  const typed::Program* program = check(text, "<input>");
  if (!program) return std::nullopt;
  std::optional<ir::Module> module = lower(*program, [&](const ir::Constants& constants) {
    return ir::lower(*program, sources_, flags_.device_number(), constants);
  });
  undo();
  if (!module) return std::nullopt;
  module = optimise(std::move(*module), flags_);
  if (stage == Stage::Graph) return ir::to_text(*module);
  std::string result;
  for (const kir::Kernel& kernel : kernels_of(*module, schedule(*module)))
    result += (stage == Stage::Asm ? to_asm(kernel) : to_cuda(kernel)) + "\n";
  return result.empty() ? "no kernels: the host computes it\n" : result;
}

namespace {
void count(const Argument& value, size_t& tensors, uint64_t& bytes) {
  if (auto* tensor = std::get_if<HostTensor>(&value)) {
    ++tensors;
    bytes += static_cast<uint64_t>(tensor->count()) * size_of(tensor->dtype);
  } else if (auto* list = std::get_if<std::shared_ptr<const ListArgument>>(&value)) {
    for (const Argument& element : (*list)->values)
      count(element, tensors, bytes);
  }
}
} // namespace

std::pair<size_t, uint64_t> Session::held() const {
  std::pair<size_t, uint64_t> result{0, 0};
  for (const auto& [var, leaves] : values_)
    for (const Argument& leaf : leaves)
      count(leaf, result.first, result.second);
  return result;
}

} // namespace tl::compiler
