#include "planner/processor_share.h"

#include <algorithm>
#include <cstddef>

namespace goss {

namespace {

/// Gives each rank a processor of its own. A rank that finds all of its processors taken makes an owner move to another
/// one, which may make a third move, and so on: when no such chain ends at a free processor, no assignment serves all
/// ranks.
class Assignment {
 public:
  explicit Assignment(const std::vector<std::string_view>& usable) : usable_(usable) {
    for (const std::string_view set : usable)
      owner_.resize(std::max(owner_.size(), set.size() * 8), kNobody);
  }

  bool serve(std::size_t rank) {
    reached_.assign(owner_.size(), kNobody);
    std::vector<std::size_t> askers{rank};
    while (!askers.empty()) {
      const std::size_t asker = askers.back();
      askers.pop_back();
      for (std::size_t processor = 0; processor < usable_[asker].size() * 8; ++processor) {
        if (reached_[processor] != kNobody || !mayUse(asker, processor)) continue;
        reached_[processor] = asker;
        if (owner_[processor] == kNobody) {
          moveAlong(processor, rank);
          return true;
        }
        askers.push_back(owner_[processor]);
      }
    }
    return false;
  }

  [[nodiscard]] std::size_t processors() const {
    std::size_t count = 0;
    for (std::size_t processor = 0; processor < owner_.size(); ++processor) {
      std::size_t rank = 0;
      while (rank < usable_.size() && !mayUse(rank, processor))
        ++rank;
      if (rank < usable_.size()) ++count;
    }
    return count;
  }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};

  [[nodiscard]] bool mayUse(std::size_t rank, std::size_t processor) const {
    const std::string_view set = usable_[rank];
    return processor / 8 < set.size() && (static_cast<unsigned char>(set[processor / 8]) >> processor % 8 & 1) != 0;
  }

  /// Every rank of the chain takes the processor that it has reached, and leaves its own to the rank before it.
  void moveAlong(std::size_t processor, std::size_t first) {
    for (;;) {
      const std::size_t asker = reached_[processor];
      const auto left = std::find(owner_.begin(), owner_.end(), asker);
      owner_[processor] = asker;
      if (asker == first) return;
      processor = static_cast<std::size_t>(left - owner_.begin());
    }
  }

  const std::vector<std::string_view>& usable_;
  std::vector<std::size_t> owner_;   ///< By processor: the rank that owns it.
  std::vector<std::size_t> reached_; ///< By processor: the rank that asked for it first.
};

} // namespace

ProcessorShare shareOfProcessors(const std::vector<std::string_view>& usable) {
  Assignment assignment(usable);
  const std::size_t processors = assignment.processors();
  ProcessorShare share;
  share.ranks_per_processor =
      static_cast<double>(usable.size()) / static_cast<double>(std::max<std::size_t>(1, processors));
  share.oversubscribed = usable.size() > processors;
  for (std::size_t rank = 0; rank < usable.size() && !share.oversubscribed; ++rank)
    share.oversubscribed = !assignment.serve(rank);
  return share;
}

ProcessorShare shareOfProcessors(const std::vector<PeerCard>& cards, std::string_view host) {
  std::vector<std::string_view> usable;
  for (const PeerCard& card : cards) {
    if (card.host == host) usable.push_back(card.processors);
  }
  return shareOfProcessors(usable);
}

} // namespace goss
