/// Small messages between ranks outside of any operation: aborts and probes. docs/formats.md describes the bytes.
#ifndef GOSS_LIB_MESH_CONTROL_H_
#define GOSS_LIB_MESH_CONTROL_H_

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "call/signature.h"
#include "mesh/mesh.h"
#include "platform/thread_safety.h"

namespace goss {

struct ControlMessage {
  enum class Type : std::uint8_t {
    abort = 1,    ///< The communicator failed at the sender: all ranks fail with the same error.
    probe = 2,    ///< The sender waits in `operation`: asks for a sign of life, and for the peer's state.
    reply = 3,    ///< A sign of life. `operation` and `waiting_for` are the replier's own state.
    view = 4,     ///< goss_comm_shrink: `text` is the sender's view in attempt `operation`; empty: it has left.
    agreed = 5,   ///< `text` is the decision of attempt `operation`; empty: the sender goes on, without the old one.
    history = 6,  ///< `text`: envelopes of the sender's last calls, the first being `operation`; empty: it has left.
    report = 7,   ///< `text`: what calls took, for rank 0, in stretch `operation` (runner/plan_trials.h).
    decision = 8, ///< `text`: rank 0's decision on stretch `operation`.
    ended = 9,    ///< Of no communicator: world rank `culprit` has ended, as its host says; -1: the sender lives.
  };
  static constexpr std::size_t kMaxBytes = 4096;
  static constexpr std::size_t kMaxTextBytes = kMaxBytes - (1 + 4 + 8 + sizeof(Envelope) + 4 + 4 + 4);

  Type type = Type::probe;
  std::uint32_t context = 0;
  std::uint64_t operation = 0; ///< Sequence number.
  Envelope signature{};        ///< probe: signature of the sender's operation.
  std::int32_t kind = 0;       ///< abort: goss_status.
  /// World rank, or -1. abort: to blame. reply: that the replier waits for. agreed: the receiver, if it is to answer.
  std::int32_t culprit = -1;
  std::string text; ///< abort: what happened, cut to fit.

  [[nodiscard]] std::string encode() const;
  static Result<ControlMessage> decode(std::string_view bytes);
};

/// Keeps one receive posted for each peer; what it sends is in the mesh's outbox. Used under the engine's lock.
class ControlChannel {
 public:
  using Handler = std::function<void(int peer, const ControlMessage& message)>;
  ControlChannel(Mesh& mesh, Handler handler);
  ~ControlChannel();

  /// Posts the first receives; call once all links are ready.
  void start() GOSS_ON_LOOP;
  /// Sends on a best-effort basis: a lost peer is skipped.
  void sendOnLoop(int peer, const ControlMessage& message) GOSS_ON_LOOP;
  /// Passes on that a peer has ended, to ranks of this host that may have no link to it.
  void tellOfEndOnLoop(int peer) GOSS_ON_LOOP;
  /// Makes the link to `peer` if it is idle, which shows whether the peer still runs.
  void callOnLoop(int peer) GOSS_ON_LOOP;
  /// Passes received messages to the handler; called after the transports progressed.
  bool drainOnLoop() GOSS_ON_LOOP;
  /// Whether all messages were given to the transports, except those to the peers `except`.
  bool flushedOnLoop(const std::set<int>& except) GOSS_ON_LOOP;

 private:
  class Receive;

  Mesh& mesh_;
  const Handler handler_;
  std::vector<std::unique_ptr<Receive>> receives_ GOSS_GUARDED;
  std::vector<Receive*> to_repost_ GOSS_GUARDED;
  std::deque<std::pair<int, ControlMessage>> arrived_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_MESH_CONTROL_H_
