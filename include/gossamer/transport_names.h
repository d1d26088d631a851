/// Names of the transports that come with the library: of the setting GOSS_TRANSPORT, of statistics, of the addresses
/// that ranks tell each other, and of the prices of their links.
#ifndef GOSSAMER_TRANSPORT_NAMES_H_
#define GOSSAMER_TRANSPORT_NAMES_H_

#include <string_view>

namespace goss::transport_names {

inline constexpr std::string_view kLoopback = "loopback";
inline constexpr std::string_view kShm = "shm";
inline constexpr std::string_view kTcp = "tcp";
inline constexpr std::string_view kTls = "tls";
inline constexpr std::string_view kSim = "sim";
inline constexpr std::string_view kUcx = "ucx";
inline constexpr std::string_view kMpi = "mpi";

} // namespace goss::transport_names

#endif // GOSSAMER_TRANSPORT_NAMES_H_
