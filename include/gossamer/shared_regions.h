/// An optional part of the transport seam: memory of one rank that its peers on the same host read and write in place.
#ifndef GOSSAMER_SHARED_REGIONS_H_
#define GOSSAMER_SHARED_REGIONS_H_

#include <cstddef>

#include "gossamer/status.h"

namespace goss {

/// Memory of this process that its peers on this host may map, to read messages and to write replies
/// (SendOperation::reply): whole pages of a memfd that cannot shrink.
struct MemoryRegion {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
};

/// A transport reads messages out of these regions where they lie, instead of copying them. Used by one thread at a
/// time, as its transport, and lives as long as that.
class SharedRegions {
 public:
  virtual ~SharedRegions() = default;
  /// Says that messages may be sent out of `region`, which stays as it is until remove(region.data).
  virtual void add(const MemoryRegion& region) = 0;
  /// `data`: of a region that was added; the transport ignores others. Error: invalidArgument, and the region stays,
  /// while a message that is sent out of it is not complete.
  virtual Status remove(const std::byte* data) = 0;
};

} // namespace goss

#endif // GOSSAMER_SHARED_REGIONS_H_
