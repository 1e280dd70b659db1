// tl repl: explore. Each input is a piece of one growing program.
#include "commands.h"
#include "compiler/programs.h"
#include "compiler/session.h"
#include "documentation.h"
#include "driver/messages.h"
#include "line_editor.h"
#include "options.h"
#include "parser/syntax/parse.h"
#include "vm/interrupt.h"
#include "vm/io/access.h"
#include "vm/io/input_lines.h"
#include "vm/io/io.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/format.h>

namespace tl::cli {
namespace {

std::atomic<bool> interrupted{false};
pthread_t reader; // the thread that reads lines: a signal ends its waiting for one

void on_interrupt(int signal) {
  interrupted = true;
  interrupt_kernels();
  if (!::pthread_equal(::pthread_self(), reader)) ::pthread_kill(reader, signal);
}

struct LineCommand {
  std::string_view name, argument, doc;
};
constexpr LineCommand kCommands[] = {
    {":help", "[NAME]", "this text, or what a function of the library does"},
    {":type", "EXPRESSION", "its type, without computing it"},
    {":ir", "INPUT", "what the compiler makes of it, after all passes"},
    {":asm", "INPUT", "its kernels as machine code"},
    {":cuda", "INPUT", "its kernels as CUDA C++"},
    {":time", "INPUT", "run it and say how long that took"},
    {":mem", "", "what the values of this session take, by device"},
    {":devices", "", "what there is to run on"},
    {":load", "FILE", "run a file; what it declares and binds stays"},
    {":save", "FILE", "write what was entered, without what failed, as a program"},
    {":reset", "", "forget everything"},
    {":quit", "", "leave (also Ctrl-D)"},
};

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

std::string history_file() {
  if (const char* file = std::getenv("TL_HISTORY")) return file;
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.tl_history" : "";
}

class Repl {
public:
  explicit Repl(const RunFlags& flags)
      : flags_(flags), editor_(history_file(), [this](const std::string& word) { return completions(word); }) {
    reset();
  }

  int run() {
    if (editor_.edits()) fmt::print("{}. :help says what there is.\n", version_text());
    std::string input;
    while (!ended_ && read(input)) {
      interrupted = false;
      editor_.remember(input);
      if (input[0] == ':')
        command(input);
      else
        enter(input, fmt::format("<input {}>", ++count_));
      std::fflush(stdout);
      std::fflush(stderr);
    }
    return exit_code_;
  }

private:
  void reset() {
    session_.emplace(flags_, &interrupted);
    accepted_.clear();
  }

  // A whole input: lines until no bracket is open. False at the end.
  bool read(std::string& input) {
    input.clear();
    while (true) {
      std::string line;
      bool first = input.empty();
      LineEditor::Answer answer = editor_.read(first ? "tl> " : "  > ", line);
      if (answer == LineEditor::Answer::Interrupted) {
        input.clear();
        continue;
      }
      if (answer == LineEditor::Answer::End) return !first;
      if (first && trimmed(line).empty()) continue;
      input += (first ? "" : "\n") + line;
      if (trimmed(input)[0] == ':') {
        input = trimmed(input);
        return true;
      }
      bool gives_up = editor_.edits() && !first && trimmed(line).empty();
      if (is_incomplete(input) && !gives_up) continue;
      if (editor_.edits() || is_comment(input) || !goes_on()) return true;
    }
  }

  // Comments and blank lines alone, of which nothing goes on.
  static bool is_comment(const std::string& input) {
    for (size_t begin = 0; begin < input.size();) {
      const size_t end = std::min(input.find('\n', begin), input.size());
      const std::string line = trimmed(input.substr(begin, end - begin));
      if (!line.empty() && line[0] != '#') return false;
      begin = end + 1;
    }
    return true;
  }

  // In a text that came as a whole the next line, past comments and blank ones, may begin with `.name` or `else`. What
  // has not arrived is not waited for: somebody may be waiting for an answer to what has.
  static bool goes_on() {
    auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (size_t ahead = 0;; ++ahead) {
      std::optional<std::string> line = arrived_input_line(ahead);
      if (!line) return false;
      std::string text = trimmed(*line);
      if (text.empty() || text[0] == '#') continue;
      return (text.size() > 1 && text[0] == '.' && is_word(text[1]) && !std::isdigit(text[1])) ||
             (text.rfind("else", 0) == 0 && (text.size() == 4 || !is_word(text[4])));
    }
  }

  void enter(const std::string& text, const std::string& name) {
    try {
      switch (session_->run(text, name)) {
      case Session::End::Done: accept(text); break;
      case Session::End::Rejected: break;
      case Session::End::Failed:
        if (interrupted) fmt::print(stderr, "interrupted\n");
        break;
      case Session::End::Exited:
        ended_ = true;
        exit_code_ = session_->exit_code();
        break;
      }
    } catch (const IoError& error) {
      show(error.kind, error.what());
    } catch (const UsageError& error) {
      show("UsageError", error.what());
    }
  }

  // For :save. What only showed a value is no statement of a program: it becomes a comment.
  void accept(const std::string& text) {
    bool shows = session_->showed_value();
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      accepted_ += (shows ? "# " : "") + text.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
  }

  void command(const std::string& input) {
    size_t space = input.find_first_of(" \t");
    std::string name = input.substr(0, space);
    std::string rest = space == std::string::npos ? "" : trimmed(input.substr(space));
    auto known = std::find_if(std::begin(kCommands), std::end(kCommands), [&](const LineCommand& c) {
      return c.name == name || (name.size() > 1 && c.name.rfind(name, 0) == 0);
    });
    if (known == std::end(kCommands)) return say(fmt::format("there is no command '{}'; :help lists them", name));
    name = known->name;
    bool needs = !known->argument.empty() && known->argument[0] != '[';
    if (needs && rest.empty()) return say(fmt::format("{} needs {}", name, known->argument));
    if (name == ":help") return help(rest);
    if (name == ":quit") {
      ended_ = true;
    } else if (name == ":reset") {
      reset();
    } else if (name == ":type") {
      if (auto type = session_->type_of(rest)) fmt::print("{}\n", *type);
    } else if (name == ":ir") {
      show_stage(rest, Session::Stage::Graph);
    } else if (name == ":asm") {
      show_stage(rest, Session::Stage::Asm);
    } else if (name == ":cuda") {
      show_stage(rest, Session::Stage::Cuda);
    } else if (name == ":mem") {
      auto [tensors, bytes] = session_->held();
      fmt::print("cpu  {} in {} tensor{} of this session\n", memory_text(bytes), tensors, tensors == 1 ? "" : "s");
    } else if (name == ":devices") {
      std::fputs(devices_text(flags_.run.cpu_devices).c_str(), stdout);
    } else if (name == ":time") {
      auto start = std::chrono::steady_clock::now();
      enter(rest, fmt::format("<input {}>", ++count_));
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      fmt::print("{:.3f} ms, compiling included\n", seconds.count() * 1e3);
    } else if (name == ":load") {
      try {
        auto text = [&] {
          const NamedByUser by_user;
          return read_program(rest);
        };
        enter(text(), rest);
      } catch (const UsageError& error) {
        show("UsageError", error.what());
      }
    } else if (name == ":save") {
      try {
        const NamedByUser by_user;
        write_text(rest, accepted_);
      } catch (const IoError& error) {
        show(error.kind, error.what());
      }
    }
  }

  void help(const std::string& name) {
    if (!name.empty()) {
      if (show_documentation(name)) return;
      std::vector<std::string> names = session_->names();
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        if (auto type = session_->type_of(name)) fmt::print("{}\n", *type);
        return;
      }
      return say(fmt::format("there is no documentation of '{}'", name));
    }
    fmt::print("Enter statements or expressions; the value of a bare expression is shown with its type.\n");
    for (const LineCommand& c : kCommands)
      fmt::print("  {:<20} {}\n", fmt::format("{} {}", c.name, c.argument), c.doc);
  }

  void show_stage(const std::string& input, Session::Stage stage) {
    if (auto text = session_->made_of(input, stage)) fmt::print("{}", *text);
  }

  static std::string memory_text(uint64_t bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    auto amount = static_cast<double>(bytes);
    int unit = 0;
    for (; amount >= 1024 && unit < 4; ++unit)
      amount /= 1024;
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", amount, units[unit]);
  }

  static void say(const std::string& message) { show("UsageError", message); }

  std::vector<std::string> completions(const std::string& word) {
    std::vector<std::string> found;
    auto consider = [&](std::string_view name) {
      if (name.rfind(word, 0) == 0 && name != word) found.emplace_back(name);
    };
    if (word[0] == ':')
      for (const LineCommand& c : kCommands)
        consider(c.name);
    for (const std::string& name : session_->names())
      consider(name);
    for (int i = 0; i < kBuiltinCount; ++i)
      consider(kBuiltins[i].name);
    for (int i = 0; i < kScalarOpCount; ++i)
      consider(kScalarOps[i].name);
    const size_t dot = word.rfind('.');
    if (dot != std::string::npos) {
      for (const DocumentedModule& module : documented_library())
        if (word.starts_with(module.name + "."))
          for (const Documented& function : module.functions)
            consider(function.name);
      // Of a value, as in `x.ma`: the functions that take it.
      if (found.empty() && dot + 1 < word.size())
        for (const std::string& name : completions(word.substr(dot + 1)))
          if (name.find('.') == std::string::npos) found.push_back(word.substr(0, dot + 1) + name);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  const RunFlags& flags_;
  std::optional<Session> session_;
  LineEditor editor_;
  std::string accepted_;
  int count_ = 0, exit_code_ = kFine;
  bool ended_ = false;
};

} // namespace

void add_repl(Command app, int& exit_code) {
  Command command = app.add_command("repl", "explore: type expressions, definitions and loops, see values");
  auto flags = std::make_shared<RunFlags>();
  add_run_options(command, *flags);
  command.on_chosen([flags, &exit_code] {
    flags->finish();
    flags->open_devices();
    struct sigaction action{};
    action.sa_handler = on_interrupt;
    reader = ::pthread_self();
    action.sa_flags = SA_NODEFER;          // the handler may be left by a jump
    ::sigaction(SIGINT, &action, nullptr); // without SA_RESTART: reading a line ends
    exit_code = Repl(*flags).run();
  });
}

} // namespace tl::cli
