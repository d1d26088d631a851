#include "collectives/recursive_doubling.h"

#include <bit>

namespace goss::collectives {

namespace {

/// Adds the partner's block to this position's. Both directions are in flight at once, so the partner's block needs a
/// place of its own until this position's has been sent.
void exchangeAndAdd(const GroupPhase& phase, int partner) {
  ScheduleBuilder& builder = phase.builder();
  const Slot own = phase.run(0, 1).front();
  const Slot theirs = builder.scratch(own.index);
  phase.send(partner, 0, 1);
  builder.recv(phase.group().rankAt(partner), {theirs});
  builder.reduce(own, theirs);
}

} // namespace

Symmetry RecursiveDoubling::symmetry(int group_size) const {
  const bool folds = !std::has_single_bit(static_cast<unsigned>(group_size));
  return folds ? Symmetry() : Symmetry{.period = 1, .exclusive_or = true};
}

std::vector<CostRound> RecursiveDoubling::rounds(int group_size, std::uint32_t) const {
  const int survivors = static_cast<int>(std::bit_floor(static_cast<unsigned>(group_size)));
  // Positions that have folded others into themselves lie farther apart, and at no power of two.
  const Hops hops = survivors < group_size ? Hops::shift : Hops::exchange;
  std::vector<CostRound> rounds;
  if (survivors < group_size) rounds.push_back({.sums = 1, .hops = hops});
  for (int distance = 1; distance < survivors; distance *= 2)
    rounds.push_back({.sums = 1, .hops = hops, .distance = distance});
  // In the last exchange each survivor meets one of the other half. If that half has folded other ranks into itself,
  // the survivor waits for them; if it has folded nobody, the survivor does not.
  if (survivors < group_size) rounds.push_back({.waits = 2 * (group_size - survivors) > survivors, .hops = hops});
  return rounds;
}

void RecursiveDoubling::emit(const GroupPhase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  const int survivors = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const int folded = n - survivors;
  const bool paired = self < 2 * folded;
  if (paired && self % 2 == 0) {
    phase.send(self + 1, 0, 1);
    phase.receive(self + 1, 0, 1);
    return;
  }
  if (paired) phase.receiveAdd(self - 1, 0, 1);
  const int survivor = paired ? self / 2 : self - folded;
  for (int distance = 1; distance < survivors; distance *= 2) {
    const int partner = survivor ^ distance;
    exchangeAndAdd(phase, partner < folded ? 2 * partner + 1 : partner + folded);
  }
  phase.finish(0, 1);
  if (paired) phase.send(self - 1, 0, 1);
}

std::uint64_t RecursiveDoubling::wireElements(int group_size, std::span<const std::uint64_t> block_elems) const {
  const std::uint64_t survivors = std::bit_floor(static_cast<std::uint64_t>(group_size));
  const std::uint64_t folded = static_cast<std::uint64_t>(group_size) - survivors;
  const auto rounds = static_cast<std::uint64_t>(std::countr_zero(survivors));
  return (survivors * rounds + 2 * folded) * sumOf(block_elems);
}

} // namespace goss::collectives
