#include "tests/devices/collectives/device_case.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/calls.h"

namespace goss::test {

namespace {

bool isOrdered(Way way) { return way == Way::ordered || way == Way::orderedPersistent; }

goss_status callIn(goss_comm_t comm, const Case& test, Buffers& buffers, Way way) {
  if (way == Way::blocking || way == Way::ordered || way == Way::onHost) return call(comm, test, buffers);
  goss_request_t request = nullptr;
  const bool persistent = way != Way::requested;
  goss_status status = call(comm, test, buffers, persistent ? GOSS_PERSISTENT : 0, &request);
  if (status != GOSS_SUCCESS) return status;
  if (persistent && (status = goss_start(request)) != GOSS_SUCCESS) return status;
  status = goss_wait(&request, nullptr);
  if (persistent) {
    EXPECT_OK(goss_request_free(&request));
  }
  return status;
}

/// Brings the buffers to where a call `way` takes them from.
void bring(Buffers& buffers, DeviceRank& device, Way way) {
  if (way == Way::onHost) return;
  buffers.lieOnDevice(device.memory(buffers.memory().size()), isOrdered(way) ? device.stream() : nullptr);
  device.enqueueToDevice(buffers.memory());
  if (!isOrdered(way)) EXPECT_TRUE(device.synchronize());
}

} // namespace

bool check(goss_comm_t comm, DeviceRank& device, Case test, int rank, int ranks, Way way) {
  test.root = static_cast<int>(test.count + static_cast<std::size_t>(test.dtype)) % ranks;
  Buffers buffers(test, rank, ranks);
  std::vector<std::byte>& memory = buffers.memory();
  bring(buffers, device, way);
  const goss_status status = callIn(comm, test, buffers, way);
  EXPECT_EQ(status, GOSS_SUCCESS) << test.describe() << ": " << goss_last_error();
  if (status != GOSS_SUCCESS) return false;
  if (way != Way::onHost) {
    device.enqueueToHost(memory.size());
    EXPECT_TRUE(device.synchronize()) << test.describe();
    memory = device.fetched(memory.size());
  }
  const std::string difference = buffers.difference();
  EXPECT_EQ(difference, "") << test.describe() << " on rank " << rank << " of " << ranks << ", way "
                            << static_cast<int>(way);
  return difference.empty();
}

bool checkCompressed(goss_comm_t comm, goss_comm_t other, DeviceRank& device, Case test, int rank, int ranks, Way way,
                     int& compared) {
  test.root = static_cast<int>(test.count) % ranks;
  Buffers on_host(test, rank, ranks);
  Buffers on_device(test, rank, ranks);
  std::vector<std::byte>& memory = on_device.memory();
  bring(on_device, device, way);
  const goss_status expected = call(other, test, on_host);
  const goss_status status = callIn(comm, test, on_device, way);
  EXPECT_EQ(status, expected) << test.describe() << ": " << goss_last_error();
  if (status != GOSS_SUCCESS) {
    const bool is_refused = status == GOSS_ERR_UNSUPPORTED || status == GOSS_ERR_INVALID_ARGUMENT;
    if (is_refused && way != Way::onHost) {
      EXPECT_TRUE(device.synchronize()); // The next case writes what a copy of this one reads.
    }
    return status == expected && is_refused;
  }
  if (way != Way::onHost) {
    device.enqueueToHost(memory.size());
    EXPECT_TRUE(device.synchronize()) << test.describe();
    memory = device.fetched(memory.size());
  }
  ++compared;
  const bool same = memory == on_host.memory();
  EXPECT_TRUE(same) << test.describe() << " with " << test.codec << " on rank " << rank << " of " << ranks << ", way "
                    << static_cast<int>(way);
  return same;
}

void callEveryCodec(const DeviceSetup& setup, std::size_t stride) {
  const int ranks = setup.ranks;
  std::vector<std::vector<std::string>> algorithms;
  for (int collective = 0; collective < static_cast<int>(Collective::scan); ++collective)
    algorithms.push_back(algorithmsFor(static_cast<Collective>(collective), ranks));
  runDeviceRanks(setup, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    goss_comm_t other = nullptr;
    goss_comm_t own = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &other));
    ASSERT_OK(goss_comm_dup(comm, &own));
    Sample sample(stride);
    std::size_t next = 0;
    int compared = 0;
    bool right = true;
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      for (const std::string& algorithm : algorithms[i]) {
        for (const char* codec :
             {"int8", "sign", "int8:round=stochastic", "bf16", "natural", "topk:ratio=0.1",
              "topk:ratio=0.1,select=sampled,indices=packed+int8", "threshold:value=40+ef", "int8+ef", "sign+ef"}) {
          for (const bool in_place : {false, true}) {
            Case test;
            test.collective = static_cast<Collective>(i);
            test.algorithm = algorithm;
            test.codec = codec;
            test.op = reduces(test.collective) && next % 4 < 2 ? GOSS_AVG : GOSS_SUM;
            test.count = std::vector<std::size_t>{30011, 3, 1024}[next / 5 % 3];
            test.in_place = in_place;
            const Way way = kWays[next++ % std::size(kWays)];
            right =
                right && (!sample.takeNext() || checkCompressed(own, other, device, test, rank, ranks, way, compared));
          }
        }
      }
    }
    EXPECT_GT(compared, 0);
    EXPECT_OK(goss_comm_destroy(own));
    EXPECT_OK(goss_comm_destroy(other));
  });
}

void callEveryDtypeAndOp(const DeviceSetup& setup, std::size_t stride) {
  const int ranks = setup.ranks;
  runDeviceRanks(setup, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    Sample sample(stride);
    std::size_t next = 0;
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      for (int dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
        Case test;
        test.collective = static_cast<Collective>(collective);
        test.dtype = static_cast<DType>(dtype);
        for (const ReduceOp op : legalOps(test.collective, test.dtype)) {
          for (const bool in_place : {false, true}) {
            test.op = op;
            test.count = std::vector<std::size_t>{127, 0, static_cast<std::size_t>(ranks) + 1, 1}[next / 7 % 4];
            test.in_place = in_place;
            const Way way = kWays[next++ % std::size(kWays)];
            if (sample.takeNext() && !check(comm, device, test, rank, ranks, way)) return;
          }
        }
      }
    }
  });
}

} // namespace goss::test
