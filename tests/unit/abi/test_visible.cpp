#include "abi/visible.h"
#include <doctest/doctest.h>

using namespace tl;

TEST_CASE("what may be shown is shown as it is") {
  for (const char* text : {"", "plain text 'x.npy'", "größer → 中文 🙂", "C:\\n", "e\xcc\x81"})
    CHECK(visible(text) == text);
}

TEST_CASE("control characters are written out") {
  CHECK(visible("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(visible_lines("a\nb\tc\rd") == "a\nb\tc\\rd");
  CHECK(visible(std::string("\0\x1b[31m\x07\x7f", 8)) == "\\x00\\x1b[31m\\x07\\x7f");
  CHECK(visible("\xc2\x9b"
                "31m") == "\\u{9b}31m"); // CSI in one character
  CHECK(visible("\xe2\x80\xae"
                "gpj.exe") == "\\u{202e}gpj.exe");
  CHECK(visible("a\xe2\x80\x8b"
                "b\xef\xbb\xbf") == "a\\u{200b}b\\u{feff}");
}

TEST_CASE("bytes that are no UTF-8 are written out") {
  CHECK(visible("\x9b"
                "31m") == "\\x9b31m"); // CSI in the eight-bit sets of characters
  CHECK(visible("\xe2\x80") == "\\xe2\\x80");
  CHECK(visible("\xff\xc0\xaf") == "\\xff\\xc0\\xaf");
  // Whatever bytes there are, nothing of them disturbs.
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const std::string text = visible(std::string{static_cast<char>(a), static_cast<char>(b)});
      for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool control = c < 0x20 || c == 0x7f || (c == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
        CHECK_FALSE(control);
      }
    }
}
