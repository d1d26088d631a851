/// The algorithm seam: a pure function from (collective, ranks, rank, parameters) to a Schedule.
#ifndef GOSSAMER_ALGORITHM_H_
#define GOSSAMER_ALGORITHM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossamer/schedule.h"

namespace goss {

/// What a schedule is asked for. It holds no sizes, except the number of blocks into which a pipelined algorithm cuts
/// the vector.
struct PlanRequest {
  Collective collective = Collective::allReduce;
  int size = 1;
  int rank = 0;
  int root = 0;
  Partition partition = Partition::even; ///< byRank for all_gather, reduce_scatter, all_to_all, gather, scatter.
  /// v-variant: the blocks of the ranks differ; in all_to_all a rank knows only the sizes of its own.
  bool uneven = false;
  std::uint32_t blocks = 1;                   ///< Blocks of a block-pipelined algorithm (trees, circulant broadcast).
  std::vector<int> order;                     ///< Ring order of the ranks; empty: 0..size-1.
  int group_size = 0;                         ///< Two-level algorithms: consecutive ranks per group; 0: not given.
  const Neighborhood* neighborhood = nullptr; ///< Neighbour collectives: the rank's neighbours.
};

/// Facts that the checker proves.
struct AlgorithmTraits {
  bool identical_bits = true; ///< All ranks end with the same bits.
  bool pipelined = false;     ///< Uses PlanRequest::blocks.
  bool takes_order = false;   ///< Uses PlanRequest::order.
  bool takes_group = false;   ///< Uses PlanRequest::group_size, L.
  /// Needs exactly two groups of L ranks; chunk i * L + j goes between rank i and rank L + j.
  bool pairs_groups = false;
};

/// How the schedules of all ranks follow from those of the first `period` ranks. The ranks are blocks of `period`
/// consecutive ones, and rank i of block b has the steps, dependencies and numbers of chunks of rank i of block 0; the
/// peer in block c of a step is in block c + b, modulo the number of blocks, or in block c xor b. Which chunks a step
/// moves may differ. If `local` is above 1, each block consists of groups of `local` consecutive ranks, and rank j of a
/// group also has the steps of the group's first rank, with rank k + j (modulo `local`) of the peer's group in the
/// place of rank k.
struct Symmetry {
  int period = 0;            ///< Divides the number of ranks; 0: ranks do not follow from one another.
  bool exclusive_or = false; ///< Then the number of blocks is a power of two.
  int local = 1;             ///< Divides the period.
};

/// Which ranks send in a CostRound, and how far.
enum class Hops : std::uint8_t {
  unknown,  ///< Prices are simulated where links differ.
  shift,    ///< Each rank r sends message i, from 1, to rank r + i * distance, modulo the number of ranks.
  exchange, ///< As shift, but ranks exchange in pairs: r and r xor distance.
  tree,     ///< As shift, but only a few ranks send: those of one level of a tree.
  mixed,    ///< Each rank sends to the ranks r + 1, r + 2, r + 4 and so on, in turns.
  earlier,  ///< The messages go as far as those of the earlier rounds together.
};

/// A part of the longest path through the schedules of all ranks: messages of one size that pass one rank's port one
/// after the other. If all links have one price, or one price within nodes and one between them, the planner computes
/// the price from these rounds, without a schedule (planner/closed_form.h).
struct CostRound {
  double part = 1;         ///< Of a message: parts of the vector, or (Partition::byRank) blocks of one rank.
  int messages = 1;        ///< Messages that pass the port.
  std::uint32_t times = 1; ///< Number of equal rounds in a row.
  int sums = 0;            ///< Additions (or copies) by the receiver for each element that arrives.
  bool enters = false;     ///< The port is the receiver's: other ranks each send one of the messages.
  bool waits = true;       ///< The round begins when the messages of the round before have arrived; false: have left.
  Hops hops = Hops::unknown;
  int distance = 1; ///< In ranks; see Hops.
  int among = 0;    ///< Ranks exchange within groups of this many consecutive ranks; 0: among all ranks.
  int lanes = 1;    ///< Number of trees side by side, one for each of as many consecutive ranks; see Hops::tree.
};

/// Stateless, pure and safe for concurrent use.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  /// Unique among all algorithms of one collective, such as "ring" or "circulant-halving".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual AlgorithmTraits traits() const = 0;
  /// Whether plan() may be called; all ranks get the same answer.
  [[nodiscard]] virtual bool supports(const PlanRequest& request) const = 0;
  [[nodiscard]] virtual Schedule plan(const PlanRequest& request) const = 0;
  /// The symmetry of the schedules that plan() makes for all ranks; request.rank is ignored. With it the schedules of a
  /// few ranks suffice to simulate all ranks.
  [[nodiscard]] virtual Symmetry symmetry(const PlanRequest& /*request*/) const { return {}; }
  /// The longest path for the request; request.rank does not matter. Takes few steps for any number of ranks. Empty:
  /// the path is not known, and the planner simulates the price.
  [[nodiscard]] virtual std::vector<CostRound> rounds(const PlanRequest& /*request*/) const { return {}; }
  /// Elements that all ranks together send, by the documented formula, when chunk c has chunk_elems[c] elements
  /// (all_to_all: the size of every block to or from rank c).
  [[nodiscard]] virtual std::uint64_t wireElements(const PlanRequest& request,
                                                   std::span<const std::uint64_t> chunk_elems) const = 0;
};

/// An algorithm and the collective that it is for.
struct CatalogueEntry {
  Collective collective = Collective::allReduce;
  std::unique_ptr<const Algorithm> algorithm;
};

/// The algorithms that a planner may choose from. A value that its owner keeps and passes down. Immutable once made;
/// safe for concurrent use.
class Catalogue {
 public:
  explicit Catalogue(std::vector<CatalogueEntry> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] const std::vector<CatalogueEntry>& entries() const { return entries_; }
  /// All algorithms of one collective, in the order of the list.
  [[nodiscard]] std::vector<const Algorithm*> of(Collective collective) const {
    std::vector<const Algorithm*> found;
    for (const CatalogueEntry& entry : entries_) {
      if (entry.collective == collective) found.push_back(entry.algorithm.get());
    }
    return found;
  }
  /// The algorithm called `name`; nullptr: there is none.
  [[nodiscard]] const Algorithm* find(Collective collective, std::string_view name) const {
    for (const CatalogueEntry& entry : entries_) {
      if (entry.collective == collective && entry.algorithm->name() == name) return entry.algorithm.get();
    }
    return nullptr;
  }

 private:
  std::vector<CatalogueEntry> entries_;
};

} // namespace goss

#endif // GOSSAMER_ALGORITHM_H_
