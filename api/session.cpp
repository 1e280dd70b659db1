#include "api/session.h"
#include "api/function.h"
#include "compiler/compile.h"
#include "compiler/programs.h"
#include "lang/deep_stack.h"
#include "parser/check/modules.h"
#include "vm/devices.h"
#include "vm/interrupt.h"
#include "vm/io/mapping.h"
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <pthread.h>
#include <set>

namespace tl::api {
namespace {

// Counts forks: a session knows by it whether the process is still the one that opened it.
std::atomic<int> process{0};

// Does a type name type parameters, functions or any number of axes?
bool is_closed(const ast::TypeExpr& type, const std::vector<ast::TypeParam>& params) {
  if (std::holds_alternative<ast::FunctionType>(type.node)) return false;
  if (const auto* tuple = std::get_if<ast::TupleType>(&type.node))
    return std::all_of(tuple->elements.begin(), tuple->elements.end(),
                       [&](const ast::TypeExpr* element) { return is_closed(*element, params); });
  const auto& named = std::get<ast::NamedType>(type.node);
  if (named.module.empty())
    for (const ast::TypeParam& param : params)
      if (param.name.text == named.name.text) return false;
  return std::all_of(named.arguments.begin(), named.arguments.end(),
                     [&](const ast::TypeExpr* argument) { return is_closed(*argument, params); }) &&
         std::none_of(named.dims.begin(), named.dims.end(),
                      [](const ast::Expr* size) { return ast::as<ast::Spread>(size) != nullptr; });
}

Declared declared(const SourceManager& sources, const std::string& name, const ast::TypeExpr* type,
                  const ast::Expr* value, std::string doc, const std::vector<ast::TypeParam>& types) {
  Declared result;
  result.name = name;
  result.doc = std::move(doc);
  if (value) {
    result.has_default = true;
    result.default_value = sources.text(value->span);
  }
  if (!type) return result;
  result.has_type = true;
  result.type = sources.text(type->span);
  result.is_closed = is_closed(*type, types);
  if (const auto* named = std::get_if<ast::NamedType>(&type->node); named && named->arguments.empty()) {
    if (named->module.empty()) result.of = dtype_from_name(named->name.text);
    for (const ast::TypeParam& param : types)
      if (param.name.text == named->name.text) result.element_type = param.name.text;
  }
  return result;
}

std::string type_params_text(const SourceManager& sources, const std::vector<ast::TypeParam>& params) {
  std::string text;
  for (const ast::TypeParam& param : params) {
    text += (text.empty() ? "<" : ", ") + param.name.text;
    if (!param.bound.empty()) text += ": " + param.bound.text;
    if (param.default_type) text += fmt::format(" = {}", sources.text(param.default_type->span));
  }
  return text.empty() ? "" : text + ">";
}

std::string parameters_text(const Declaration& declaration) {
  std::string text;
  for (const Declared& param : declaration.parameters) {
    text += (text.empty() ? "" : ", ") + param.name;
    if (param.has_type) text += ": " + param.type;
    if (param.has_default) text += " = " + param.default_value;
  }
  return text;
}

Declaration declaration_of(const SourceManager& sources, const ast::Function& function) {
  Declaration result;
  result.name = function.name.text;
  result.doc = function.doc;
  for (const ast::Param& param : function.params) {
    result.parameters.push_back(
        declared(sources, param.name.text, param.type, param.default_value, param.doc, function.type_params));
    result.is_generic = result.is_generic || !result.parameters.back().is_closed;
  }
  result.text =
      fmt::format("fn {}{}({})", result.name, type_params_text(sources, function.type_params), parameters_text(result));
  if (function.result) {
    result.has_result = true;
    result.result = sources.text(function.result->span);
    result.text += " -> " + result.result;
  }
  return result;
}

Declaration declaration_of(const SourceManager& sources, const ast::Struct& record) {
  Declaration result;
  result.name = record.name.text;
  result.doc = record.doc;
  result.is_struct = true;
  result.is_generic = !record.type_params.empty() || !record.sizes.empty();
  for (const ast::StructField& field : record.fields)
    result.parameters.push_back(declared(sources, field.name.text, field.type, nullptr, field.doc, record.type_params));
  // Its own size parameters have no meaning elsewhere.
  for (Declared& field : result.parameters)
    field.is_closed = field.is_closed && !result.is_generic;
  std::string sizes;
  for (const ast::Ident& size : record.sizes)
    sizes += (sizes.empty() ? "[" : ", ") + size.text;
  result.text = fmt::format("struct {}{}{} {{ {} }}", result.name, type_params_text(sources, record.type_params),
                            sizes.empty() ? "" : sizes + "]", parameters_text(result));
  return result;
}

// Those of the modules that a program imports, as it names them, and of the prelude.
std::vector<Declaration> imported_structs(const Frontend& frontend) {
  std::vector<Declaration> found;
  auto add = [&](const ast::File& file, const std::string& before) {
    for (const ast::Stmt* statement : file.statements)
      if (const auto* record = ast::as<ast::Struct>(statement)) {
        Declaration declaration = declaration_of(frontend.sources, *record);
        declaration.name = before + declaration.name;
        for (Declared& field : declaration.parameters) // its types are the module's
          field.is_closed = false;
        found.push_back(std::move(declaration));
      }
  };
  add(frontend.prelude, "");
  for (const ast::Stmt* statement : frontend.tree.statements)
    if (const auto* import = ast::as<ast::Import>(statement))
      if (auto it = frontend.imports.targets.find(import); it != frontend.imports.targets.end() && it->second)
        add(*it->second, checker::name_of_module(*import) + ".");
  return found;
}

} // namespace

struct Session::Shown {
  explicit Shown(std::vector<std::shared_ptr<const Declaration>> of) : held(std::move(of)) {
    for (const auto& d : held) {
      std::vector<tl_parameter>& own = parameters.emplace_back();
      for (const Declared& p : d->parameters)
        own.push_back({p.name.c_str(), p.has_type ? p.type.c_str() : nullptr,
                       p.has_default ? p.default_value.c_str() : nullptr, p.doc.c_str()});
      all.push_back({d->name.c_str(), d->text.c_str(), d->has_result ? d->result.c_str() : nullptr, d->doc.c_str(),
                     d->source.c_str(), d->is_generic, d->is_struct, own.size(), own.data()});
    }
  }
  const std::vector<std::shared_ptr<const Declaration>> held;
  std::deque<std::vector<tl_parameter>> parameters;
  std::vector<tl_signature> all;
};

Running::Running(Session& session) {
  for (Session::Slot& slot : session.runs_) {
    bool free = false;
    if (!slot.used.compare_exchange_strong(free, true)) continue;
    slot.stop = false;
    used_ = &slot.used;
    flag_ = &slot.stop;
    return;
  }
}
Running::~Running() {
  if (used_) *used_ = false;
}

// Sessions that are open when the process ends: their threads must not compile any more when LLVM's static objects go.
struct Open {
  std::mutex mutex;
  std::set<Session*> all;
};
static Open& open_sessions() {
  static auto* open = new Open; // sessions may be closed while the process ends
  return *open;
}

static void end_all() {
  Open& open = open_sessions();
  std::lock_guard lock(open.mutex);
  for (Session* session : open.all)
    if (!session->is_forked()) session->end();
}

Session::Session() : process_(process) {
  static const bool prepared = [] {
    leave_signals_alone();
    std::atexit(end_all);
    return ::pthread_atfork([] { open_sessions().mutex.lock(); }, [] { open_sessions().mutex.unlock(); },
                            [] {
                              open_sessions().mutex.unlock();
                              ++process;
                            }) == 0;
  }();
  (void)prepared;
  Open& open = open_sessions();
  std::lock_guard lock(open.mutex);
  open.all.insert(this);
}

Session::~Session() {
  {
    Open& open = open_sessions();
    std::lock_guard lock(open.mutex);
    open.all.erase(this);
  }
  stop_worker();
}

// What waits is told so, and what runs is interrupted until it has ended.
void Session::stop_worker() {
  {
    std::unique_lock lock(queue_mutex_);
    closing_ = true;
    queued_.notify_all();
    room_.notify_all();
    while (worker_.joinable() && !ended_.wait_for(lock, std::chrono::milliseconds(2), [&] { return has_ended_; }))
      interrupt();
  }
  if (worker_.joinable()) worker_.join();
}

void Session::end() {
  {
    std::lock_guard lock(queue_mutex_);
    queue_.clear(); // whoever waits for these does not go on
  }
  interrupt();
  stop_worker();
  const bool is_busy = std::any_of(runs_.begin(), runs_.end(), [](const Slot& slot) { return slot.used.load(); });
  if (is_busy) return;
  std::lock_guard lock(mutex_);
  functions_.clear(); // with the threads that compile their kernels
  replaced_.clear();
}

bool Session::is_forked() const { return process_ != process; }

void Session::check_process() const {
  if (is_forked())
    usage(kWrongValue, "the process was forked after this session was opened",
          "open another one here, or start processes by spawn");
}

void Session::set(const char* name, const char* value) {
  std::lock_guard lock(mutex_);
  RunFlags changed = flags_;
  set_for_library(changed, name, value);
  if (changed.device != "cpu")
    usage(kWrongValue, fmt::format("--device {}: a session runs on the CPU", changed.device));
  flags_ = changed;
  environment_.reset(); // calls that run keep the one they have
}

void Session::set_output(tl_output output, void* context) {
  std::lock_guard lock(mutex_);
  output_ = output;
  output_context_ = context;
  environment_.reset();
}

RunFlags Session::flags() const {
  std::lock_guard lock(mutex_);
  return flags_;
}

std::shared_ptr<const Environment> Session::environment() {
  std::lock_guard lock(mutex_);
  if (!environment_) {
    RunOptions run = flags_.run;
    run.listens = false;
    if (run.threads == 0) run.threads = cores(); // asked once
    environment_ = std::make_shared<const Environment>(run, make_devices(run), sink(false), sink(true));
  }
  return environment_;
}

OutputSink Session::sink(bool is_error) const {
  if (output_)
    return [output = output_, context = output_context_, is_error](std::string_view text) {
      output(context, is_error ? 1 : 0, text.data(), text.size());
    };
  return flushed_output(is_error ? stderr : stdout);
}

std::map<std::string, std::string> Session::texts() const {
  std::lock_guard lock(mutex_);
  return texts_;
}

void Session::add_source(const std::string& name, const std::string& text) {
  const std::map<std::string, std::string> held = texts();
  Frontend frontend;
  frontend.name = name;
  frontend.text = text;
  frontend.held = &held;
  std::vector<std::shared_ptr<const Declaration>> found, imported;
  on_deep_stack([&] {
    frontend.restart();
    check_source(frontend);
    if (frontend.diagnostics.has_errors())
      throw Failed(error_of(kRejected, frontend.diagnostics, frontend.sources, frontend.file, text.size()));
    for (const ast::Stmt* statement : frontend.tree.statements) {
      std::optional<Declaration> declaration;
      if (const auto* function = ast::as<ast::Function>(statement))
        declaration = declaration_of(frontend.sources, *function);
      if (const auto* record = ast::as<ast::Struct>(statement)) declaration = declaration_of(frontend.sources, *record);
      if (!declaration) continue;
      declaration->source = name;
      found.push_back(std::make_shared<const Declaration>(std::move(*declaration)));
    }
    for (Declaration& declaration : imported_structs(frontend)) {
      declaration.source = name;
      imported.push_back(std::make_shared<const Declaration>(std::move(declaration)));
    }
  });
  std::lock_guard lock(mutex_);
  if (texts_.count(name)) { // others may import it
    for (auto& [key, function] : functions_)
      replaced_.push_back(std::move(function));
    functions_.clear();
  }
  texts_[name] = text;
  last_source_ = name;
  for (auto [all, own] : {std::pair(&declarations_, &found), std::pair(&imported_, &imported)}) {
    std::erase_if(*all, [&](const auto& declaration) { return declaration->source == name; });
    all->insert(all->end(), own->begin(), own->end());
  }
}

void Session::add_file(const std::string& path) {
  if (!is_model(path)) return add_source(path, read_program(path));
  const KeptMessages messages;
  const std::optional<std::string> text = program_of_model(path, {}, flags());
  if (!text) throw Failed(error_of(kRejected, messages));
  add_source(path, *text);
}

void Session::interrupt() {
  for (Slot& slot : runs_)
    if (slot.used) slot.stop = true;
  interrupt_kernels();
}

std::pair<const tl_signature*, size_t> Session::declarations() {
  std::lock_guard lock(mutex_);
  shown_ = std::make_unique<Shown>(declarations_);
  return {shown_->all.data(), shown_->all.size()};
}

std::string Session::source_named(const char* source) const {
  std::string name = source ? source : last_source_;
  if (!texts_.count(name))
    usage(kWrongValue,
          name.empty() ? "the session has no source yet" : fmt::format("the session has no source '{}'", name));
  return name;
}

const tl_signature* Session::record(const char* source, const std::string& name) {
  std::lock_guard lock(mutex_);
  const std::string from = source_named(source);
  for (const auto* all : {&declarations_, &imported_})
    for (const auto& d : *all)
      if (d->source == from && d->name == name && d->is_struct) {
        std::unique_ptr<Shown>& shown = shown_records_[d];
        if (!shown) shown = std::make_unique<Shown>(std::vector{d});
        return shown->all.data();
      }
  usage(kWrongValue, fmt::format("'{}' has no struct '{}'", from, name));
}

tl_function& Session::function(const char* source, const std::string& expression, const char* like) {
  std::lock_guard lock(mutex_);
  const std::string from = source_named(source);
  const std::string key = from + '\0' + expression + '\0' + (like ? like : "");
  if (auto it = functions_.find(key); it != functions_.end()) return *it->second;
  std::shared_ptr<const Declaration> declaration;
  for (const auto* all : {&imported_, &declarations_})
    for (const auto& d : *all)
      if (d->source == from && d->name == (like ? like : expression)) declaration = d;
  if (like && !declaration) usage(kWrongValue, fmt::format("'{}' has no function or struct '{}'", from, like));
  auto made = std::make_unique<tl_function>(*this, from, texts_.at(from), expression, declaration);
  return *(functions_[key] = std::move(made));
}

void Session::enqueue(Work work) {
  {
    std::unique_lock lock(queue_mutex_);
    // What a call prints to may start another one, and must not wait for itself.
    const bool is_worker = worker_.get_id() == std::this_thread::get_id();
    room_.wait(lock, [&] { return is_worker || closing_ || queue_.size() < kMostStarted; });
    queue_.push_back(std::move(work));
    if (!worker_.joinable()) worker_ = std::thread([this] { this->work(); });
  }
  queued_.notify_one();
}

void Session::work() {
  while (true) {
    Work next;
    bool is_closed;
    {
      std::unique_lock lock(queue_mutex_);
      queued_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) {
        has_ended_ = true;
        ended_.notify_all();
        return;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
      is_closed = closing_;
    }
    room_.notify_one();
    next(is_closed);
  }
}

} // namespace tl::api
