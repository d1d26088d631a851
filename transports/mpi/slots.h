/// Memory that MPI reads or writes while a request is pending.
#ifndef GOSS_TRANSPORTS_MPI_SLOTS_H_
#define GOSS_TRANSPORTS_MPI_SLOTS_H_

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "transports/mpi/frame.h"

namespace goss::transports::mpi {

template <std::size_t kBytes>
struct Slot {
  MPI_Request request = MPI_REQUEST_NULL;
  alignas(64) std::array<std::byte, kBytes> bytes; ///< So that payloads are reduced in place.
};

/// Of one direction of a link. Pages that no frame was long enough for are never touched.
struct Slots {
  std::array<Slot<kMaxFrameBytes>, 4> frames; ///< So many may be under way.
  Slot<FrameHeader::kBytes> extra;            ///< Sending: for the last frame.

  [[nodiscard]] bool isIdle() const {
    return extra.request == MPI_REQUEST_NULL &&
           std::all_of(frames.begin(), frames.end(), [](const auto& slot) { return slot.request == MPI_REQUEST_NULL; });
  }
};

/// Requests that MPI does not complete are leaked: a peer that died, or does not react, may yet be served from it.
struct FreeIfIdle {
  void operator()(Slots* slots) const {
    if (slots->isIdle()) delete slots;
  }
};
using SlotsPointer = std::unique_ptr<Slots, FreeIfIdle>;

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_SLOTS_H_
