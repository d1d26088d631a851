/// The parts of a machine and where a process runs on it, from hwloc; without hwloc (at build time) nothing is known,
/// and nothing depends on it.
#ifndef GOSS_LIB_PLATFORM_TOPOLOGY_H_
#define GOSS_LIB_PLATFORM_TOPOLOGY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gossamer/status.h"

namespace goss::platform {

/// Where a process runs, as numbers within its machine; -1: not bound to a single one, or not known.
struct Place {
  int package = -1;
  int numa = -1;
  int cache = -1; ///< Number of the third-level cache, which the cores of a group share.
  friend bool operator==(const Place&, const Place&) = default;
};

struct Topology {
  struct Part {
    std::vector<int> processors; ///< The system's numbers, ascending.
    std::uint64_t bytes = 0;     ///< Size of the memory or cache; 0: not known.
  };
  struct Device {
    std::string name;     ///< The system's name ("eth0", "mlx5_0", "cuda0"), or its maker's.
    bool network = false; ///< A network interface; else an accelerator.
    std::string address;  ///< PCI: "0000:81:00.0".
    Place place;          ///< The part of the machine that it is attached to.
  };

  std::vector<Part> packages;
  std::vector<Part> numa_nodes;
  std::vector<Part> caches; ///< Third-level caches.
  int cores = 0;
  int processors = 0;
  std::vector<Device> devices; ///< Network interfaces and accelerators on the PCI bus.

  /// The parts that hold all processors of `binding`; all -1 when there is none.
  [[nodiscard]] Place placeOf(std::span<const int> binding) const;
};

/// This machine, or the one that HWLOC_XMLFILE describes. Takes tens of milliseconds. Errors: unsupported without
/// hwloc; resource.
Result<Topology> readTopology();
/// The machine that hwloc's XML describes. Errors: unsupported; invalidArgument.
Result<Topology> parseTopology(const std::string& xml);

/// Processors on which the calling thread may run.
std::vector<int> ownProcessors();
/// The calling thread's place. A thread that may run everywhere has none, which costs no look-up.
Place ownPlace();

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_TOPOLOGY_H_
