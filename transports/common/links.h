/// The links of a transport that has one to each peer.
#ifndef GOSS_TRANSPORTS_COMMON_LINKS_H_
#define GOSS_TRANSPORTS_COMMON_LINKS_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/deferred.h"
#include "transports/common/errors.h"

namespace goss::transports {

/// Forwards what Transport asks of one peer to that peer's `Link`, or to Deferred while the link is not ready. A Link
/// has peer(), state(), error(), send(), cancel() of both kinds of operations, matcher(), discard() and hasWork(), as
/// Transport has them. One thread.
template <typename Link>
class Links {
 public:
  /// Adds the next peer's link, made of `arguments`.
  template <typename... Arguments>
  void add(Arguments&&... arguments) {
    links_.push_back(std::make_unique<Link>(static_cast<int>(links_.size()), std::forward<Arguments>(arguments)...));
  }
  /// Adds the links of `peers` peers, each made of `argument` and deferred(), when the first of them is needed: a
  /// transport that reaches no peer needs none.
  template <typename Argument>
  void addWhenNeeded(int peers, Argument argument) {
    add_ = [this, peers, argument] {
      for (int peer = 0; peer < peers; ++peer)
        add(argument, deferred_);
    };
  }
  /// The link of `peer`. The first call makes the links that addWhenNeeded() has put off.
  [[nodiscard]] Link& getOrMake(int peer) {
    if (links_.empty()) add_();
    return *links_[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] const Link& getOrMake(int peer) const {
    if (links_.empty()) add_();
    return *links_[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] std::size_t size() const { return links_.size(); }
  [[nodiscard]] auto begin() const { return links_.begin(); }
  [[nodiscard]] auto end() const { return links_.end(); }
  /// Keeps operations that fail when they are posted. Outlives the links.
  [[nodiscard]] Deferred& deferred() { return deferred_; }

  /// As Transport::send of the transport `name`; `more` is for Link::send.
  template <typename... More>
  bool send(SendOperation& operation, std::string_view name, More... more) {
    Link& link = getOrMake(operation.peer);
    operation.hook.cursor = 0;
    operation.hook.extra = 0;
    const LinkState state = link.state();
    if (state != LinkState::ready) {
      deferred_.add(operation, state == LinkState::failed ? link.error() : notConnectedError(link.peer(), name));
      return false;
    }
    link.matcher().statistics().countSent(operation.bytes);
    return link.send(operation, more...);
  }
  void recv(RecvOperation& operation) { getOrMake(operation.peer).matcher().post(operation); }
  template <typename Operation>
  void cancel(Operation& operation) {
    deferred_.cancel(operation);
    getOrMake(operation.peer).cancel(operation);
  }
  void discard(Tag mask, Tag value) {
    for (auto& link : links_)
      link->discard(mask, value);
  }
  [[nodiscard]] PeerStatistics statistics(int peer) const { return getOrMake(peer).matcher().statistics(); }
  [[nodiscard]] bool peek(int peer, Tag mask, Tag value, Arrived& found) const {
    return getOrMake(peer).matcher().peek(mask, value, found);
  }

  /// Completes operations that failed when they were posted; called out of progress(). Returns whether there was one.
  bool drain() { return deferred_.drain(); }
  [[nodiscard]] bool hasWork() const {
    return !deferred_.empty() ||
           std::any_of(links_.begin(), links_.end(), [](const auto& link) { return link->hasWork(); });
  }

 private:
  Deferred deferred_;
  std::vector<std::unique_ptr<Link>> links_; ///< By peer.
  std::function<void()> add_;                ///< Of addWhenNeeded().
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_LINKS_H_
