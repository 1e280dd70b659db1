#include "saved_program.h"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include "parser/syntax/parse.h"
#include <map>

namespace tl::cli {
namespace {

const std::string* declared_name(const ast::Stmt& statement) {
  if (const auto* function = ast::as<ast::Function>(&statement)) return &function->name.text;
  if (const auto* structure = ast::as<ast::Struct>(&statement)) return &structure->name.text;
  return nullptr;
}

// Removes text[begin, end), and a `;` behind it.
void remove(std::string& text, size_t begin, size_t end) {
  const size_t next = text.find_first_not_of(' ', end);
  text.erase(begin, (next != text.npos && text[next] == ';' ? next + 1 : end) - begin);
}

// Makes text[begin, end) comments on lines of their own.
void comment(std::string& text, size_t begin, size_t end) {
  std::string lines = text.substr(begin, end - begin);
  remove(text, begin, end);
  for (size_t line = 0; line < lines.size(); line = lines.find('\n', line), line += line < lines.size())
    lines.insert(line, "# ");
  if (begin > 0 && text[begin - 1] != '\n') lines.insert(0, "\n");
  if (begin < text.size() && text[begin] != '\n') lines += '\n';
  text.insert(begin, lines);
}

} // namespace

std::string saved_program(const std::vector<EnteredPiece>& pieces) {
  SourceManager sources;
  std::vector<ast::File> files;
  std::map<std::string, const ast::Stmt*> last;
  for (const EnteredPiece& piece : pieces) {
    Diagnostics diagnostics;
    files.push_back(parse(sources, sources.add("", piece.text), diagnostics));
    for (const ast::Stmt* statement : files.back().statements)
      if (const std::string* name = declared_name(*statement)) last[*name] = statement;
  }
  std::string program;
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::string text = pieces[i].text;
    const std::vector<ast::Stmt*>& statements = files[i].statements;
    bool shows = pieces[i].shows;
    for (size_t k = statements.size(); k-- > 0;) {
      const ast::Stmt& statement = *statements[k];
      const std::string* name = declared_name(statement);
      if (shows && ast::as<ast::ExprStmt>(&statement))
        comment(text, statement.span.begin, statement.span.end), shows = false;
      else if (name && last.at(*name) != &statement)
        remove(text, statement.span.begin, statement.span.end);
    }
    program += text + "\n";
  }
  return program;
}

} // namespace tl::cli
