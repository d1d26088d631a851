#include "collectives/ring.h"

namespace goss::collectives {

void Ring::emitReduceScatter(const Phase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  for (int t = 0; t < n - 1; ++t) {
    phase.send(self + 1, (self - 1 - t + n) % n, 1);
    phase.receiveAdd(self - 1, (self - 2 - t + 2 * n) % n, 1);
  }
}

void Ring::emitAllGather(const Phase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  for (int t = 0; t < n - 1; ++t) {
    phase.send(self + 1, (self - t + n) % n, 1);
    phase.receive(self - 1, (self - 1 - t + n) % n, 1);
  }
}

} // namespace goss::collectives
