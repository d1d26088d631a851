// Synchronizers of tensors in device memory do what they do with tensors of the host, to the last bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/devices/collectives/device_rank.h"
#include "tests/lib/sync/methods/model.h"
#include "tests/support/calls.h"

namespace goss::test {
namespace {

/// Device memory of a rank.
class OnDevice final : public Elsewhere {
 public:
  explicit OnDevice(DeviceRank& device) : device_(device) {}
  float* memory() override { return reinterpret_cast<float*>(device_.memory(kBytes)); }
  void put(const std::vector<float>& values) override {
    if (failed_) return;
    device_.enqueueToDevice(bytesOf(values));
    works_ = device_.synchronize() && works_;
  }
  std::vector<float> get(std::size_t count) override {
    if (failed_) return std::vector<float>(count);
    device_.enqueueToHost(count * sizeof(float));
    works_ = device_.synchronize() && works_;
    return floatsOf(device_.fetched(count * sizeof(float)));
  }
  /// The device of `rank` fails.
  void fail(int rank) {
    failed_ = true;
    failNow(rank);
  }
  [[nodiscard]] bool works() const { return works_; }

 private:
  DeviceRank& device_;
  bool works_ = true;
  bool failed_ = false;
};

TEST(DeviceSynchronizers, HaveTheBitsOfHostTensors) {
  const std::vector<std::string> specs = allSpecs();
  runDeviceRanks({"", kRanks}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    for (const std::string& spec : specs) {
      OnDevice memory(device);
      SyncRun host(comm, spec);
      SyncRun there(comm, spec, &memory);
      host.start();
      there.start();
      EXPECT_EQ(there.parameters(), host.parameters()) << spec;
      std::string state;
      std::vector<float> parameters;
      constexpr int kSavedStep = 7;
      for (int step = 0; step < 11; ++step) {
        if (step == kSavedStep) {
          state = exported(there.sync());
          parameters = there.parameters();
          EXPECT_EQ(state, exported(host.sync())) << spec;
        }
        host.step(step);
        there.step(step);
        ASSERT_EQ(there.parameters(), host.parameters()) << spec << " behind step " << step << " on rank " << rank;
      }
      SyncRun resumed(comm, spec, &memory);
      EXPECT_OK(goss_sync_import(resumed.sync(), state.data(), state.size()));
      resumed.parameters() = parameters;
      resumed.start();
      for (int step = kSavedStep; step < 11; ++step)
        resumed.step(step);
      EXPECT_EQ(resumed.parameters(), host.parameters()) << spec << " from a checkpoint on rank " << rank;
      host.finish();
      resumed.finish();
      EXPECT_EQ(resumed.parameters(), host.parameters()) << spec << " at the end on rank " << rank;
      ASSERT_TRUE(memory.works());
    }
  });
}

/// A tensor larger than a bucket is reduced where it lies on the host: no call may copy it from the device again.
TEST(DeviceSynchronizers, AGradientThatIsInFlightIsNotCopiedAgain) {
  runDeviceRanks({"", 2}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    for (const char* spec : {"ddp:bucket_kb=1024", "auto"}) {
      constexpr std::size_t kLarge = 300000; // 1.1 MiB
      OnDevice memory(device);
      goss_sync_t sync = nullptr;
      ASSERT_OK(goss_sync_create(comm, spec, &sync));
      goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
      tensor.name = "large";
      tensor.parameter = device.memory(2 * kLarge * sizeof(float));
      tensor.gradient = static_cast<float*>(tensor.parameter) + kLarge;
      tensor.count = kLarge;
      ASSERT_OK(goss_sync_register(sync, &tensor, nullptr));
      memory.put(std::vector<float>(2 * kLarge));
      ASSERT_OK(goss_sync_start(sync));
      for (int step = 0; step < 2; ++step) {
        memory.put(std::vector<float>(2 * kLarge, static_cast<float>(rank + 1)));
        EXPECT_OK(goss_sync_gradient_ready(sync, 0));
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
        std::this_thread::sleep_for(std::chrono::milliseconds(50)); // meanwhile the all-reduce ends
        EXPECT_EQ(goss_sync_gradient_ready(sync, 0), GOSS_ERR_INVALID_ARGUMENT) << "told twice";
        EXPECT_OK(goss_sync_gradients(sync));
        const std::vector<float> both = memory.get(2 * kLarge);
        EXPECT_EQ(std::count(both.begin() + kLarge, both.end(), 1.5F), static_cast<long>(kLarge)) << spec;
        EXPECT_OK(goss_sync_step(sync));
      }
      EXPECT_OK(goss_sync_destroy(sync));
      EXPECT_TRUE(memory.works());
    }
  });
}

/// Rules begin again from the parameters of the tensors.
TEST(DeviceSynchronizers, StartFromTheStatesOfAllRanks) {
  runDeviceRanks({"", 2}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    for (const char* spec : {"easgd:h=2", "diloco:h=2", "choco:topology=full"}) {
      OnDevice memory(device);
      SyncRun before(comm, spec);
      before.start();
      for (int step = 0; step < 3; ++step)
        before.step(step);
      const std::string state = exported(before.sync());
      const void* bytes = state.data();
      const std::size_t size = state.size();
      SyncRun host(comm, spec);
      SyncRun there(comm, spec, &memory);
      for (SyncRun* run : {&host, &there}) {
        run->parameters().assign(kElements, 3);
        run->putTensors();
        EXPECT_OK(goss_sync_import_all(run->sync(), &bytes, &size, 1, nullptr));
        run->start();
        for (int step = 3; step < 7; ++step)
          run->step(step);
      }
      EXPECT_EQ(there.parameters(), host.parameters()) << spec << " on rank " << rank;
    }
  });
}

/// Rank 1's device fails between two steps; the others hear of it in theirs.
TEST(DeviceSynchronizers, AFailingDeviceFailsAllRanksAndIsNamed) {
  for (const char* spec : {"ddp", "diloco:h=1", "dpsgd:h=1"}) {
    runDeviceRanks({"", 3}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
      OnDevice memory(device);
      SyncRun run(comm, spec, rank == 1 ? &memory : nullptr);
      run.start();
      goss_status status = GOSS_SUCCESS;
      for (int step = 0; step < kSteps && status == GOSS_SUCCESS; ++step) {
        status = run.tryStep(step); // Rank 1 may be a step ahead of one that does not hear from it in every step.
        if (step == 0 && rank == 1) {
          EXPECT_EQ(status, GOSS_SUCCESS) << goss_last_error();
          memory.fail(rank);
        }
      }
      EXPECT_EQ(status, rank == 1 ? GOSS_ERR_DEVICE : GOSS_ERR_ABORTED) << spec;
      EXPECT_THAT(goss_last_error(), testing::HasSubstr("rank 1: " + deviceText(1))) << spec << " on rank " << rank;
    });
  }
}

} // namespace
} // namespace goss::test
