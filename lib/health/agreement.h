/// How the ranks that are left agree on who they are. The protocol is written down in docs/shrink.md.
#ifndef GOSS_LIB_HEALTH_AGREEMENT_H_
#define GOSS_LIB_HEALTH_AGREEMENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss {

/// What a rank knows: who accuses whom of being gone, and the lowest number that the new communicator may have. It only
/// ever grows: merging is a union, and the larger number.
struct AgreementView {
  struct Accused {
    bool ended = false;              ///< Its own host said that its process has ended, or it said that it left.
    std::vector<std::uint64_t> from; ///< The accusers, a bit a rank.
    bool operator==(const Accused&) const = default;
  };
  std::uint32_t context = 0;
  std::map<int, Accused> accused;

  bool operator==(const AgreementView&) const = default;
  /// Returns whether this one has grown.
  bool merge(const AgreementView& other);
  void accuse(int accuser, int rank, bool ended, int size);
  [[nodiscard]] std::string encode() const;
  /// Errors: protocol, for what makes no sense among `size` ranks.
  static Result<AgreementView> decode(std::string_view bytes, int size);
};

/// The ranks that `view` leaves: as long as there are accusations among those that are left, the one whom most of these
/// accuse is left out, of equals the highest rank. So a dead rank goes, and of two that have lost each other, one.
[[nodiscard]] std::vector<int> remainingRanks(const AgreementView& view, int size);
/// Whether the ranks that `agreed` may go on, of as many as the lists are long: when all others have `ended`, so that
/// nobody is left to go on elsewhere, or when those who agreed are more than half, or half with rank 0.
[[nodiscard]] bool hasQuorum(const std::vector<bool>& agreed, const std::vector<bool>& ended);

/// One rank's part in one agreement: pure, so that all interleavings can be tried with seeds. A rank tells its view to
/// all others whenever it has grown. It decides when all who remain by its view have told it this very view, and tells
/// all. It goes on when enough of those who remain have told it the same decision: see hasQuorum(). docs/shrink.md
/// proves that the ranks that go on have one decision, whoever dies or is cut off meanwhile. Not thread-safe.
class Agreement {
 public:
  /// `wanted` if it is free on this rank, else a higher number that is; taken for this agreement (ContextNumbers).
  using Reserve = std::function<std::uint32_t(std::uint32_t wanted)>;
  Agreement(int self, int size, Reserve reserve);

  /// This rank has lost `rank`, which has `ended` or else is silent.
  void accuse(int rank, bool ended);
  /// `from` told its view. One that accuses `from` itself says that it has left.
  void hear(int from, const AgreementView& theirs);
  /// `from` has decided. Not taken over when a view of ours has left `from` out: others may have decided by that view.
  void hearDecision(int from, const AgreementView& decision);

  [[nodiscard]] const AgreementView& view() const { return view_; }
  /// Whether the view has grown since the last call.
  bool takeChanged();
  /// Ranks from which this rank has yet to hear. Before the decision: those that remain by this rank's view and have
  /// not told it the same view. After it: those that remain by the decision, have told no decision, and are not lost.
  [[nodiscard]] std::vector<int> awaited() const;
  /// The agreed view, once there is one: ours or another rank's.
  [[nodiscard]] const std::optional<AgreementView>& decision() const { return decision_; }
  /// Whether there is a decision, and no rank is awaited any more.
  [[nodiscard]] bool isComplete() const { return decision_.has_value() && awaited().empty(); }
  /// By rank: whether it has told this rank the same decision; true for this rank itself.
  [[nodiscard]] std::vector<bool> agreed() const;
  /// Once isComplete(): whether this rank goes on, with those who remain by the decision.
  [[nodiscard]] bool goesOn() const;

 private:
  void lose(int rank, bool ended);
  void learn(const AgreementView& view);
  void settle();
  [[nodiscard]] bool remains(int rank, const AgreementView& view) const;

  const int self_;
  const int size_;
  const Reserve reserve_;
  std::uint32_t reserved_ = 0;
  AgreementView view_;
  bool changed_ = true;
  std::map<int, AgreementView> told_;           ///< By rank: the latest view that it has told.
  std::map<int, AgreementView> told_decisions_; ///< By rank: the decision that it has told.
  std::vector<bool> left_out_;                  ///< By rank: whether any view of this rank has left it out.
  std::vector<bool> lost_;                      ///< By rank: whether this rank will hear nothing more from it.
  std::vector<bool> ended_;                     ///< By rank: whether it is lost and has ended.
  std::optional<AgreementView> decision_;
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_AGREEMENT_H_
