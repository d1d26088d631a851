/// How the ranks that remain after failures agree on which ranks remain. docs/shrink.md describes the protocol.
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

/// What a rank knows: which ranks accuse which of being lost, and the lowest context number that the new communicator
/// may have. A view only grows: merging takes the union of the accusations, and the larger number.
struct AgreementView {
  struct Accused {
    /// The host of the accused rank has said that its process has ended, or the rank itself has said that it departs.
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
  /// Errors: protocol, when `bytes` are no view of `size` ranks.
  static Result<AgreementView> decode(std::string_view bytes, int size);
};

/// What a rank that has decided sends to others.
struct AgreementOutcome {
  AgreementView view;
  std::vector<bool> agreed; ///< By rank: whether the sender knows that it has decided this view.
  bool over = false;        ///< The sender waits for no other rank any more.

  bool operator==(const AgreementOutcome&) const = default;
  [[nodiscard]] std::string encode() const;
  /// Errors: as AgreementView::decode().
  static Result<AgreementOutcome> decode(std::string_view bytes, int size);
  /// Bytes that encode() adds to those of the view.
  [[nodiscard]] static std::size_t overhead(int size);
};

/// The ranks that remain by `view`. A rank that accuses itself does not. Then, as long as a remaining rank is accused,
/// the rank that most remaining ranks accuse is left out, of equals the highest: a dead rank, and of two ranks that
/// have lost each other one.
[[nodiscard]] std::vector<int> remainingRanks(const AgreementView& view, int size);
/// Whether the ranks that have `agreed` may go on; both lists have one entry for each rank. They may when all others
/// have `ended`, so that no other ranks can go on by another decision, or when they are more than half of all, or half
/// including rank 0.
[[nodiscard]] bool hasQuorum(const std::vector<bool>& agreed, const std::vector<bool>& ended);

/// One rank's part in one agreement. It sends nothing itself, so that tests can try all interleavings with seeds. A
/// rank sends its view to audience() whenever the view has grown. It decides when all ranks that remain by its view
/// have sent it the same view, and sends the decision to audience(). It goes on when enough of the remaining ranks are
/// known to have the same decision: see hasQuorum(). docs/shrink.md proves that the ranks that go on have one decision,
/// whichever ranks die or are cut off meanwhile, and whoever tells whom. Not thread-safe.
class Agreement {
 public:
  /// Reserves, for this agreement, the context number `wanted` if it is free on this rank, else a higher one that is.
  using Reserve = std::function<std::uint32_t(std::uint32_t wanted)>;
  enum class Manner {
    all,         ///< Every rank tells every other: the fewest steps, but as many messages as there are pairs of ranks.
    coordinator, ///< Every rank tells the lowest that remains, the coordinator, which tells all: a few messages for
                 ///< each rank.
  };
  /// The most ranks among which each tells all others; among more, mannerOf() lets one, the coordinator, tell the
  /// others.
  static constexpr int kMaxTellingAll = 8;
  [[nodiscard]] static Manner mannerOf(int size) { return size > kMaxTellingAll ? Manner::coordinator : Manner::all; }
  Agreement(int self, int size, Reserve reserve, Manner manner);

  /// This rank has lost `rank`, which has `ended`, or else is silent.
  void accuse(int rank, bool ended);
  /// `from` has sent its view. A view in which `from` accuses itself says that `from` has departed.
  void receiveView(int from, const AgreementView& theirs);
  /// `from` has sent its decision, which this rank adopts if it has none. It does not adopt the decision when one of
  /// its own views has left `from` out, because other ranks may have decided that view; the decision then counts as the
  /// view of `from`.
  void receiveDecision(int from, const AgreementOutcome& outcome);

  [[nodiscard]] const AgreementView& view() const { return view_; }
  /// Whether audience() has news to be told: since the last call the view has grown, or the coordinator, to which this
  /// rank has told its decision, was lost.
  bool takeChanged();
  /// The ranks to be told this rank's view or, when it has decided, its decision. Empty while this rank is the
  /// coordinator and has not received the views of all that remain, because the coordinator sends its own view once.
  [[nodiscard]] std::vector<int> audience() const;
  /// Whether this rank is the coordinator (Manner::coordinator), which tells all others what it knows.
  [[nodiscard]] bool isCoordinator() const;
  /// Whether this rank must send its view to a rank that has sent `theirs`, because perhaps no other rank will.
  [[nodiscard]] bool owesView(const AgreementView& theirs) const;
  /// The ranks to ask again and to watch: those of awaited(), or the coordinator alone while it collects their
  /// messages.
  [[nodiscard]] std::vector<int> asked() const;
  /// The ranks to watch, so that silent ones are found at the same time: asked(); where the coordinator is silent, as
  /// `is_silent` says, also the next ranks that would coordinate; where all of those below this rank are, also
  /// awaited().
  [[nodiscard]] std::vector<int> watched(const std::function<bool(int rank)>& is_silent) const;
  /// Whether awaited() holds `rank`.
  [[nodiscard]] bool isAwaited(int rank) const;
  /// The ranks from which this rank needs a message. Before its decision: those that remain by its view and have not
  /// sent it the same view. If its view leaves it out: of the ranks that are not lost and have told it no decision,
  /// those that remain and those that have not sent it the same view. After its decision: those that remain by the
  /// decision, are not lost, and have told it no decision.
  [[nodiscard]] std::vector<int> awaited() const;
  /// The view that this rank has decided, or has adopted from another rank; none: not yet.
  [[nodiscard]] const std::optional<AgreementView>& decision() const { return decision_; }
  /// Whether this rank needs no more messages. It has no decision then if its own view leaves it out, all ranks that
  /// remain by that view are lost, and all others that are not lost have sent it the same view.
  [[nodiscard]] bool isComplete() const;
  /// By rank: whether this rank knows that it has the same decision; true for this rank itself.
  [[nodiscard]] std::vector<bool> agreed() const;
  /// When isComplete(): whether this rank goes on, with the ranks that remain by the decision.
  [[nodiscard]] bool goesOn() const;

 private:
  void lose(int rank, bool ended);
  void learn(const AgreementView& view);
  void settle();
  void decideIfAgreed();
  void noteRemaining(const AgreementView& view);
  void accuseTheLost();
  [[nodiscard]] int coordinator() const;
  [[nodiscard]] bool reportsToCoordinator() const;
  [[nodiscard]] bool waitsForCoordinator() const;
  [[nodiscard]] bool hasReceivedAll() const;
  [[nodiscard]] std::vector<int> others() const;

  const int self_;
  const int size_;
  const Reserve reserve_;
  const Manner manner_;
  std::uint32_t reserved_ = 0;
  AgreementView view_;
  bool changed_ = true;
  std::map<int, AgreementView> told_;           ///< By rank: the latest view that it has sent.
  std::map<int, AgreementView> told_decisions_; ///< By rank: its decision, which it, or another rank for it, has sent.
  // has_told_ and remains_ follow from other members; they are stored because each message of hundreds of ranks needs
  // them.
  std::vector<bool> has_told_; ///< By rank: whether the latest view that it has sent equals this rank's.
  std::vector<bool> remains_;  ///< By rank: whether it remains by the decision, else by the view.
  std::vector<bool> left_out_; ///< By rank: whether any view of this rank has left it out.
  std::vector<bool> lost_;     ///< By rank: whether this rank will receive nothing more from it.
  std::vector<bool> ended_;    ///< By rank: whether it is lost and has ended.
  std::vector<bool> over_;     ///< By rank: AgreementOutcome::over of its last message.
  std::optional<AgreementView> decision_;
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_AGREEMENT_H_
