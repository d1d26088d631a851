// goss-explain topology: packages, memory, caches, cores and devices of this machine, and where this process runs.
#include "bench/explain_topology.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "platform/topology.h"
#include "tools/commandline/command_line.h"

namespace {

using goss::platform::Place;
using goss::platform::Topology;

/// Sorted numbers as ranges, such as "0-3,8".
std::string rangesOf(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string textOf(const Place& place) {
  std::string text;
  const auto add = [&text](const char* what, int number) {
    if (number >= 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, number);
  };
  add("package", place.package);
  add("NUMA node", place.numa);
  add("L3 cache", place.cache);
  return text.empty() ? "no single package" : text;
}

void printParts(const char* what, const std::vector<Topology::Part>& parts, const Topology& topology) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    fmt::print("{} {}: processors {}", what, i, rangesOf(parts[i].processors));
    if (parts[i].bytes > 0) fmt::print(", {:.0f} MiB", static_cast<double>(parts[i].bytes) / (1 << 20));
    const int package = topology.placeOf(parts[i].processors).package;
    if (&parts != &topology.packages && package >= 0) fmt::print(", in package {}", package);
    fmt::print("\n");
  }
}

} // namespace

int explainTopology(int argc, char** argv) {
  goss::CommandLine line(
      "Prints what this machine is made of, as hwloc tells it, and where this process runs. A rank that is bound\n"
      "tells the others its place, and the planner prices messages by how near the ranks of a host are.\n"
      "HWLOC_XMLFILE=FILE: another machine's.");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  const auto read = goss::platform::readTopology();
  if (!read.isOk()) {
    fmt::print(stderr, "goss-explain: {}\n", read.status().text());
    return 1;
  }
  const Topology& topology = read.value();
  fmt::print("packages {}, NUMA nodes {}, L3 caches {}, cores {}, processors {}\n", topology.packages.size(),
             topology.numa_nodes.size(), topology.caches.size(), topology.cores, topology.processors);
  printParts("package", topology.packages, topology);
  printParts("NUMA node", topology.numa_nodes, topology);
  printParts("L3 cache", topology.caches, topology);
  for (const Topology::Device& device : topology.devices) {
    fmt::print("{} {} ({}): near {}\n", device.network ? "network" : "accelerator", device.name, device.address,
               textOf(device.place));
  }
  const std::vector<int> own = goss::platform::ownProcessors();
  fmt::print("this process: processors {}: {}\n", rangesOf(own), textOf(topology.placeOf(own)));
  return 0;
}
