#include "transports/common/process_identity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

#include "base/wire.h"
#include "platform/host.h"
#include "platform/process.h"
#include "platform/stream.h"

namespace goss::transports {

namespace {

constexpr std::size_t kMaxHostBytes = 512;

} // namespace

std::string processIdentity() {
  const std::int64_t pid = platform::processId();
  base::WireWriter writer;
  writer.text(platform::hostIdentity().text()).integer(pid).integer(platform::processStartTime(pid));
  return writer.take();
}

platform::UniqueFd watchProcess(std::string_view identity) {
  base::WireReader reader(identity);
  const std::string_view host = reader.text(kMaxHostBytes);
  const auto pid = reader.integer<std::int64_t>();
  const auto start = reader.integer<std::uint64_t>();
  if (!reader.complete() || host != platform::hostIdentity().text()) return {};
  if (pid <= 0 || pid > std::numeric_limits<int>::max() || pid == platform::processId()) return {};
  platform::UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<int>(pid), 0)));
  // The pid may mean another process by now, or one in another namespace; the start time tells.
  return platform::processStartTime(pid) == start ? std::move(fd) : platform::UniqueFd();
}

PeerLoss lossOf(const Status& why, int watch) {
  if (watch < 0) return PeerLoss::silent;
  const auto patience = why.kind() == GOSS_ERR_TIMEOUT ? std::chrono::milliseconds(0) : kLastMoment;
  return platform::waitReadable(watch, platform::Deadline::after(patience)) ? PeerLoss::ended : PeerLoss::silent;
}

} // namespace goss::transports
