/// The checksum CRC32C (Castagnoli), as in iSCSI and SCTP.
#ifndef GOSS_LIB_PLATFORM_CRC32C_H_
#define GOSS_LIB_PLATFORM_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace goss::platform {

/// Extends the checksum `before` (0: of no bytes) by `bytes` bytes. Uses the processor's CRC instructions where it has
/// them.
std::uint32_t crc32c(const void* from, std::size_t bytes, std::uint32_t before = 0);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_CRC32C_H_
