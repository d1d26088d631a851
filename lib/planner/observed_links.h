/// What large transfers tell of the paths between ranks, and the prices that follow from it.
#ifndef GOSS_LIB_PLANNER_OBSERVED_LINKS_H_
#define GOSS_LIB_PLANNER_OBSERVED_LINKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/links.h"

namespace goss {

/// Whether the paths among so many ranks, or hosts, are measured: two have only one, and of more than sixteen few could
/// be measured alone, nor would a control message hold the rates of all.
constexpr bool areMeasured(int ranks) { return ranks >= 3 && ranks <= 16; }

/// What one rank has sent to another while some calls ran.
struct ObservedFlow {
  std::uint64_t bytes = 0; ///< Acknowledged by the receiver's system.
  double busy_s = 0;       ///< While bytes were sent or unacknowledged. 0: nothing is known.
};

/// Rates of all paths of a communicator. A value; not thread-safe.
class ObservedLinks {
 public:
  explicit ObservedLinks(int size);

  /// What all ranks have sent at about the same time: `flows` of rank 0 to all ranks, then of rank 1, and so on.
  /// `before` has the latencies. Until age() the highest rate of a path counts, because a flow beside others gets less
  /// of a line than alone.
  void add(const std::vector<ObservedFlow>& flows, const schedule::Links& before);
  /// What was observed so far is old: the next observation of a path or line replaces it.
  void age();

  /// Rates of paths and lines as bytes for other ranks, three digits each. Where latencies are alike, rates that differ
  /// no more than those of connections that share a line are made equal, because the planner paces flows over equal
  /// lines alone. Empty: not every path is known.
  [[nodiscard]] std::string encode(const schedule::Links& before) const;
  /// `before` with the rates that encode() returned. nullopt: the bytes are malformed or of another number of ranks.
  static std::optional<schedule::Links> decode(std::string_view bytes, const schedule::Links& before);

 private:
  /// A rate in bytes a second; 0: not known.
  struct Rate {
    double bytes_per_s = 0;
    bool old = false;
    void observe(double rate);
  };

  struct Rates {
    std::vector<double> pairs; ///< As pairs_.
    std::vector<double> ups;
    std::vector<double> downs; ///< 0: no line, or it is not known; so is the one above.
  };

  [[nodiscard]] static bool evenOut(Rates& rates, const schedule::Links& before);
  [[nodiscard]] std::size_t cell(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(to);
  }
  void addLine(const std::vector<ObservedFlow>& flows, int rank, bool up);
  [[nodiscard]] double fastestOf(int rank, bool up) const;
  [[nodiscard]] double sumOf(int rank, bool up) const;
  [[nodiscard]] double sharedLine(int rank, bool up) const;
  [[nodiscard]] bool differ() const;
  [[nodiscard]] Rates rates() const;

  int size_;
  std::vector<Rate> pairs_;
  std::vector<Rate> up_; ///< All paths out of a rank together, where several were busy; so is the next into it.
  std::vector<Rate> down_;
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_OBSERVED_LINKS_H_
