#include "cli/editor/editor.h"
#include <doctest/doctest.h>

using namespace tl::editor;

namespace {

struct Session {
  History history{""};
  Editor editor{{[](const std::string& text) {
                   int open = 0;
                   for (char c : text)
                     open += c == '{' ? 1 : c == '}' ? -1 : 0;
                   return open > 0;
                 },
                 [](const std::string& text, size_t cursor) {
                   Completion completion;
                   const size_t blank = text.rfind(' ', cursor);
                   completion.begin = blank == std::string::npos ? 0 : blank + 1;
                   const std::string word = text.substr(completion.begin, cursor - completion.begin);
                   for (const char* name : {"softmax", "softplus", "zeros"})
                     if (std::string(name).starts_with(word)) completion.texts.emplace_back(name);
                   return completion;
                 }},
                {},
                history};
  Editor::Outcome last = Editor::Outcome::Goes;

  Session() { editor.begin(); }
  Session& press(KeyName name, const std::string& text = "") {
    last = editor.press({name, text});
    return *this;
  }
  Session& type(const std::string& text) {
    for (char c : text)
      c == '\n' ? press(KeyName::Enter) : press(KeyName::Text, std::string(1, c));
    return *this;
  }
  std::string text() const { // with the cursor
    std::string result = editor.text();
    return result.insert(editor.cursor(), "|");
  }
  void remember(const std::string& entry) { (void)history.add(entry); }
};

} // namespace

TEST_CASE("a block is indented, and a bracket that closes stands below its line") {
  Session s;
  s.type("f {\na {\nb\n}\n}");
  CHECK(s.text() == "f {\n  a {\n    b\n  }\n}|");
  s.press(KeyName::Enter);
  CHECK(s.last == Editor::Outcome::Entered);
}

TEST_CASE("an empty last line ends a block that is open") {
  Session s;
  s.type("f {\n");
  CHECK(s.last == Editor::Outcome::Goes);
  s.press(KeyName::Enter);
  CHECK(s.last == Editor::Outcome::Entered);
}

TEST_CASE("up and down go through the lines of a block, then through the history") {
  Session s;
  s.remember("older");
  s.press(KeyName::Paste, "one\nlonger line\nx");
  s.press(KeyName::Up).press(KeyName::Up);
  CHECK(s.text() == "o|ne\nlonger line\nx");
  s.press(KeyName::LineEnd).press(KeyName::Down);
  CHECK(s.text() == "one\nlon|ger line\nx");
  s.press(KeyName::Down);
  CHECK(s.text() == "one\nlonger line\nx|");
  s.press(KeyName::Up);
  CHECK(s.text() == "one\nlon|ger line\nx");
  s.press(KeyName::Down).press(KeyName::Down);
  CHECK(s.last == Editor::Outcome::Beep);
}

TEST_CASE("the history by what is typed before the cursor") {
  Session s;
  s.remember("let a = 1");
  s.remember("print(a)");
  s.remember("let b = 2");
  s.type("let").press(KeyName::Up);
  CHECK(s.text() == "let b = 2|");
  s.press(KeyName::Up);
  CHECK(s.text() == "let a = 1|");
  s.press(KeyName::Up);
  CHECK(s.last == Editor::Outcome::Beep);
  s.press(KeyName::Down).press(KeyName::Down);
  CHECK(s.text() == "let|");
  s.press(KeyName::KillToBegin).press(KeyName::Up).press(KeyName::Up);
  CHECK(s.text() == "print(a)|");
}

TEST_CASE("search") {
  Session s;
  s.remember("let a = softmax(x)");
  s.remember("softmax(y)");
  s.remember("z");
  s.type("draft").press(KeyName::SearchOlder).type("soft");
  CHECK(s.text() == "|softmax(y)");
  s.press(KeyName::SearchOlder);
  CHECK(s.text() == "let a = |softmax(x)");
  s.press(KeyName::SearchOlder);
  CHECK(s.last == Editor::Outcome::Beep);
  s.press(KeyName::SearchNewer);
  CHECK(s.text() == "|softmax(y)");
  s.press(KeyName::Cancel);
  CHECK(s.text() == "draft|");
  s.press(KeyName::SearchOlder).type("nowhere");
  CHECK(s.last == Editor::Outcome::Beep);
  CHECK(s.editor.picture(80, 24).rows[0].text.starts_with("not found \"nowhere\": "));
  s.press(KeyName::Cancel).press(KeyName::SearchOlder).type("= soft").press(KeyName::Enter);
  CHECK(s.last == Editor::Outcome::Entered);
  CHECK(s.editor.text() == "let a = softmax(x)");
}

TEST_CASE("completion") {
  Session s;
  s.type("so").press(KeyName::Tab);
  CHECK(s.text() == "soft|");
  CHECK(s.editor.picture(80, 24).rows.size() == 1);
  s.press(KeyName::Tab);
  REQUIRE(s.editor.picture(80, 24).rows.size() == 2);
  CHECK(s.editor.picture(80, 24).rows[1].text == "softmax   softplus");
  s.type("m").press(KeyName::Tab);
  CHECK(s.text() == "softmax|");
  CHECK(s.editor.picture(80, 24).rows.size() == 1);
  s.type(" nothing").press(KeyName::Tab);
  CHECK(s.last == Editor::Outcome::Beep);
  Session blank;
  blank.press(KeyName::Tab);
  CHECK(blank.text() == "  |");
}

TEST_CASE("undo takes what was typed together") {
  Session s;
  s.type("abc").press(KeyName::Left).type("de").press(KeyName::Backspace);
  CHECK(s.text() == "abd|c");
  s.press(KeyName::Undo);
  CHECK(s.text() == "abde|c");
  s.press(KeyName::Undo);
  CHECK(s.text() == "ab|c");
  s.press(KeyName::Undo);
  CHECK(s.text() == "|");
  s.press(KeyName::Undo);
  CHECK(s.last == Editor::Outcome::Beep);
  s.press(KeyName::Redo).press(KeyName::Redo);
  CHECK(s.text() == "abde|c");
}

TEST_CASE("what is cut out is inserted again") {
  Session s;
  s.type("one two three").press(KeyName::KillWordLeft).press(KeyName::KillWordLeft);
  CHECK(s.text() == "one |");
  s.press(KeyName::Yank);
  CHECK(s.text() == "one two three|");
  s.press(KeyName::WordLeft).press(KeyName::KillToEnd).press(KeyName::LineBegin).press(KeyName::Yank);
  CHECK(s.text() == "three|one two ");
  s.press(KeyName::LineEnd).press(KeyName::Transpose);
  CHECK(s.text() == "threeone tw o|");
}

TEST_CASE("Ctrl-D") {
  Session s;
  s.type("ab").press(KeyName::Left).press(KeyName::DeleteOrEnd);
  CHECK(s.text() == "a|");
  s.press(KeyName::DeleteOrEnd);
  CHECK(s.last == Editor::Outcome::Beep);
  s.press(KeyName::Backspace).press(KeyName::DeleteOrEnd);
  CHECK(s.last == Editor::Outcome::Ended);
}
