// What the server does with each request: one function of the workspace and the request's parameters. They throw
// ResponseError, and what nlohmann's library throws where parameters are not as the protocol says.
#pragma once
#include "lsp/workspace.h"

namespace tl::lsp {

Json hover(Workspace& workspace, const Json& params);
Json definition(Workspace& workspace, const Json& params);
Json references(Workspace& workspace, const Json& params);
Json document_highlight(Workspace& workspace, const Json& params);
Json prepare_rename(Workspace& workspace, const Json& params);
Json rename(Workspace& workspace, const Json& params);
Json document_symbols(Workspace& workspace, const Json& params);
Json workspace_symbols(Workspace& workspace, const Json& params);
Json folding_ranges(Workspace& workspace, const Json& params);
Json completion(Workspace& workspace, const Json& params);
Json signature_help(Workspace& workspace, const Json& params);
Json inlay_hints(Workspace& workspace, const Json& params);
Json semantic_tokens(Workspace& workspace, const Json& params);
Json semantic_legend();
Json code_actions(Workspace& workspace, const Json& params);
Json formatting(Workspace& workspace, const Json& params);
Json code_lenses(Workspace& workspace, const Json& params);

// What workspace/executeCommand takes: the commands of lenses, and the one that ends what they have begun.
inline constexpr const char* kStopCommand = "tl.stop";
Json run_commands();
struct RunRequest {
  std::vector<std::string> command;
  std::string folder;              // where it runs
  std::string input{};             // what it reads
  std::string uri{}, expression{}; // of a line `#>> expr`: whose value is wanted
};
RunRequest run_request(Workspace& workspace, const Json& params);

// Parameters of textDocument/publishDiagnostics, of what the analysis of a document says.
Json diagnostics_of(Workspace& workspace, Document& document);

} // namespace tl::lsp
