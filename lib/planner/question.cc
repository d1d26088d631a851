#include "planner/question.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/levels.h"
#include "schedule/contract.h"
#include "schedule/placement.h"

namespace goss {

namespace {

using schedule::Links;
using schedule::Shape;

/// Round trips' worth of bytes that are kept in flight. A message that lost a packet waits one or two round trips for
/// it, and the messages behind it in its connection wait too: with four fragments of 1 MiB in flight, 4 ranks at 500
/// Mbit/s and 50 ms one way with a loss of 1 % took 6.2 s for 64 MiB, with four of 16 MiB 2.4 s.
constexpr double kRoundTripsInFlight = 16;
/// Flows that share a line are paced to this much of it together: it stays full, and its queue grows slowly. Each flow
/// alone has learnt the rate of the whole line, and would send at that rate at first. 4 ranks at 500 Mbit/s and 20 ms
/// one way, 64 MiB in 8 bits: 467 ms instead of 550 to 680, where 444 are possible.
constexpr double kPaceOfLine = 1.05;
/// Shorter messages are not paced: they fit in the queue. And a flow that gets much less than others ends early; its
/// part of the line must not stay idle then.
constexpr std::uint64_t kMinPacedBytes = 32 << 10;
constexpr double kMaxPacedSpread = 1.1;

/// The number of other ranks that get all of this rank's messages, if the first sends go to each of them, with about
/// equal bytes in total; else 0.
int receiversAtOnce(const Schedule& schedule, const Shape& shape) {
  const schedule::Layout layout(schedule, shape);
  // Whether a step waits for a message, itself or by what it depends on.
  std::vector<bool> awaits(schedule.steps.size());
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(schedule.size));
  std::vector<bool> at_first(bytes.size());
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const bool sends = step.kind == StepKind::send;
    awaits[i] = step.peer >= 0 && !sends;
    for (const std::uint32_t needed : schedule.dependenciesOf(step))
      awaits[i] = awaits[i] || awaits[needed];
    if (!sends) continue;
    const auto peer = static_cast<std::size_t>(step.peer);
    if (!awaits[i]) at_first[peer] = true;
    for (const Slot slot : schedule.slotsOf(step.targets))
      bytes[peer] += layout.extentOf(slot).count_elems * shape.element_bytes;
  }
  int receivers = 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  for (std::size_t peer = 0; peer < bytes.size(); ++peer) {
    if (bytes[peer] == 0) continue;
    if (!at_first[peer]) return 0;
    ++receivers;
    least = std::min(least, bytes[peer]);
    most = std::max(most, bytes[peer]);
  }
  const bool alike = static_cast<double>(most) <= kMaxPacedSpread * static_cast<double>(least);
  return alike && least >= kMinPacedBytes ? receivers : 0;
}

/// Ranks of a group in algorithms of two levels: those of a node; where nodes of unequal sizes are far apart, the
/// largest number that fills each; else the largest divisor up to the square root, which balances the levels; 0: none.
int groupSizeFor(const Links& links) {
  if (links.nodeSize() > 0) return links.nodeSize();
  if (const int common = commonNodeSize(links); common > 1) return common;
  int best = 0;
  for (int group = 2; group * group <= links.size(); ++group) {
    if (links.size() % group == 0) best = group;
  }
  return best;
}

} // namespace

std::uint64_t paceFor(const Links& links, const Schedule& schedule, const Shape& shape) {
  if (links.size() < 3 || links.price(0, 1).latency_s < kFar_s || !links.uniform()) return 0;
  const schedule::NodePrice& line = links.node(links.nodeOf(0));
  if (line.up_bytes_per_s == 0) return 0;
  const int receivers = receiversAtOnce(schedule, shape);
  if (receivers < 2) return 0;
  double pace = line.up_bytes_per_s / receivers;
  // If all ranks send to all, this many flows meet in front of each rank; a root's flow meets no others there.
  const int senders = schedule::hasRoot(schedule.collective) ? 1 : receivers;
  if (line.down_bytes_per_s > 0) pace = std::min(pace, line.down_bytes_per_s / senders);
  return static_cast<std::uint64_t>(kPaceOfLine * pace);
}

std::uint32_t windowFor(const Links& links, const Question& question, std::uint32_t fragments) {
  double in_flight = 0;                             // Bytes.
  for (int peer = 1; peer < links.size(); ++peer) { // Rank 0's row, by which all ranks judge.
    const schedule::LinkPrice& price = links.price(0, peer);
    in_flight = std::max(in_flight, kRoundTripsInFlight * 2 * price.latency_s * price.bandwidth_bytes_per_s);
  }
  const double ratio = question.compressed ? question.codec.payload_ratio : 1.0;
  const double bytes = static_cast<double>(question.bytes) * ratio;
  const double share = in_flight < bytes ? in_flight / bytes : 1.0;
  const auto wanted = static_cast<std::uint32_t>(std::ceil(share * fragments));
  return std::min(fragments, std::max(kWindow, wanted));
}

Candidate inParts(const Candidate& candidate, std::uint32_t parts, const Question& question, const Links& links) {
  Candidate other = candidate;
  if (candidate.algorithm->traits().pipelined) {
    other.blocks = parts;
  } else {
    other.fragments = parts;
    other.window = windowFor(links, question, parts);
  }
  return other;
}

PlanRequest requestFor(const Question& question, const Candidate& candidate, int size, int rank) {
  PlanRequest request;
  request.collective = question.collective;
  request.size = size;
  request.rank = rank;
  request.root = question.root;
  request.partition = schedule::movesBlocks(question.collective) ? Partition::byRank : Partition::even;
  request.uneven = question.uneven;
  request.blocks = candidate.blocks;
  request.order = candidate.order;
  request.group_size = candidate.group_size;
  return request;
}

schedule::Compressed scheduleFor(const Question& question, const Candidate& candidate, const Links& links, int rank) {
  Schedule plain = candidate.algorithm->plan(requestFor(question, candidate, links.size(), rank));
  if (!question.compressed) return {std::move(plain), false};
  std::vector<bool> encoded_peers;
  for (int peer = 0; candidate.between_nodes && peer < links.size(); ++peer)
    encoded_peers.push_back(links.nodeOf(peer) != links.nodeOf(rank));
  return schedule::compressed(plain, encoded_peers,
                              question.adds_payloads ? schedule::Sums::payloads : schedule::Sums::decoded);
}

Shape shapeFor(const Question& question, const Candidate& candidate, int size) {
  Shape shape;
  if (schedule::movesBlocks(question.collective)) {
    for (int rank = 0; rank < size; ++rank) {
      shape.input_blocks.push_back({static_cast<std::uint64_t>(rank) * question.bytes, question.bytes});
    }
    shape.output_blocks = shape.input_blocks;
  } else {
    shape.count = question.bytes;
    shape.weights = candidate.weights;
  }
  return shape;
}

std::vector<Candidate> legalVariants(const Question& question, const Algorithm& algorithm, const Links& links,
                                     bool in_order) {
  const AlgorithmTraits traits = algorithm.traits();
  std::vector<Candidate> variants(1);
  variants[0].algorithm = &algorithm;
  if (traits.takes_group) {
    variants[0].group_size = groupSizeFor(links);
    if (variants[0].group_size == 0) return {};
  }
  if (traits.takes_order && !in_order && !links.uniform()) {
    Candidate ordered = variants[0];
    ordered.order = schedule::ringOrder(links, static_cast<double>(question.bytes) / links.size());
    if (!std::is_sorted(ordered.order.begin(), ordered.order.end())) variants.push_back(std::move(ordered));
  }
  if (question.compressed && !question.adds_payloads && traits.takes_group && links.nodeSize() > 0) {
    const std::size_t count = variants.size();
    for (std::size_t i = 0; i < count; ++i) {
      variants.push_back(variants[i]);
      variants.back().between_nodes = true;
    }
  }
  std::erase_if(variants, [&](const Candidate& variant) {
    return !algorithm.supports(requestFor(question, variant, links.size(), 0));
  });
  return variants;
}

} // namespace goss
