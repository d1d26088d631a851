/// Sends messages that no operation waits for: control messages, and those of windows.
#ifndef GOSS_LIB_MESH_OUTBOX_H_
#define GOSS_LIB_MESH_OUTBOX_H_

#include <cstddef>
#include <memory>
#include <set>
#include <vector>

#include "gossamer/message.h"
#include "gossamer/transport.h"
#include "platform/thread_safety.h"

namespace goss {

/// Keeps each message until its transport has sent it, so that the operation that sends one may end before. Used under
/// the engine's lock.
class Outbox {
 public:
  struct Letter {
    int peer = -1;
    Tag tag = 0;
    Envelope envelope{};
    std::vector<std::byte> bytes;
    bool is_flushed = true; ///< Outbox::unsentOnLoop() counts it.
  };

  Outbox();
  /// Cancels the letters that have not left; the transports must still exist.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Sends `letter`. Letters to one peer with one tag leave in the order of the calls. The link must be ready, or
  /// prepared.
  void sendOnLoop(Transport& transport, Letter letter) GOSS_ON_LOOP;
  /// Frees the letters that have left. The engine calls it after the transports progressed.
  void sweepOnLoop() GOSS_ON_LOOP;
  /// As sweepOnLoop(); returns the peers to which letters with `tag` have not left, except those not to be flushed.
  std::set<int> unsentOnLoop(Tag tag) GOSS_ON_LOOP;
  /// Peers whose letters wait for their link.
  [[nodiscard]] std::set<int> peersWithoutLinkOnLoop() const GOSS_ON_LOOP;

 private:
  class Send;
  std::vector<std::unique_ptr<Send>> sends_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_MESH_OUTBOX_H_
