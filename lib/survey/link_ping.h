/// Round trips of small messages to other ranks.
#ifndef GOSS_LIB_SURVEY_LINK_PING_H_
#define GOSS_LIB_SURVEY_LINK_PING_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

#include "communicator/communicator.h"

namespace goss {

/// A round trip to another rank.
struct RoundTrip {
  double shortest_s = 0; ///< > 0; both ranks of a pair have the same.
  double spread = 0;     ///< Longest less shortest, over the shortest; 0 where the other rank has measured.
};

/// In each pair of ranks the lower one sends questions and measures how long the answers take; the higher one answers,
/// and gets the result at the end. A LinkPing runs once. Not thread-safe; `communicator` must carry no other messages.
/// A LinkPing that ends early aborts `communicator`, because messages may use its memory, and other ranks wait for it.
class LinkPing {
 public:
  LinkPing(Communicator& communicator, std::int64_t timeout_ms)
      : communicator_(communicator), timeout_ms_(timeout_ms) {}
  ~LinkPing();
  LinkPing(const LinkPing&) = delete;
  LinkPing& operator=(const LinkPing&) = delete;

  /// Exchanges `count` messages with each of `peers` at the same time. Each of them must call run() too, with this rank
  /// among its peers and the same `count`, which is at least two, because the first question may wait until the peer
  /// calls; the spread leaves it out. Returns the round trips in the order of `peers`.
  Result<std::vector<RoundTrip>> run(const std::vector<int>& peers, int count);

 private:
  using Clock = std::chrono::steady_clock;

  struct Partner {
    int rank = -1;
    int asked = 0;
    Clock::time_point asked_at;
    double best_s = 0;  ///< 0: no round trip yet.
    double worst_s = 0; ///< The longest but for the first.
    double word_s = 0;  ///< The message's contents: the result, or 0 in a question and an answer.
    double heard_s = 0;
    Operation* send = nullptr;
    Operation* receive = nullptr;
  };

  [[nodiscard]] bool asks(const Partner& partner) const { return communicator_.rank() < partner.rank; }
  Result<std::vector<RoundTrip>> exchange(const std::vector<int>& peers, int count);
  Status say(Partner& partner, double word_s);
  Status ask(Partner& partner);
  Status listen(Partner& partner);
  Status heard(Partner& partner, int count);
  Status finish(Operation*& operation);

  Communicator& communicator_;
  const std::int64_t timeout_ms_;
  std::deque<Partner> partners_; ///< Messages point into them.
};

} // namespace goss

#endif // GOSS_LIB_SURVEY_LINK_PING_H_
