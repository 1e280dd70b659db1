#include "judge.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tl::golden {

std::vector<std::string> output_lines(std::string_view out) {
  std::vector<std::string> lines = split_lines(out);
  for (std::string& line : lines)
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t'))
      line.pop_back();
  return lines;
}

std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& found) {
  size_t i = 0;
  while (i < expected.size() && i < found.size() && expected[i] == found[i])
    ++i;
  auto at = [&](const std::vector<std::string>& lines) {
    return i < lines.size() ? "`" + lines[i] + "`" : "no more lines";
  };
  return fmt::format("line {} of the output: expected {}, found {}", i + 1, at(expected), at(found));
}

namespace {

// Numbers as they are there, everything else but blanks character by character.
std::vector<std::string> tokens(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    for (size_t at = 0; at < line.size();) {
      double ignored = 0;
      const char* begin = line.data() + at;
      const bool in_word = at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) || line[at - 1] == '_');
      const char* end = in_word ? begin : std::from_chars(begin, line.data() + line.size(), ignored).ptr;
      if (end == begin) ++end;
      if (line[at] != ' ') out.emplace_back(begin, end);
      at += static_cast<size_t>(end - begin);
    }
    out.emplace_back("\n");
  }
  return out;
}

bool is_close(const std::string& x, const std::string& y, double tolerance) {
  if (x == y) return true;
  double a = 0, b = 0;
  if (std::from_chars(x.data(), x.data() + x.size(), a).ptr != x.data() + x.size()) return false;
  if (std::from_chars(y.data(), y.data() + y.size(), b).ptr != y.data() + y.size()) return false;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

} // namespace

bool are_close(const std::vector<std::string>& expected, const std::vector<std::string>& found, double tolerance) {
  const std::vector<std::string> x = tokens(expected), y = tokens(found);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [&](const std::string& a, const std::string& b) { return is_close(a, b, tolerance); });
}

std::vector<std::string> idle_expectations(std::string_view kind, std::string_view name, const Expectations& expected) {
  std::vector<std::string> out;
  const bool runs = kind == "run" || kind == "error";
  if (!shows_graph(kind) && !expected.counts.empty())
    out.push_back(fmt::format("`#=` counts operations of a graph, which `{}` does not show", kind));
  if (!runs && !expected.arguments.empty())
    out.push_back(fmt::format("`#:` gives arguments to a program, which `{}` does not run", kind));
  if (expected.output.empty() && expected.errors.empty() && expected.counts.empty() && !expected.exit_code)
    out.push_back("it expects nothing (`#? 0` says that it is accepted)");
  else if (name.starts_with("fail_") && expected.errors.empty() && !expected.exit_code)
    out.push_back("it must fail, and neither `#!` nor `#?` says how");
  return out;
}

namespace {

// What a graph does not show of what it should.
std::vector<std::string> graph_faults(const Expectations& expected, std::string_view graph) {
  std::vector<std::string> out;
  size_t next = 0; // a dump says too much to repeat: the lines given must be among its own, in order
  for (const std::string& line : output_lines(graph))
    if (next < expected.output.size() && line.find(expected.output[next]) != std::string::npos) ++next;
  if (next < expected.output.size())
    out.push_back(fmt::format("the dump has no line with `{}` (in this order)", expected.output[next]));
  for (const ExpectedCount& count : expected.counts)
    if (int n = count_op(graph, count.op); n != count.count)
      out.push_back(fmt::format("op {} occurs {} times, expected {}", count.op, n, count.count));
  return out;
}

} // namespace

std::vector<std::string> faults(std::string_view kind, std::string_view name, const Expectations& expected,
                                const Ran& ran, double seconds) {
  std::vector<std::string> out;
  if (ran.timed_out) return {fmt::format("it runs longer than {} s", seconds)};
  if (ran.cut) return {"it prints more than 16 MiB"};
  const bool must_fail = name.starts_with("fail_");
  if (ran.exit_code == 70 || ran.exit_code >= 128)
    out.push_back(fmt::format("a fault of tl's own, exit code {}", ran.exit_code));
  if (expected.exit_code) {
    if (ran.exit_code != *expected.exit_code)
      out.push_back(fmt::format("exit code {}, expected {}", ran.exit_code, *expected.exit_code));
  } else if (must_fail != (ran.exit_code != 0)) {
    out.push_back(must_fail ? "it succeeds, though its name begins with fail_"
                            : fmt::format("exit code {}, though its name does not begin with fail_", ran.exit_code));
  }

  if (shows_graph(kind)) {
    const std::vector<std::string> missing = graph_faults(expected, ran.out);
    out.insert(out.end(), missing.begin(), missing.end());
  } else if (const std::vector<std::string> found = output_lines(ran.out); found != expected.output) {
    out.push_back(difference(expected.output, found));
  }

  // Expected and reported diagnostics pair up one to one.
  std::vector<Reported> reported = read_diagnostics(ran.err);
  for (const ExpectedError& error : expected.errors) {
    auto match = std::find_if(reported.begin(), reported.end(), [&](const Reported& r) {
      return r.line == error.line && r.kind == error.kind && r.message.find(error.text) != std::string::npos;
    });
    if (match == reported.end())
      out.push_back(fmt::format("line {}: {}{} is expected and not reported", error.line, error.kind,
                                error.text.empty() ? "" : " (" + error.text + ")"));
    else
      reported.erase(match);
  }
  for (const Reported& extra : reported)
    out.push_back(fmt::format("line {}: {} is reported and not expected: {}", extra.line, extra.kind, extra.message));
  if (!out.empty() && reported.empty() && expected.errors.empty() && !ran.err.empty())
    out.push_back("standard error: " + split_lines(ran.err).front());
  return out;
}

std::string pass_of(std::string_view kind, const Expectations& expected) {
  if (!expected.after.empty()) return expected.after;
  return kind == "ir" ? "lower" : "fuse";
}

Graphs graphs_around(std::string_view dump, std::string_view pass) {
  int left = 1; // `cse:2` is the second run of `cse`
  if (size_t colon = pass.find(':'); colon != pass.npos) {
    std::from_chars(pass.data() + colon + 1, pass.data() + pass.size(), left);
    pass = pass.substr(0, colon);
  }
  const std::string mark = "# after ";
  Graphs result;
  std::string* into = &result.before;
  for (const std::string& line : split_lines(dump)) {
    if (line.starts_with(mark)) {
      if (result.found) return result;
      if (line.substr(mark.size()) == pass && --left == 0) {
        result.found = true;
        into = &result.after;
      } else {
        into->clear();
      }
      continue;
    }
    *into += line + '\n';
  }
  return result;
}

std::vector<std::string> faults_of_pass(const Expectations& expected, const Graphs& graphs) {
  if (graphs.before.empty() || !graph_faults(expected, graphs.before).empty()) return {};
  return {"the graph before the pass shows all of it too: that says nothing of the pass"};
}

bool shows_pass(const std::vector<std::string>& shown, std::string_view pass) {
  return std::any_of(shown.begin(), shown.end(),
                     [&](std::string_view name) { return name.substr(0, name.find(':')) == pass; });
}

} // namespace tl::golden
