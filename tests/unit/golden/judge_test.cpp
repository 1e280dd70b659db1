// A golden file that is wrong must fail: each way to be wrong by itself.
#include "judge.h"
#include <doctest/doctest.h>
#include <stdexcept>

using namespace tl::golden;

namespace {

Ran ran(std::string out, std::string err = "", int exit_code = 0) {
  Ran r;
  r.out = std::move(out);
  r.err = std::move(err);
  r.exit_code = exit_code;
  return r;
}

// What is found wrong with a file of this text, when it is run and prints this.
std::vector<std::string> wrong(std::string_view kind, std::string_view name, std::string_view text, const Ran& r) {
  Expectations e = read_expectations(text);
  std::vector<std::string> all = idle_expectations(kind, name, e);
  for (std::string& fault : faults(kind, name, e, r, 10))
    all.push_back(std::move(fault));
  return all;
}

bool says(const std::vector<std::string>& faults, std::string_view part) {
  for (const std::string& fault : faults)
    if (fault.find(part) != std::string::npos) return true;
  return false;
}

const std::string kDiagnostic = "x.tl:2:1: error[Kind]: some text\n";

} // namespace

TEST_CASE("a right file has no faults") {
  CHECK(wrong("run", "x.tl", "print(1)  #> 1\n", ran("1\n")).empty());
  CHECK(wrong("error", "fail_x.tl", "#! Kind: some\nbad\n", ran("", kDiagnostic, 1)).empty());
  CHECK(wrong("check", "x.tl", "#? 0\nx\n", ran("")).empty());
  CHECK(wrong("ir", "x.tl", "#= exp 1\n", ran("  %1: f32 = exp %0\n")).empty());
}

TEST_CASE("a file that expects nothing fails") {
  CHECK(says(wrong("run", "x.tl", "let x = 1\n", ran("")), "expects nothing"));
  CHECK(says(wrong("check", "x.tl", "# only words\n", ran("")), "expects nothing"));
  CHECK(says(wrong("pass", "x.tl", "#% --after cse\nf\n", ran("  %1: f32 = exp %0\n")), "expects nothing"));
}

TEST_CASE("output that never comes, comes otherwise, or is too much") {
  CHECK(says(wrong("run", "x.tl", "if false { print(1) }  #> 1\n", ran("")), "expected `1`, found no more lines"));
  CHECK(says(wrong("run", "x.tl", "print(1)  #> 1\n", ran("2\n")), "expected `1`, found `2`"));
  CHECK(says(wrong("run", "x.tl", "print(1)  #> 1\n", ran("1\n2\n")), "expected no more lines, found `2`"));
  CHECK(says(wrong("lex", "x.tl", "#> token\n", ran("")), "expected `token`"));
  CHECK(says(wrong("ir", "x.tl", "#> = exp\n#> = sin\n", ran("a = sin\nb = exp\n")), "no line with `= sin`"));
}

TEST_CASE("a diagnostic that no run reports, and one that none expects") {
  CHECK(says(wrong("error", "fail_x.tl", "#! Kind\nbad\n", ran("", "", 1)), "Kind is expected and not reported"));
  CHECK(says(wrong("error", "fail_x.tl", "#! Other\nbad\n", ran("", kDiagnostic, 1)), "Other is expected and not"));
  CHECK(says(wrong("error", "fail_x.tl", "#! Kind: else\nbad\n", ran("", kDiagnostic, 1)), "(else) is expected"));
  CHECK(says(wrong("error", "fail_x.tl", "\n#! Kind\nbad\n", ran("", kDiagnostic, 1)), "line 3: Kind is expected"));
  CHECK(says(wrong("error", "fail_x.tl", "#! Kind\n#! Kind\nbad\n", ran("", kDiagnostic, 1)), "is expected and not"));
  CHECK(says(wrong("run", "x.tl", "x  #> 1\n", ran("1\n", kDiagnostic)), "is reported and not expected"));
  CHECK(says(wrong("run", "x.tl", "#! Kind\nx\n", ran("")), "Kind is expected and not reported"));
}

TEST_CASE("exit codes") {
  CHECK(says(wrong("error", "fail_x.tl", "#! Kind\nbad\n", ran("", kDiagnostic)), "it succeeds"));
  CHECK(says(wrong("error", "fail_x.tl", "x  #> 1\n", ran("1\n", "", 3)), "neither `#!` nor `#?` says how"));
  CHECK(wrong("error", "fail_x.tl", "#? 3\nexit(3)\n", ran("", "", 3)).empty());
  CHECK(says(wrong("run", "x.tl", "x  #> 1\n", ran("1\n", "", 3)), "exit code 3, though"));
  CHECK(says(wrong("run", "x.tl", "#? 3\n", ran("", "", 0)), "exit code 0, expected 3"));
  CHECK(says(wrong("run", "x.tl", "#? 70\n", ran("", "", 70)), "a fault of tl's own"));
  CHECK(says(wrong("run", "x.tl", "#? 139\n", ran("", "", 139)), "a fault of tl's own"));
}

TEST_CASE("counts") {
  CHECK(says(wrong("ir", "x.tl", "#= exp 2\n", ran("  %1: f32 = exp %0\n")), "exp occurs 1 times, expected 2"));
  CHECK(says(wrong("ir", "x.tl", "#= esp 1\n", ran("  %1: f32 = exp %0\n")), "esp occurs 0 times"));
  CHECK(says(wrong("run", "x.tl", "#= exp 0\nx  #> 1\n", ran("1\n")), "counts operations of a graph"));
}

TEST_CASE("comments that nobody would read") {
  CHECK(says(wrong("check", "x.tl", "#: --n 3\n#? 0\n", ran("")), "which `check` does not run"));
  CHECK_THROWS_AS(read_expectations("bad  #! Kind: behind code\n"), std::runtime_error);
  CHECK_THROWS_AS(read_expectations("x  #= exp 1\n"), std::runtime_error);
  CHECK_THROWS_AS(read_expectations("x  #? 3\n"), std::runtime_error);
  CHECK_THROWS_AS(read_expectations("x\n#!Kind: no space\n"), std::runtime_error);
  CHECK_THROWS_AS(read_expectations("#? 1\n#? 2\n"), std::runtime_error);
  CHECK_THROWS_AS(read_expectations("#% --after\n"), std::runtime_error);
  CHECK_NOTHROW(read_expectations("print(\"x  #! Kind\")  # a comment: #! Kind\n"));
}

TEST_CASE("a graph is the one after the pass that the file names") {
  const char* dump = "# after lower\na\n# after cse\nb\n\n# after fold\nc\n# after cse\nd\n# after dce\ne\n";
  CHECK(read_expectations("#% --after cse:2 --disable fuse\n").after == "cse:2");
  CHECK(read_expectations("#% --after cse --disable fuse\n").flags == std::vector<std::string>{"--disable", "fuse"});
  CHECK(pass_of("ir", Expectations{}) == "lower");
  CHECK(pass_of("pass", Expectations{}) == "fuse");
  Graphs first = graphs_around(dump, "cse");
  CHECK(first.found);
  CHECK(first.before == "a\n");
  CHECK(first.after == "b\n\n");
  Graphs second = graphs_around(dump, "cse:2");
  CHECK(second.before == "c\n");
  CHECK(second.after == "d\n");
  CHECK(graphs_around(dump, "dce").after == "e\n");
  CHECK(graphs_around(dump, "lower").before.empty());
  CHECK_FALSE(graphs_around(dump, "cse:3").found);
  CHECK_FALSE(graphs_around(dump, "hoist").found);
}

TEST_CASE("what a graph shows before the pass says nothing of the pass") {
  const Graphs graphs{true, "  %1: f32 = exp %0\n", "  %1: f32 = sin %0\n"};
  CHECK(faults_of_pass(read_expectations("#= exp 0\n#= cos 0\n"), graphs).empty());
  CHECK(says(faults_of_pass(read_expectations("#= cos 0\n"), graphs), "says nothing of the pass"));
  CHECK(faults_of_pass(read_expectations("#= cos 0\n"), {true, "", "x"}).empty()); // lower: nothing is before
}

TEST_CASE("each pass has a file that shows it") {
  CHECK(shows_pass({"fuse", "cse:2"}, "cse"));
  CHECK(shows_pass({"fuse", "cse:2"}, "fuse"));
  CHECK_FALSE(shows_pass({"fuse", "cse:2"}, "cs"));
  CHECK_FALSE(shows_pass({}, "cse"));
}

TEST_CASE("outputs that are close differ in blanks and in the last digits of numbers") {
  auto close = [](std::string_view expected, std::string_view found) {
    return are_close(output_lines(expected), output_lines(found), 1e-6);
  };
  CHECK(close("[[0.84564924 1.7741209 ]]", "[[0.84564924 1.774121  ]]"));
  CHECK(close("x1 -2e10", "x1 -2.000001e10"));
  CHECK(close("nan inf", "nan inf"));
  CHECK(!close("1.77412", "1.77413"));
  CHECK(!close("nan", "1.0"));
  CHECK(!close("x1", "x2"));
  CHECK(!close("[1. 2.]", "[1. 2. 3.]"));
  CHECK(!close("1.0 2.0", "1.0\n2.0"));
  CHECK(!close("a 0.0", "a 1e-9"));
  CHECK(!close("1000001", "-1000001"));
}
