/// Identity of this machine and process, and random bytes from the kernel.
#ifndef GOSS_LIB_PLATFORM_HOST_H_
#define GOSS_LIB_PLATFORM_HOST_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gossamer/status.h"

namespace goss::platform {

/// Two processes with equal identity reach each other over loopback: the boot, the network namespace and the host name
/// agree. Containers on one machine have namespaces of their own and so count as different hosts.
struct HostIdentity {
  std::string boot_id;                 ///< Random per boot; "" where the system does not tell.
  std::uint64_t network_namespace = 0; ///< Inode of the namespace; 0 where the system does not tell.
  std::string host_name;

  /// Printable, without blanks; equal texts mean equal identities.
  [[nodiscard]] std::string text() const;
};

HostIdentity hostIdentity();
std::int64_t processId();
/// The processors on which this process may run: bit p % 8 of byte p / 8 stands for processor p, as the whole machine
/// numbers them. The last byte is not zero. Where the system does not tell, all processors.
std::string usableProcessors();

/// Fills `bytes` from the kernel's generator. Errors: resource.
Status fillRandom(std::span<std::byte> bytes);

/// Compares lengths and bytes in a time that depends only on the lengths: for secrets.
bool equalInConstantTime(std::span<const std::byte> a, std::span<const std::byte> b);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_HOST_H_
