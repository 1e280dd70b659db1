#include "lsp/server.h"
#include "lsp/features.h"
#include "lsp/runs.h"
#include "lsp/uri.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

namespace tl::lsp {
namespace {

constexpr std::chrono::seconds kRunSeconds{600}; // for a program that the client runs
// Without a message, before all of a text is analysed that an edit has changed, and what takes long is looked into.
constexpr int kShortPauseMilliseconds = 100, kPauseMilliseconds = 300;

const std::map<std::string_view, Json (*)(Workspace&, const Json&)> kRequests = {
    {"textDocument/hover", hover},
    {"textDocument/definition", definition},
    {"textDocument/references", references},
    {"textDocument/documentHighlight", document_highlight},
    {"textDocument/prepareRename", prepare_rename},
    {"textDocument/rename", rename},
    {"textDocument/documentSymbol", document_symbols},
    {"workspace/symbol", workspace_symbols},
    {"textDocument/foldingRange", folding_ranges},
    {"textDocument/completion", completion},
    {"textDocument/signatureHelp", signature_help},
    {"textDocument/inlayHint", inlay_hints},
    {"textDocument/semanticTokens/full", semantic_tokens},
    {"textDocument/codeAction", code_actions},
    {"textDocument/formatting", formatting},
    {"textDocument/codeLens", code_lenses},
};

Json capabilities(Encoding encoding) {
  constexpr int kIncremental = 2;
  const char* encodings[] = {"utf-8", "utf-16", "utf-32"};
  return {{"positionEncoding", encodings[static_cast<int>(encoding)]},
          {"textDocumentSync", {{"openClose", true}, {"change", kIncremental}}},
          {"hoverProvider", true},
          {"definitionProvider", true},
          {"referencesProvider", true},
          {"documentHighlightProvider", true},
          {"renameProvider", {{"prepareProvider", true}}},
          {"documentSymbolProvider", true},
          {"workspaceSymbolProvider", true},
          {"foldingRangeProvider", true},
          {"completionProvider", {{"triggerCharacters", {".", "\"", "/", "("}}}},
          {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
          {"inlayHintProvider", true},
          {"semanticTokensProvider", {{"legend", semantic_legend()}, {"full", true}}},
          {"codeActionProvider", {{"codeActionKinds", {"quickfix", "refactor.rewrite"}}}},
          {"codeLensProvider", Json::object()},
          {"executeCommandProvider", {{"commands", run_commands()}}},
          {"documentFormattingProvider", true}};
}

// The first that the client names, of those that there are; without, what the protocol says.
Encoding encoding_of(const Json& params) {
  const Json names = params.value("/capabilities/general/positionEncodings"_json_pointer, Json::array());
  for (const Json& name : names) {
    if (name == "utf-8") return Encoding::Utf8;
    if (name == "utf-16") return Encoding::Utf16;
    if (name == "utf-32") return Encoding::Utf32;
  }
  return Encoding::Utf16;
}

// Where it names formats, and Markdown is none of them, it shows plain text.
bool shows_markdown(const Json& params, const char* formats) {
  const Json names = params.value(Json::json_pointer(fmt::format("/capabilities/textDocument/{}", formats)), Json());
  return !names.is_array() || names.empty() || std::find(names.begin(), names.end(), "markdown") != names.end();
}

std::vector<std::string> roots_of(const Json& params) {
  std::vector<std::string> roots;
  if (const auto folders = params.find("workspaceFolders"); folders != params.end() && folders->is_array())
    for (const Json& folder : *folders)
      roots.push_back(name_of_uri(folder.at("uri").get<std::string>()));
  const auto root = params.find("rootUri");
  if (roots.empty() && root != params.end() && root->is_string())
    roots.push_back(name_of_uri(root->get<std::string>()));
  return roots;
}

class Server {
public:
  Server(int in, int out, const std::string& version) : inbox_(in), out_(out), version_(version) {}

  int run() {
    while (!is_ended_) {
      look_ahead();
      Inbox::Item item = inbox_.next();
      if (item.is_end) break;
      if (item.problem.empty())
        take(item.message);
      else
        send_error(nullptr, ErrorCode::ParseError, item.problem);
    }
    return has_shut_down_ && is_ended_ ? 0 : 1;
  }

private:
  // What the client does not ask for: diagnostics, as soon as nothing else waits.
  void look_ahead() {
    for (auto& [uri, document] : workspace_.documents()) {
      if (!inbox_.is_idle(0)) return;
      publish(document);
    }
    workspace_.clean_up();
    for (auto& [uri, document] : workspace_.documents()) {
      if (document.analysis) continue;
      if (!inbox_.is_idle(kShortPauseMilliseconds)) return;
      if (!workspace_.analyse_all(document, inbox_.has_more())) return;
      publish(document);
    }
    for (auto& [uri, document] : workspace_.documents()) {
      if (document.is_looked_into) continue;
      if (!inbox_.is_idle(kPauseMilliseconds)) return;
      look_deeper(document);
    }
  }

  void publish(Document& document) {
    if (document.is_published) return;
    Json params = diagnostics_of(workspace_, document);
    if (params != document.published) notify("textDocument/publishDiagnostics", params);
    document.published = std::move(params);
    document.is_published = true;
  }

  void publish_named(const Json& params) {
    const Json named = params.is_object() ? params.value("/textDocument/uri"_json_pointer, Json()) : Json();
    const auto it =
        named.is_string() ? workspace_.documents().find(named.get<std::string>()) : workspace_.documents().end();
    if (it != workspace_.documents().end() && is_initialized_ && !has_shut_down_ && it->second.is_quick)
      publish(it->second);
  }

  void look_deeper(Document& document) {
    document.is_looked_into = !document.analysis->parses;
    if (document.is_looked_into) return;
    Analysis& analysis = workspace_.analysis(document);
    const bool was_empty = analysis.diagnostics.empty();
    document.is_looked_into = workspace_.analyzer().look_deeper(analysis, inbox_.has_more());
    if (was_empty == analysis.diagnostics.empty()) return;
    document.is_published = false;
    publish(document);
  }

  void take(const Json& message) {
    const bool has_id = message.is_object() && message.contains("id");
    const Json id = has_id ? message["id"] : Json();
    const bool is_call = message.is_object() && message.contains("method") && message["method"].is_string();
    if (!is_call && has_id && (message.contains("result") || message.contains("error"))) return; // of a request of ours
    if (!is_call || (has_id && !id.is_number_integer() && !id.is_string()))
      return send_error(nullptr, ErrorCode::InvalidRequest, "this is neither a request nor a notification");
    const auto method = message["method"].get<std::string>();
    const Json params = message.value("params", Json::object());
    if (!has_id) return take_notification(method, params);
    try {
      if (inbox_.is_cancelled(id)) throw ResponseError(ErrorCode::RequestCancelled, "cancelled");
      publish_named(params); // sooner than an answer that takes all of the text's analysis
      send({{"jsonrpc", "2.0"}, {"id", id}, {"result", answer(method, params)}});
    } catch (const ResponseError& error) {
      send_error(id, error.code, error.what());
    } catch (const Json::exception& error) {
      send_error(id, ErrorCode::InvalidParams, fmt::format("{}: {}", method, error.what()));
    } catch (const std::system_error&) {
      throw; // the client is gone
    } catch (const std::exception& error) {
      send_error(id, ErrorCode::InternalError, fmt::format("{}: {}", method, error.what()));
    }
  }

  Json answer(const std::string& method, const Json& params) {
    if (method == "initialize") return initialize(params);
    if (!is_initialized_) throw ResponseError(ErrorCode::ServerNotInitialized, "`initialize` comes first");
    if (has_shut_down_) throw ResponseError(ErrorCode::InvalidRequest, "after `shutdown` only `exit` may come");
    if (method == "shutdown") {
      has_shut_down_ = true;
      return nullptr;
    }
    if (method == "workspace/executeCommand") return execute(params);
    const auto request = kRequests.find(method);
    if (request == kRequests.end())
      throw ResponseError(ErrorCode::MethodNotFound, fmt::format("there is no method '{}'", method));
    return request->second(workspace_, params);
  }

  // The answer comes when the program has begun; what it prints, and how it ends, are notifications.
  Json execute(const Json& params) {
    if (params.at("command") == kStopCommand) return runs_.stop();
    const RunRequest request = run_request(workspace_, params);
    runs_.stop();
    if (request.expression.empty())
      workspace_.values.stop();
    else
      workspace_.values.begin(request.uri, request.expression);
    try {
      runs_.start(request.command, request.folder, request.input);
    } catch (const std::system_error& error) {
      workspace_.values.stop();
      throw ResponseError(ErrorCode::RequestFailed, error.what());
    }
    return true;
  }

  // From the thread of a run. What a value's program prints besides is in the log, too.
  void take_line(const std::string& line) {
    if (!workspace_.values.take(line)) tell("window/logMessage", line);
  }
  void take_end(const std::string& how) {
    if (!workspace_.values.end(how)) return tell("window/showMessage", "tl: " + how);
    try {
      if (can_refresh_) send({{"jsonrpc", "2.0"}, {"id", "lenses"}, {"method", "workspace/codeLens/refresh"}});
    } catch (const std::system_error&) {
      return; // the client is gone, as the server will see
    }
  }

  void tell(const char* method, const std::string& message) {
    constexpr int kInfo = 3; // MessageType
    try {
      notify(method, {{"type", kInfo}, {"message", message}});
    } catch (const std::system_error&) {
      return; // the client is gone, as the server will see
    }
  }

  Json initialize(const Json& params) {
    if (is_initialized_) throw ResponseError(ErrorCode::InvalidRequest, "`initialize` may come once");
    workspace_.encoding = encoding_of(params);
    workspace_.roots = roots_of(params);
    workspace_.markdown = {shows_markdown(params, "hover/contentFormat"),
                           shows_markdown(params, "completion/completionItem/documentationFormat"),
                           shows_markdown(params, "signatureHelp/signatureInformation/documentationFormat")};
    can_refresh_ = params.value("/capabilities/workspace/codeLens/refreshSupport"_json_pointer, false);
    is_initialized_ = true;
    // As when a program is run there: `load` reads files relative to the working directory.
    std::error_code ignored;
    if (!workspace_.roots.empty()) std::filesystem::current_path(workspace_.roots.front(), ignored);
    return {{"capabilities", capabilities(workspace_.encoding)},
            {"serverInfo", {{"name", "tl"}, {"version", version_}}}};
  }

  // There is no answer, so one that is wrong is as if it had not come.
  void take_notification(const std::string& method, const Json& params) {
    try {
      if (method == "exit")
        is_ended_ = true;
      else if (is_initialized_ && !has_shut_down_)
        notice(method, params);
    } catch (const Json::exception&) {
      return;
    } catch (const ResponseError&) {
      return;
    }
  }

  void notice(const std::string& method, const Json& params) {
    if (method == "textDocument/didOpen") {
      workspace_.open(params.at("textDocument"));
    } else if (method == "textDocument/didChange") {
      workspace_.change(params);
    } else if (method == "textDocument/didClose") {
      const auto uri = params.at("textDocument").at("uri").get<std::string>();
      workspace_.close(uri);
      notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
    } else if (method == "workspace/didChangeWatchedFiles") {
      workspace_.forget_analyses();
    }
  }

  void send(const Json& message) {
    const std::lock_guard lock(writing_);
    write_message(out_, message);
  }
  void notify(const char* method, const Json& params) {
    send({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
  }
  void send_error(const Json& id, ErrorCode code, const std::string& message) {
    send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(code)}, {"message", message}}}});
  }

  Inbox inbox_;
  int out_;
  std::string version_;
  Workspace workspace_;
  std::mutex writing_;
  bool can_refresh_ = false; // the client asks for lenses again
  Runs runs_{{[this](const std::string& line) { take_line(line); }, [this](const std::string& how) { take_end(how); }},
             kRunSeconds};
  bool is_initialized_ = false, has_shut_down_ = false, is_ended_ = false;
};

} // namespace

int serve(int in, int out, const std::string& version) {
  try {
    return Server(in, out, version).run();
  } catch (const std::system_error&) {
    return 1; // nobody reads what is written
  }
}

} // namespace tl::lsp
