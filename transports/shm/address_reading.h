/// Whether this process can read messages in the peer's ordinary memory, without a copy through the ring.
#ifndef GOSS_TRANSPORTS_SHM_ADDRESS_READING_H_
#define GOSS_TRANSPORTS_SHM_ADDRESS_READING_H_

#include "transports/shm/segment.h"

namespace goss::transports::shm {

enum class CrossMemory { never, ifFaster, always };

/// Tests reads by process_vm_readv: it reads memory that both sides have mapped, which proves that `process` is the
/// peer and that the system permits reading. For ifFaster it also compares the speed with that of copies through the
/// ring. `always` means: if possible. Takes some hundred microseconds at most.
AddressReading testCrossMemory(const Segment& segment, int process, CrossMemory policy);

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_ADDRESS_READING_H_
