#include "messages/receive_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "call/tag.h"

namespace goss {

std::string describe(const Pattern& pattern) {
  const std::string source =
      pattern.source == GOSS_ANY_SOURCE ? std::string("any rank") : fmt::format("rank {}", pattern.source);
  return pattern.tag == GOSS_ANY_TAG ? source + ", any tag" : fmt::format("{}, tag {}", source, pattern.tag);
}

void ReceiveQueue::add(QueuedReceive& receive) {
  if (receive.place_ == 0) receive.place_ = ++places_;
  receive.queued_ = true;
  receive.source_ = -1;
  const auto behind = std::upper_bound(entries_.begin(), entries_.end(), receive.place_,
                                       [](std::uint64_t place, const QueuedReceive* e) { return place < e->place_; });
  entries_.insert(behind, &receive);
}

void ReceiveQueue::remove(QueuedReceive& receive) {
  receive.queued_ = false;
  std::erase(entries_, &receive);
}

/// Whether one of the first `before` entries may get a message that `pattern` accepts.
bool ReceiveQueue::mustWait(const Pattern& pattern, std::size_t before) const {
  return std::any_of(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(before),
                     [&](const QueuedReceive* e) { return e->takes() && e->pattern().overlaps(pattern); });
}

/// Whether the entry may be posted to its transport, because no entry before it may get its messages.
bool ReceiveQueue::isFree(std::size_t index) const {
  const QueuedReceive& receive = *entries_[index];
  return receive.takes() && !receive.pattern().isWild() && !mustWait(receive.pattern(), index);
}

Status ReceiveQueue::sourceStatus(const Pattern& pattern) const {
  if (pattern.source == group_.rank() || group_.size() == 1) return Status::ok();
  if (pattern.source != GOSS_ANY_SOURCE) return mesh_.linkStatus(group_.worldRank(pattern.source));
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank != group_.rank() && mesh_.linkStatus(group_.worldRank(rank)).isOk()) return Status::ok();
  }
  return Status::error(GOSS_ERR_PEER_LOST, "all other ranks have left: they destroyed their communicators or exited");
}

bool ReceiveQueue::sweepOnLoop() {
  for (QueuedReceive* receive : entries_)
    receive->giveBackOnLoop();
  bool any = false;
  for (std::size_t i = 0; i < entries_.size();) {
    QueuedReceive& receive = *entries_[i];
    const Pattern pattern = receive.pattern();
    goss_message found{};
    if (isFree(i)) {
      remove(receive);
      receive.takeOnLoop({pattern.source, pattern.tag, 0});
      any = true;
    } else if (const bool stays = receive.source_ >= 0 && peekOnLoop(receive.source_, pattern.tag, found);
               stays || findOnLoop(pattern, found)) {
      receive.source_ = found.source;
      next_ = receive.takes() ? found.source + 1 : found.source;
      receive.takeOnLoop(found);
      any = true;
    } else if (Status gone = sourceStatus(pattern); !gone.isOk()) {
      receive.giveUpOnLoop(gone);
      any = true;
    }
    if (i < entries_.size() && entries_[i] == &receive) ++i; // The receive may have matched its message at once.
  }
  return any;
}

bool ReceiveQueue::findOnLoop(const Pattern& pattern, goss_message& found) const {
  if (pattern.source != GOSS_ANY_SOURCE) return peekOnLoop(pattern.source, pattern.tag, found);
  const int size = group_.size();
  for (int i = 0; i < size; ++i) {
    if (peekOnLoop((next_ + i) % size, pattern.tag, found)) return true;
  }
  return false;
}

bool ReceiveQueue::peekOnLoop(int source, std::int32_t tag, goss_message& found) const {
  if (source == group_.rank()) return self_channel_.peekOnLoop(tag, found);
  const int peer = group_.worldRank(source);
  const Transport* transport = mesh_.transport(peer);
  const Tag mask = tag == GOSS_ANY_TAG ? ~kUserTagMask : ~Tag{0};
  const Tag value = pointToPointTag(context_, tag == GOSS_ANY_TAG ? 0 : tag);
  Arrived arrived;
  if (transport == nullptr || !transport->peek(peer, mask, value, arrived)) return false;
  found = {source, static_cast<std::int32_t>(arrived.tag & kUserTagMask), static_cast<std::size_t>(arrived.bytes)};
  return true;
}

std::vector<int> ReceiveQueue::sources(const Pattern& pattern) const {
  if (pattern.source != GOSS_ANY_SOURCE) return {pattern.source};
  std::vector<int> ranks;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank != group_.rank()) ranks.push_back(rank);
  }
  return ranks;
}

} // namespace goss
