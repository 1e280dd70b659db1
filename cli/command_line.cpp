#include "command_line.h"
#include "driver/messages.h"
#include "driver/usage.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace tl::cli {

using namespace driver;

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::environment(const std::string& name) {
  option_->envname(name);
  return *this;
}

Option Option::placeholder(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::at_once() {
  option_->trigger_on_parse();
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

Command Command::add_command(const std::string& name, const std::string& description) {
  return Command(app_->add_subcommand(name, description));
}

Option Command::add_flag(const std::string& name, bool& given, const std::string& description) {
  return Option(app_->add_flag(name, given, description));
}

Option Command::add_flag(const std::string& name, std::string& value, const std::string& description) {
  return Option(app_->add_flag(name, value, description));
}

Option Command::add_switch(const std::string& name, const std::function<void(const std::string&)>& take,
                           const std::string& description) {
  auto value = std::make_shared<std::string>();
  CLI::Option* option = app_->add_flag(name, *value, description)->take_last();
  option->each([take, value](const std::string& text) { take(text); });
  return Option(option);
}

Option Command::add_option(const std::string& name, std::string& value, const std::string& description) {
  return Option(app_->add_option(name, value, description));
}

Option Command::add_option(const std::string& name, double& value, const std::string& description) {
  const CLI::Validator positive(
      [](const std::string& text) {
        double number = 0;
        const bool is_positive = CLI::detail::lexical_cast(text, number) && number > 0 && std::isfinite(number);
        return is_positive ? std::string() : text + " is not a positive number";
      },
      "");
  return Option(app_->add_option(name, value, description)->check(positive));
}

Option Command::add_option(const std::string& name, std::vector<std::string>& values, const std::string& description) {
  return Option(app_->add_option(name, values, description));
}

Option Command::add_option(const std::string& name, const std::function<void(const std::string&)>& take,
                           const std::string& description) {
  return Option(app_->add_option_function<std::string>(name, take, description));
}

void Command::leave_rest() { app_->prefix_command(); }

std::vector<std::string> Command::rest() const { return app_->remaining(); }

void Command::on_chosen(std::function<void()> act) { app_->callback(std::move(act)); }

std::string Command::name() const { return app_->get_name(); }

std::string Command::description() const { return app_->get_description(); }

std::vector<Command> Command::commands() const {
  std::vector<Command> found;
  for (CLI::App* command : app_->get_subcommands(std::function<bool(CLI::App*)>()))
    found.emplace_back(command);
  return found;
}

// The words of Option::one_of, which CLI11 shows as "TEXT:{a,b}".
static std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), end = type.rfind('}');
  if (open == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, end - open - 1), ',');
}

std::vector<OptionText> Command::options() const {
  std::vector<OptionText> found;
  for (const CLI::Option* option : app_->get_options()) {
    const std::string name = option->get_positional() ? option->get_name(true) : option->get_name(false, true);
    OptionText text{name, option->get_description(), option->get_envname(), {}, "", choices_of(*option), false};
    for (const std::string& one : option->get_snames())
      text.names.push_back("-" + one);
    for (const std::string& one : option->get_lnames())
      text.names.push_back("--" + one);
    text.takes_value = !text.names.empty() && option->get_expected_min() > 0 && option->get_type_size() > 0;
    text.placeholder = option->get_type_name().substr(0, option->get_type_name().find(':'));
    found.push_back(std::move(text));
  }
  return found;
}

int parse_command_line(std::vector<std::string> words, const std::string& version,
                       const std::function<void(Command)>& add_commands,
                       const std::function<std::vector<std::string>(Command, std::vector<std::string>)>& normalise,
                       const int& code) {
  CLI::App app{"tl: a small tensor language. Compiles and runs .tl programs.", "tl"};
  app.set_version_flag("-V,--version", version);
  app.require_subcommand(1);
  add_commands(Command(&app));
  words = normalise(Command(&app), std::move(words));
  if (words.empty()) {
    std::fputs(app.help().c_str(), stdout);
    return kUsage;
  }
  std::reverse(words.begin(), words.end()); // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    show("UsageError", error.what());
    return kUsage;
  }
  return code;
}

} // namespace tl::cli
