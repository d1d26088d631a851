/// The other ranks of a communicator, for what sends them control messages.
#ifndef GOSS_LIB_HEALTH_PEERS_H_
#define GOSS_LIB_HEALTH_PEERS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mesh/circle.h"
#include "mesh/control.h"
#include "mesh/group.h"
#include "mesh/mesh.h"
#include "platform/thread_safety.h"

namespace goss {

/// References must outlive it. Used under the engine's lock.
struct Peers {
  const Group& group;
  const std::uint32_t context; ///< Context number of the communicator.
  Mesh& mesh;
  ControlChannel& control;

  /// A control message of this communicator; the caller fills in the rest.
  [[nodiscard]] ControlMessage message(ControlMessage::Type type) const {
    ControlMessage made;
    made.type = type;
    made.context = context;
    return made;
  }
  /// As ControlChannel::sendOnLoop.
  void send(int rank, const ControlMessage& message) const GOSS_ON_LOOP {
    control.sendOnLoop(group.worldRank(rank), message);
  }
  void send(const std::vector<int>& ranks, const ControlMessage& message) const GOSS_ON_LOOP {
    for (const int rank : ranks)
      send(rank, message);
  }
  /// Sends a message that is for all ranks, and that each rank sends on by this function when it receives it first. It
  /// goes to the ranks to which this one has a link, and to those of newsInCircle(), whose links are made for it; the
  /// others receive it from other ranks.
  void spread(const ControlMessage& message) const GOSS_ON_LOOP {
    const std::vector<int> targets =
        newsInCircle(group.rank(), group.size(), [this](int rank) GOSS_ON_LOOP { return isLost(rank); });
    for (const int rank : group.others()) {
      const bool is_target = std::find(targets.begin(), targets.end(), rank) != targets.end();
      if (is_target || !mesh.isIdle(group.worldRank(rank))) send(rank, message);
    }
  }
  /// As the functions of Mesh with the same names.
  [[nodiscard]] bool isLost(int rank) const GOSS_ON_LOOP { return mesh.isLost(group.worldRank(rank)); }
  [[nodiscard]] bool hasEnded(int rank) const GOSS_ON_LOOP { return mesh.hasEnded(group.worldRank(rank)); }
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_PEERS_H_
