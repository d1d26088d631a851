/// Words, numbers and errors of the emulator: everything that goes wrong is an exception, told by main().
#ifndef GOSS_TESTS_WAN_EMULATOR_TEXT_H_
#define GOSS_TESTS_WAN_EMULATOR_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace goss::wanem {

using Ns = std::int64_t; ///< Nanoseconds of CLOCK_MONOTONIC.
using Words = std::vector<std::string>;

[[gnu::format(printf, 1, 2)]] std::string textOf(const char* format, ...);
[[noreturn]] void fail(const std::string& what);
/// The result of a system call, or an exception with its error.
int must(int result, const std::string& what);
void shell(const std::string& command);
[[nodiscard]] Ns nowNs();
[[nodiscard]] double number(const std::string& text, const std::string& what, double lowest = 0, double highest = 1e9);
/// Words of a line up to `#`.
[[nodiscard]] Words splitWords(const std::string& line);
[[nodiscard]] std::string join(const Words& words, std::size_t from = 0);
/// Splits KEY=VALUE.
[[nodiscard]] std::pair<std::string, std::string> keyValue(const std::string& text);

} // namespace goss::wanem

#endif // GOSS_TESTS_WAN_EMULATOR_TEXT_H_
