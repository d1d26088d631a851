/// Whether messages in the peer's ordinary memory are read in place.
#ifndef GOSS_TRANSPORTS_SHM_ADDRESS_READING_H_
#define GOSS_TRANSPORTS_SHM_ADDRESS_READING_H_

#include "transports/shm/segment.h"

namespace goss::transports::shm {

enum class CrossMemory { never, ifFaster, always };

/// Tests cross-memory reads: reads through process_vm_readv what both sides have mapped, which proves that `process` is
/// the peer and that the system permits reading, and for ifFaster compares the speed with that of copies through the
/// ring. Takes some hundred microseconds at most. `always` still means: if possible.
AddressReading tryAddresses(const Segment& segment, int process, CrossMemory wish);

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_ADDRESS_READING_H_
