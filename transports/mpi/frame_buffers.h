/// Memory that MPI reads or writes while a request is pending.
#ifndef GOSS_TRANSPORTS_MPI_FRAME_BUFFERS_H_
#define GOSS_TRANSPORTS_MPI_FRAME_BUFFERS_H_

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "transports/mpi/frame.h"

namespace goss::transports::mpi {

template <std::size_t kBytes>
struct FrameBuffer {
  MPI_Request request = MPI_REQUEST_NULL;
  alignas(64) std::array<std::byte, kBytes> bytes; ///< Aligned, so that payloads can be reduced in place.
};

/// Memory of one direction of a link. Pages that no frame was long enough for are never touched.
struct FrameBuffers {
  std::array<FrameBuffer<kMaxFrameBytes>, 4> frames; ///< Frames that may be pending at a time.
  FrameBuffer<FrameHeader::kBytes> extra;            ///< Sending: the buffer of the last frame.

  [[nodiscard]] bool isIdle() const {
    return extra.request == MPI_REQUEST_NULL && std::all_of(frames.begin(), frames.end(), [](const auto& buffer) {
             return buffer.request == MPI_REQUEST_NULL;
           });
  }
};

/// Leaks the memory of requests that MPI does not complete: MPI may yet write into it for a peer that died or does not
/// react.
struct FreeIfIdle {
  void operator()(FrameBuffers* buffers) const {
    if (buffers->isIdle()) delete buffers;
  }
};
using FrameBuffersPointer = std::unique_ptr<FrameBuffers, FreeIfIdle>;

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_FRAME_BUFFERS_H_
