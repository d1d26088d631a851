#include "collectives/circulant.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace goss::collectives {

std::vector<int> unitSkips(int n) {
  std::vector<int> skips;
  for (int s = n; s >= 1; --s)
    skips.push_back(s);
  return skips;
}

std::vector<int> radixSkips(int n, int radix) {
  std::vector<int> skips{n};
  while (skips.back() > 1) {
    const int next = (skips.back() + radix - 1) / radix;
    for (int s = skips.back(); s > next;) {
      s = std::max(next, s - next);
      skips.push_back(s);
    }
  }
  return skips;
}

std::vector<int> halvingSkips(int n) { return radixSkips(n, 2); }

std::vector<int> doublingSkips(int n) {
  std::vector<int> skips{n};
  int power = 1;
  while (power * 2 < n)
    power *= 2;
  for (; power >= 1 && n > 1; power /= 2)
    skips.push_back(power);
  return skips;
}

std::string_view Circulant::name() const {
  switch (skips_) {
    case Skips::unit:
      return "direct";
    case Skips::halving:
      return "circulant-halving";
    case Skips::doubling:
      return "bruck";
    case Skips::radix4:
      return "circulant-radix4";
    case Skips::radix8:
      return "circulant-radix8";
  }
  return "circulant";
}

std::vector<int> Circulant::skipsFor(int group_size) const {
  switch (skips_) {
    case Skips::unit:
      return unitSkips(group_size);
    case Skips::halving:
      return halvingSkips(group_size);
    case Skips::doubling:
      return doublingSkips(group_size);
    case Skips::radix4:
      return radixSkips(group_size, 4);
    case Skips::radix8:
      return radixSkips(group_size, 8);
  }
  return unitSkips(group_size);
}

std::vector<CostRound> Circulant::rounds(int group_size) const {
  if (group_size < 2) return {};
  if (skips_ == Skips::unit) return {{.messages = group_size - 1, .sums = 1, .hops = Hops::shift}};
  std::vector<CostRound> rounds;
  std::vector<std::pair<int, int>> chains; // By round: the blocks that it adds to, from 0 on; rounds up to its end.
  const int radix = skips_ == Skips::radix4 ? 4 : skips_ == Skips::radix8 ? 8 : 2;
  int longest = 0;
  for (int skip = group_size; skip > 1;) {
    const int next = skips_ == Skips::doubling ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(skip)) / 2)
                                               : (skip + radix - 1) / radix;
    const int messages = (skip - 1) / next; // All of a digit, which do not wait for each other.
    int chain = 1; // They wait for what was added to their blocks, of which `next` is the first.
    for (const auto& [blocks, length] : chains)
      if (blocks > next) chain = std::max(chain, length + 1);
    rounds.push_back({.part = static_cast<double>(skip - next) / messages,
                      .messages = messages,
                      .sums = 1,
                      .waits = chain > longest,
                      .hops = Hops::shift,
                      .distance = next});
    longest = std::max(longest, chain);
    chains.emplace_back(std::min(skip - next, next), chain);
    skip = next;
  }
  return rounds;
}

void Circulant::emitReduceScatter(const GroupPhase& phase) const {
  const std::vector<int> skips = skipsFor(phase.group().size());
  const int self = phase.group().index();
  for (std::size_t k = 0; k + 1 < skips.size(); ++k) {
    const int count = skips[k] - skips[k + 1];
    phase.send(self + skips[k + 1], self + skips[k + 1], count);
    phase.receiveAdd(self - skips[k + 1], self, count);
  }
}

void Circulant::emitAllGather(const GroupPhase& phase) const {
  const std::vector<int> skips = skipsFor(phase.group().size());
  const int self = phase.group().index();
  for (std::size_t k = skips.size() - 1; k-- > 0;) {
    const int count = skips[k] - skips[k + 1];
    phase.send(self - skips[k + 1], self, count);
    phase.receive(self + skips[k + 1], self + skips[k + 1], count);
  }
}

} // namespace goss::collectives
