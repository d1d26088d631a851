/// How the ranks that are left agree on who they are. The protocol is written down in docs/shrink.md.
#ifndef GOSS_LIB_CORE_AGREEMENT_H_
#define GOSS_LIB_CORE_AGREEMENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss::core {

/// What a rank knows: who accuses whom of being gone, and the lowest number that the new communicator may have. It only
/// ever grows: merging is a union, and the larger number.
struct AgreementView {
  struct Accused {
    bool closed = false;             ///< Its connection ended, or it left: it is not merely silent.
    std::vector<std::uint64_t> from; ///< The accusers, a bit a rank.
    bool operator==(const Accused&) const = default;
  };
  std::uint32_t context = 0;
  std::map<int, Accused> accused;

  bool operator==(const AgreementView&) const = default;
  /// Returns whether this one has grown.
  bool merge(const AgreementView& other);
  void accuse(int accuser, int rank, bool closed, int size);
  [[nodiscard]] std::string encode() const;
  /// Errors: protocol, for what makes no sense among `size` ranks.
  static Result<AgreementView> decode(std::string_view bytes, int size);
};

/// The ranks that `view` leaves: as long as there are accusations among those that are left, the one whom most of these
/// accuse is left out, of equals the highest rank. So a dead rank goes, and of two that have lost each other, one.
[[nodiscard]] std::vector<int> remainingRanks(const AgreementView& view, int size);
/// Whether the remaining ranks may go on: ranks whose connection ended are dead, but ranks that are merely silent may
/// have found each other on the other side of a cut. There must be more of us than of them, or as many, and among us
/// the lowest rank of both.
[[nodiscard]] bool hasQuorum(const AgreementView& view, const std::vector<int>& remaining);

/// One rank's part in one agreement: pure, so that all interleavings can be tried with seeds. A rank tells its view to
/// all others whenever it has grown. It decides when all who remain by its view have told it this very view. Since
/// views only grow, a rank that has decided answers with its decision alone, and nobody takes a decision over from a
/// rank that a view of its own has left out, no two ranks that remain in each other's decision decide differently. Not
/// thread-safe.
class Agreement {
 public:
  /// `wanted` if it is free on this rank, else a higher number that is; taken for this agreement (ContextNumbers).
  using Reserve = std::function<std::uint32_t(std::uint32_t wanted)>;
  Agreement(int self, int size, Reserve reserve);

  /// This rank's own finding.
  void accuse(int rank, bool closed);
  /// What `from` knows without taking part, such as that it has left.
  void learn(const AgreementView& view);
  /// `from` told its view.
  void hear(int from, const AgreementView& theirs);
  /// `from` has decided. Ignored when a view of ours has left `from` out: others may have decided by that view.
  void hearDecision(int from, const AgreementView& decision);

  [[nodiscard]] const AgreementView& view() const { return view_; }
  /// The view has grown since the last call.
  bool takeChanged();
  /// Ranks that remain by our view and have not told us the same one.
  [[nodiscard]] std::vector<int> awaited() const;
  /// The agreed view, once there is one: ours or another rank's.
  [[nodiscard]] const std::optional<AgreementView>& decision() const { return decision_; }

 private:
  void settle();

  const int self_;
  const int size_;
  const Reserve reserve_;
  std::uint32_t reserved_ = 0;
  AgreementView view_;
  bool changed_ = true;
  std::map<int, AgreementView> told_; ///< Latest, by rank.
  std::vector<bool> left_out_;        ///< By any view of ours.
  std::optional<AgreementView> decision_;
};

} // namespace goss::core

#endif // GOSS_LIB_CORE_AGREEMENT_H_
