/// The state that compressed and delayed communication keeps from one operation to the next: what error feedback has
/// lost, momenta that are residuals, replicas of neighbours, caches of samples. All of it is float32 vectors in one
/// place, so that it can be saved with a checkpoint, cut differently when the ranks change, and reset.
#ifndef GOSS_LIB_STATE_REFERENCE_STORE_H_
#define GOSS_LIB_STATE_REFERENCE_STORE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss {

/// To whom a state belongs. Values are part of the file format: never renumbered.
enum class ReferenceRole : std::uint8_t {
  worker = 0,    ///< What this rank's own encodes lost.
  server = 1,    ///< What the owner of a shard lost when it encoded the sum.
  momentum = 2,  ///< A momentum that is a residual (DGC, DeMo).
  velocity = 3,  ///< DGC's second accumulator.
  neighbour = 4, ///< This rank's copy of a neighbour's vector; id: the neighbour's peer id.
  sample = 5,    ///< Activations of a training sample; id: the sample.
  global = 6,    ///< A vector that all ranks hold equally (Cocktail's global model, PowerSGD's start matrix).
  draws = 7,     ///< One element without meaning: its version counts a tensor's operations (countUp()).
};
inline constexpr int kReferenceRoles = 8;

/// Elements are numbered within a tensor, never within a bucket or a rank's shard, because those change.
struct ReferenceKey {
  std::uint64_t tensor = 0;
  ReferenceRole role = ReferenceRole::worker;
  std::uint64_t id = 0; ///< Peer or sample; 0 where there is only one.
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 mistakes the comparisons that the compiler makes
  friend auto operator<=>(const ReferenceKey&, const ReferenceKey&) = default;
};

/// A half-open range of a tensor's elements.
struct ElementRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

/// One thread at a time. Every element of a key is stored at most once.
class ReferenceStore {
 public:
  /// The state of a range, zero where there was none. A range with other boundaries than before takes its elements out
  /// of the intervals that held them: opening all new shards re-shards. The span is valid until an overlapping range is
  /// opened or written, or the key is reset or imported. GOSS_ERR_INVALID_ARGUMENT for a range that ends beyond 2^64 -
  /// 1, GOSS_ERR_RESOURCE when memory runs out.
  Result<std::span<float>> open(const ReferenceKey& key, ElementRange range);

  /// Whether any element of the range has a state.
  [[nodiscard]] bool holds(const ReferenceKey& key, ElementRange range) const;
  /// Moves the state of the elements from `first` on to `into`, zero where there was none: it is kept elsewhere from
  /// now on.
  void take(const ReferenceKey& key, std::uint64_t first, std::span<float> into);

  /// Moves all intervals of the role that have this version to the same keys of `to`, which holds none of their
  /// elements.
  void move(ReferenceRole role, std::uint64_t version, ReferenceStore& to);

  /// Copies a range without changing the store; zero where there is no state. So a shard can be sent to its new owner.
  void read(const ReferenceKey& key, std::uint64_t first, std::span<float> out) const;

  /// A number that the owner of an interval increments, 0 at first. Differences carry it, because a lost difference
  /// would make replicas diverge for ever. nullopt unless exactly this interval exists.
  [[nodiscard]] std::optional<std::uint64_t> version(const ReferenceKey& key, ElementRange range) const;
  /// Sets the version; returns whether exactly this interval exists.
  bool setVersion(const ReferenceKey& key, ElementRange range, std::uint64_t version);

  /// How often countUp() was called for the tensor before: the number of an operation, for random streams that continue
  /// where they were after an import.
  std::uint64_t countUp(std::uint64_t tensor);

  /// Selects the state to forget: that of a tensor, of a role, of both, or of one id. Absent fields match everything.
  struct Filter {
    std::optional<std::uint64_t> tensor;
    std::optional<ReferenceRole> role;
    std::optional<std::uint64_t> id;
  };
  void reset(const Filter& filter);

  [[nodiscard]] std::size_t intervals() const;
  [[nodiscard]] std::uint64_t elements() const;

  /// The whole store as bytes (docs/formats.md); the same state gives the same bytes.
  [[nodiscard]] std::string exportAll() const;
  /// Replaces the store. GOSS_ERR_PROTOCOL for bytes that exportAll() did not write: then nothing has changed.
  Status importAll(std::string_view bytes);

 private:
  struct Interval {
    std::uint64_t version = 0;
    std::vector<float> values;
  };
  /// By first element; intervals of a key do not overlap.
  using Intervals = std::map<std::uint64_t, Interval>;

  static Result<std::map<ReferenceKey, Intervals>> parse(std::string_view bytes);
  static void carve(Intervals& intervals, ElementRange range, std::span<float> into);

  std::map<ReferenceKey, Intervals> keys_;
};

} // namespace goss

#endif // GOSS_LIB_STATE_REFERENCE_STORE_H_
