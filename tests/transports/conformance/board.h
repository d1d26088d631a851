/// State that the ranks of one run share.
#ifndef GOSS_TESTS_TRANSPORTS_CONFORMANCE_BOARD_H_
#define GOSS_TESTS_TRANSPORTS_CONFORMANCE_BOARD_H_

#include <array>
#include <atomic>
#include <cstddef>

namespace goss::tests {

/// Lies in memory that processes share. Made anew for each run.
struct Board {
  static constexpr int kMaxRanks = 16;
  static constexpr std::size_t kMaxAddressBytes = 4096;

  std::atomic<bool> failed{false};
  std::atomic<int> at_barrier{0};
  std::atomic<int> address_bytes[kMaxRanks]{};
  char address[kMaxRanks][kMaxAddressBytes]{};
  std::array<std::byte, 16> job{};
};

} // namespace goss::tests

#endif // GOSS_TESTS_TRANSPORTS_CONFORMANCE_BOARD_H_
