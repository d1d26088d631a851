#include "transports/common/process_identity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

#include "platform/host.h"
#include "platform/process.h"
#include "platform/stream.h"

namespace goss::transports {

platform::UniqueFd watchProcess(std::string_view process_name) {
  const std::int64_t pid = platform::findProcess(process_name);
  if (pid <= 0 || pid > std::numeric_limits<int>::max() || pid == platform::processId()) return {};
  platform::UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<int>(pid), 0)));
  // The process may have ended meanwhile, and another may have its id.
  return platform::findProcess(process_name) == pid ? std::move(fd) : platform::UniqueFd();
}

PeerLoss lossOf(const Status& why, int watch) {
  if (watch < 0) return PeerLoss::silent;
  const auto patience = why.kind() == GOSS_ERR_TIMEOUT ? std::chrono::milliseconds(0) : kLastMoment;
  return platform::waitReadable(watch, platform::Deadline::after(patience)) ? PeerLoss::ended : PeerLoss::silent;
}

} // namespace goss::transports
