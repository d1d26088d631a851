/// The channels between all ranks of a collective: which send meets which receive.
#ifndef GOSS_LIB_SCHEDULE_CHANNELS_H_
#define GOSS_LIB_SCHEDULE_CHANNELS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gossamer/schedule.h"
#include "gossamer/status.h"

namespace goss::schedule {

/// Messages from one rank to another; number k is sent by step sends[first + k] and received by step receives[first +
/// k].
struct Channel {
  int source = 0;
  int destination = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// All channels that carry messages, and where each rank pair's channel is.
struct ChannelTable {
  int size = 0;
  std::vector<Channel> channels;
  std::vector<std::uint32_t> sends;    ///< Step of the source rank, by message.
  std::vector<std::uint32_t> receives; ///< Step of the destination rank, by message.
  std::vector<std::int32_t> index;     ///< source * size + destination -> channel, or -1.

  [[nodiscard]] std::size_t messages() const { return sends.size(); }
  [[nodiscard]] std::uint32_t channelOf(int source, int destination) const {
    return static_cast<std::uint32_t>(index[static_cast<std::size_t>(source) * static_cast<std::size_t>(size) +
                                            static_cast<std::size_t>(destination)]);
  }
};

constexpr bool isReceive(StepKind kind) { return kind == StepKind::recv || kind == StepKind::recvReduce; }

/// Pairs sends and receives; ranks[r] is the schedule of rank r. Errors (internal), naming rank and step: a peer out of
/// range, ordinals that do not count 0, 1, 2, ..., a send without a receive or the reverse.
Result<ChannelTable> pairMessages(std::span<const Schedule> ranks);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_CHANNELS_H_
