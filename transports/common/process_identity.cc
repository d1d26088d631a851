#include "transports/common/process_identity.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/wire.h"
#include "platform/host.h"

namespace goss::transports {

namespace {

constexpr std::size_t kMostHostBytes = 512;

// Field 22 of /proc/PID/stat, counted from behind the program's name, which may hold blanks and parentheses.
std::uint64_t processStartTime(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line{std::istreambuf_iterator<char>(file), {}};
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field)
    at = line.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at, nullptr, 10);
}

} // namespace

std::string processIdentity() {
  const std::int64_t pid = platform::processId();
  base::WireWriter writer;
  writer.text(platform::hostIdentity().text()).integer(pid).integer(processStartTime(pid));
  return writer.take();
}

platform::UniqueFd watchProcess(std::string_view identity) {
  base::WireReader reader(identity);
  const std::string_view host = reader.text(kMostHostBytes);
  const auto pid = reader.integer<std::int64_t>();
  const auto start = reader.integer<std::uint64_t>();
  if (!reader.complete() || host != platform::hostIdentity().text()) return {};
  if (pid <= 0 || pid > std::numeric_limits<int>::max() || pid == platform::processId()) return {};
  platform::UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<int>(pid), 0)));
  // The number may mean another process by now, or in another namespace; the start time tells.
  return processStartTime(pid) == start ? std::move(fd) : platform::UniqueFd();
}

} // namespace goss::transports
