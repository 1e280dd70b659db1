// tl help, and what shells and `man` know of the command line: tl completions SHELL, tl help --man. All of it is
// written from the tables by which the command line is parsed.
#include "commands.h"
#include "driver/usage.h"
#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace tl::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands)
    names.push_back(command.name());
  return names;
}

// Those that begin with a dash, of all options.
std::vector<std::string> flags_of(const Command& command) {
  std::vector<std::string> flags;
  for (const OptionText& option : command.options())
    for (const std::string& name : option.names)
      flags.push_back(name);
  return flags;
}

// What may stand where a command wants a word without a dash: commands for `help`, else files.
std::vector<std::string> operands_of(const Command& command) {
  for (const OptionText& option : command.options())
    if (option.names.empty() && !option.choices.empty()) return option.choices;
  return {};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// ---- bash: the words behind `tl COMMAND`, by what stands before

std::string for_bash(const Command& app) {
  std::string commands, values;
  for (const Command& command : app.commands()) {
    commands += fmt::format("    {}) flags='{}' operands='{}' ;;\n", command.name(), joined(flags_of(command)),
                            joined(operands_of(command)));
    for (const OptionText& option : command.options()) {
      if (!option.takes_value) continue;
      for (const std::string& name : option.names)
        values += fmt::format("    '{} {}') values='{}' ;;\n", command.name(), name, joined(option.choices));
    }
  }
  return fmt::format(
      R"sh(# Completion of tl in bash: eval "$(tl completions bash)", or this as share/bash-completion/completions/tl.
_tl() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}}
  local flags= operands= values=none
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W '{1}' -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -W '{0}' -- "$word"; compgen -f -X '!*.tl' -- "$word"
      compgen -d -S / -- "$word") ;;
    esac
    return
  fi
  case "$command $before" in
{3}  esac
  case $command in
{2}    *) return 1 ;;
  esac
  if [[ $values != none ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  elif [[ -n $operands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$operands" -- "$word")
  fi
}}
complete -o default -F _tl tl
)sh",
      joined(names_of(app.commands())), joined(flags_of(app)), commands, values);
}

// ---- zsh

// Within the single quotes of a specification, whose brackets and colons mean something.
std::string quoted_for_zsh(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return result;
}

std::string for_zsh(const Command& app) {
  std::string commands, arguments;
  for (const Command& command : app.commands()) {
    commands += fmt::format("    '{}:{}'\n", command.name(), quoted_for_zsh(command.description()));
    arguments += fmt::format("    {})\n      _arguments", command.name());
    for (const OptionText& option : command.options())
      for (const std::string& name : option.names) {
        const std::string value =
            !option.takes_value ? ""
            : option.choices.empty()
                ? fmt::format(":{}:_files", quoted_for_zsh(option.placeholder))
                : fmt::format(":{}:({})", quoted_for_zsh(option.placeholder), joined(option.choices));
        arguments += fmt::format(" \\\n        '{}[{}]{}'", name, quoted_for_zsh(option.description), value);
      }
    const std::vector<std::string> operands = operands_of(command);
    arguments += operands.empty() ? " \\\n        '*:file:_files' ;;\n"
                                  : fmt::format(" \\\n        '1:name:({})' ;;\n", joined(operands));
  }
  return fmt::format(R"(#compdef tl
# Completion of tl in zsh: this as _tl in a folder of $fpath.
_tl() {{
  local -a commands
  commands=(
{0}  )
  if ((CURRENT == 2)); then
    if [[ $words[CURRENT] == -* ]]; then
      compadd -- {1}
      return
    fi
    _describe command commands
    _files -g '*.tl'
    return
  fi
  shift words
  ((CURRENT -= 1))
  case $words[1] in
{2}    *) _files ;;
  esac
}}
if [[ $funcstack[1] == _tl ]]; then
  _tl "$@"
else
  compdef _tl tl
fi
)",
                     commands, joined(flags_of(app)), arguments);
}

// ---- fish

std::string for_fish(const Command& app) {
  auto quoted = [](const std::string& text) { return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'"; };
  auto line = [&](const std::string& condition, const OptionText& option) {
    std::string result = "complete -c tl -n " + condition;
    for (const std::string& name : option.names)
      result += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.takes_value) result += " -r";
    if (!option.choices.empty()) result += " -f -a " + quoted(joined(option.choices));
    return result + " -d " + quoted(option.description) + "\n";
  };
  std::string text = "# Completion of tl in fish: this as ~/.config/fish/completions/tl.fish.\n";
  for (const OptionText& option : app.options())
    text += line("__fish_use_subcommand", option);
  for (const Command& command : app.commands()) {
    text += fmt::format("complete -c tl -n __fish_use_subcommand -a {} -d {}\n", command.name(),
                        quoted(command.description()));
    const std::string condition = quoted("__fish_seen_subcommand_from " + command.name());
    for (const OptionText& option : command.options())
      if (!option.names.empty()) text += line(condition, option);
    if (const auto operands = operands_of(command); !operands.empty())
      text += fmt::format("complete -c tl -n {} -f -a {}\n", condition, quoted(joined(operands)));
  }
  return text;
}

// ---- man

std::string for_man(const std::string& text) {
  std::string result = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string options_for_man(const Command& command) {
  std::string text;
  for (const OptionText& option : command.options()) {
    std::string head = "\\fB" + for_man(option.names.empty() ? option.name : joined(option.names, ", ")) + "\\fR";
    if (option.takes_value) head += " \\fI" + for_man(option.placeholder) + "\\fR";
    text += fmt::format(".TP\n{}\n{}", head, for_man(option.description));
    if (!option.choices.empty()) text += fmt::format(" (one of {})", for_man(joined(option.choices, ", ")));
    text += "\n";
    if (!option.environment.empty())
      text += fmt::format(".br\nAlso by the variable {}.\n", for_man(option.environment));
  }
  return text;
}

std::string manual_page(const Command& app) {
  std::string text = fmt::format(R"(.TH TL 1 "" "{}" "User Commands"
.SH NAME
tl \- compile and run tensor programs
.SH SYNOPSIS
.B tl
.I COMMAND
.RI [ OPTIONS ]
.RI [ ARGUMENTS ]
.br
.B tl
.I FILE
.RI [ ARGUMENTS ]
.SH DESCRIPTION
A small language for tensor programs: shapes are checked before anything runs, the program is compiled to fused native
kernels and runs asynchronously on all cores.
.B tl FILE
is
.BR "tl run FILE" ;
.B tl
alone, on a terminal, is
.BR "tl repl" .
.SH OPTIONS
)",
                                 for_man(version_text()));
  text += options_for_man(app) + ".SH COMMANDS\n";
  for (const Command& command : app.commands())
    text += fmt::format(".SS {}\n{}\n{}", for_man("tl " + command.name()), for_man(command.description()),
                        options_for_man(command));
  return text + R"(.SH EXIT STATUS
.TP
0
all is well
.TP
1
the program was rejected, or a test failed
.TP
2
the command line is wrong
.TP
3
the program failed while it ran
.TP
70
a fault of tl's own
.SH SEE ALSO
.BR "tl doc" ,
the manual's docs/commands.md
)";
}

} // namespace

void add_completions(Command app) {
  Command command =
      app.add_command("completions", "completion for a shell, as its script: eval \"$(tl completions bash)\"");
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "for which shell").required().one_of({"bash", "zsh", "fish"});
  command.on_chosen([shell, app] {
    const auto written = *shell == "bash" ? for_bash : *shell == "zsh" ? for_zsh : for_fish;
    fmt::print("{}", written(app));
  });
}

// `tl help COMMAND` is `tl COMMAND --help` (command.cpp).
void add_help(Command app) {
  Command command = app.add_command("help", "what tl, or a command of it, does, and its flags");
  auto is_page = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  command.add_option("COMMAND", *name, "one of tl's; all without it").one_of(names_of(app.commands()));
  command.add_flag("--man", *is_page, "all of it, as a page for man");
  command.on_chosen([app, name, is_page] {
    if (!*is_page || !name->empty()) throw driver::UsageError("`tl help` takes a command, or --man");
    fmt::print("{}", manual_page(app));
  });
}

} // namespace tl::cli
