// The runner of golden tests reads what files say about themselves.
#include "expectations.h"
#include <doctest/doctest.h>
#include <stdexcept>

using namespace tl::golden;

TEST_CASE("expectations stand in comments") {
  Expectations e = read_expectations("#: --n 3 \"a b\" FOLDER/x\n"
                                     "print(1)  #> 1\n"
                                     "#>\n"
                                     "#>   two \n"
                                     "#! Kind: some text\n"
                                     "#! Other\n"
                                     "bad  #> 3\n"
                                     "#= kernels 2\n"
                                     "#= exp 1\n"
                                     "#? 3\n"
                                     "print(\"#> not this\")  # nor #> this\n"
                                     "#! AtEnd\n");
  CHECK(e.arguments == std::vector<std::string>{"--n", "3", "a b", "FOLDER/x"});
  CHECK(e.output == std::vector<std::string>{"1", "", "  two", "3"});
  REQUIRE(e.errors.size() == 3);
  CHECK(e.errors[0].line == 7);
  CHECK(e.errors[0].kind == "Kind");
  CHECK(e.errors[0].text == "some text");
  CHECK(e.errors[1].line == 7);
  CHECK(e.errors[1].kind == "Other");
  CHECK(e.errors[2].line == 13);
  REQUIRE(e.counts.size() == 2);
  CHECK(e.counts[0].op == "kernel");
  CHECK(e.counts[0].count == 2);
  CHECK(e.exit_code == 3);
  CHECK_FALSE(read_expectations("x").exit_code);
  CHECK(read_expectations("#!/usr/bin/tl\n").errors.empty());
}

TEST_CASE("an expectation that says nothing is an error of the file") {
  CHECK_THROWS_AS(read_expectations("#? x"), std::runtime_error);
  CHECK_THROWS_AS(read_expectations("#= exp"), std::runtime_error);
  CHECK_THROWS_AS(read_expectations("#! not a kind"), std::runtime_error);
}

TEST_CASE("rewriting keeps the places of the lines, and their number right") {
  const char* text = "a  #> 1\nb\n#> 2\nc #> 3\n";
  CHECK(with_output(text, {"x", "y", "z"}) == "a  #> x\nb\n#> y\nc #> z\n");
  CHECK(with_output(text, {"x"}) == "a  #> x\nb\nc\n");
  CHECK(with_output(text, {"x", "y", "z", "", "w"}) == "a  #> x\nb\n#> y\nc #> z\n#>\n#> w\n");
  CHECK(with_output("a\nb\n", {"x"}) == "a\nb\n#> x\n");
  CHECK(read_expectations(with_output(text, {"p", "", "q", "r"})).output ==
        std::vector<std::string>{"p", "", "q", "r"});
}

TEST_CASE("diagnostics are read back from what tl prints") {
  std::vector<Reported> all = read_diagnostics("/a/b.tl:3:14: error[Kind]: some [text]: here\n"
                                               "  3 | x: error[no]\n"
                                               "c:d.tl:12:1: warning[Other]: w\n"
                                               "error[NoPlace]: m\n");
  REQUIRE(all.size() == 3);
  CHECK(all[0].line == 3);
  CHECK(all[0].kind == "Kind");
  CHECK(all[0].message == "some [text]: here");
  CHECK(all[1].line == 12);
  CHECK(all[1].kind == "Other");
  CHECK(all[2].line == 0);
  CHECK(all[2].kind == "NoPlace");
}

TEST_CASE("ops are counted by name, not by text") {
  const char* dump = "func @main(%t: token) {\n  %1: f32 = exp %exp\n  %2: f32[%n] = map (%i: i64) {\n"
                     "    %3: f32 = exp %1\n    yield %3\n  }\n  %4: token = print %t, %2\n}\n";
  CHECK(count_op(dump, "exp") == 2);
  CHECK(count_op(dump, "map") == 1);
  CHECK(count_op(dump, "ex") == 0);
  CHECK(count_op(dump, "print") == 1);
}
