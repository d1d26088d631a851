// Topologies that hwloc describes in XML: machines that we do not have.
#include "platform/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace goss::platform {
namespace {

using ::testing::ElementsAre;

/// The library with which hwloc looks at the PCI bus keeps a little memory, and is unloaded before leaks are looked
/// for.
#ifdef __SANITIZE_ADDRESS__
using LeaksOfOthers = __lsan::ScopedDisabler;
#else
struct LeaksOfOthers {};
#endif

Result<Topology> thisMachine() {
  [[maybe_unused]] const LeaksOfOthers allowed;
  return readTopology();
}

Result<Topology> twoPackages() {
  std::ifstream file(GOSS_GOLDEN_DIR "/two_packages.xml");
  std::ostringstream text;
  text << file.rdbuf();
  return parseTopology(text.str());
}

TEST(Topology, WithoutHwlocItIsUnsupportedAndWithItTextsAreChecked) {
  EXPECT_EQ(parseTopology("no XML").status().kind(),
            GOSS_HWLOC_FOUND ? GOSS_ERR_INVALID_ARGUMENT : GOSS_ERR_UNSUPPORTED);
  EXPECT_EQ(thisMachine().isOk(), GOSS_HWLOC_FOUND) << "this machine";
}

TEST(Topology, ThePlaceOfABindingIsWhatHoldsAllOfIt) {
  Topology topology;
  topology.packages = {{{0, 1, 2, 3}, 0}, {{4, 5, 6, 7}, 0}};
  topology.numa_nodes = {{{0, 1, 2, 3}, 0}, {{4, 5}, 0}, {{6, 7}, 0}};
  topology.caches = {{{0, 1}, 0}, {{2, 3}, 0}, {{4, 5}, 0}};
  EXPECT_EQ(topology.placeOf(std::vector{2}), (Place{0, 0, 1}));
  EXPECT_EQ(topology.placeOf(std::vector{0, 1}), (Place{0, 0, 0}));
  EXPECT_EQ(topology.placeOf(std::vector{1, 2}), (Place{0, 0, -1}));
  EXPECT_EQ(topology.placeOf(std::vector{5, 6}), (Place{1, -1, -1}));
  EXPECT_EQ(topology.placeOf(std::vector{7}), (Place{1, 2, -1})) << "a core without such a cache";
  EXPECT_EQ(topology.placeOf(std::vector{3, 4}), Place());
  EXPECT_EQ(topology.placeOf(std::vector{99}), Place());
  EXPECT_EQ(topology.placeOf({}), Place());
}

TEST(Topology, AProcessThatMayRunEverywhereHasNoPlace) {
  const std::vector<int> own = ownProcessors();
  ASSERT_FALSE(own.empty());
  if (static_cast<long>(own.size()) == ::sysconf(_SC_NPROCESSORS_ONLN)) {
    EXPECT_EQ(ownPlace(), Place());
  } else if (const auto machine = thisMachine(); machine.isOk()) {
    [[maybe_unused]] const LeaksOfOthers allowed;
    EXPECT_EQ(ownPlace(), machine.value().placeOf(own));
  }
}

#if GOSS_HWLOC_FOUND

TEST(Topology, PackagesMemoryCachesAndDevicesAreRead) {
  const auto read = twoPackages();
  ASSERT_TRUE(read.isOk()) << read.status().text();
  const Topology& topology = read.value();
  ASSERT_EQ(topology.packages.size(), 2u);
  EXPECT_THAT(topology.packages[1].processors, ElementsAre(4, 5, 6, 7));
  ASSERT_EQ(topology.numa_nodes.size(), 2u);
  ASSERT_EQ(topology.caches.size(), 4u);
  EXPECT_THAT(topology.caches[2].processors, ElementsAre(4, 5));
  EXPECT_EQ(topology.caches[2].bytes, 16u << 20);
  EXPECT_EQ(topology.cores, 8);
  EXPECT_EQ(topology.processors, 8);
  ASSERT_EQ(topology.devices.size(), 2u);
  EXPECT_EQ(topology.devices[0].name, "card0");
  EXPECT_FALSE(topology.devices[0].network);
  EXPECT_EQ(topology.devices[0].address, "0000:17:00.0");
  EXPECT_EQ(topology.devices[0].place, (Place{0, 0, -1}));
  EXPECT_EQ(topology.devices[1].name, "eth0");
  EXPECT_TRUE(topology.devices[1].network);
  EXPECT_EQ(topology.devices[1].place, (Place{1, 1, -1}));
  EXPECT_EQ(topology.placeOf(std::vector{6}), (Place{1, 1, 3}));
}

#endif

} // namespace
} // namespace goss::platform
