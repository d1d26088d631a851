/// Rates of the paths between ranks, observed in large transfers, and the link prices that follow from them.
#ifndef GOSS_LIB_PLANNER_OBSERVED_LINKS_H_
#define GOSS_LIB_PLANNER_OBSERVED_LINKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/links.h"

namespace goss {

/// Whether the library measures the paths among so many ranks, or hosts. Two have only one path. Among more than
/// sixteen few paths could be measured alone, and a control message could not hold the rates of all.
constexpr bool areMeasured(int ranks) { return ranks >= 3 && ranks <= 16; }

/// What one rank has sent to another while some calls ran.
struct ObservedFlow {
  std::uint64_t bytes = 0; ///< Bytes that the receiver's system has acknowledged.
  double busy_s = 0;       ///< Seconds in which bytes were sent or unacknowledged; 0: unknown.
  /// The median of what the sender's system saw at the ends of the calls (PathUse::last_rate_bytes_per_s); 0: unknown.
  double seen_bytes_per_s = 0;
};

/// The rates of all paths of a communicator. A value; not thread-safe.
class ObservedLinks {
 public:
  explicit ObservedLinks(int size);

  /// Adds what all ranks have sent at about the same time: `flows` holds the flows of rank 0 to all ranks, then those
  /// of rank 1, and so on. `before` has the latencies. A path keeps its highest rate until age(), because a flow gets
  /// less of a line beside other flows than alone.
  void add(const std::vector<ObservedFlow>& flows, const schedule::Links& before);
  /// Marks all rates as old: the next observation of a path or line replaces its rate, also by a lower one.
  void age();

  /// Encodes the rates of paths and lines for other ranks, three digits each. Where latencies are alike, rates become
  /// equal that differ no more than those of connections which share a line, because the planner paces flows over equal
  /// lines alone. Empty: the rate of some path is unknown.
  [[nodiscard]] std::string encode(const schedule::Links& before) const;
  /// As encode(), with the rates of these prices, in which each rank is a node.
  [[nodiscard]] static std::string encodePrices(const schedule::Links& prices);
  /// Returns `before` with the rates that encode() wrote. nullopt: the bytes are malformed, or of another number of
  /// ranks.
  static std::optional<schedule::Links> decode(std::string_view bytes, const schedule::Links& before);

 private:
  /// The rate of a path or line.
  struct Rate {
    double bytes_per_s = 0; ///< 0: unknown.
    bool old = false;
    void observe(double rate);
  };

  struct Rates {
    std::vector<double> pairs; ///< By pair, in the order of pairs_.
    std::vector<double> ups;   ///< By rank: its line to the others; 0: it has none, or the rate is unknown.
    std::vector<double> downs; ///< By rank: its line from the others; 0: it has none, or the rate is unknown.
  };

  [[nodiscard]] static bool evenOut(Rates& rates, const schedule::Links& before);
  [[nodiscard]] std::size_t pairIndex(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(to);
  }
  void addLine(const std::vector<ObservedFlow>& flows, int rank, bool up);
  [[nodiscard]] double fastestOf(int rank, bool up) const;
  [[nodiscard]] double sumOf(int rank, bool up) const;
  [[nodiscard]] double sharedLine(int rank, bool up) const;
  [[nodiscard]] bool differ() const;
  [[nodiscard]] Rates rates() const;

  int size_;
  std::vector<Rate> pairs_; ///< By sender, then by receiver.
  std::vector<Rate> up_;    ///< By rank: all paths out of it together, while several were busy.
  std::vector<Rate> down_;  ///< By rank: all paths into it together, while several were busy.
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_OBSERVED_LINKS_H_
