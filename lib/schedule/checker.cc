#include "schedule/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "schedule/channels.h"
#include "schedule/compress.h"
#include "schedule/contract.h"
#include "schedule/structure.h"

namespace goss::schedule {

namespace {

constexpr std::uint64_t kPrimeCount = 1009;

Status fault(const std::string& what) { return Status::error(GOSS_ERR_INTERNAL, what); }

/// The shape of a collective whose chunks are parts of one vector. Weighted: shares 1, 2, 3, 0, 1, ...
Shape evenShape(std::uint64_t count, std::uint32_t chunks, bool weighted) {
  Shape shape;
  shape.element_bytes = 4;
  shape.count = count;
  for (std::uint32_t c = 0; weighted && c < chunks; ++c)
    shape.weights.push_back((c + 1) % 4);
  return shape;
}

/// Elements that rank `from` has for rank `to` in an uneven exchange: zero for some pairs.
std::uint64_t unevenElems(std::uint64_t count, std::uint64_t from, std::uint64_t to) {
  return (count + 3 * from + 5 * to) % 7 == 0 ? 0 : count + (from + 2 * to) % 3;
}

/// The shape of a collective whose chunks are the blocks of ranks.
Shape blockShape(const PlanRequest& request, std::uint64_t rank, std::uint64_t count) {
  Shape shape;
  shape.element_bytes = 4;
  const auto size = static_cast<std::uint64_t>(request.size);
  const bool exchange = request.collective == Collective::allToAll;
  for (std::uint64_t c = 0; c < size; ++c) {
    const std::uint64_t in = request.uneven ? unevenElems(count, exchange ? rank : 0, c) : count;
    const std::uint64_t out = request.uneven ? unevenElems(count, exchange ? c : 0, exchange ? rank : c) : count;
    shape.input_blocks.push_back({0, in});
    shape.output_blocks.push_back({0, out});
  }
  return shape;
}

/// Everything that a size check needs of one call: schedules, channels, and the sizes of slots.
struct BoundRanks {
  std::span<const Schedule> schedules;
  const ChannelTable& table;
  std::vector<Layout> layouts;

  [[nodiscard]] std::uint64_t elems(std::size_t rank, Slot slot) const {
    return layouts[rank].extentOf(slot).count_elems;
  }
};

BoundRanks bindRanks(std::span<const Schedule> schedules, const ChannelTable& table, std::span<const Shape> shapes) {
  BoundRanks bound{schedules, table, {}};
  bound.layouts.reserve(schedules.size());
  for (std::size_t r = 0; r < schedules.size(); ++r)
    bound.layouts.emplace_back(schedules[r], shapes[r]);
  return bound;
}

/// Adds message `message` of `channel` to `total`.
Status compareMessage(const BoundRanks& bound, const Channel& channel, std::uint32_t message, std::uint64_t& total) {
  const auto source = static_cast<std::size_t>(channel.source);
  const auto destination = static_cast<std::size_t>(channel.destination);
  const Schedule& sender = bound.schedules[source];
  const Schedule& receiver = bound.schedules[destination];
  const std::uint32_t send = bound.table.sends[channel.first + message];
  const std::uint32_t receive = bound.table.receives[channel.first + message];
  const auto sent = sender.slotsOf(sender.steps[send].targets);
  const auto received = receiver.slotsOf(receiver.steps[receive].targets);
  for (std::size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
    const std::uint64_t elems = i < sent.size() ? bound.elems(source, sent[i]) : 0;
    const std::uint64_t expected = i < received.size() ? bound.elems(destination, received[i]) : 0;
    if (elems != expected) {
      return fault(
          fmt::format("rank {} step {}: size mismatch, receives {} elements in slot {} where rank {} step {} sends {}",
                      destination, receive, expected, i, source, send, elems));
    }
    total += elems;
  }
  return Status::ok();
}

/// Copies and reductions join slots of equal size.
Status compareLocal(const BoundRanks& bound, std::size_t rank) {
  const Schedule& schedule = bound.schedules[rank];
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const auto targets = schedule.slotsOf(schedule.steps[s].targets);
    const auto sources = schedule.slotsOf(schedule.steps[s].sources);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::uint64_t target = bound.elems(rank, targets[std::min(i, targets.size() - 1)]);
      const std::uint64_t source = bound.elems(rank, sources[i]);
      if (target != source) {
        return fault(fmt::format("rank {} step {}: size mismatch, {} elements into {}", rank, s, source, target));
      }
    }
  }
  return Status::ok();
}

Status compareSizes(const BoundRanks& bound, std::uint64_t expected_elems) {
  for (std::size_t r = 0; r < bound.schedules.size(); ++r) {
    if (Status status = compareLocal(bound, r); !status.isOk()) return status;
  }
  std::uint64_t total = 0;
  for (const Channel& channel : bound.table.channels) {
    for (std::uint32_t m = 0; m < channel.count; ++m) {
      if (Status status = compareMessage(bound, channel, m, total); !status.isOk()) return status;
    }
  }
  if (total == expected_elems) return Status::ok();
  return fault(fmt::format("all messages together have {} elements, the formula says {}", total, expected_elems));
}

/// Elements of each chunk, for the wire formula. An uneven exchange has no such list: its sum is taken over all pairs
/// instead.
std::vector<std::uint64_t> chunkElems(const BoundRanks& bound) {
  std::vector<std::uint64_t> elems;
  for (std::uint32_t c = 0; c < bound.schedules[0].chunk_count; ++c)
    elems.push_back(bound.elems(0, input(c)));
  return elems;
}

std::uint64_t expectedElems(const Algorithm& algorithm, const PlanRequest& request, const BoundRanks& bound) {
  if (request.collective != Collective::allToAll || !request.uneven) {
    return algorithm.wireElements(request, chunkElems(bound));
  }
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r < bound.schedules.size(); ++r) {
    for (std::uint32_t c = 0; c < bound.schedules.size(); ++c) {
      if (c != r) sum += bound.elems(r, input(c));
    }
  }
  return sum;
}

/// A check of one algorithm for one request, in all sizes.
struct Subject {
  const Algorithm& algorithm;
  const PlanRequest& request;
  std::span<const Schedule> ranks;
  const ChannelTable& table;
};

Status checkCount(const Subject& subject, std::uint64_t count, bool weighted) {
  std::vector<Shape> shapes;
  for (std::size_t r = 0; r < subject.ranks.size(); ++r) {
    const bool even = subject.request.partition == Partition::even;
    shapes.push_back(even ? evenShape(count, subject.ranks[r].chunk_count, weighted)
                          : blockShape(subject.request, r, count));
  }
  const BoundRanks bound = bindRanks(subject.ranks, subject.table, shapes);
  Status status = compareSizes(bound, expectedElems(subject.algorithm, subject.request, bound));
  if (status.isOk()) return status;
  return fault(fmt::format("{} elements{}: {}", count, weighted ? ", weighted" : "", status.text()));
}

std::string describe(const Algorithm& algorithm, const PlanRequest& request) {
  return fmt::format("{} {}, {} ranks, root {}, blocks {}, group {}{}", nameOf(request.collective), algorithm.name(),
                     request.size, request.root, request.blocks, request.group_size, request.uneven ? ", uneven" : "");
}

Status checkCounts(const Subject& subject) {
  const auto p = static_cast<std::uint64_t>(subject.request.size);
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, p - 1, p, p + 1, kPrimeCount}) {
    if (Status status = checkCount(subject, count, false); !status.isOk()) return status;
  }
  if (subject.request.partition != Partition::even) return Status::ok();
  return checkCount(subject, kPrimeCount, true);
}

Status checkHeaders(std::span<const Schedule> ranks) {
  if (ranks.empty() || ranks.size() > kMaxCheckedRanks) {
    return fault(fmt::format("{} ranks; the checker takes 1 to {}", ranks.size(), kMaxCheckedRanks));
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Schedule& schedule = ranks[r];
    if (schedule.rank != static_cast<int>(r) || schedule.size != static_cast<int>(ranks.size()) ||
        schedule.collective != ranks[0].collective || schedule.root != ranks[0].root ||
        schedule.chunk_count != ranks[0].chunk_count || schedule.partition != ranks[0].partition) {
      return fault(fmt::format("rank {}: its schedule is for another collective, rank, root or partition", r));
    }
    if (Status status = checkStructure(schedule); !status.isOk()) return status;
  }
  return Status::ok();
}

/// Whether each rank's shape gives a size to each of its chunks.
Status checkShapes(std::span<const Schedule> ranks, std::span<const Shape> shapes) {
  if (shapes.size() != ranks.size()) return fault(fmt::format("{} shapes for {} ranks", shapes.size(), ranks.size()));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::size_t chunks = ranks[r].chunk_count;
    const Shape& shape = shapes[r];
    const bool fits = ranks[r].partition == Partition::even
                          ? shape.weights.empty() || shape.weights.size() == chunks
                          : shape.input_blocks.size() == chunks && shape.output_blocks.size() == chunks;
    if (!fits) return fault(fmt::format("rank {}: a shape for another number than {} chunks", r, chunks));
  }
  return Status::ok();
}

/// A schedule that ends with rendezvous ends with any capacity, so rendezvous finds deadlocks; the other modes find
/// overwritten inputs.
std::vector<RunMode> modesFor(std::span<const Schedule> ranks, std::uint64_t seed, Interleavings interleavings) {
  const bool in_place = allowsInPlace(ranks[0].collective);
  if (interleavings == Interleavings::one) {
    const bool even = ranks.size() % 2 == 0;
    return {even ? RunMode{0, false, seed} : RunMode{kUnlimited, in_place, seed}};
  }
  return {{kUnlimited, false, seed}, {kUnlimited, in_place, seed + 1}, {1, in_place, seed + 2}, {0, false, seed + 3}};
}

Result<RunFacts> execute(std::span<const Schedule> ranks, const ChannelTable& table,
                         const std::vector<RunMode>& modes) {
  Result<RunFacts> first = RunFacts{};
  for (const RunMode& mode : modes) {
    Result<RunFacts> facts = runSymbolically(ranks, table, mode);
    if (!facts.isOk()) {
      return mode.in_place ? fault(fmt::format("in place: {}", facts.status().text())) : facts.status();
    }
    if (&mode == modes.data()) first = facts;
  }
  return first;
}

} // namespace

Result<RunFacts> checkSchedules(std::span<const Schedule> ranks, std::uint64_t seed) {
  if (Status status = checkHeaders(ranks); !status.isOk()) return status;
  Result<ChannelTable> table = pairMessages(ranks);
  if (!table.isOk()) return table.status();
  return execute(ranks, table.value(), modesFor(ranks, seed, Interleavings::all));
}

Status checkSizes(std::span<const Schedule> ranks, std::span<const Shape> shapes, std::uint64_t expected_elems) {
  if (Status status = checkHeaders(ranks); !status.isOk()) return status;
  if (Status status = checkShapes(ranks, shapes); !status.isOk()) return status;
  Result<ChannelTable> table = pairMessages(ranks);
  if (!table.isOk()) return table.status();
  return compareSizes(bindRanks(ranks, table.value(), shapes), expected_elems);
}

namespace {

Result<RunFacts> checkPlanned(const Algorithm& algorithm, const PlanRequest& request, std::span<const Schedule> ranks,
                              Interleavings interleavings) {
  const auto named = [&](const Status& status) {
    return fault(describe(algorithm, request) + ": " + std::string(status.text()));
  };
  if (Status status = checkHeaders(ranks); !status.isOk()) return named(status);
  Result<ChannelTable> table = pairMessages(ranks);
  if (!table.isOk()) return named(table.status());
  const auto seed = static_cast<std::uint64_t>(request.size);
  Result<RunFacts> facts = execute(ranks, table.value(), modesFor(ranks, seed, interleavings));
  if (!facts.isOk()) return named(facts.status());
  const Subject subject{algorithm, request, ranks, table.value()};
  if (Status status = checkCounts(subject); !status.isOk()) return named(status);
  return facts;
}

} // namespace

Result<RunFacts> checkAlgorithm(const Algorithm& algorithm, const PlanRequest& request) {
  std::vector<Schedule> ranks;
  PlanRequest mine = request;
  for (mine.rank = 0; mine.rank < mine.size; ++mine.rank)
    ranks.push_back(algorithm.plan(mine));
  Result<RunFacts> facts = checkPlanned(algorithm, request, ranks, Interleavings::all);
  if (facts.isOk() && algorithm.traits().identical_bits && !facts.value().identical_bits) {
    return fault(describe(algorithm, request) + ": ranks end with different bits");
  }
  return facts;
}

Result<CompressedFacts> checkCompressed(const Algorithm& algorithm, const PlanRequest& request, int node_size,
                                        Sums sums, Interleavings interleavings) {
  std::vector<Schedule> ranks;
  CompressedFacts result;
  PlanRequest mine = request;
  for (mine.rank = 0; mine.rank < mine.size; ++mine.rank) {
    std::vector<bool> encoded_peers;
    for (int peer = 0; node_size > 1 && peer < mine.size; ++peer)
      encoded_peers.push_back(peer / node_size != mine.rank / node_size);
    Compressed made = compressed(algorithm.plan(mine), encoded_peers, sums);
    result.requantizes = result.requantizes || made.requantizes;
    ranks.push_back(std::move(made.schedule));
  }
  Result<RunFacts> facts = checkPlanned(algorithm, request, ranks, interleavings);
  if (!facts.isOk()) return fault("compressed " + facts.status().text());
  result.run = facts.value();
  result.diverges = request.collective == Collective::allReduce && resultsDiverge(ranks);
  return result;
}

} // namespace goss::schedule
