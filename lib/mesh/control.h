/// Short messages by which ranks tell each other of failures, and agree after them; no operation posts or receives
/// them. docs/formats.md describes their bytes.
#ifndef GOSS_LIB_MESH_CONTROL_H_
#define GOSS_LIB_MESH_CONTROL_H_

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "call/signature.h"
#include "call/tag.h"
#include "mesh/mesh.h"
#include "platform/thread_safety.h"

namespace goss {

struct ControlMessage {
  enum class Type : std::uint8_t {
    abort = 1,    ///< The communicator has failed at the sender: all ranks fail with the same error.
    probe = 2,    ///< The sender waits in `operation`, and asks for a reply.
    reply = 3,    ///< The sender lives, will start `operation` next, and waits for `culprit`.
    view = 4,     ///< goss_comm_shrink: `text` is the sender's view in attempt `operation`.
    agreed = 5,   ///< goss_comm_shrink: `text` is the sender's decision of attempt `operation`.
    history = 6,  ///< `text`: envelopes of the sender's last calls, the first of which is `operation`.
    report = 7,   ///< To rank 0: `text` says what the calls of stretch `operation` took (runner/plan_trials.h).
    decision = 8, ///< `text` is rank 0's decision on stretch `operation`.
    ended = 9,    ///< Of no communicator: world rank `culprit` has ended, as its host says.
  };
  static constexpr std::size_t kMaxBytes = 4096;
  static constexpr std::uint32_t kNoCommunicator = 0xffffffff; ///< `context` of a probe of no communicator.
  static constexpr std::size_t kMaxTextBytes = kMaxBytes - (1 + 4 + 8 + sizeof(Envelope) + 4 + 4 + 4);

  Type type = Type::probe;
  std::uint32_t context = 0;
  std::uint64_t operation = 0; ///< A sequence number; for some types, see Type, that of something else.
  Envelope signature{};        ///< probe: the signature of the sender's operation.
  std::int32_t error_kind = 0; ///< abort: a goss_status.
  /// A world rank, or -1. abort: the rank to blame. reply: the rank that the sender waits for. agreed: the receiver, if
  /// it is to answer with its own decision. ended: see Type.
  std::int32_t culprit = -1;
  std::string text; ///< abort: what happened, cut to kMaxTextBytes. Other types: see Type.

  /// Whether the sender of a view, an agreed decision or a history has departed from the communicator: it has destroyed
  /// it, or the others shrink it without the sender. The sender of an agreed decision goes on in the smaller one.
  [[nodiscard]] bool hasDeparted() const { return text.empty(); }
  /// Whether the sender asks the rank `self` (a world rank), the receiver, for its decision in the attempt.
  [[nodiscard]] bool wantsDecision(int self) const {
    return !hasDeparted() && (type == Type::view || (type == Type::agreed && culprit == self));
  }
  [[nodiscard]] std::string encode() const;
  static Result<ControlMessage> decode(std::string_view bytes);
};

/// Sends control messages through the mesh's outbox, and keeps one receive posted for each peer. Used under the
/// engine's lock.
class ControlChannel {
 public:
  using Handler = std::function<void(int peer, const ControlMessage& message)>;
  ControlChannel(Mesh& mesh, Handler handler);
  ~ControlChannel();

  /// Posts the first receives. To be called once, when no link is being made.
  void start() GOSS_ON_LOOP;
  /// Sends `message` to `peer`, unless that is lost; whether it arrives is not known.
  void sendOnLoop(int peer, const ControlMessage& message) GOSS_ON_LOOP;
  /// Tells Mesh::newsTargets() that `peer`, a rank of this host to which they may have no link, has ended.
  void tellOfEndOnLoop(int peer) GOSS_ON_LOOP;
  /// Probes `peer`, by a link that is made if it is idle: the host of `peer` refuses the call if `peer` has ended.
  void probeOnLoop(int peer) GOSS_ON_LOOP;
  /// Called when `peer`, a rank of this host, is lost. Soon after, this rank probes those of Mesh::neighbours() from
  /// which it has received nothing; at once if such a probe has shown that `peer` had ended.
  void noteLossOnLoop(int peer, PeerLoss how) GOSS_ON_LOOP;
  /// Passes received messages to the handler. To be called after the transports have progressed.
  bool drainOnLoop() GOSS_ON_LOOP;
  /// Receives what `peer`, which is lost, has sent before, and passes it to the handler: an abort among it names the
  /// cause, which the loss does not. Progresses the transports; not to be called out of a transport's callback.
  void receiveRestOnLoop(int peer) GOSS_ON_LOOP;
  /// The peers to which the transports have not sent all control messages; probes do not count.
  std::set<int> unsentOnLoop() GOSS_ON_LOOP { return mesh_.outbox().unsentOnLoop(kControlTag); }

 private:
  class Receive;
  using Clock = std::chrono::steady_clock;
  /// At the end of a program the ranks of a host that is not overloaded leave within this time, before any of them
  /// makes links to watch others.
  static constexpr std::chrono::milliseconds kWatchDelay{500};

  void watchNeighboursOnLoop() GOSS_ON_LOOP;

  Mesh& mesh_;
  const Handler handler_;
  std::vector<std::unique_ptr<Receive>> receives_ GOSS_GUARDED; ///< By world rank; null: there is no link to it.
  std::vector<Receive*> to_repost_ GOSS_GUARDED;
  Clock::time_point watch_due_ GOSS_GUARDED{}; ///< When watchNeighboursOnLoop() is due; zero: no rank was lost since.
  std::set<int> probed_ GOSS_GUARDED;          ///< Peers that watchNeighboursOnLoop() has probed.
  std::deque<std::pair<int, ControlMessage>> arrived_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_MESH_CONTROL_H_
