// Communicator::split: how the ranks agree on the numbers of new communicators.
#include <fmt/format.h>

#include <algorithm>

#include "call/tag.h"
#include "communicator/call_guard.h"
#include "communicator/communicator.h"
#include "world/world.h"

namespace goss {

namespace {

/// One rank's part in a split.
class ContextVote {
 public:
  ContextVote(Communicator& parent, std::int32_t color, std::int32_t key)
      : parent_(parent), mine_{color, key, 0}, all_(static_cast<std::size_t>(parent.size())) {}

  /// Whether the ranks have found numbers for the new communicators. Collective.
  Result<bool> propose();
  /// Number of the new communicator of this rank, which has a color.
  [[nodiscard]] std::uint32_t context() const {
    const auto index = std::lower_bound(colors_.begin(), colors_.end(), mine_.color) - colors_.begin();
    return base_ + static_cast<std::uint32_t>(index);
  }
  /// World ranks of its members.
  [[nodiscard]] std::vector<int> members() const;

 private:
  /// A rank's part of the exchange.
  struct Entry {
    std::int32_t color;
    std::int32_t key;
    std::uint32_t next_context;
  };

  Communicator& parent_;
  Entry mine_;
  std::vector<Entry> all_; ///< By rank.
  std::vector<std::int32_t> colors_;
  std::uint32_t base_ = 0;
};

std::vector<int> ContextVote::members() const {
  std::vector<int> members;
  for (int rank = 0; rank < parent_.size(); ++rank) {
    if (all_[static_cast<std::size_t>(rank)].color == mine_.color) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return all_[static_cast<std::size_t>(a)].key < all_[static_cast<std::size_t>(b)].key;
  });
  for (int& member : members)
    member = parent_.group().worldRank(member);
  return members;
}

/// One attempt: the ranks exchange their lowest free contexts, each takes the highest of these (one for each color,
/// from `base`), and they check whether these were still free on all ranks. No lock is held while a rank waits for
/// others, so splits of several threads cannot deadlock.
Result<bool> ContextVote::propose() {
  {
    auto lock = parent_.engine().enter();
    mine_.next_context = parent_.world().contextsOnLoop().next();
  }
  Call gather;
  gather.collective = Collective::allGather;
  gather.dtype = GOSS_INT32;
  gather.input = &mine_;
  gather.output = all_.data();
  gather.count = sizeof(Entry) / sizeof(std::int32_t);
  setUniformShape(gather, parent_.size());
  if (Status status = parent_.collectives().run(gather); !status.isOk()) return status;

  base_ = 0;
  colors_.clear();
  for (const Entry& entry : all_) {
    base_ = std::max(base_, entry.next_context);
    if (entry.color >= 0) colors_.push_back(entry.color);
  }
  std::sort(colors_.begin(), colors_.end());
  colors_.erase(std::unique(colors_.begin(), colors_.end()), colors_.end());
  if (base_ + colors_.size() > kMaxContext) {
    return Status::error(GOSS_ERR_RESOURCE,
                         fmt::format("goss_comm_split: more than {} communicators were made", kMaxContext));
  }
  std::int32_t free_everywhere = 0;
  {
    auto lock = parent_.engine().enter();
    ContextNumbers& contexts = parent_.world().contextsOnLoop();
    free_everywhere = contexts.next() <= base_ ? 1 : 0;
    for (std::uint32_t i = 0; i < colors_.size(); ++i)
      contexts.take(base_ + i);
  }
  Call vote;
  vote.collective = Collective::allReduce;
  vote.dtype = GOSS_INT32;
  vote.op = GOSS_MIN;
  vote.input = vote.output = &free_everywhere;
  vote.count = 1;
  setUniformShape(vote, parent_.size());
  if (Status status = parent_.collectives().run(vote); !status.isOk()) return status;
  return free_everywhere == 1;
}

} // namespace

Result<std::unique_ptr<Communicator>> Communicator::split(std::int32_t color, std::int32_t key) {
  const CallGuard inside(*this);
  ContextVote vote(*this, color, key);
  // Another thread may split another communicator meanwhile and take the same numbers; then this one tries again.
  for (;;) {
    Result<bool> agreed = vote.propose();
    if (!agreed.isOk()) return agreed.status();
    if (agreed.value()) break;
  }
  if (color < 0) return std::unique_ptr<Communicator>();
  auto made = std::make_unique<Communicator>(world_, vote.context(), vote.members());
  made->collectives().inheritLinks(collectives().measuredLinks(), group());
  return made;
}

} // namespace goss
