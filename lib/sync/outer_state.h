/// The state that synchronizers of another grid of ranks have saved, by names of tensors.
#ifndef GOSS_LIB_SYNC_OUTER_STATE_H_
#define GOSS_LIB_SYNC_OUTER_STATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "gossamer/status.h"
#include "state/reference_store.h"

namespace goss::sync {

/// A range of a tensor's elements in the reference store of one rank.
struct FeedbackPiece {
  ReferenceRole role = ReferenceRole::worker;
  std::uint64_t first = 0;
  bool is_inherited = false;
  std::vector<float> values;
};

/// One tensor's part of the saved state. Vectors have as many elements as the tensor, or none where nothing was kept.
struct OuterTensor {
  std::uint64_t elements = 0;
  std::uint64_t rounds = 0;              ///< Number of rounds applied.
  std::vector<float> reference;          ///< The parameters on which the ranks last agreed.
  std::vector<std::vector<float>> outer; ///< The fragment's vectors, such as the outer momentum.
  std::vector<float> arrived;            ///< A mean that is not applied yet.
  std::vector<float> momentum;           ///< DeMo's momentum.
  std::uint64_t senders = 0;             ///< Ranks that may have lost something of the tensor.
  std::vector<FeedbackPiece> pieces;     ///< The losses of these ranks.

  /// The losses as vectors. Only for a tensor that find() returned, for which `elements` was checked.
  [[nodiscard]] std::map<ReferenceRole, std::vector<float>> feedback() const;
};

/// The merged state of all ranks that saved one. Ranks that hold the same tensor mostly hold the same numbers; where a
/// method lets them differ, their mean counts. An exchange that has arrived counts when all of them have it. The losses
/// of error feedback are spread evenly: every rank gets the mean of the ranks' losses, and all losses of shard owners,
/// which all ranks add to their next contribution. One thread.
class OuterState {
 public:
  /// Version of a slot of the reference store that no rank has used yet: a slot that stays unused, because another rank
  /// encodes those elements, does not count the next time.
  static constexpr std::uint64_t kInherited = 1;

  /// Reads what Synchronizer::exportState() wrote, from the table of tensors to the codecs. False when the bytes are
  /// malformed: then this object must be discarded.
  bool add(base::WireReader& reader);
  /// Called after the last add().
  void finish();
  /// The saved tensor. Null: no rank had a tensor of this name and length.
  [[nodiscard]] const OuterTensor* find(const std::string& name, std::size_t elements) const;
  /// Number of compressed exchanges of a vector so far: the position of random streams.
  [[nodiscard]] std::uint64_t draws() const { return draws_; }
  [[nodiscard]] bool hasFeedback() const { return has_feedback_; }
  /// Whether some state has no place in another grid: PowerSGD's factors, which belong to a matrix of all tensors of a
  /// fragment.
  [[nodiscard]] bool leavesBehind() const { return leaves_behind_; }

 private:
  struct Sum {
    std::uint64_t elements = 0;
    std::uint64_t holders = 0; // ranks that hold the reference
    std::uint64_t arrivals = 0;
    std::uint64_t rounds = 0;
    std::vector<double> reference, arrived;
    std::vector<std::vector<double>> outer;
    std::uint64_t learners = 0; // ranks that hold the momentum
    std::vector<double> momentum;
    std::uint64_t senders = 0;
    std::vector<FeedbackPiece> pieces;
  };
  /// The tensors of a vector that is exchanged, in its order.
  using Parts = std::vector<Sum*>;

  bool addTensors(base::WireReader& reader, Parts& tensors);
  static bool readParts(base::WireReader& reader, const Parts& tensors, Parts& parts);
  static bool addFragment(base::WireReader& reader, const Parts& parts);
  static bool addBucket(base::WireReader& reader, const Parts& parts);
  bool addCodecs(std::string_view bytes, const std::vector<Parts>& vectors);
  void addSlot(const ReferenceKey& key, const FeedbackPiece& slot, const std::vector<Parts>& vectors);

  std::map<std::string, Sum> sums_;
  std::map<std::string, OuterTensor> tensors_;
  std::uint64_t draws_ = 0;
  bool has_feedback_ = false;
  bool leaves_behind_ = false;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_OUTER_STATE_H_
