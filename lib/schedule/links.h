/// The costs of moving and combining bytes between the ranks of a communicator: all that the planner and the simulator
/// know of the network. A link file (docs/formats.md, "Link files") is the same as text.
#ifndef GOSS_LIB_SCHEDULE_LINKS_H_
#define GOSS_LIB_SCHEDULE_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss::schedule {

/// The price of messages of an ordered pair of ranks.
struct LinkPrice {
  double latency_s = 0.6e-6;           ///< From the start of a message until its first byte arrives.
  double bandwidth_bytes_per_s = 10e9; ///< Bandwidth of one flow; > 0.
  double overhead_s = 0.1e-6;          ///< Time in which the sender can start nothing else on this port.
  double eager_bytes = 1 << 20;        ///< Messages up to this size set off before the receive is posted.
  double sender_bytes_per_s = 0; ///< Rate at which the sender's processor moves messages, busy meanwhile; 0: not busy.
  friend bool operator==(const LinkPrice&, const LinkPrice&) = default;
};

/// Rates of the port that all messages into and out of a node share. 0: no shared port; each rank has a port as fast as
/// its pairs.
struct NodePrice {
  double up_bytes_per_s = 0;
  double down_bytes_per_s = 0;
  friend bool operator==(const NodePrice&, const NodePrice&) = default;
};

/// Speeds at which a rank's processor works on bytes. 0: costs no time.
struct CpuPrice {
  double reduce_bytes_per_s = 14e9;
  double copy_bytes_per_s = 10e9;
  friend bool operator==(const CpuPrice&, const CpuPrice&) = default;
};

/// A value; const access is thread-safe. All ranks of a communicator must hold equal Links, because each plans by
/// itself; ranks with other Links make other plans, and the first message then fails with a mismatch.
class Links {
 public:
  /// Every rank is a node of its own and all pairs cost `all`.
  explicit Links(int size, LinkPrice all = {}, CpuPrice cpu = {});

  /// Reads a link file for `size` ranks. Errors: invalidArgument naming line and reason.
  static Result<Links> parse(std::string_view text, int size);
  /// Measured or published prices of a kind of network: loopback (threads of one process), shm, ucx, tcp, tls (one
  /// host), ib100, lan10g, wan. Errors: invalidArgument listing the names.
  static Result<Links> builtIn(std::string_view name, int size);

  [[nodiscard]] int size() const { return static_cast<int>(node_of_rank_.size()); }
  [[nodiscard]] const LinkPrice& price(int from, int to) const {
    return hasOnePrice() ? prices_[0] : prices_[price_of_kinds_[pairIndex(from, to)]];
  }
  [[nodiscard]] const CpuPrice& cpu() const { return cpu_; }
  /// Nodes are numbered from 0 in the order in which their ranks were set; see setNode.
  [[nodiscard]] int nodeOf(int rank) const { return node_of_rank_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int nodeCount() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] const NodePrice& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  /// Whether all pairs cost the same and no two ranks share a node or have different ports: ranks are interchangeable.
  [[nodiscard]] bool uniform() const;
  /// The number of ranks after which the links repeat: 1 where they are uniform(); nodeSize() where pairs within a node
  /// all cost the same, so do pairs of ranks of two nodes, and nodes do; else size().
  [[nodiscard]] int period() const;
  /// Ranks per node when nodes hold consecutive ranks and equally many, more than one and not all; else 0.
  [[nodiscard]] int nodeSize() const;

  /// Whether all pairs still cost what they cost at first, so that no look at each of them is needed to know it.
  [[nodiscard]] bool hasOnePrice() const { return price_of_kinds_.empty(); }
  /// Ranks, ascending, whose pairs include one of every price: two ranks of each node and kind (setPrices()), or its
  /// only one. All ranks once setPrice() has set a price.
  [[nodiscard]] std::vector<int> representatives() const;

  /// Sets all prices. Ranks of one kind cost the same to and from all others, whatever nodes these are on. Kinds are
  /// numbered from 0, and each has a rank. Calls `price_of` for one pair of ranks of every two kinds, and for two ranks
  /// of every kind that has two. O(ranks + kinds^2) in time and memory.
  void setPrices(const std::vector<int>& kind_of_rank, const std::function<LinkPrice(int from, int to)>& price_of);
  void setPrice(int from, int to, const LinkPrice& price);
  void setAll(const LinkPrice& price);
  void setCpu(const CpuPrice& cpu) { cpu_ = cpu; }
  /// Puts `ranks` on one new node. Nodes that become empty stay, without meaning.
  void setNode(std::span<const int> ranks, const NodePrice& price);

  /// The prices among `ranks`, renumbered 0..n-1 in this order: what a sub-communicator plans with.
  [[nodiscard]] Links subset(std::span<const int> ranks) const;
  /// The lowest rank of each node, ascending.
  [[nodiscard]] std::vector<int> firstOfNodes() const;
  /// A copy in which ranks of different nodes pay what `between` says, and nodes have its ports: its rank i stands for
  /// the node of firstOfNodes()[i]. Prices within a node stay; cpu() is that of `between`.
  [[nodiscard]] Links withNodes(const Links& between) const;

 private:
  [[nodiscard]] std::size_t pairIndex(int from, int to) const {
    return kind_of_rank_[static_cast<std::size_t>(from)] * kinds_ + kind_of_rank_[static_cast<std::size_t>(to)];
  }
  [[nodiscard]] std::uint32_t indexOf(const LinkPrice& price);
  void separateKinds();

  std::vector<LinkPrice> prices_; ///< 0 is what all pairs cost at first; neighbours differ.
  /// Index into prices_, by the kinds of both ranks; empty while all pairs cost prices_[0].
  std::vector<std::uint32_t> price_of_kinds_;
  std::vector<std::size_t> kind_of_rank_; ///< Empty like price_of_kinds_.
  std::size_t kinds_ = 1;
  std::vector<int> node_of_rank_;
  std::vector<NodePrice> nodes_;
  CpuPrice cpu_;
};

/// Names that Links::builtIn() knows, in order of speed.
[[nodiscard]] std::span<const std::string_view> builtInLinkNames();

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_LINKS_H_
