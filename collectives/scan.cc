#include "collectives/scan.h"

#include <bit>
#include <string>

namespace goss::collectives {

namespace {

void emitInclusive(ScheduleBuilder& builder) {
  const int p = builder.size();
  const int self = builder.rank();
  for (int distance = 1; distance < p; distance *= 2) {
    if (self + distance < p) builder.send(self + distance, {data(0)});
    if (self - distance < 0) continue;
    const Slot received = builder.scratch(0);
    builder.recv(self - distance, {received});
    builder.reduce(data(0), received);
  }
  builder.finish({data(0)});
}

/// The output is written last: until then it may be the input too.
void emitExclusive(ScheduleBuilder& builder) {
  const int p = builder.size();
  const int self = builder.rank();
  Slot inclusive = input(0);
  Slot before{};
  for (int distance = 1; distance < p; distance *= 2) {
    if (self + distance < p) builder.send(self + distance, {inclusive});
    if (self - distance < 0) continue;
    const Slot received = builder.scratch(0);
    builder.recv(self - distance, {received});
    if (self + 2 * distance < p) { // The sum with the own contribution is sent once more.
      const Slot next = builder.scratch(0);
      builder.copy(received, next);
      builder.reduce(next, inclusive);
      inclusive = next;
    }
    if (distance == 1) {
      before = received;
    } else {
      builder.reduce(before, received);
    }
  }
  if (self == 0) return;
  builder.finish({before});
  builder.copy(before, output(0));
}

} // namespace

bool Scan::supports(const PlanRequest& request) const {
  return request.collective == collective_ && request.partition == Partition::even;
}

Schedule Scan::plan(const PlanRequest& request) const {
  ScheduleBuilder builder({collective_, request.size, request.rank, -1, Partition::even, 1});
  if (collective_ == Collective::scan) {
    emitInclusive(builder);
  } else {
    emitExclusive(builder);
  }
  return builder.build(std::string(name()));
}

std::vector<CostRound> Scan::rounds(const PlanRequest& request) const {
  std::vector<CostRound> rounds;
  for (int distance = 1; distance < request.size; distance *= 2)
    rounds.push_back({.sums = collective_ == Collective::scan ? 1 : 3, .hops = Hops::shift, .distance = distance});
  // The longest path ends with what its rank got from the sum of all distances before.
  if (rounds.size() > 1 && !std::has_single_bit(static_cast<unsigned>(request.size))) rounds.back().waits = false;
  return rounds;
}

std::uint64_t Scan::wireElements(const PlanRequest& request, std::span<const std::uint64_t> chunk_elems) const {
  std::uint64_t messages = 0;
  for (int distance = 1; distance < request.size; distance *= 2) {
    messages += static_cast<std::uint64_t>(request.size - distance);
  }
  return messages * chunk_elems[0];
}

} // namespace goss::collectives
