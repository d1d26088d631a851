/// Decides how a communicator runs each collective: the cheapest legal plan over its links, remembered by size class.
#ifndef GOSS_LIB_PLANNER_PLANNER_H_
#define GOSS_LIB_PLANNER_PLANNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "call/codec_pair.h"
#include "gossamer/algorithm.h"
#include "planner/candidates.h"
#include "schedule/links.h"

namespace goss {

/// The properties of a call on which its plan depends. All ranks of a call must pass equal keys.
struct PlanKey {
  Collective collective = Collective::allReduce;
  /// Elements of the vector; for all_gather, reduce_scatter, all_to_all, gather and scatter of one rank's block, or
  /// when uneven of all ranks' blocks together (0 where no rank knows that).
  std::uint64_t count = 0;
  std::uint32_t element_bytes = 1;
  int root = 0;                      ///< 0 or -1 for collectives without root.
  bool uneven = false;               ///< v-variant.
  std::string_view algorithm;        ///< Empty: the planner's choice, else this one.
  const CodecPair* codecs = nullptr; ///< Null: the call is not compressed.
  /// Neighbour collectives: the rank's own, the only thing in which keys of ranks may differ.
  const Neighborhood* neighborhood = nullptr;
};

/// How to run a collective: bind `schedule` with schedule::Layout, whose Shape gets `weights`, once for each of
/// `fragments`, and keep `window` of them in flight. Immutable; valid without the planner.
struct Plan {
  std::shared_ptr<const Schedule> schedule;
  std::uint32_t fragments = 1;
  std::uint32_t window = 1;
  std::vector<double> weights; ///< Shape::weights; empty: equal chunks.
  std::string algorithm;
  /// Hash of all that ranks must have planned alike: the algorithm's name and the candidate's parameters, but for the
  /// window, which each rank may choose.
  std::uint64_t hash = 0;
  bool on_board = false;              ///< Calls that fit run over boards instead (boards/board_channel.h).
  std::uint64_t pace_bytes_per_s = 0; ///< Pace to each peer; 0: unlimited.
  double predicted_s = 0;             ///< Price for the middle of the size class.
};

/// What the user wants of every plan; an algorithm that a call names wins over these.
struct Preferences {
  std::string algorithm = {}; ///< GOSS_ALGORITHM; "": none. Ignored by collectives that have no such algorithm.
  /// GOSS_FRAGMENT_BYTES: buffers are cut into parts of about this size; 0: the planner decides.
  std::uint64_t fragment_bytes = 0;
  /// The algorithm that is taken where its price is within 3 % of the least; "": the catalogue's order decides.
  std::string among_equals = {};
  bool in_turns = false; ///< Ranks share processors, which prices do not know: algorithmWhenOversubscribed() decides.
};

/// One per communicator; calls must be serialised by its owner. Ranks that construct it from equal links and
/// algorithms, and ask with equal keys, get matching plans without communicating.
class Planner {
 public:
  /// The model is no more accurate than this: among prices so close the catalogue's order decides, with simple
  /// algorithms first.
  static constexpr double kAsGood = 1.03;

  /// `links` are the prices between all ranks. `catalogue` must outlive the planner; its order decides between prices
  /// within 3 %. `board_bytes`: what a rank may write on a board that all ranks see; 0: there is none, and the
  /// algorithm "flat" must be asked for by name.
  Planner(int rank, schedule::Links links, const Catalogue& catalogue, Preferences preferred = {},
          std::uint64_t board_bytes = 0);

  [[nodiscard]] int size() const { return links_.size(); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const schedule::Links& links() const { return links_; }

  /// From now on plans use only `links`, which are of as many ranks; older plans stay valid.
  void useLinks(schedule::Links links);

  /// Calls of one size class share a plan, so this is one hash look-up after the first. The first takes a bounded time:
  /// some milliseconds for up to eight ranks, and at most about as much for thousands where all links are alike and
  /// short, and no port is faster than a flow; else up to some tenths of a second for hundreds. Errors: invalidArgument
  /// when the name is unknown or cannot do this call (the text lists what can); unsupported when nothing can.
  Result<std::shared_ptr<const Plan>> plan(const PlanKey& key);

  /// The question of the key, with `bytes` in place of its count.
  [[nodiscard]] Question questionOf(const PlanKey& key, std::uint64_t bytes) const;
  /// What plan() takes for the key, before cutAsPreferred(): the choice for the key's size class, with the quick price
  /// for the middle of that class. Errors: as plan().
  [[nodiscard]] Result<Candidate> choice(const PlanKey& key);
  /// The candidates from which plan() chooses, in catalogue order, priced thoroughly for exactly the key's bytes.
  /// Errors: as plan().
  [[nodiscard]] Result<std::vector<Candidate>> candidates(const PlanKey& key) const;
  /// The index of the first candidate that costs at most 3 % more than the least. `candidates` is not empty.
  [[nodiscard]] static std::size_t cheapest(const std::vector<Candidate>& candidates,
                                            std::string_view among_equals = {});
  /// The algorithm that Preferences::in_turns requires for the key; "": none.
  [[nodiscard]] std::string_view algorithmWhenOversubscribed(const PlanKey& key, std::uint64_t bytes) const;
  /// Cuts the candidate that plan() takes into fragments of Preferences::fragment_bytes; its price stays the earlier
  /// one.
  void cutAsPreferred(Candidate& candidate, const Question& question) const;

 private:
  struct CacheKey {
    std::uint64_t packed = 0; ///< Collective, uneven, size class, root.
    std::uint64_t codecs = 0; ///< Hash, with the size of elements; 0: none.
    std::string algorithm;
  };
  struct CacheKeyView {
    std::uint64_t packed = 0;
    std::uint64_t codecs = 0;
    std::string_view algorithm;
  };
  struct CacheHash {
    using is_transparent = void;
    template <typename Key>
    std::size_t operator()(const Key& key) const {
      const std::size_t name = key.algorithm.empty() ? 0 : std::hash<std::string_view>()(key.algorithm);
      return static_cast<std::size_t>((key.packed ^ key.codecs) * 0x9e3779b97f4a7c15u) ^ name;
    }
  };
  struct CacheEqual {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.packed == b.packed && a.codecs == b.codecs &&
             std::string_view(a.algorithm) == std::string_view(b.algorithm);
    }
  };
  template <typename Value>
  using Cache = std::unordered_map<CacheKey, Value, CacheHash, CacheEqual>;

  Result<std::shared_ptr<const Plan>> planAmongNeighbors(const PlanKey& key, std::uint32_t size_class,
                                                         std::uint64_t packed);
  [[nodiscard]] std::shared_ptr<const Schedule> scheduleOf(const Question& question, const Candidate& candidate);
  Result<const Candidate*> choose(const PlanKey& key, std::uint32_t size_class);
  [[nodiscard]] Result<std::vector<Candidate>> priced(const PlanKey& key, std::uint64_t bytes, Effort effort,
                                                      PriceMemo* memo) const;
  [[nodiscard]] std::size_t indexOfTaken(const std::vector<Candidate>& candidates, const PlanKey& key,
                                         std::uint64_t bytes) const;
  void keepTaken(std::vector<const Algorithm*>& algorithms, bool board_offered, const PlanKey& key,
                 std::uint64_t bytes) const;
  [[nodiscard]] bool fitsBoard(const PlanKey& key) const;
  /// The complaint about the algorithm `name`, and those to use instead.
  [[nodiscard]] Status refuse(const PlanKey& key, std::string_view name, const std::string& complaint) const;
  Result<std::string_view> nameFor(const PlanKey& key) const;

  int rank_;
  schedule::Links links_;
  const Catalogue& catalogue_;
  Preferences preferred_;
  std::uint64_t board_bytes_;
  bool uniform_;
  PriceMemo memo_; ///< The prices that were simulated over links_.
  Cache<std::shared_ptr<const Plan>> plans_;
  /// Plans of neighbour collectives, by a key in which `codecs` is mixed with a hash of the neighbours.
  Cache<std::shared_ptr<const Plan>> neighbor_plans_;
  /// By algorithm, blocks, group size, root, and whether blocks of ranks differ.
  std::map<std::tuple<const Algorithm*, std::uint32_t, int, int, bool>, std::shared_ptr<const Schedule>> schedules_;
  Cache<Candidate> choices_; ///< The key has no root where ranks are interchangeable.
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_PLANNER_H_
