#include "lsp/workspace.h"
#include "compiler/programs.h"
#include "lsp/library_copy.h"
#include "lsp/uri.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace tl::lsp {

constexpr std::chrono::milliseconds kQuick{30}; // what a request may wait for what is wrong to be said first

static Position position_of(const Json& json) {
  return {json.at("line").get<uint32_t>(), json.at("character").get<uint32_t>()};
}

void Workspace::open(const Json& json) {
  const auto uri = json.at("uri").get<std::string>();
  Document document;
  document.uri = uri;
  document.name = name_of_uri(uri);
  document.version = json.value("version", Json());
  document.text = Text(json.at("text").get<std::string>());
  close(uri);
  forget_importers(document.name);
  documents_.emplace(uri, std::move(document));
}

void Workspace::change(const Json& params) {
  Document& document = this->document(params);
  document.version = params.at("textDocument").value("version", Json());
  for (const Json& edit : params.at("contentChanges")) {
    const auto with = edit.at("text").get<std::string>();
    if (const auto range = edit.find("range"); range != edit.end() && !range->is_null())
      document.text.replace(offset(document.text, range->at("start")), offset(document.text, range->at("end")), with);
    else
      document.text = Text(with);
  }
  keep_known(document);
  document.is_published = document.is_looked_into = false;
  forget_importers(document.name);
  values.forget(document.uri);
}

void Workspace::keep_known(Document& document) {
  std::unique_ptr<Analysis> analysis = std::move(document.analysis);
  if (!analysis || !analysis->parses || !analysis->is_checked) return forget(std::move(analysis));
  auto rest = std::make_unique<Analysis>();
  rest->types = std::move(analysis->types);
  rest->program = std::move(analysis->program);
  rest->index = std::exchange(analysis->index, std::nullopt);
  rest->outlines = std::move(analysis->outlines);
  forget(std::move(rest));
  forget(std::exchange(document.known, std::move(analysis)));
}

void Workspace::close(const std::string& uri) {
  const auto it = documents_.find(uri);
  if (it == documents_.end()) return;
  forget(std::move(it->second.analysis));
  forget(std::move(it->second.known));
  const std::string name = it->second.name;
  values.forget(uri);
  documents_.erase(it);
  forget_importers(name);
}

void Workspace::forget_importers(const std::string& name) {
  for (auto& [uri, document] : documents_)
    for (std::unique_ptr<Analysis>* of : {&document.analysis, &document.known})
      if (*of && (*of)->imports.by_name.count(name)) {
        forget(std::move(*of));
        document.is_published = document.is_looked_into = false;
      }
}

void Workspace::forget(std::unique_ptr<Analysis> analysis) {
  if (analysis) forgotten_.push_back(std::move(analysis));
}

void Workspace::clean_up() {
  for (std::unique_ptr<Analysis>& analysis : forgotten_)
    analyzer_.forget(std::move(analysis));
  forgotten_.clear();
  last_file_ = {};
}

void Workspace::forget_analyses() {
  for (auto& [uri, document] : documents_) {
    forget(std::move(document.analysis));
    forget(std::move(document.known));
    document.is_published = document.is_looked_into = false;
  }
}

Document& Workspace::document(const Json& params) {
  const auto uri = params.at("textDocument").at("uri").get<std::string>();
  const auto it = documents_.find(uri);
  if (it == documents_.end()) throw ResponseError(ErrorCode::InvalidParams, fmt::format("{} is not open", uri));
  return it->second;
}

Analysis& Workspace::analysis(Document& document) {
  if (!document.analysis) {
    document.analysis = analyzer_.parse(document.name, document.text.bytes());
    document.is_published = document.is_looked_into = false;
  }
  if (!document.analysis->is_checked) analyzer_.check(*document.analysis, reader());
  return *document.analysis;
}

const Analysis& Workspace::diagnosed(Document& document) {
  const std::string& text = document.text.bytes();
  if (!document.analysis && document.known) {
    if (document.known->text == text) return *document.known;
    last_file_ = {}; // files change their ids
    const auto begin = std::chrono::steady_clock::now();
    const bool is_known = analyzer_.recheck(*document.known, text);
    document.is_quick = std::chrono::steady_clock::now() - begin < kQuick;
    if (is_known) return *document.known;
  }
  if (!document.analysis) document.analysis = analyzer_.parse(document.name, text);
  return document.analysis->parses ? analysis(document) : *document.analysis;
}

bool Workspace::analyse_all(Document& document, const std::atomic<bool>& interrupt) {
  if (document.analysis) return true;
  std::unique_ptr<Analysis> analysis = analyzer_.parse(document.name, document.text.bytes());
  const bool is_done = !analysis->parses || analyzer_.check(*analysis, reader(), &interrupt);
  if (is_done) document.analysis = std::move(analysis);
  forget(std::move(analysis));
  document.is_published = document.is_published && !is_done;
  return is_done;
}

std::unique_ptr<Analysis> Workspace::analyse(const std::string& name, const std::string& text) {
  return analyzer_.analyse(name, text, reader());
}

Analyzer::Held Workspace::reader() const {
  return [this](const std::string& name) { return held(name); };
}

std::vector<std::string> Workspace::closed_programs() const {
  std::vector<std::string> names;
  for (const std::string& root : roots)
    try {
      for (std::string& name : compiler::programs_under({root}))
        if (!held(name)) names.push_back(std::move(name));
    } catch (const driver::UsageError&) {
      continue; // the folder is not there
    }
  return names;
}

const std::string* Workspace::held(const std::string& name) const {
  for (const auto& [uri, document] : documents_)
    if (document.name == name) return &document.text.bytes();
  return nullptr;
}

Json Workspace::range(const Text& text, uint32_t begin, uint32_t end) const {
  const Position first = text.position(begin, encoding), last = text.position(end, encoding);
  return {{"start", {{"line", first.line}, {"character", first.character}}},
          {"end", {{"line", last.line}, {"character", last.character}}}};
}

Json Workspace::range(Span span) const {
  if (last_file_ != span.file) {
    last_file_ = span.file;
    last_text_ = Text(std::string(analyzer_.sources().text(span.file)));
  }
  return range(last_text_, span.begin, span.end);
}

Json markup(bool is_markdown, const std::string& text) {
  if (is_markdown) return {{"kind", "markdown"}, {"value", text}};
  std::string plain;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!line.starts_with("```")) plain += (plain.empty() ? "" : "\n") + std::string(line);
    begin = end + 1;
  }
  return {{"kind", "plaintext"}, {"value", plain}};
}

Json Workspace::location(Span span) const {
  const std::string& name = analyzer_.sources().name(span.file);
  const bool is_library = is_library_file(name);
  const std::string path = is_library ? library_copy(name, analyzer_.sources().text(span.file)) : name;
  return {{"uri", uri_of_name(path)}, {"range", range(span)}};
}

uint32_t Workspace::offset(const Text& text, const Json& position) const {
  return text.offset(position_of(position), encoding);
}

} // namespace tl::lsp
