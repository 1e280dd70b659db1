// The command line of tl: commands, and what may follow each. CLI11 parses it, in command_line.cpp alone: its headers
// take as long to compile as all that a command does.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace tl::cli {

// A handle on an option, flag or operand of a command; it lives as long as the command line.
class Option {
public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required();
  Option environment(const std::string& name);          // a variable that gives it where the command line does not
  Option placeholder(const std::string& name);          // what help calls its value
  Option one_of(const std::vector<std::string>& words); // nothing else is accepted
  Option excludes(Option other);
  Option one_value_each(); // of a list: `--name a --name b`, not `--name a b`
  Option at_once();        // its function is called while the words to its right are not parsed yet
  bool given() const;

private:
  CLI::Option* option_;
};

struct OptionText { // of one that a command has, as help shows it
  std::string name, description, environment;
  std::vector<std::string> names;   // "-o", "--output"; none of an operand
  std::string placeholder;          // of its value
  std::vector<std::string> choices; // of one_of
  bool takes_value;
};

// A handle on a command, or on the command line, whose commands are its own. What options fill must outlive it.
class Command {
public:
  explicit Command(CLI::App* app) : app_(app) {}
  Command add_command(const std::string& name, const std::string& description);
  Option add_flag(const std::string& name, bool& given, const std::string& description);
  // May have a value, `--name=value`, else `value` becomes "true".
  Option add_flag(const std::string& name, std::string& value, const std::string& description);
  // The last one counts; `take` gets its text, as of a flag with a value.
  Option add_switch(const std::string& name, const std::function<void(const std::string&)>& take,
                    const std::string& description);
  Option add_option(const std::string& name, std::string& value, const std::string& description);
  Option add_option(const std::string& name, double& value, const std::string& description); // a positive number
  Option add_option(const std::string& name, std::vector<std::string>& values, const std::string& description);
  Option add_option(const std::string& name, const std::function<void(const std::string&)>& take,
                    const std::string& description);
  // From the first word on that is no option, all are left alone.
  void leave_rest();
  std::vector<std::string> rest() const;
  void on_chosen(std::function<void()> act); // once all is parsed

  std::string name() const, description() const;
  std::vector<Command> commands() const;
  std::vector<OptionText> options() const;

private:
  CLI::App* app_;
};

// Defines the commands by `add_commands`, has `normalise` change the words, and parses them, which runs the command
// that they name. Without any, prints the help. Gives the exit code: `code` where a command has run, which sets it.
int parse_command_line(std::vector<std::string> words, const std::string& version,
                       const std::function<void(Command)>& add_commands,
                       const std::function<std::vector<std::string>(Command, std::vector<std::string>)>& normalise,
                       const int& code);

} // namespace tl::cli
