/// Wakes the other side of a segment when it sleeps, and says when this side does.
#ifndef GOSS_TRANSPORTS_SHM_DOORBELL_H_
#define GOSS_TRANSPORTS_SHM_DOORBELL_H_

#include <sys/socket.h>

#include <atomic>
#include <cstdint>

#include "platform/fd.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// Each side says in the segment what it wants to be woken for while it sleeps; the first packet on the socket wakes
/// it. Without a valid segment nothing happens. One thread.
class Doorbell {
 public:
  /// Both outlive this.
  Doorbell(Segment& segment, const platform::UniqueFd& socket) : segment_(segment), socket_(socket) {}

  /// Something has changed that the other side may wait for. The load pairs with the store of announceSleep(),
  /// after this side's store of the published record: RingWriter::publish().
  void wakeFor(std::uint32_t reason) {
    if (!segment_.valid()) return;
    std::atomic<std::uint32_t>& sleeping = segment_.theirSide().sleeping;
    if ((sleeping.load(std::memory_order_seq_cst) & reason) == 0) return;
    if (sleeping.exchange(0, std::memory_order_seq_cst) == 0) return;
    const char bell = 1;
    // When the socket is full the peer has enough wake-ups; when it is closed its end will be seen.
    [[maybe_unused]] ssize_t rung = ::send(socket_.get(), &bell, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  /// This side is going to sleep, and is to be woken for these.
  void announceSleep(std::uint32_t reasons) {
    if (segment_.valid()) segment_.mySide().sleeping.store(reasons, std::memory_order_seq_cst);
  }
  void sleepEnded() {
    if (segment_.valid()) segment_.mySide().sleeping.store(0, std::memory_order_relaxed);
  }

 private:
  Segment& segment_;
  const platform::UniqueFd& socket_;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_DOORBELL_H_
