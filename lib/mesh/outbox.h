/// Messages that no operation waits for: they outlive the one that sends them.
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

/// Control messages, and what windows say to each other. Used under the engine's lock.
class Outbox {
 public:
  struct Letter {
    int peer = -1;
    Tag tag = 0;
    Envelope envelope{};
    std::vector<std::byte> bytes;
  };

  Outbox();
  /// Cancels what has not left; the transports must still exist.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Letters of a peer and tag leave in their order. The link must be ready, or prepared.
  void sendOnLoop(Transport& transport, Letter letter) GOSS_ON_LOOP;
  /// Frees what has left; called after the transports progressed.
  void sweepOnLoop() GOSS_ON_LOOP;
  /// As sweepOnLoop(); returns whether all letters with `tag` have left, except those to the peers `except`.
  bool flushedOnLoop(Tag tag, const std::set<int>& except) GOSS_ON_LOOP;
  /// Peers whose letters wait for their link.
  [[nodiscard]] std::set<int> peersWithoutLinkOnLoop() const GOSS_ON_LOOP;

 private:
  class Send;
  std::vector<std::unique_ptr<Send>> sends_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_MESH_OUTBOX_H_
