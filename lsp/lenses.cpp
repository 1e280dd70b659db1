// What can be run of a document, and how: its program and its tests.
#include "compiler/programs.h"
#include "lsp/features.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace tl::lsp {
namespace {

constexpr const char* kRunCommand = "tl.run";
constexpr const char* kTestCommand = "tl.test";
constexpr const char* kValueCommand = "tl.value";

// Where a program begins: `main`, or the first statement of a script that acts; invalid: it only declares.
Span begin_of_program(const ast::File& file) {
  for (const ast::Stmt* s : file.statements)
    if (const auto* function = ast::as<ast::Function>(s); function && function->name.text == "main")
      return function->name.span;
  for (const ast::Stmt* s : file.statements)
    if (ast::as<ast::ExprStmt>(s) || ast::as<ast::Assign>(s) || ast::as<ast::For>(s) || ast::as<ast::While>(s) ||
        ast::as<ast::Assert>(s) || ast::as<ast::On>(s))
      return s->span;
  return {};
}

Json lens(Workspace& workspace, const Document& document, Span span, const std::string& title, const char* command,
          Json arguments) {
  return {{"range", workspace.range(document.text, span.begin, span.end)},
          {"command", {{"title", title}, {"command", command}, {"arguments", std::move(arguments)}}}};
}

} // namespace

Json run_commands() { return {kRunCommand, kTestCommand, kValueCommand, kStopCommand}; }

Json code_lenses(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const Analysis& analysis = workspace.analysis(document);
  const ast::File& file = analysis.tree;
  Json all = Json::array();
  for (const ValueLine& line : value_lines(analysis))
    all.push_back(lens(workspace, document, line.span,
                       workspace.values.of(document.uri, line.expression).value_or("value"), kValueCommand,
                       {document.uri, line.expression}));
  if (const Span begin = begin_of_program(file); begin.valid())
    all.push_back(lens(workspace, document, begin, "run", kRunCommand, {document.uri}));
  for (const ast::Stmt* s : file.statements)
    if (const auto* test = ast::as<ast::Test>(s))
      all.push_back(lens(workspace, document, test->name_span, "test", kTestCommand, {document.uri, test->name}));
  return all;
}

// The document as it is now, saved or not, which prints the value.
static RunRequest value_request(Workspace& workspace, const Json& arguments) {
  Document& document = workspace.document({{"textDocument", {{"uri", arguments.at(0)}}}});
  const auto expression = arguments.at(1).get<std::string>();
  const Analysis& analysis = workspace.analysis(document);
  for (const ValueLine& line : value_lines(analysis))
    if (line.expression == expression)
      return {{"/proc/self/exe", "run", "-"},
              workspace.roots.empty() ? "." : workspace.roots.front(),
              program_with_value(analysis, line),
              document.uri,
              expression};
  throw ResponseError(ErrorCode::InvalidParams, fmt::format("there is no line `#>> {}`", expression));
}

RunRequest run_request(Workspace& workspace, const Json& params) {
  const auto command = params.at("command").get<std::string>();
  const Json arguments = params.value("arguments", Json::array());
  if (command == kValueCommand) return value_request(workspace, arguments);
  if (command != kRunCommand && command != kTestCommand)
    throw ResponseError(ErrorCode::InvalidParams, fmt::format("there is no command '{}'", command));
  const Document& document = workspace.document({{"textDocument", {{"uri", arguments.at(0)}}}});
  std::string saved;
  try {
    saved = compiler::read_program(document.name);
  } catch (const std::exception&) {
    throw ResponseError(ErrorCode::RequestFailed, fmt::format("{} cannot be read: save it first", document.name));
  }
  if (saved != document.text.bytes())
    throw ResponseError(ErrorCode::RequestFailed, fmt::format("{} has changed: save it first", document.name));
  RunRequest request{{"/proc/self/exe", command == kRunCommand ? "run" : "test", document.name},
                     workspace.roots.empty() ? "." : workspace.roots.front()};
  if (command == kTestCommand && arguments.size() > 1)
    request.command.push_back("--filter=" + arguments.at(1).get<std::string>());
  return request;
}

} // namespace tl::lsp
