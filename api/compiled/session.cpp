#include "api/compiled/session.h"
#include "api/compiled/function.h"
#include "compiler/declarations.h"
#include "compiler/programs.h"
#include "lang/deep_stack.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::api {

std::shared_ptr<CompiledSession> compiled(tl_session* session) {
  if (!session) usage(kWrongValue, "the session is null");
  session->session->check_process();
  return std::static_pointer_cast<CompiledSession>(session->session);
}

std::unique_ptr<tl_function> CompiledSession::make_function(const std::string& source, const std::string& expression,
                                                            std::shared_ptr<const Declaration> like) {
  if (!like)
    if (std::optional<Declaration> own = declaration_of_lambda(expression))
      like = std::make_shared<const Declaration>(std::move(*own));
  return std::make_unique<CompiledFunction>(*this, source, texts_.at(source), expression, std::move(like));
}

RunFlags CompiledSession::flags() const {
  std::lock_guard lock(mutex_);
  return flags_;
}

std::map<std::string, std::string> CompiledSession::texts(const std::string& source) const {
  std::lock_guard lock(mutex_);
  std::map<std::string, std::string> all = texts_;
  if (auto imported = imported_texts_.find(source); imported != imported_texts_.end())
    all.insert(imported->second.begin(), imported->second.end());
  return all;
}

void CompiledSession::add_source(const std::string& name, const std::string& text) {
  std::map<std::string, std::string> held; // but no files that it has imported before
  {
    std::lock_guard lock(mutex_);
    held = texts_;
  }
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
  imported_texts_[name] = std::move(frontend.imported);
  last_source_ = name;
  for (auto [all, own] : {std::pair(&declarations_, &found), std::pair(&imported_, &imported)}) {
    std::erase_if(*all, [&](const auto& declaration) { return declaration->source == name; });
    all->insert(all->end(), own->begin(), own->end());
  }
}

void CompiledSession::add_file(const std::string& path) {
  if (!is_model(path)) return add_source(path, read_program(path));
  const KeptMessages messages;
  const std::optional<std::string> text = program_of_model(path, {}, flags());
  if (!text) throw Failed(error_of(kRejected, messages));
  add_source(path, *text);
}

std::string CompiledSession::source_named(const char* source) const {
  std::string name = source ? source : last_source_;
  if (!texts_.count(name))
    usage(kWrongValue,
          name.empty() ? "the session has no source yet" : fmt::format("the session has no source '{}'", name));
  return name;
}

} // namespace tl::api
