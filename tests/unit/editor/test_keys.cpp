#include "cli/editor/keys.h"
#include <doctest/doctest.h>
#include <random>
#include <string>
#include <vector>

using namespace tl::editor;

namespace {

// All keys of a text; \xff in it is a silence.
std::vector<Key> keys_of(const std::string& text) {
  size_t at = 0;
  KeyReader reader([&](int milliseconds) -> Byte {
    if (at >= text.size()) return {milliseconds < 0 ? Byte::Kind::End : Byte::Kind::Late, 0};
    const auto byte = static_cast<unsigned char>(text[at++]);
    if (byte == 0xff) return {milliseconds < 0 ? Byte::Kind::Wake : Byte::Kind::Late, 0};
    return {Byte::Kind::Value, byte};
  });
  std::vector<Key> keys;
  for (Key key = reader.next(); key.name != KeyName::End; key = reader.next())
    if (key.name != KeyName::Wake) keys.push_back(key);
  return keys;
}

KeyName only(const std::string& text) {
  const std::vector<Key> keys = keys_of(text);
  return keys.size() == 1 ? keys[0].name : KeyName::End;
}

std::string text_of(const std::string& bytes) {
  std::string text;
  for (const Key& key : keys_of(bytes))
    text += key.text;
  return text;
}

} // namespace

TEST_CASE("letters of all scripts are text") {
  CHECK(text_of("aä€𝔸e\u0301") == "aä€𝔸e\u0301");
  CHECK(keys_of("äb").size() == 2);
}

TEST_CASE("what is no UTF-8 is nothing, and what follows is read") {
  CHECK(text_of("a\xc3"
                "b\x80"
                "c\xc0\xaf"
                "d\xf5\xf5"
                "e\xe2\x82"
                "f") == "abcdef");
  CHECK(text_of("\xed\xa0\x80"
                "a") == "a"); // a surrogate
}

TEST_CASE("the same key of different terminals") {
  for (const char* up : {"\x1b[A", "\x1bOA", "\x1b[1A", "\x1b[1;1A",
                         "\x9b"
                         "A",
                         "\x10"})
    CHECK(only(up) == KeyName::Up);
  for (const char* home : {"\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~", "\x01", "\x1b[97;5u", "\x1b[27;5;97~"})
    CHECK(only(home) == KeyName::LineBegin);
  for (const char* end : {"\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~", "\x05", "\x1b[8$"})
    CHECK(only(end) == KeyName::LineEnd);
  for (const char* word : {"\x1b[1;5D", "\x1b[1;3D", "\x1b[5D", "\x1bOd", "\x1b\x1b[D",
                           "\x1b"
                           "b",
                           "\x1bO5D", "\x1b[1;5:1D"})
    CHECK(only(word) == KeyName::WordLeft);
  for (const char* erased : {"\x7f", "\x08", "\x1b[127u", "\x1b[8;1u"})
    CHECK(only(erased) == KeyName::Backspace);
  for (const char* line : {"\x1b\r", "\x1b\n", "\x1b[13;2u", "\x1b[27;2;13~"})
    CHECK(only(line) == KeyName::NewLine);
  CHECK(only("\x1b[3~") == KeyName::Delete);
  CHECK(only("\x1bOM") == KeyName::Enter);
  CHECK(text_of("\x1bOq\x1bOk\x1bOr") == "1+2"); // the keypad
  CHECK(only("\x18\x15") == KeyName::Undo);
  CHECK(only("\x1b/") == KeyName::Redo);
}

TEST_CASE("sequences that mean nothing here are no text") {
  for (const char* unknown : {"\x1b[15~",
                              "\x1b[1;2P",
                              "\x1bOP",
                              "\x1b[[A",
                              "\x1b[Z",
                              "\x1b[I",
                              "\x1b[O",
                              "\x1b[12;40R",
                              "\x1b[?1;2c",
                              "\x1b[>41;354;0c",
                              "\x1b[M !!",
                              "\x1b[<0;10;20M",
                              "\x1b[<0;10;20m",
                              "\x1b]11;rgb:ffff/ffff/ffff\x07",
                              "\x1b]0;a title\x1b\\",
                              "\x1bP1+r544e=787465726d\x1b\\",
                              "\x1b[?2026;1$y",
                              "\x1b[57358u",
                              "\x1b[3;5;9;7z",
                              "\x1b[38:2:1:2:3X",
                              "\x1bx",
                              "\x1b(B",
                              "\x1b\xc3\xa4",
                              "\x1b[200z",
                              "\x1b[1;",
                              "\x1b[",
                              "\x1bO",
                              "\x1b[\x18",
                              "\x16",
                              "\x11"})
    CHECK_MESSAGE(text_of(std::string(unknown) + "\xff" + "ok") == "ok", unknown);
}

TEST_CASE("a sequence that is broken off does not take the next one with it") {
  CHECK(text_of("\x1b[12\x1b[Dok") == "ok");
  CHECK(text_of("\x1b[1;\xc3\xa4ok") == "äok");
  CHECK(only("\x1b[12\x03") == KeyName::End); // two keys
  CHECK(keys_of("\x1b[12\x03").back().name == KeyName::Interrupt);
}

TEST_CASE("Escape alone is a key after a silence") { CHECK(only("\x1b\xff") == KeyName::Cancel); }

TEST_CASE("pasted text is one key, without what does things to a terminal") {
  const std::vector<Key> keys = keys_of("\x1b[200~a\r\nb\rc\n\td\x1b[31m\x03\x1b[201~x");
  REQUIRE(keys.size() == 2);
  CHECK(keys[0].name == KeyName::Paste);
  CHECK(keys[0].text == "a\nb\nc\n\td[31m");
  CHECK(keys[1].text == "x");
  CHECK(keys_of("\x1b[200~never ended").at(0).text == "never ended");
}

TEST_CASE("random bytes end, and give UTF-8 alone") {
  std::mt19937 random(1);
  const std::string often = "\x1b\x1b\x1b[[O;0123456789~ABCDu$ab\x9b\xc3\xa4\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    for (int i = 0; i < 12; ++i)
      bytes += random() % 3 ? often[random() % often.size()] : static_cast<char>(random() % 256);
    for (const Key& key : keys_of(bytes))
      for (const Key& again : keys_of(key.text))
        CHECK((again.name == KeyName::Text || again.name == KeyName::Enter || again.name == KeyName::Tab));
  }
}
