// Reading the prelude's documentation: signatures, comments and the forms of examples.
#include "lang/diagnostics.h"
#include "parser/doc/reference.h"
#include "parser/syntax/parse.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace tl;

namespace {

std::vector<Documented> of(std::string text) {
  SourceManager sources;
  Diagnostics diagnostics;
  ast::File file = parse(sources, sources.add("p.tl", std::move(text)), diagnostics);
  REQUIRE(!diagnostics.has_errors());
  return documented("prelude", file, sources);
}

} // namespace

TEST_CASE("functions written in tl: signatures without bodies, examples from the comment") {
  auto all = of("## Twice x. `twice(2)` is `4`; `twice(\n"
                "## 0.1)` is about 0.2. `x` is ignored here.\n"
                "fn twice<T: num = f32>(x: T[..s], by: T = 2) -> T[..s] = x * by\n"
                "fn twice(x: bool) {\n  x\n}\n"
                "## `bare()` passes.\n"
                "fn bare() { }\n"
                "fn silent() = 1\n");
  auto entry = [&](const char* name) {
    auto found = std::find_if(all.begin(), all.end(), [&](const Documented& d) { return d.name == name; });
    REQUIRE(found != all.end());
    return *found;
  };
  Documented twice = entry("twice");
  REQUIRE(twice.signatures.size() == 2);
  CHECK(twice.signatures[0] == "twice<T: num = f32>(x: T[..s], by: T = 2) -> T[..s]");
  CHECK(twice.signatures[1] == "twice(x: bool)");
  REQUIRE(twice.examples.size() == 2);
  CHECK(twice.examples[0].code == "twice(2)");
  CHECK(twice.examples[0].value == "4");
  CHECK(!twice.examples[0].about);
  CHECK(twice.examples[1].code == "twice( 0.1)");
  CHECK(twice.examples[1].value == "0.2");
  CHECK(twice.examples[1].about);
  REQUIRE(entry("bare").examples.size() == 1);
  CHECK(entry("bare").examples[0].value.empty());
  CHECK(entry("silent").doc.empty());
  CHECK(entry("silent").examples.empty());
}

TEST_CASE("rows of the op table") {
  auto all = of("");
  auto signature = [&](const char* name) {
    auto found = std::find_if(all.begin(), all.end(), [&](const Documented& d) { return d.name == name; });
    REQUIRE(found != all.end());
    CHECK(!found->doc.empty());
    return found->signatures.at(0);
  };
  CHECK(signature("sqrt") == "sqrt<T: float>(x: T[..s]) -> T[..s]");
  CHECK(signature("atan2") == "atan2<T: float>(y: T[..s], x: T[..s]) -> T[..s]");
  CHECK(signature("clamp") == "clamp<T: num>(x: T[..s], lo: T[..s], hi: T[..s]) -> T[..s]");
  CHECK(signature("isnan") == "isnan<T: float>(x: T[..s]) -> bool[..s]");
  CHECK(signature("add") == "x: T[..s] + y: T[..s] -> T[..s]");
  CHECK(signature("not") == "not x: bool[..s] -> bool[..s]");
}
