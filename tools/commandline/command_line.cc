#include "tools/commandline/command_line.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>

namespace goss {

using Option = CommandLine::Option;

namespace {

/// A check of numbers. NaN is neither below nor above anything, so that CLI11 takes it for any range's.
std::string refuseNan(const std::string& text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) && std::isnan(value) ? text + " is not a number" : std::string();
}

} // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::range(int low, int high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option& Option::range(double low, double high) {
  option_->check(CLI::Range(low, high));
  option_->check(refuseNan);
  return *this;
}

Option& Option::range(unsigned long low, unsigned long high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option& Option::nonNegative() {
  option_->check(CLI::NonNegativeNumber);
  option_->check(refuseNan);
  return *this;
}

Option& Option::oneOf(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

Option& Option::oneOf(std::initializer_list<int> values) {
  option_->check(CLI::IsMember(std::vector<int>(values)));
  return *this;
}

Option& Option::existingFile() {
  option_->check(CLI::ExistingFile);
  return *this;
}

Option& Option::check(const std::function<std::string(const std::string&)>& check) {
  option_->check(CLI::Validator([check](const std::string& text) { return check(text); }, ""));
  return *this;
}

Option& Option::byteCount() {
  option_->transform(CLI::AsSizeValue(false));
  return *this;
}

Option& Option::repeatable() {
  option_->take_all();
  return *this;
}

Option& Option::delimiter(char character) {
  option_->delimiter(character);
  return *this;
}

Option& Option::showDefault() {
  option_->capture_default_str();
  return *this;
}

Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_shared<CLI::App>(description, name)) {
  const auto version = [app = app_.get()] {
    return std::filesystem::path(app->get_name()).filename().string() + " " GOSS_PROGRAM_VERSION;
  };
  app_->set_version_flag("--version", version, "print the version and exit");
}

template <typename T>
Option CommandLine::option(const std::string& names, T& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

template Option CommandLine::option(const std::string&, int&, const std::string&);
template Option CommandLine::option(const std::string&, long&, const std::string&);
template Option CommandLine::option(const std::string&, unsigned long&, const std::string&);
template Option CommandLine::option(const std::string&, double&, const std::string&);
template Option CommandLine::option(const std::string&, std::string&, const std::string&);
template Option CommandLine::option(const std::string&, std::vector<unsigned long>&, const std::string&);
template Option CommandLine::option(const std::string&, std::vector<std::string>&, const std::string&);

Option CommandLine::flag(const std::string& names, bool& value, const std::string& description) {
  return Option(app_->add_flag(names, value, description));
}

void CommandLine::showDefaults() { app_->option_defaults()->always_capture_default(); }

void CommandLine::lastValueHolds() { app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); }

void CommandLine::configurationFile(const std::string& names, const std::string& description) {
  app_->set_config(names, "", description);
  app_->allow_config_extras(CLI::config_extras_mode::error);
}

void CommandLine::refuseNegativeNumbers() {
  for (CLI::Option* option : app_->get_options()) {
    if (option->get_type_name() != "UINT") continue;
    Option(option).check([](const std::string& text) { return text.starts_with('-') ? text + " is negative" : ""; });
  }
}

CommandLine CommandLine::command(const std::string& name, const std::string& description) {
  return CommandLine(std::shared_ptr<CLI::App>(app_, app_->add_subcommand(name, description)));
}

void CommandLine::requireOneCommand() { app_->require_subcommand(1); }

bool CommandLine::isGiven() const { return app_->parsed(); }

std::optional<CommandLine::Ending> CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::RequiredError& error) {
    // Whoever wrote --nosuch is told of that first.
    const std::vector<std::string> unknown = app_->remaining(true);
    if (!unknown.empty()) return endingOf(CLI::ExtrasError(app_->get_name(), unknown));
    return endingOf(error);
  } catch (const CLI::ParseError& error) {
    return endingOf(error);
  }
}

CommandLine::Ending CommandLine::endingOf(const CLI::ParseError& error) const {
  std::ostringstream text;
  const int status = app_->exit(error, text, text);
  return {status, text.str()};
}

std::optional<int> CommandLine::parseOrPrint(int argc, const char* const* argv) {
  const std::optional<Ending> ending = parse(argc, argv);
  if (!ending) return std::nullopt;
  std::fputs(ending->text.c_str(), ending->status == 0 ? stdout : stderr);
  return ending->status;
}

} // namespace goss
