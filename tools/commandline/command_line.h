/// The command lines of the programs: options, flags, commands, their checks and --help. Programs include this header
/// instead of CLI11, which takes ten seconds to compile wherever it is included.
#ifndef GOSS_TOOLS_COMMANDLINE_COMMAND_LINE_H_
#define GOSS_TOOLS_COMMANDLINE_COMMAND_LINE_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): the name of the library
class App;
class Option;
class ParseError;
} // namespace CLI

namespace goss {

/// Declare options and flags, then parse once. Each option writes into the variable that it was declared with, which
/// must outlive parsing and holds the default before. Names are "-s,--seconds", or "FILE" for a positional argument.
/// Copies refer to the same command line. Not thread-safe. Wrong declarations, such as a name twice, throw
/// std::exception.
class CommandLine {
 public:
  /// A declared option or flag; valid as long as its command line. Every method returns the option, so that calls can
  /// be chained.
  class Option {
   public:
    Option& required();
    /// Accepts numbers from `low` to `high`, both included.
    Option& range(int low, int high);
    Option& range(double low, double high);
    Option& range(unsigned long low, unsigned long high);
    Option& nonNegative();
    Option& oneOf(const std::vector<std::string>& values);
    Option& oneOf(std::initializer_list<int> values);
    /// Accepts names of files that exist.
    Option& existingFile();
    /// `check` gets the text of a value and returns what is wrong with it, or "".
    Option& check(const std::function<std::string(const std::string&)>& check);
    /// Accepts numbers of bytes with a suffix: 1K is 1024.
    Option& byteCount();
    /// A list gets the values of every repetition, also behind lastValueHolds().
    Option& repeatable();
    /// A list's values may stand in one argument, with this character between them.
    Option& delimiter(char character);
    /// --help shows the default.
    Option& showDefault();
    /// --help shows the option under this heading.
    Option& group(const std::string& heading);
    /// Refuses command lines that have both.
    Option& excludes(const Option& other);

   private:
    friend class CommandLine;
    explicit Option(CLI::Option* option) : option_(option) {}
    CLI::Option* option_;
  };

  /// Why a program should end now: --help or --version was given, or the command line is wrong.
  struct Ending {
    int status = 0; ///< Exit status; 0 after --help and --version.
    std::string text;
  };

  /// `name` is the program's in --help and --version; "" takes it from the arguments.
  explicit CommandLine(const std::string& description, const std::string& name = "");

  /// T is int, long, unsigned long, double, std::string, or a std::vector of unsigned long or std::string.
  template <typename T>
  Option option(const std::string& names, T& value, const std::string& description);
  Option flag(const std::string& names, bool& value, const std::string& description);

  /// --help shows the defaults of all options that are declared from now on.
  void showDefaults();
  /// Options that are declared from now on may be repeated: the last value holds, so that a user can override what a
  /// script passes.
  void lastValueHolds();
  /// `names` is an option that names a TOML file with values for the others: a key is a long name without its dashes.
  /// What the command line says counts more; unknown keys are errors.
  void configurationFile(const std::string& names, const std::string& description);
  /// The unsigned options that are declared so far refuse "-5", which would be read as 2^64 - 5.
  void refuseNegativeNumbers();

  /// A command with options of its own, such as `issue` of `goss-keys issue`.
  CommandLine command(const std::string& name, const std::string& description);
  void requireOneCommand();
  /// Whether parse() has met this command.
  [[nodiscard]] bool isGiven() const;

  /// Sets the variables. nullopt: the program goes on.
  std::optional<Ending> parse(int argc, const char* const* argv);
  /// As parse(), but prints the text and returns the exit status with which the program should end. nullopt: go on.
  std::optional<int> parseOrPrint(int argc, const char* const* argv);

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}
  [[nodiscard]] Ending endingOf(const CLI::ParseError& error) const;

  std::shared_ptr<CLI::App> app_; // a command shares the ownership of the program's app
};

} // namespace goss

#endif // GOSS_TOOLS_COMMANDLINE_COMMAND_LINE_H_
