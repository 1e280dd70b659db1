#include "lang/diagnostics.h"
#include <doctest/doctest.h>

using namespace tl;

namespace {

struct Fixture {
  SourceManager sources;
  FileId file;
  explicit Fixture(std::string text) : file(sources.add("a.tl", std::move(text))) {}
  Span at(uint32_t begin, uint32_t end) const { return {file, begin, end}; }
};

} // namespace

TEST_CASE("a message shows place, line, carets under operands with their text, and a hint") {
  Fixture f("let a = 1\nlet c = a @ b\n");
  Diagnostic d{Severity::Error,
               "ShapeMismatch",
               "inner sizes differ",
               f.at(20, 21),
               {{f.at(18, 19), "f32[2]"}, {f.at(22, 23), "f32[3]"}},
               "transpose one"};
  CHECK(render(d, f.sources) == "a.tl:2:11: error[ShapeMismatch]: inner sizes differ\n"
                                "  2 | let c = a @ b\n"
                                "    |         ^ f32[2]\n"
                                "    |           ^\n"
                                "    |             ^ f32[3]\n"
                                "    hint: transpose one\n");
}

TEST_CASE("a label on the main place takes its carets; other lines are shown too") {
  Fixture f("x\ny\nz\nlong = 1\n");
  Diagnostic d{Severity::Warning, "Kind", "text", f.at(6, 10), {{f.at(0, 1), "from here"}, {f.at(6, 10), "this"}}, ""};
  CHECK(render(d, f.sources) == "a.tl:4:1: warning[Kind]: text\n"
                                "  1 | x\n"
                                "    | ^ from here\n"
                                "    …\n"
                                "  4 | long = 1\n"
                                "    | ^^^^ this\n");
}

TEST_CASE("carets stand right behind tabs, wide bytes and at the end of a line") {
  Fixture f("\t\xC3\xA9 = q\n");
  Diagnostic d{Severity::Error, "K", "m", f.at(6, 7), {}, ""};
  CHECK(render(d, f.sources) == "a.tl:1:6: error[K]: m\n"
                                "  1 | \t\xC3\xA9 = q\n"
                                "    | \t    ^\n");
  d.span = f.at(7, 7);
  CHECK(render(d, f.sources) == "a.tl:1:7: error[K]: m\n"
                                "  1 | \t\xC3\xA9 = q\n"
                                "    | \t     ^\n");
}

TEST_CASE("a span over several lines is marked on its first; control bytes are not sent to the terminal") {
  Fixture f("a\x1b[2J {\n}\n");
  Diagnostic d{Severity::Error, "K", "m", f.at(6, 9), {}, ""};
  CHECK(render(d, f.sources) == "a.tl:1:7: error[K]: m\n"
                                "  1 | a?[2J {\n"
                                "    |       ^\n");
}

TEST_CASE("of a long line the part around the place is shown") {
  Fixture f(std::string(1000, 'a') + "b" + std::string(1000, 'c'));
  Diagnostic d{Severity::Error, "K", "m", f.at(1000, 1001), {}, ""};
  CHECK(render(d, f.sources) == "a.tl:1:1001: error[K]: m\n"
                                "  1 | … " +
                                    std::string(40, 'a') + "b" + std::string(119, 'c') +
                                    " …\n"
                                    "    |   " +
                                    std::string(40, ' ') + "^\n");
}

TEST_CASE("messages without a place, and of other files") {
  Fixture f("one\n");
  FileId other = f.sources.add("b.tl", "two\n");
  CHECK(render(Diagnostic{Severity::Error, "K", "m", {}, {}, "h"}, f.sources) == "error[K]: m\n    hint: h\n");
  CHECK(render(Diagnostic{Severity::Error, "K", "m", f.at(0, 3), {{{other, 0, 3}, "there"}}, ""}, f.sources) ==
        "a.tl:1:1: error[K]: m\n"
        "  1 | one\n"
        "    | ^^^\n"
        "   --> b.tl\n"
        "  1 | two\n"
        "    | ^^^ there\n");
}

TEST_CASE("reports are sorted and the same one is kept once; very many are counted") {
  Fixture f("abcdef");
  Diagnostics all;
  all.error("B", f.at(3, 4), "later");
  all.error("A", f.at(1, 2), "first");
  all.error("A", f.at(1, 2), "first");
  all.warning("W", f.at(2, 3), "between");
  CHECK(all.error_count() == 2);
  std::vector<Diagnostic> sorted = all.sorted();
  REQUIRE(sorted.size() == 3);
  CHECK(sorted[0].kind == "A");
  CHECK(sorted[1].kind == "W");
  CHECK(sorted[2].kind == "B");
  for (int i = 0; i < 2000; ++i)
    all.error("C", f.at(0, 1), std::to_string(i));
  CHECK(all.error_count() == 2002);
  CHECK(all.sorted().size() == Diagnostics::most_kept);
  CHECK(all.left_out() == 1003);
}

TEST_CASE("JSON escapes what has to be, and is one line") {
  Fixture f("let \"x\n");
  Diagnostic d{Severity::Error, "K", "a \"quote\"\n\xFF", f.at(4, 5), {{f.at(0, 3), "l"}}, ""};
  CHECK(render_json(d, f.sources) ==
        R"({"file":"a.tl","line":1,"column":5,"end_line":1,"end_column":6,"severity":"error","kind":"K",)"
        R"("message":"a \"quote\"\n\ufffd","hint":"",)"
        R"("labels":[{"file":"a.tl","line":1,"column":1,"end_line":1,"end_column":4,"text":"l"}]})"
        "\n");
}
