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
Json formatting(Workspace& workspace, const Json& params);

// Parameters of textDocument/publishDiagnostics, of what the analysis of a document says.
Json diagnostics_of(Workspace& workspace, Document& document);

} // namespace tl::lsp
