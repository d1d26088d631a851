#include "platform/topology.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/invalid.h"
#include "platform/host.h"

#ifdef GOSS_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace goss::platform {

namespace {

int holderOf(const std::vector<Topology::Part>& parts, std::span<const int> processors) {
  const auto holder = std::find_if(parts.begin(), parts.end(), [&](const Topology::Part& part) {
    return std::includes(part.processors.begin(), part.processors.end(), processors.begin(), processors.end());
  });
  return holder == parts.end() ? -1 : static_cast<int>(holder - parts.begin());
}

} // namespace

Place Topology::placeOf(std::span<const int> binding) const {
  if (binding.empty()) return {};
  return {holderOf(packages, binding), holderOf(numa_nodes, binding), holderOf(caches, binding)};
}

std::vector<int> ownProcessors() {
  const std::string usable = usableProcessors();
  std::vector<int> processors;
  for (std::size_t i = 0; i < usable.size() * 8; ++i) {
    if ((static_cast<unsigned char>(usable[i / 8]) >> i % 8 & 1) != 0) processors.push_back(static_cast<int>(i));
  }
  return processors;
}

Place ownPlace() {
  const std::vector<int> processors = ownProcessors();
  if (static_cast<long>(processors.size()) >= ::sysconf(_SC_NPROCESSORS_ONLN)) return {};
  const Result<Topology> topology = readTopology();
  return topology.isOk() ? topology.value().placeOf(processors) : Place();
}

#ifdef GOSS_HAVE_HWLOC

namespace {

class Handle {
 public:
  Handle() { ::hwloc_topology_init(&topology_); }
  ~Handle() { ::hwloc_topology_destroy(topology_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] hwloc_topology_t get() const { return topology_; }

 private:
  hwloc_topology_t topology_ = nullptr;
};

std::vector<int> listOf(hwloc_const_cpuset_t set) {
  std::vector<int> processors;
  for (int i = ::hwloc_bitmap_first(set); i >= 0; i = ::hwloc_bitmap_next(set, i))
    processors.push_back(i);
  return processors;
}

/// Parts without processors, such as memory near to devices only, are left out, because no process can run there.
std::vector<Topology::Part> partsOf(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<Topology::Part> parts;
  for (hwloc_obj_t at = nullptr; (at = ::hwloc_get_next_obj_by_type(topology, type, at)) != nullptr;) {
    Topology::Part part{listOf(at->cpuset), 0};
    if (type == HWLOC_OBJ_NUMANODE) part.bytes = at->attr->numanode.local_memory;
    if (type == HWLOC_OBJ_L3CACHE) part.bytes = at->attr->cache.size;
    if (!part.processors.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

/// The system's name of a device, or else its maker's.
std::string nameOf(hwloc_obj_t device) {
  for (hwloc_obj_t at = device->io_first_child; at != nullptr; at = at->next_sibling) {
    if (at->type == HWLOC_OBJ_OS_DEVICE && at->name != nullptr) return at->name;
  }
  const char* model = ::hwloc_obj_get_info_by_name(device, "PCIDevice");
  return model != nullptr ? model : "unnamed";
}

void addDevice(hwloc_topology_t topology, hwloc_obj_t found, Topology& result) {
  const auto& pci = found->attr->pcidev;
  const unsigned kind = pci.class_id >> 8; // PCI's base class: 2 networks, 3 displays, 0x12 accelerators.
  if (kind != 0x02 && kind != 0x03 && kind != 0x12) return;
  const hwloc_obj_t near = ::hwloc_get_non_io_ancestor_obj(topology, found);
  char address[32];
  std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", static_cast<unsigned>(pci.domain),
                static_cast<unsigned>(pci.bus), static_cast<unsigned>(pci.dev), static_cast<unsigned>(pci.func));
  result.devices.push_back({nameOf(found), kind == 0x02, address, result.placeOf(listOf(near->cpuset))});
}

Result<Topology> load(hwloc_topology_t topology) {
  // Includes what this process may not use: processes that are confined to different parts of a machine (cgroups) must
  // give the same part the same number.
  ::hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  ::hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (::hwloc_topology_load(topology) != 0)
    return Status::error(GOSS_ERR_RESOURCE, "hwloc cannot read the machine's topology");
  Topology result;
  result.packages = partsOf(topology, HWLOC_OBJ_PACKAGE);
  result.numa_nodes = partsOf(topology, HWLOC_OBJ_NUMANODE);
  result.caches = partsOf(topology, HWLOC_OBJ_L3CACHE);
  result.cores = std::max(0, ::hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
  result.processors = std::max(0, ::hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
  for (hwloc_obj_t at = nullptr; (at = ::hwloc_get_next_pcidev(topology, at)) != nullptr;)
    addDevice(topology, at, result);
  return result;
}

} // namespace

Result<Topology> readTopology() {
  const Handle handle;
  return load(handle.get());
}

Result<Topology> parseTopology(const std::string& xml) {
  const Handle handle;
  // The length includes the terminating zero.
  if (::hwloc_topology_set_xmlbuffer(handle.get(), xml.c_str(), static_cast<int>(xml.size() + 1)) != 0)
    return base::invalid("the text is not hwloc's XML");
  return load(handle.get());
}

#else

Result<Topology> readTopology() {
  return Status::error(GOSS_ERR_UNSUPPORTED, "this build is without hwloc (libhwloc-dev), which knows the topology");
}

Result<Topology> parseTopology(const std::string& xml) {
  (void)xml;
  return readTopology();
}

#endif

} // namespace goss::platform
