/// Frames' memory, which MPI reads or writes while a request is pending.
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

/// The memory of one direction of a link. Short frames leave the last pages of a buffer untouched, so that these take
/// no physical memory.
struct FrameBuffers {
  std::array<FrameBuffer<kMaxFrameBytes>, 4> frames; ///< One for each frame that may be pending.
  FrameBuffer<FrameHeader::kBytes> extra;            ///< A sender's last frame: goodbye, or broken.

  [[nodiscard]] bool isIdle() const {
    return extra.request == MPI_REQUEST_NULL && std::all_of(frames.begin(), frames.end(), [](const auto& buffer) {
             return buffer.request == MPI_REQUEST_NULL;
           });
  }
};

/// Leaks the buffers if MPI has not completed all their requests: MPI may still write into them for a peer that has
/// died or does not react.
struct FreeIfIdle {
  void operator()(FrameBuffers* buffers) const {
    if (buffers->isIdle()) delete buffers;
  }
};
using FrameBuffersPointer = std::unique_ptr<FrameBuffers, FreeIfIdle>;

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_FRAME_BUFFERS_H_
