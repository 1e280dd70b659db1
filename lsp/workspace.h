// The open documents, and what requests about them share.
#pragma once
#include "lsp/analysis.h"
#include "lsp/message.h"
#include "lsp/text.h"
#include "lsp/values.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tl::lsp {

struct Document {
  std::string uri, name; // as the client calls it; as the compiler does
  Json version;
  Text text;
  std::unique_ptr<Analysis> analysis; // null: the text has changed, or one that it imports
  std::unique_ptr<Analysis> known;    // of an earlier text, or brought to this one (Analyzer::recheck); or null
  bool is_quick = true;               // the last time that it was brought to a text took little
  bool is_published = false;          // the client knows what these say
  bool is_looked_into = false;        // what only lowering says is in it
  Json published;                     // last, for this document
};

// Where the client shows Markdown, rather than plain text.
struct Markdown {
  bool in_hovers = true, in_items = true, in_signatures = true;
};

// Documentation as a client wants it: as Markdown, or that without the fences of code.
Json markup(bool is_markdown, const std::string& text);

class Workspace {
public:
  Encoding encoding = Encoding::Utf16;
  Markdown markdown;
  std::vector<std::string> roots; // folders

  void open(const Json& document);
  void change(const Json& params);
  void close(const std::string& uri);
  // Files that are not open have changed: whatever imports some is to be checked again.
  void forget_analyses();

  std::map<std::string, Document>& documents() { return documents_; } // by URI
  // That a request's `textDocument` names. Throws ResponseError: it is not open.
  Document& document(const Json& params);
  Analysis& analysis(Document& document); // of the text as it is now
  // One whose diagnostics are those of the text as it is now: what can be had soonest while someone types.
  const Analysis& diagnosed(Document& document);
  // Analyses all of the text, where `diagnosed` did with less. False: `interrupt` became true first.
  bool analyse_all(Document& document, const std::atomic<bool>& interrupt);
  Analyzer& analyzer() { return analyzer_; }
  const Analyzer& analyzer() const { return analyzer_; }
  std::unique_ptr<Analysis> analyse(const std::string& name, const std::string& text);
  void forget(std::unique_ptr<Analysis> analysis); // its memory is freed later, by clean_up
  void clean_up();

  // In the protocol's terms, and back.
  Json range(const Text& text, uint32_t begin, uint32_t end) const;
  Json range(Span span) const;    // in any file that has been read
  Json location(Span span) const; // the library's files are written where an editor can open them
  uint32_t offset(const Text& text, const Json& position) const;
  std::vector<std::string> closed_programs() const;       // files in the client's folders that are not open
  const std::string* held(const std::string& name) const; // the text of a file that is open, or null

private:
  void forget_importers(const std::string& name);
  Analyzer::Held reader() const;
  void keep_known(Document& document); // of its analysis, whose text is about to change

  std::map<std::string, Document> documents_;
  Analyzer analyzer_;
  std::vector<std::unique_ptr<Analysis>> forgotten_;
  mutable FileId last_file_; // that range() was asked for, while it is there
  mutable Text last_text_;

public:
  Values values; // of lines `#>> expr`
};

} // namespace tl::lsp
