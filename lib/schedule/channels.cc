#include "schedule/channels.h"

#include <fmt/format.h>

#include <utility>

namespace goss::schedule {

namespace {

/// Steps of one direction by rank pair, in program order.
struct Side {
  std::vector<std::vector<std::uint32_t>> steps; ///< source * size + destination -> steps.
};

Status collect(std::span<const Schedule> ranks, int rank, Side& sends, Side& receives) {
  const Schedule& schedule = ranks[static_cast<std::size_t>(rank)];
  const int size = static_cast<int>(ranks.size());
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const bool is_send = step.kind == StepKind::send;
    if (!is_send && !isReceive(step.kind)) continue;
    if (step.peer < 0 || step.peer >= size || step.peer == rank) {
      return Status::error(GOSS_ERR_INTERNAL,
                           fmt::format("rank {} step {}: peer {} of {} ranks", rank, i, step.peer, size));
    }
    const int pair = is_send ? rank * size + step.peer : step.peer * size + rank;
    std::vector<std::uint32_t>& steps = (is_send ? sends : receives).steps[static_cast<std::size_t>(pair)];
    if (step.ordinal != steps.size()) {
      return Status::error(GOSS_ERR_INTERNAL,
                           fmt::format("rank {} step {}: message {} with rank {} in the place of message {}", rank, i,
                                       step.ordinal, step.peer, steps.size()));
    }
    steps.push_back(i);
  }
  return Status::ok();
}

Status unmatched(int source, int destination, const std::vector<std::uint32_t>& sent,
                 const std::vector<std::uint32_t>& received) {
  if (sent.size() > received.size()) {
    return Status::error(GOSS_ERR_INTERNAL,
                         fmt::format("rank {} step {}: leftover message, rank {} receives only {} of {}", source,
                                     sent[received.size()], destination, received.size(), sent.size()));
  }
  return Status::error(GOSS_ERR_INTERNAL,
                       fmt::format("rank {} step {}: missing send, rank {} sends only {} of {} messages", destination,
                                   received[sent.size()], source, sent.size(), received.size()));
}

} // namespace

Result<ChannelTable> pairMessages(std::span<const Schedule> ranks) {
  const int size = static_cast<int>(ranks.size());
  const auto pairs = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  Side sends{std::vector<std::vector<std::uint32_t>>(pairs)};
  Side receives{std::vector<std::vector<std::uint32_t>>(pairs)};
  for (int r = 0; r < size; ++r) {
    if (Status status = collect(ranks, r, sends, receives); !status.isOk()) return status;
  }
  ChannelTable table;
  table.size = size;
  table.index.assign(pairs, -1);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const auto& sent = sends.steps[pair];
    const auto& received = receives.steps[pair];
    const int source = static_cast<int>(pair) / size;
    const int destination = static_cast<int>(pair) % size;
    if (sent.size() != received.size()) return unmatched(source, destination, sent, received);
    if (sent.empty()) continue;
    table.index[pair] = static_cast<std::int32_t>(table.channels.size());
    table.channels.push_back(
        {source, destination, static_cast<std::uint32_t>(table.sends.size()), static_cast<std::uint32_t>(sent.size())});
    table.sends.insert(table.sends.end(), sent.begin(), sent.end());
    table.receives.insert(table.receives.end(), received.begin(), received.end());
  }
  return table;
}

} // namespace goss::schedule
