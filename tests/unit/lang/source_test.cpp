#include "lang/source.h"
#include <doctest/doctest.h>

using namespace tl;

TEST_CASE("lines and columns count from 1, columns in characters") {
  SourceManager sources;
  FileId file = sources.add("a.tl", "ab\n\xC3\xA9x\r\n\nlast");
  CHECK(sources.line_column(file, 0) == LineColumn{1, 1});
  CHECK(sources.line_column(file, 2) == LineColumn{1, 3}); // the newline belongs to its line
  CHECK(sources.line_column(file, 3) == LineColumn{2, 1});
  CHECK(sources.line_column(file, 5) == LineColumn{2, 2}); // é has two bytes
  CHECK(sources.line_column(file, 8) == LineColumn{3, 1});
  CHECK(sources.line_column(file, 1000) == LineColumn{4, 5});
  CHECK(sources.line_count(file) == 4);
  CHECK(sources.line_text(file, 2) == "\xC3\xA9x");
  CHECK(sources.line_text(file, 3) == "");
  CHECK(sources.line_text(file, 4) == "last");
}

TEST_CASE("an empty file has one empty line") {
  SourceManager sources;
  FileId file = sources.add("a.tl", "");
  CHECK(sources.line_count(file) == 1);
  CHECK(sources.line_text(file, 1) == "");
  CHECK(sources.line_column(file, 0) == LineColumn{1, 1});
}

TEST_CASE("texts stay where they are while files are added") {
  SourceManager sources;
  FileId first = sources.add("a.tl", "short");
  std::string_view text = sources.text(first);
  for (int i = 0; i < 1000; ++i)
    sources.add("b.tl", "other");
  CHECK(text.data() == sources.text(first).data());
  CHECK(sources.text(Span{first, 1, 3}) == "ho");
}

TEST_CASE("join spans what both hold, and ignores nowhere") {
  FileId file{0};
  CHECK(join({file, 5, 7}, {file, 1, 2}) == Span{file, 1, 7});
  CHECK(join({}, {file, 1, 2}) == Span{file, 1, 2});
  CHECK(join({file, 1, 2}, {}) == Span{file, 1, 2});
}
