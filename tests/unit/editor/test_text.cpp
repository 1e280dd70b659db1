// Characters, indentation, rows and the history.
#include "cli/editor/characters.h"
#include "cli/editor/history.h"
#include "cli/editor/indent.h"
#include "cli/editor/picture.h"
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace tl::editor;

TEST_CASE("columns") {
  CHECK(columns_of("abc") == 3);
  CHECK(columns_of("äöü") == 3);
  CHECK(columns_of("e\u0301") == 1);
  CHECK(columns_of("漢字") == 4);
  CHECK(columns_of("한글") == 4);
  CHECK(columns_of("😀") == 2);
  CHECK(columns_of("\t") == 2);
  CHECK(cluster_at("e\u0301\u0302x", 0).length == 5);
  CHECK(cluster_before("xe\u0301", 4) == 1);
  CHECK(cluster_before("", 0) == 0);
  CHECK(shown("\u202e") == "?"); // would turn the line around
}

TEST_CASE("cluster_before is the way back of cluster_at") {
  std::mt19937 random(1);
  const std::vector<std::string> parts = {"a", "ä", "\u0301", "漢", "\n", "\t", "😀", "\u200d", "\u202e", "\xff"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (int i = 0; i < 8; ++i)
      text += parts[random() % parts.size()];
    std::vector<size_t> begins;
    for (size_t at = 0; at < text.size(); at += cluster_at(text, at).length)
      begins.push_back(at);
    size_t at = text.size();
    while (!begins.empty()) {
      at = cluster_before(text, at);
      CHECK(at == begins.back());
      begins.pop_back();
    }
  }
}

TEST_CASE("indentation") {
  CHECK(indentation_after("fn f(x) {") == 2);
  CHECK(indentation_after("fn f(x) {\n  let y = x") == 2);
  CHECK(indentation_after("fn f(x) {\n  if x > 1 {") == 4);
  CHECK(indentation_after("f(g(1,") == 2);
  CHECK(indentation_after("{\n  print(\n    1)") == 2);
  CHECK(indentation_after("fn f(x) =") == 2);
  CHECK(indentation_after("1 +\n  2 +") == 2);
  CHECK(indentation_after("let s = \"{\" # {") == 0);
  CHECK(indentation_after("let s = \"\"\"\n   text") == 0);
  CHECK(indentation_after("f(\"\"\"a {\n\"\"\",") == 0); // opened on an earlier line
  CHECK(indentation_of_closing("fn f(x) {\n  if x {\n    1\n") == 2);
  CHECK(indentation_of_closing("fn f(x) {\n") == 0);
  CHECK(indentation_of_closing("x\n") == 0);
}

TEST_CASE("rows") {
  const View view{"> ", ". ", "", "abcd漢字ef\nx", 0, {}};
  const Picture wide = picture(view, 80);
  CHECK(wide.rows.size() == 2);
  CHECK(wide.rows[1].text == ". x");
  const Picture narrow = picture(view, 7); // 漢 does not fit behind "> abcd"
  REQUIRE(narrow.rows.size() == 3);
  CHECK(narrow.rows[0].text == "> abcd ");
  CHECK(narrow.rows[0].goes_on);
  CHECK(narrow.rows[1].text == "漢字ef");
  const Picture full = picture({"> ", ". ", "", "abcd", 4, {}}, 6); // the cursor is behind a full row
  REQUIRE(full.rows.size() == 2);
  CHECK(full.cursor_row == 1);
  CHECK(full.cursor_column == 0);
  CHECK(in_columns({"a", "b", "c", "d"}, 6, 10) == std::vector<std::string>{"a  c", "b  d"});
  CHECK(in_columns(std::vector<std::string>(100, "name"), 12, 3).back() == "… and 96 more");
}

namespace {

struct TemporaryFile {
  std::string path = "/tmp/tl_test_history_XXXXXX";
  TemporaryFile() { ::close(::mkstemp(path.data())); }
  ~TemporaryFile() { ::unlink(path.c_str()); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  std::string read() const {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
};

} // namespace

TEST_CASE("the history is kept in libedit's form, and read from it") {
  TemporaryFile file;
  ::unlink(file.path.c_str());
  {
    History history(file.path);
    CHECK(history.add("1 + 2").empty());
    CHECK(history.add("1 + 2").empty());
    CHECK(history.add("fn f(x) =\n  \"ä\\n\"").empty());
  }
  CHECK(file.read() == "_HiStOrY_V2_\n1\\040+\\0402\nfn\\040f(x)\\040=\\012\\040\\040\"ä\\\\n\"\n");
  struct stat status{};
  CHECK((::stat(file.path.c_str(), &status) == 0 && (status.st_mode & 0777) == 0600));
  CHECK(History(file.path).entries() == std::vector<std::string>{"1 + 2", "fn f(x) =\n  \"ä\\n\""});
  // As libedit wrote what is not ASCII.
  file.write("_HiStOrY_V2_\n\\M-C\\M-$\\^I\\sx\\\n");
  CHECK(History(file.path).entries() == std::vector<std::string>{"ä\t x\\"});
}

TEST_CASE("every text survives the history's form") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 10; ++i)
      text += static_cast<char>(random() % 256);
    const std::string line = to_history_line(text);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(from_history_line(line) == text);
  }
}

TEST_CASE("a file of plain lines becomes one of that form when something is added, and a long one is cut") {
  TemporaryFile file;
  file.write("let a = 1\na\n");
  History history(file.path);
  CHECK(history.entries() == std::vector<std::string>{"let a = 1", "a"});
  CHECK(file.read() == "let a = 1\na\n");
  CHECK(history.add("b").empty());
  CHECK(History(file.path).entries() == std::vector<std::string>{"let a = 1", "a", "b"});
  std::string many = "_HiStOrY_V2_\n";
  for (int i = 0; i < 5000; ++i)
    many += std::to_string(i) + "\n";
  file.write(many);
  History longer(file.path);
  CHECK(longer.entries().size() == 2000);
  CHECK(longer.add("the last").empty());
  CHECK(History(file.path).entries().size() == 2000);
  CHECK(History(file.path).entries().back() == "the last");
}

TEST_CASE("a history that cannot be written says so once, and goes on") {
  History history("/nonexistent/folder/history");
  CHECK(history.add("a").find("cannot be written") != std::string::npos);
  CHECK(history.add("b").empty());
  CHECK(history.entries().size() == 2);
}
