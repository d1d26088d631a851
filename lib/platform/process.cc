#include "platform/process.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "platform/host.h"

namespace goss::platform {

namespace {

constexpr int kStateField = 3;
constexpr int kStartField = 22;

/// The fields of /proc/PID/stat from number `field` on, found from the end of the program's name, which may contain
/// blanks and parentheses; "": there is no such process.
std::string statusFrom(std::int64_t pid, int field) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  std::size_t at = line.rfind(')');
  for (int before = 2; before < field && at != std::string::npos; ++before)
    at = line.find(' ', at + 1);
  return at == std::string::npos ? std::string() : line.substr(at + 1);
}

} // namespace

std::uint64_t processStartTime(std::int64_t pid) {
  return std::strtoull(statusFrom(pid, kStartField).c_str(), nullptr, 10);
}

std::string ownProcessName() { return fmt::format("{}/{}", processId(), processStartTime(processId())); }

bool isSeenToRun(std::string_view process_name) {
  std::int64_t pid = 0;
  const auto read = std::from_chars(process_name.data(), process_name.data() + process_name.size(), pid);
  if (read.ec != std::errc() || pid <= 0) return false;
  if (process_name != fmt::format("{}/{}", pid, processStartTime(pid))) return false;
  const std::string state = statusFrom(pid, kStateField).substr(0, 1);
  constexpr std::string_view kStoppedOrEnded = "TtZXx";
  return !state.empty() && kStoppedOrEnded.find(state) == std::string_view::npos;
}

} // namespace goss::platform
