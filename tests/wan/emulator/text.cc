#include "tests/wan/emulator/text.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace goss::wanem {

std::string textOf(const char* format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

void fail(const std::string& what) { throw std::runtime_error(what); }

int must(int result, const std::string& what) {
  if (result < 0) fail(what + ": " + std::strerror(errno));
  return result;
}

void shell(const std::string& command) {
  if (const int result = std::system(command.c_str())) fail(textOf("'%s' failed (%d)", command.c_str(), result));
}

Ns nowNs() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double number(const std::string& text, const std::string& what, double lowest, double highest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || *end != 0 || !(value >= lowest && value <= highest))
    fail(textOf("%s: '%s' is not a number from %g to %g", what.c_str(), text.c_str(), lowest, highest));
  return value;
}

Words splitWords(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  return {std::istream_iterator<std::string>(in), {}};
}

std::string join(const Words& words, std::size_t from) {
  std::string line;
  for (std::size_t i = from; i < words.size(); ++i)
    line += (line.empty() ? "" : " ") + words[i];
  return line;
}

std::pair<std::string, std::string> keyValue(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) fail("'" + text + "' is not KEY=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

} // namespace goss::wanem
