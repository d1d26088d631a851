// Collectives among neighbours on device buffers have the bits of those on host buffers.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "gossamer/gossip.h"
#include "tests/devices/collectives/device_rank.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"

namespace goss::test {
namespace {

constexpr int kNeighborRanks = 4;
/// Elements from the start of the send buffer to that of the other.
constexpr std::size_t kApart = 4 * kCount;

/// A call on `send` and `recv`, each of room for kApart elements.
using NeighborCall = std::function<goss_status(float* send, float* recv, const goss_options& options)>;

/// Makes the call with host buffers, and with device buffers in every way, and compares the whole of them.
void expectSameBits(DeviceRank& device, int rank, const NeighborCall& call) {
  std::vector<float> before(2 * kApart);
  for (std::size_t i = 0; i < before.size(); ++i)
    before[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) - 50.5F;
  std::vector<float> expected = before;
  goss_options options = GOSS_OPTIONS_INIT;
  ASSERT_OK(call(expected.data(), expected.data() + kApart, options));
  for (const bool ordered : {false, true}) {
    auto* memory = reinterpret_cast<float*>(device.memory(before.size() * sizeof(float)));
    device.enqueueToDevice(bytesOf(before));
    if (!ordered) {
      ASSERT_TRUE(device.synchronize());
    }
    options.stream = ordered ? device.stream() : nullptr;
    ASSERT_OK(call(memory, memory + kApart, options));
    device.enqueueToHost(before.size() * sizeof(float));
    ASSERT_TRUE(device.synchronize());
    EXPECT_EQ(device.fetched(before.size() * sizeof(float)), bytesOf(expected))
        << "on rank " << rank << (ordered ? " in a stream" : "");
  }
}

class DeviceNeighbors : public testing::TestWithParam<std::tuple<std::string, const char*>> {};

TEST_P(DeviceNeighbors, HaveTheBitsOfHostBuffers) {
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "32768");
  const auto& [transport, spec] = GetParam();
  goss_topology_t topology = nullptr;
  ASSERT_OK(goss_topology_create(spec, kNeighborRanks, &topology));
  runDeviceRanks({transport, kNeighborRanks}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    goss_neighborhood all = GOSS_NEIGHBORHOOD_INIT;
    ASSERT_OK(goss_topology_neighbors(topology, 0, rank, &all));
    const auto check = [&](const NeighborCall& call) { expectSameBits(device, rank, call); };
    for (const std::size_t count : {std::size_t{0}, std::size_t{5}, kCount}) {
      for (const bool in_place : {false, true}) {
        check([&](float* send, float* recv, const goss_options& options) {
          return goss_neighbor_all_reduce(comm, in_place ? recv : send, recv, count, GOSS_FLOAT32, &all, &options,
                                          nullptr);
        });
      }
      check([&](float* send, float* recv, goss_options options) {
        options.codec = "int8";
        return goss_neighbor_all_reduce(comm, send, recv, count, GOSS_FLOAT32, &all, &options, nullptr);
      });
      check([&](float* send, float* recv, const goss_options& options) {
        return goss_neighbor_all_gather(comm, send, recv, count, GOSS_FLOAT32, &all, &options, nullptr);
      });
      check([&](float* send, float* recv, const goss_options& options) {
        return goss_neighbor_all_to_all(comm, send, recv, count, GOSS_FLOAT32, &all, &options, nullptr);
      });
    }
    // From rank a to rank b go a + 2 b elements; blocks lie apart from each other.
    const auto countOf = [](int from, int to) { return static_cast<std::size_t>(from + 2 * to) % 5 * 501; };
    std::vector<std::size_t> sent, received, gathered, places;
    for (std::size_t i = 0; i < all.destination_count; ++i)
      sent.push_back(countOf(rank, all.destinations[i].rank));
    for (std::size_t i = 0; i < all.source_count; ++i) {
      received.push_back(countOf(all.sources[i].rank, rank));
      gathered.push_back(static_cast<std::size_t>(all.sources[i].rank) * 700);
    }
    for (std::size_t i = 0; i < kNeighborRanks; ++i)
      places.push_back((kNeighborRanks - i) * 3000);
    check([&](float* send, float* recv, const goss_options& options) {
      return goss_neighbor_all_to_allv(comm, send, sent.data(), places.data(), recv, received.data(), places.data(),
                                       GOSS_FLOAT32, &all, &options, nullptr);
    });
    check([&](float* send, float* recv, const goss_options& options) {
      return goss_neighbor_all_gatherv(comm, send, static_cast<std::size_t>(rank) * 700, recv, gathered.data(),
                                       places.data(), GOSS_FLOAT32, &all, &options, nullptr);
    });
  });
  goss_topology_destroy(topology);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceNeighbors,
                         testing::Combine(testing::Values("shm", "tcp"), testing::Values("ring", "exponential")),
                         [](const auto& tested) {
                           return std::get<0>(tested.param) + "_" + std::get<1>(tested.param);
                         });

} // namespace
} // namespace goss::test
