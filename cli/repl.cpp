// tl repl: explore. Each input is a piece of one growing program.
#include "cli/editor/characters.h"
#include "cli/editor/terminal.h"
#include "commands.h"
#include "compiler/programs.h"
#include "compiler/session.h"
#include "completion.h"
#include "documentation.h"
#include "driver/messages.h"
#include "line_editor.h"
#include "options.h"
#include "parser/check/line_width.h"
#include "parser/syntax/cursor.h"
#include "parser/syntax/parse.h"
#include "saved_program.h"
#include "shown_values.h"
#include "vm/interrupt.h"
#include "vm/io/access.h"
#include "vm/io/io.h"
#include "vm/io/line_width.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <unistd.h>

namespace tl::cli {
namespace {

std::atomic<bool> interrupted{false};
pthread_t reader; // the thread that reads lines: a signal ends its waiting for one

void on_interrupt(int signal) {
  interrupted = true;
  interrupt_kernels();
  if (!::pthread_equal(::pthread_self(), reader)) ::pthread_kill(reader, signal);
}

const std::vector<LineCommand> kCommands = {
    {":help", "[NAME]", "this text, or what a function or struct does, of the library or your own"},
    {":type", "EXPRESSION", "its type, without computing it"},
    {":ir", "INPUT", "what the compiler makes of it, after all passes"},
    {":asm", "INPUT", "its kernels as machine code"},
    {":cuda", "INPUT", "its kernels as CUDA C++"},
    {":time", "INPUT", "run it and say how long that took"},
    {":timeit", "EXPRESSION", "run it many times, and say how long one takes, without compiling"},
    {":mem", "", "what the values of this session take, by device"},
    {":devices", "", "what there is to run on"},
    {":load", "FILE", "run a file; what it declares and binds stays"},
    {":reset", "", "forget everything"},
    {":reload", "[FILE]", "run again the files that were loaded or imported, or this one"},
    {":save", "FILE", "write what was entered, without what failed, as a program"},
    {":quit", "", "leave (also exit(), quit(), Ctrl-D)"},
};
constexpr double kTimeitSeconds = 1;

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

std::string history_file() {
  if (const char* file = std::getenv("TL_HISTORY")) return file;
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.tl_history" : "";
}

// What is entered at once may hold commands between its statements: each is an input of its own.
std::vector<std::string> inputs_of(const std::string& text) {
  std::vector<std::string> inputs;
  std::string input;
  auto end_input = [&] {
    if (!trimmed(input).empty()) inputs.push_back(input);
    input.clear();
  };
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool is_command = trimmed(line).starts_with(':') && !is_incomplete(input);
    if (is_command) end_input();
    input += (input.empty() ? "" : "\n") + line;
    if (is_command) end_input();
  }
  end_input();
  return inputs;
}

// `## …` on lines of its own: of what is entered next.
bool is_documentation(const std::string& input) {
  bool is_one = false;
  for (size_t begin = 0; begin < input.size();) {
    const size_t end = std::min(input.find('\n', begin), input.size());
    const std::string line = trimmed(input.substr(begin, end - begin));
    begin = end + 1;
    if (!line.empty() && !line.starts_with("##")) return false;
    is_one = is_one || !line.empty();
  }
  return is_one;
}

// Lines that are too long go on in the next one, as far to the right.
std::string wrapped(const std::string& text, size_t columns) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
    while (static_cast<size_t>(editor::columns_of(line)) > columns) {
      size_t cut = 0;
      for (size_t at = line.find(' ', indent.size()); at != std::string::npos; at = line.find(' ', at + 1))
        if (static_cast<size_t>(editor::columns_of(line.substr(0, at))) <= columns) cut = at;
      if (cut == 0) break; // one word
      result += line.substr(0, cut) + '\n';
      line = indent + line.substr(line.find_first_not_of(' ', cut));
    }
    result += line + '\n';
  }
  return result;
}

// The name of `?f`, `f?` and `help(f)`, as other prompts ask for help; empty of `help` alone.
std::optional<std::string> asked_for(const std::string& text) {
  if (text == "help" || text == "?") return "";
  const bool is_call = text.starts_with("help(") && text.ends_with(')');
  const std::string name = is_call                 ? trimmed(text.substr(5, text.size() - 6))
                           : text.starts_with('?') ? trimmed(text.substr(1))
                           : text.ends_with('?')   ? trimmed(text.substr(0, text.size() - 1))
                                                   : " ";
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) { return is_word(c) || c == '.'; });
  return is_name ? std::optional(name) : std::nullopt;
}

// "12.3 µs"
std::string duration_text(double seconds) {
  constexpr std::pair<double, const char*> kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
  for (const auto& [unit, name] : kUnits)
    if (seconds >= unit || unit == 1e-9) return fmt::format("{:.3g} {}", seconds / unit, name);
  return "";
}

class Repl {
public:
  explicit Repl(const RunFlags& flags)
      : flags_(flags),
        editor_(
            {history_file(),
             [this](const std::string& text, size_t cursor) { return complete(*session_, kCommands, text, cursor); },
             &interrupted}) {
    reset();
  }

  int run() {
    if (editor_.is_terminal()) fmt::print("{}. :help says what there is.\n", version_text());
    std::fflush(stdout);
    std::string text;
    while (!ended_) {
      interrupted = false;
      const LineEditor::Answer answer = editor_.read(text);
      interrupted = false;
      if (answer == LineEditor::Answer::End) break;
      if (answer == LineEditor::Answer::Interrupted) continue;
      if (const std::string problem = editor_.remember(text); !problem.empty()) say(problem);
      for (const std::string& input : inputs_of(text))
        if (!ended_) answer_to(input);
    }
    return exit_code_;
  }

private:
  void reset() {
    session_.emplace(flags_, &interrupted, editor_.is_terminal());
    if (editor_.is_terminal())
      session_->set_output(with_shown_values(noting_ends(flushed_output(stdout)),
                                             [] {
                                               return ValueLook{editor::terminal_size().columns,
                                                                editor::has_colours(STDOUT_FILENO)};
                                             }),
                           noting_ends(error_output()));
    accepted_.clear();
    loaded_.clear();
  }

  // Does what is printed leave its last line open?
  OutputSink noting_ends(OutputSink out) {
    return [this, out = std::move(out)](std::string_view text) {
      out(text);
      if (!text.empty()) is_line_open_ = text.back() != '\n' && !text.ends_with("\x1b[K"); // a bar that was erased
    };
  }

  // The prompt would erase an open line. What was typed meanwhile may have closed it, which nobody sees but the
  // terminal: so many blanks as a row has lead to the next row from everywhere but from its begin.
  void close_line() {
    if (!is_line_open_.exchange(false)) return;
    std::fputs(editor::has_escapes() ? (std::string(editor::terminal_size().columns, ' ') + "\r").c_str() : "\n",
               stdout);
    std::fflush(stdout);
  }

  // Messages in colour come behind what was printed: a terminal shows both.
  void answer_to(const std::string& input) {
    if (editor_.is_terminal()) {
      const size_t columns = std::max<size_t>(editor::terminal_size().columns, kLeastColumns) - 1;
      set_line_width(columns);
      set_table_width(static_cast<int64_t>(columns));
    }
    std::optional<KeptMessages> messages;
    if (editor_.is_terminal() && editor::has_colours(STDERR_FILENO)) messages.emplace();
    const std::string text = trimmed(input);
    if (text[0] == ':') {
      command(text);
    } else if (leaves(text)) {
      ended_ = true;
    } else if (const auto name = asked_for(text); name && !is_own("help")) {
      help(*name);
    } else if (is_documentation(input)) {
      documentation_ += input + '\n';
    } else {
      enter(documentation_ + input, next_name());
      documentation_.clear();
    }
    std::fflush(stdout);
    if (std::ferror(stdout)) ended_ = true; // nobody reads what comes
    close_line();
    if (messages)
      for (const KeptMessages::Message& message : messages->all)
        std::fputs(coloured_message(message.text).c_str(), stderr);
    std::fflush(stderr);
  }

  // exit and quit, also with (), unless the user has something of these names.
  bool leaves(std::string text) const {
    if (text.ends_with(';')) text = trimmed(text.substr(0, text.size() - 1));
    if (text.ends_with("()")) text = text.substr(0, text.size() - 2);
    return (text == "exit" || text == "quit") && !is_own(text);
  }

  bool is_own(const std::string& name) const {
    const std::vector<Documented> declared = session_->declared();
    const std::vector<std::string> names = session_->names();
    return std::any_of(declared.begin(), declared.end(), [&](const Documented& entry) { return entry.name == name; }) ||
           std::find(names.begin(), names.end(), name) != names.end();
  }

  static void tell(const std::string& text, bool is_terminal) {
    const size_t columns = std::max<size_t>(editor::terminal_size().columns, kLeastColumns) - 1;
    std::fputs((is_terminal ? wrapped(text, columns) : text).c_str(), stdout);
  }

  std::string next_name() { return fmt::format("<input {}>", ++count_); }

  // `key`: of an input that replaces what was accepted under it before.
  void enter(const std::string& text, const std::string& name, const std::string& key = "") {
    try {
      switch (session_->run(text, name)) {
      case Session::End::Done: accept(text, key); break;
      case Session::End::Rejected:
      case Session::End::Failed: break;
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

  void accept(const std::string& text, const std::string& key) {
    EnteredPiece piece{key, text, session_->showed_value()};
    auto same = std::find_if(accepted_.begin(), accepted_.end(),
                             [&](const EnteredPiece& other) { return !key.empty() && other.key == key; });
    if (same == accepted_.end())
      accepted_.push_back(std::move(piece));
    else
      *same = std::move(piece);
  }

  void command(const std::string& input) {
    size_t space = input.find_first_of(" \t\n");
    std::string name = input.substr(0, space);
    std::string rest = space == std::string::npos ? "" : trimmed(input.substr(space));
    auto known = std::find_if(kCommands.begin(), kCommands.end(), [&](const LineCommand& c) {
      return c.name == name || (name.size() > 1 && c.name.rfind(name, 0) == 0);
    });
    if (known == kCommands.end()) return say(fmt::format("there is no command '{}'; :help lists them", name));
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
      enter(rest, next_name());
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      fmt::print("{:.3f} ms, compiling included\n", seconds.count() * 1e3);
    } else if (name == ":timeit") {
      time(rest);
    } else if (name == ":load") {
      load(rest);
    } else if (name == ":reload") {
      reload(rest);
    } else if (name == ":save") {
      save(rest);
    }
  }

  void time(const std::string& text) {
    const std::optional<Session::Timing> timing = session_->time(text, kTimeitSeconds);
    if (!timing) return;
    fmt::print("{} each, {} at best ({} run{})\n", duration_text(timing->mean), duration_text(timing->least),
               timing->runs, timing->runs == 1 ? "" : "s");
  }

  void load(const std::string& file) {
    try {
      auto text = [&] {
        const NamedByUser by_user;
        return read_program(file);
      };
      const std::string program = text();
      std::erase(loaded_, file); // also of one that is wrong: it will be mended, and loaded again
      loaded_.push_back(file);
      enter(program, file, file);
    } catch (const UsageError& error) {
      show("UsageError", error.what());
    }
  }

  void reload(const std::string& file) {
    const std::vector<std::string> imports = session_->own_imports(), files = loaded_;
    if (file.empty() && imports.empty() && files.empty())
      return say("no file has been loaded or imported yet; `:load FILE` runs one");
    session_->forget_imports();
    for (const std::string& import : imports)
      enter(import, next_name(), import);
    if (!file.empty()) return load(file);
    for (const std::string& loaded : files)
      load(loaded);
  }

  void save(const std::string& file) {
    try {
      const NamedByUser by_user;
      write_text(file, saved_program(accepted_));
    } catch (const IoError& error) {
      show(error.kind, error.what());
    }
  }

  void help(const std::string& name) {
    if (!name.empty()) {
      const auto text = help_on(*session_, name);
      if (!text) return say(fmt::format("there is no documentation of '{}'", name));
      tell(*text, editor_.is_terminal());
      return;
    }
    tell("Enter statements or expressions; the value of a bare expression is shown with its type.\n"
         "At a terminal `_` is the last of them. A `;` at the end shows nothing.\n",
         editor_.is_terminal());
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

  static constexpr size_t kLeastColumns = 20;

  const RunFlags& flags_;
  std::optional<Session> session_;
  LineEditor editor_;
  std::vector<EnteredPiece> accepted_; // for :save
  std::vector<std::string> loaded_;    // files, each once
  std::string documentation_;          // of what is entered next
  int count_ = 0, exit_code_ = kFine;
  bool ended_ = false;
  std::atomic<bool> is_line_open_{false}; // the program's threads print
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
