#include "collectives/butterfly.h"

#include <algorithm>
#include <bit>

namespace goss::collectives {

namespace {

int stepsOf(int n) { return std::countr_zero(static_cast<unsigned>(n)); }

int rabenseifnerPartner(int n, int position, int step) { return position ^ (n >> (step + 1)); }

int swingPartner(int n, int position, int step) {
  int distance = 1; // rho(k) = 1 - 2 rho(k - 1), from rho(0) = 1
  for (int k = 0; k < step; ++k)
    distance = 1 - 2 * distance;
  const int partner = position % 2 == 0 ? position + distance : position - distance;
  return (partner % n + n) % n;
}

} // namespace

std::unique_ptr<Butterfly> makeRabenseifner() {
  return std::make_unique<Butterfly>("rabenseifner", rabenseifnerPartner, Symmetry{.period = 1, .exclusive_or = true});
}

std::unique_ptr<Butterfly> makeSwing() {
  return std::make_unique<Butterfly>("swing", swingPartner, Symmetry{.period = 2}); // Even positions differ from odd.
}

Symmetry Butterfly::symmetry(int group_size) const { return group_size < 2 ? Symmetry{.period = 1} : symmetry_; }

bool Butterfly::supports(int group_size) const { return std::has_single_bit(static_cast<unsigned>(group_size)); }

std::vector<CostRound> Butterfly::rounds(int group_size) const {
  std::vector<CostRound> rounds;
  for (int step = 0; step < stepsOf(group_size); ++step) {
    const int part = group_size >> (step + 1);
    const int up = partner_(group_size, 0, step);
    const int down = group_size - up;
    CostRound round{.part = static_cast<double>(part), .sums = 1};
    round.hops = symmetry_.exclusive_or ? Hops::exchange : Hops::shift;
    // A node of evenly many consecutive ranks sends as many messages out of itself as in a shift by one less where even
    // positions have their partners above them, and as in a shift by one more where they have them below.
    round.distance = symmetry_.exclusive_or ? up : up < down ? up - 1 : down + 1;
    rounds.push_back(round);
  }
  return rounds;
}

/// The blocks that `position` still has to sum when the steps before `from_step` are done, ascending.
std::vector<int> Butterfly::answersFor(int n, int position, int from_step) const {
  std::vector<int> reached{position};
  for (int step = from_step; step < stepsOf(n); ++step) {
    const std::size_t count = reached.size();
    for (std::size_t i = 0; i < count; ++i)
      reached.push_back(partner_(n, reached[i], step));
  }
  std::sort(reached.begin(), reached.end());
  return reached;
}

void Butterfly::emitReduceScatter(const GroupPhase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  for (int step = 0; step < stepsOf(n); ++step) {
    const int partner = partner_(n, self, step);
    const int rank = phase.group().rankAt(partner);
    phase.builder().send(rank, phase.slotsOf(answersFor(n, partner, step + 1)));
    phase.builder().recvReduce(rank, phase.slotsOf(answersFor(n, self, step + 1)));
  }
}

void Butterfly::emitAllGather(const GroupPhase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  for (int step = stepsOf(n); step-- > 0;) {
    const int partner = partner_(n, self, step);
    const int rank = phase.group().rankAt(partner);
    phase.builder().send(rank, phase.slotsOf(answersFor(n, self, step + 1)));
    phase.builder().recv(rank, phase.slotsOf(answersFor(n, partner, step + 1)));
  }
}

} // namespace goss::collectives
