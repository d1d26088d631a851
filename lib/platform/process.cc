#include "platform/process.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/hex.h"
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

/// The part of a process name that other processes can check. Ids mean something in their process namespace only.
std::string checkedPart(std::int64_t pid) {
  struct stat space {};
  const bool told = ::stat("/proc/self/ns/pid", &space) == 0;
  return fmt::format("{}/{:x}/{}/{}/", hostIdentity().text(), told ? space.st_ino : 0, pid, processStartTime(pid));
}

/// Cuts the last field off the name and returns it; "": the name has none.
std::string_view cutLastField(std::string_view& name) {
  const std::size_t slash = name.rfind('/');
  const std::string_view field = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
  name = name.substr(0, slash == std::string_view::npos ? 0 : slash);
  return field;
}

struct Token {
  std::array<std::byte, 16> bytes{};
  Status drawn;

  void draw() { drawn = fillRandom(bytes); }
};

/// All ranks of the process share the token, and fork() passes its handlers no argument, so it is static.
Token& ownToken() {
  static Token token;
  // The child has one thread, and its handler runs before fork() returns there.
  static const int watched = [] {
    token.draw();
    return ::pthread_atfork(nullptr, nullptr, [] { token.draw(); });
  }();
  (void)watched;
  return token;
}

} // namespace

std::uint64_t processStartTime(std::int64_t pid) {
  return std::strtoull(statusFrom(pid, kStartField).c_str(), nullptr, 10);
}

Result<std::string> processToken() {
  const Token& token = ownToken();
  if (!token.drawn.isOk()) return token.drawn;
  return std::string(reinterpret_cast<const char*>(token.bytes.data()), token.bytes.size());
}

Result<std::string> ownProcessName() {
  const Result<std::string> token = processToken();
  if (!token.isOk()) return token.status();
  return checkedPart(processId()) + base::toHex(token.value());
}

std::int64_t findProcess(std::string_view process_name) {
  std::string_view rest = process_name;
  cutLastField(rest); // The token.
  cutLastField(rest); // The start time.
  const std::string_view field = cutLastField(rest);
  std::int64_t pid = 0;
  const auto read = std::from_chars(field.data(), field.data() + field.size(), pid);
  return read.ec == std::errc() && pid > 0 && process_name.starts_with(checkedPart(pid)) ? pid : 0;
}

bool isSeenToRun(std::string_view process_name) {
  const std::int64_t pid = findProcess(process_name);
  const std::string state = pid > 0 ? statusFrom(pid, kStateField).substr(0, 1) : std::string();
  constexpr std::string_view kStoppedOrEnded = "TtZXx";
  return !state.empty() && kStoppedOrEnded.find(state) == std::string_view::npos;
}

} // namespace goss::platform
