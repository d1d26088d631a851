#include "transports/common/errors.h"

#include <fmt/format.h>

#include <system_error>

namespace goss::transports {

Status peerLostError(int peer, std::string_view why) {
  return Status::error(GOSS_ERR_PEER_LOST,
                       fmt::format("lost rank {}: {}; look at that rank's output for the cause", peer, why),
                       ErrorScope::peer, peer);
}

Status peerDepartedError(int peer) {
  return Status::error(
      GOSS_ERR_PEER_LOST,
      fmt::format("rank {} has closed its communicators and left; all ranks must make the same calls before they leave",
                  peer),
      ErrorScope::peer, peer);
}

Status protocolError(int peer, std::string_view what) {
  return Status::error(
      GOSS_ERR_PROTOCOL,
      fmt::format("rank {} sent {}; check that all ranks run the same version of Gossamer", peer, what),
      ErrorScope::peer, peer);
}

Status memoryError(int peer) {
  return Status::error(GOSS_ERR_RESOURCE, "no memory for a message that came before its receive", ErrorScope::peer,
                       peer);
}

Status truncatedError(int peer, std::uint64_t bytes, std::size_t capacity) {
  return Status::error(GOSS_ERR_TRUNCATED,
                       fmt::format("rank {} sent a message of {} bytes but its receive takes at most {}; make the "
                                   "receive buffer larger or the message shorter",
                                   peer, bytes, capacity),
                       ErrorScope::operation, peer);
}

Status notConnectedError(int peer, std::string_view transport) {
  return Status::error(
      GOSS_ERR_INTERNAL,
      fmt::format("the {} link to rank {} is not ready; wait for it before posting operations", transport, peer),
      ErrorScope::operation, peer);
}

Status systemError(int peer, std::string_view what, int error_number) {
  std::string reason = std::generic_category().message(error_number);
  std::string text =
      peer < 0 ? fmt::format("{}: {}", what, reason) : fmt::format("{} (rank {}): {}", what, peer, reason);
  return Status::error(GOSS_ERR_RESOURCE, std::move(text), peer < 0 ? ErrorScope::operation : ErrorScope::peer, peer);
}

} // namespace goss::transports
