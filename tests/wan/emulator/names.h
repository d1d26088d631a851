/// Names of the hosts, the lock of a prefix and the removal of what carries it.
#ifndef GOSS_TESTS_WAN_EMULATOR_NAMES_H_
#define GOSS_TESTS_WAN_EMULATOR_NAMES_H_

#include <string>

#include "tests/wan/emulator/text.h"

namespace goss::wanem {

struct Names {
  std::string prefix = "wan";
  [[nodiscard]] std::string host(int i) const { return prefix + std::to_string(i); }
  void check() const;
  /// Listens or connects; -1 when that fails. An abstract address ('@' stands for its leading zero byte) is freed with
  /// its last descriptor.
  [[nodiscard]] int socketAt(const std::string& path, bool serve) const;
  [[nodiscard]] std::string control() const { return "/run/wanem-" + prefix + ".sock"; }
  /// -1: another emulator has this prefix.
  [[nodiscard]] int lock() const { return socketAt("@wanem-" + prefix, true); }
  /// A shell command; acts on our names only, the prefix and a number.
  [[nodiscard]] std::string removal() const;
};

/// Sends a control command and prints the answer; returns the exit status.
int sendControl(const Names& names, const Words& words);
/// Stops the emulator of that prefix if it runs, and removes all it left.
int clean(const Names& names);

} // namespace goss::wanem

#endif // GOSS_TESTS_WAN_EMULATOR_NAMES_H_
