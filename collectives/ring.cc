#include "collectives/ring.h"

namespace goss::collectives {

std::vector<CostRound> Ring::rounds(int group_size) const {
  if (group_size < 2) return {};
  return {{.times = static_cast<std::uint32_t>(group_size - 1), .sums = 1, .hops = Hops::shift}};
}

void Ring::emitReduceScatter(const GroupPhase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  for (int t = 0; t < n - 1; ++t) {
    phase.send(self + 1, (self - 1 - t + n) % n, 1);
    phase.receiveAdd(self - 1, (self - 2 - t + 2 * n) % n, 1);
  }
}

void Ring::emitAllGather(const GroupPhase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  for (int t = 0; t < n - 1; ++t) {
    phase.send(self + 1, (self - t + n) % n, 1);
    phase.receive(self - 1, (self - 1 - t + n) % n, 1);
  }
}

} // namespace goss::collectives
