/// What a machine is made of and where a process runs on it, from hwloc; without hwloc (at build time) nothing is
/// known, and nothing depends on it.
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
  int cache = -1; ///< Of the third level, which the cores of a group share.
  friend bool operator==(const Place&, const Place&) = default;
};

struct Topology {
  struct Part {
    std::vector<int> processors; ///< The system's numbers, ascending.
    std::uint64_t bytes = 0;     ///< Of memory or cache; 0: not known.
  };
  struct Device {
    std::string name;     ///< As the system calls it ("eth0", "mlx5_0", "cuda0"), or what its maker calls it.
    bool network = false; ///< Else it computes.
    std::string address;  ///< PCI: "0000:81:00.0".
    Place place;          ///< What it is attached to.
  };

  std::vector<Part> packages;
  std::vector<Part> numa_nodes;
  std::vector<Part> caches; ///< Of the third level.
  int cores = 0;
  int processors = 0;
  std::vector<Device> devices; ///< Network interfaces and accelerators on the PCI bus.

  /// The parts that hold all processors of `binding`; none of them: all -1.
  [[nodiscard]] Place placeOf(std::span<const int> binding) const;
};

/// This machine, or the one that HWLOC_XMLFILE describes. Takes tens of milliseconds. Errors: unsupported without
/// hwloc; resource.
Result<Topology> readTopology();
/// The machine that hwloc's XML describes. Errors: unsupported; invalidArgument.
Result<Topology> parseTopology(const std::string& xml);

/// Processors that the calling thread may run on.
std::vector<int> ownProcessors();
/// The calling thread's place. Nothing is looked up for one that may run everywhere: it has none.
Place ownPlace();

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_TOPOLOGY_H_
