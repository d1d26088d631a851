/// How the remaining ranks agree on who they are. docs/shrink.md describes the protocol.
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

/// What a rank knows: which rank accuses which of being gone, and the lowest number that the new communicator may have.
/// A view only grows: merging takes the union, and the larger number.
struct AgreementView {
  struct Accused {
    /// The rank's host said that its process has ended, or the rank said that it left.
    bool ended = false;
    std::vector<std::uint64_t> from; ///< The accusers, one bit for each rank.
    bool operator==(const Accused&) const = default;
  };
  std::uint32_t context = 0;
  std::map<int, Accused> accused;

  bool operator==(const AgreementView&) const = default;
  /// Merges `other`; returns whether this view has grown.
  bool merge(const AgreementView& other);
  void accuse(int accuser, int rank, bool ended, int size);
  [[nodiscard]] std::string encode() const;
  /// Errors: protocol, for a view that makes no sense among `size` ranks.
  static Result<AgreementView> decode(std::string_view bytes, int size);
};

/// What a rank that has decided tells.
struct AgreementOutcome {
  AgreementView view;
  std::vector<bool> agreed; ///< By rank: whether it is known to have decided this view.
  bool over = false;        ///< The rank waits for no other any more.

  bool operator==(const AgreementOutcome&) const = default;
  [[nodiscard]] std::string encode() const;
  /// Errors: as AgreementView::decode().
  static Result<AgreementOutcome> decode(std::string_view bytes, int size);
  /// Bytes that encode() adds to those of the view.
  [[nodiscard]] static std::size_t overhead(int size);
};

/// The ranks that `view` leaves. As long as remaining ranks accuse each other, the rank that most of them accuse is
/// left out, of equals the highest. So a dead rank goes, and of two that have lost each other, one.
[[nodiscard]] std::vector<int> remainingRanks(const AgreementView& view, int size);
/// Whether the ranks that `agreed` may go on; both lists have one entry for each rank. They may when all others have
/// `ended`, so that no rank is left to go on elsewhere, or when the ranks that agreed are more than half, or half
/// including rank 0.
[[nodiscard]] bool hasQuorum(const std::vector<bool>& agreed, const std::vector<bool>& ended);

/// One rank's part in one agreement: pure, so that all interleavings can be tried with seeds. A rank sends its view to
/// audience() whenever the view has grown. It decides when all ranks that remain by its view have sent it the same
/// view, and sends the decision to audience(). It goes on when enough of the remaining ranks are known to have the same
/// decision: see hasQuorum(). docs/shrink.md proves that the ranks that go on have one decision, whichever ranks die or
/// are cut off meanwhile, and whoever tells whom. Not thread-safe.
class Agreement {
 public:
  /// `wanted` if it is free on this rank, else a higher number that is; taken for this agreement (ContextNumbers).
  using Reserve = std::function<std::uint32_t(std::uint32_t wanted)>;
  enum class Manner {
    all,     ///< Every rank tells every other: fewest hops, and size squared messages.
    speaker, ///< Ranks tell the lowest that remains, which tells all: a few messages a rank.
  };
  /// Of more ranks one speaks for all.
  static constexpr int kFew = 8;
  [[nodiscard]] static Manner mannerOf(int size) { return size > kFew ? Manner::speaker : Manner::all; }
  Agreement(int self, int size, Reserve reserve, Manner manner);

  /// This rank has lost `rank`, which has `ended` or else is silent.
  void accuse(int rank, bool ended);
  /// `from` has sent its view. A view in which `from` accuses itself says that it has left.
  void hear(int from, const AgreementView& theirs);
  /// `from` has decided. This rank does not adopt the decision when one of its views has left `from` out, because
  /// others may have decided by that view; it then counts as the view that `from` has sent.
  void hearDecision(int from, const AgreementOutcome& outcome);

  [[nodiscard]] const AgreementView& view() const { return view_; }
  /// Whether, since the last call, the view has grown, or the rank that was told this rank's decision is lost.
  bool takeChanged();
  /// The ranks to tell this rank's view, or once it has decided its decision. Empty as long as this rank speaks for the
  /// others and has not heard from all that remain: it speaks once.
  [[nodiscard]] std::vector<int> audience() const;
  /// Whether this rank tells others what all have decided: Manner::speaker.
  [[nodiscard]] bool speaksForOthers() const;
  /// Whether a rank with the view `theirs` must be told this rank's, because nobody else may tell it.
  [[nodiscard]] bool owesView(const AgreementView& theirs) const;
  /// Those of awaited() to be asked again and watched, or instead of them the rank that speaks.
  [[nodiscard]] std::vector<int> asked() const;
  /// Whether awaited() holds `rank`.
  [[nodiscard]] bool isAwaited(int rank) const;
  /// Ranks whose messages this rank needs. Before the decision: those that remain by this rank's view and have not sent
  /// it the same view. If this rank itself does not remain: those who remain and may still tell it a decision, and
  /// those who do not remain either and have not sent it the same view. After the decision: those that remain by it,
  /// have sent no decision, and are not lost.
  [[nodiscard]] std::vector<int> awaited() const;
  /// The agreed view, once there is one: this rank's or another's.
  [[nodiscard]] const std::optional<AgreementView>& decision() const { return decision_; }
  /// Whether no rank is awaited any more. There is no decision then if this rank's view leaves it out, all who remain
  /// by that view are lost, and all others that are not lost know it.
  [[nodiscard]] bool isComplete() const;
  /// By rank: whether it is known to have the same decision; true for this rank itself.
  [[nodiscard]] std::vector<bool> agreed() const;
  /// Once isComplete(): whether this rank goes on, with the ranks that remain by the decision.
  [[nodiscard]] bool goesOn() const;

 private:
  void lose(int rank, bool ended);
  void learn(const AgreementView& view);
  void settle();
  void decideIfAgreed();
  void noteRemaining(const AgreementView& view);
  void accuseTheLost();
  [[nodiscard]] int speaker() const;
  [[nodiscard]] bool isSpokenFor() const;
  [[nodiscard]] bool hasHeardAll() const;
  [[nodiscard]] std::vector<int> others() const;

  const int self_;
  const int size_;
  const Reserve reserve_;
  const Manner manner_;
  std::uint32_t reserved_ = 0;
  AgreementView view_;
  bool changed_ = true;
  std::map<int, AgreementView> told_;           ///< By rank: the latest view that it has sent.
  std::map<int, AgreementView> told_decisions_; ///< By rank: the decision that it, or another of it, has sent.
  // The next two are kept up to date, because each message from hundreds of ranks asks for them.
  std::vector<bool> has_told_; ///< By rank: whether the latest view that it has sent is this rank's.
  std::vector<bool> remains_;  ///< By rank: whether it remains by the decision, else by the view.
  std::vector<bool> left_out_; ///< By rank: whether any view of this rank has left it out.
  std::vector<bool> lost_;     ///< By rank: whether this rank will hear nothing more from it.
  std::vector<bool> ended_;    ///< By rank: whether it is lost and has ended.
  std::vector<bool> over_;     ///< By rank: AgreementOutcome::over.
  std::optional<AgreementView> decision_;
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_AGREEMENT_H_
