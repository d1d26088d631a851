/// An optional part of the transport seam: memory of one rank that its peers on the same host read and write in place.
#ifndef GOSSAMER_SHARED_REGIONS_H_
#define GOSSAMER_SHARED_REGIONS_H_

#include <cstddef>

#include "gossamer/status.h"

namespace goss {

/// Memory of this process that peers on this host may map, to read messages and to write replies
/// (SendOperation::reply): whole pages of a memfd that cannot shrink.
struct MemoryRegion {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
};

/// The regions of this rank out of which a transport lets peers read messages in place, instead of copying them. One
/// thread at a time uses it, as it does its transport; it lives as long as the transport.
class SharedRegions {
 public:
  virtual ~SharedRegions() = default;
  /// Lets messages be sent out of `region`, whose memory must stay mapped until remove(region.data).
  virtual void add(const MemoryRegion& region) = 0;
  /// Removes the region that begins at `data`; ignores addresses that no region begins at. Error: invalidArgument, and
  /// the region stays, while a message that is sent out of it is not complete.
  virtual Status remove(const std::byte* data) = 0;
};

} // namespace goss

#endif // GOSSAMER_SHARED_REGIONS_H_
