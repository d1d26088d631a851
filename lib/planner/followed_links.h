/// Prices of links that were measured once, and follow what flows carry later.
#ifndef GOSS_LIB_PLANNER_FOLLOWED_LINKS_H_
#define GOSS_LIB_PLANNER_FOLLOWED_LINKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/observed_links.h"
#include "schedule/links.h"

namespace goss {

/// The rate of a flow is not the capacity of its path: the flow shares lines with others, and waits for its program.
/// But while one plan runs again and again, each flow is about as fast as before. So the price of a path changes by the
/// factor by which its flow changes. A value; not thread-safe.
class FollowedLinks {
 public:
  explicit FollowedLinks(const schedule::Links& measured);

  /// Adds what all ranks have sent while the calls of one stretch ran, all by one plan: `flows` holds the flows of rank
  /// 0 to all ranks, then those of rank 1, and so on. Returns whether prices have changed.
  bool observe(const std::vector<ObservedFlow>& flows);
  /// As observe(), while the calls ran by a plan on trial: tells only of paths that the plan in use does not use.
  void observeOthers(const std::vector<ObservedFlow>& flows);
  /// Calls run by another plan from now on, in which other flows share lines.
  void forgetFlows();
  /// From now on prices are `prices`, of as many ranks.
  void use(const schedule::Links& prices);

  /// ObservedLinks::decode() understands it. Empty: the prices are those that were measured.
  [[nodiscard]] std::string encode() const;
  /// As encode(), with all rates times `factor`.
  [[nodiscard]] std::string encodeTimes(double factor) const;
  /// Whether a path has become slower, and the last observe() had too few bytes on it to tell whether it still is.
  [[nodiscard]] bool hidesRates() const { return hides_rates_; }

 private:
  /// How fast a flow was, by two measures; 0: not known.
  struct Speed {
    double carried = 0; ///< Bytes over the time in which there were some to send.
    double seen = 0;    ///< ObservedFlow::seen_bytes_per_s.
  };
  struct Line {
    double measured = 0; ///< The rate when the links were measured; 0: there is none.
    double now = 0;
  };

  [[nodiscard]] std::size_t pairIndex(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(to);
  }
  [[nodiscard]] static Speed speedOf(const ObservedFlow& flow);
  [[nodiscard]] static std::optional<double> factorOf(const Speed& now, const Speed& usual);
  [[nodiscard]] std::optional<double> factorOfNew(const std::vector<Speed>& speeds, int from, int to) const;
  bool change(const std::vector<std::optional<double>>& factors, const std::vector<Speed>& speeds);
  void spreadOverLines(std::vector<std::optional<double>>& factors);
  [[nodiscard]] std::optional<double> factorOfAll(const std::vector<std::optional<double>>& factors, int rank, bool up,
                                                  std::size_t least) const;
  [[nodiscard]] schedule::Links prices(double factor) const;

  int size_;
  schedule::Links measured_;
  std::vector<Line> pairs_;   ///< By sender, then by receiver.
  std::vector<Line> up_;      ///< By rank: its line to the others.
  std::vector<Line> down_;    ///< By rank: its line from the others.
  std::vector<Speed> usual_;  ///< By sender, then by receiver: flows by the plan in use, at the prices of now.
  bool is_first_plan_ = true; ///< It ran when the prices had just been measured.
  bool hides_rates_ = false;
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_FOLLOWED_LINKS_H_
