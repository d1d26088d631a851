#include "collectives/circulant_pipeline.h"

#include <algorithm>
#include <string>

#include "collectives/circulant.h"
#include "collectives/scheme.h"

namespace goss::collectives {

namespace {

/// The skips 1 = s_0 < s_1 < .. < s_q = n.
std::vector<int> ascendingSkips(int n) {
  std::vector<int> skips = halvingSkips(n);
  std::reverse(skips.begin(), skips.end());
  return skips;
}

/// Depth-first search over the sequences of skips that lead from the root to one position, larger skips first. A skip
/// that has been used leaves the list of candidates, so the search touches each only a few times.
class ReceiveSearch {
 public:
  ReceiveSearch(int n, int position)
      : skips_(ascendingSkips(n)),
        rounds_(static_cast<int>(skips_.size()) - 1),
        target_(n + position),
        smallest_(2 * n),
        next_(skips_.size()),
        previous_(skips_.size()),
        head_(rounds_) {
    for (int e = 0; e <= rounds_; ++e) {
      next_[index(e)] = e - 1;
      previous_[index(e)] = e + 1;
    }
    base_ = baseBlock(position);
    unlink(base_);
  }

  std::vector<int> run() {
    search(0, head_);
    for (int& entry : found_)
      entry = entry == rounds_ ? base_ : entry - rounds_;
    return found_;
  }

 private:
  static std::size_t index(int e) { return static_cast<std::size_t>(e); }
  [[nodiscard]] int skip(int e) const { return skips_[index(e)]; }
  [[nodiscard]] int round() const { return static_cast<int>(found_.size()); }

  /// The first block that the position gets: the smallest skip in its canonical sum of skips. The root's is q.
  [[nodiscard]] int baseBlock(int position) const {
    if (position == 0) return rounds_;
    for (int k = rounds_ - 1, left = position; k >= 0; --k) {
      if (left < skip(k)) continue;
      left -= skip(k);
      if (left == 0) return k;
    }
    return 0;
  }

  void unlink(int e) {
    if (e == head_) {
      head_ = next_[index(e)];
    } else {
      next_[index(previous_[index(e)])] = next_[index(e)];
    }
    if (next_[index(e)] >= 0) previous_[index(next_[index(e)])] = previous_[index(e)];
  }

  void search(int reached, int e) {
    for (; e >= 0 && round() < rounds_; e = next_[index(e)]) {
      const int there = reached + skip(e);
      if (there > target_ - skip(round()) || there >= smallest_) continue;
      if (there <= target_ - skip(round() + 1)) {
        search(there, e);
        if (round() >= rounds_) return;
      }
      if (reached > target_ - skip(round() + 1)) return;
      smallest_ = there;
      found_.push_back(e);
      unlink(e);
    }
  }

  std::vector<int> skips_;
  int rounds_;
  int target_;
  int smallest_;
  std::vector<int> next_;
  std::vector<int> previous_;
  int head_;
  int base_ = 0;
  std::vector<int> found_;
};

/// The most skips of which the canonical sum of a position consists: the longest path of the first block.
std::uint32_t maxHops(const std::vector<int>& skips) {
  std::vector<std::uint32_t> below(skips.size(), 0); // By skip: the most of the positions below it.
  for (std::size_t k = 1; k < skips.size(); ++k) {
    std::uint32_t hops = 0;
    int left = skips[k]; // The positions below this many, after `hops` skips.
    for (std::size_t j = k; j-- > 0 && left > 1;) {
      if (skips[j] >= left) continue;
      below[k] = std::max(below[k], hops + below[j]);
      left -= skips[j];
      ++hops;
      below[k] = std::max(below[k], hops);
    }
  }
  return below.back();
}

/// One round as one position sees it; -1: no block.
struct Round {
  int skip = 1;
  int sent_block = -1;
  int received_block = -1;
};

/// The rounds of the broadcast of `blocks` blocks among n >= 2 positions.
std::vector<Round> broadcastRounds(int n, int position, int blocks) {
  const std::vector<int> skips = ascendingSkips(n);
  const int q = static_cast<int>(skips.size()) - 1;
  const std::vector<int> own = circulantReceiveSchedule(n, position);
  const int x = (q - (blocks - 1) % q) % q;
  std::vector<Round> rounds;
  std::vector<int> sent_entries;
  for (int k = 0; k < q; ++k) {
    const int to = (position + skips[static_cast<std::size_t>(k)]) % n;
    sent_entries.push_back(circulantReceiveSchedule(n, to)[static_cast<std::size_t>(k)]);
  }
  for (int i = x; i < blocks - 1 + q + x; ++i) {
    const auto k = static_cast<std::size_t>(i % q);
    const int offset = q * (i / q) - x;
    const auto block = [&](int entry) { return entry + offset < 0 ? -1 : std::min(entry + offset, blocks - 1); };
    Round round;
    round.skip = skips[k];
    if ((position + skips[k]) % n != 0) round.sent_block = block(sent_entries[k]);
    if (position != 0) round.received_block = block(own[k]);
    rounds.push_back(round);
  }
  return rounds;
}

} // namespace

std::vector<int> circulantReceiveSchedule(int n, int position) { return ReceiveSearch(n, position).run(); }

bool CirculantPipeline::supports(const PlanRequest& request) const {
  return request.collective == collective_ && request.partition == Partition::even && request.blocks >= 1;
}

Schedule CirculantPipeline::plan(const PlanRequest& request) const {
  ScheduleBuilder builder({collective_, request.size, request.rank, request.root, Partition::even, request.blocks});
  const Group group = Group::rotated(request.size, request.rank, request.root);
  const BlockMap map = BlockMap::identity(request.blocks);
  const GroupPhase phase(builder, group, map);
  const int self = group.index();
  std::vector<Round> rounds;
  if (group.size() > 1) rounds = broadcastRounds(group.size(), self, map.blocks());
  if (collective_ == Collective::broadcast) {
    for (const Round& round : rounds) {
      if (round.sent_block >= 0) phase.send(self + round.skip, round.sent_block, 1);
      if (round.received_block >= 0) phase.receive(self - round.skip, round.received_block, 1);
    }
  } else {
    std::reverse(rounds.begin(), rounds.end());
    for (const Round& round : rounds) {
      if (round.received_block >= 0) phase.send(self - round.skip, round.received_block, 1);
      if (round.sent_block >= 0) phase.receiveAdd(self + round.skip, round.sent_block, 1);
    }
    for (int block = 0; self == 0 && block < map.blocks(); ++block)
      phase.finish(block, 1);
  }
  return builder.build(std::string(name()));
}

std::vector<CostRound> CirculantPipeline::rounds(const PlanRequest& request) const {
  if (request.size < 2) return {};
  const std::vector<int> skips = ascendingSkips(request.size);
  const std::uint32_t hops = maxHops(skips);
  const auto more = static_cast<std::uint32_t>(skips.size() - 1) - hops;
  const double part = 1.0 / request.blocks;
  const int sums = collective_ == Collective::reduce ? 1 : 0;
  return {{.part = part, .times = hops, .sums = sums, .hops = Hops::mixed},
          {.part = part, .times = request.blocks - 1 + more, .sums = sums, .waits = false, .hops = Hops::mixed}};
}

std::uint64_t CirculantPipeline::wireElements(const PlanRequest& request,
                                              std::span<const std::uint64_t> chunk_elems) const {
  return static_cast<std::uint64_t>(request.size - 1) * sumOf(chunk_elems);
}

} // namespace goss::collectives
