/// Fixture of the suite that every provider passes: device 0 of the provider that the parameter names.
#ifndef GOSS_TESTS_DEVICES_CONFORMANCE_FIXTURE_H_
#define GOSS_TESTS_DEVICES_CONFORMANCE_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gossamer/device.h"

namespace goss::test {

/// `threads`, and what GOSS_TEST_DEVICES names besides (separated by commas): they must be there.
std::vector<std::string> providersOfThisMachine();

class DeviceTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;

  DeviceProvider& provider() { return *provider_; }
  Device& device() { return *device_; }
  std::unique_ptr<DeviceBlock> block(MemoryKind kind, std::size_t bytes);
  std::unique_ptr<DeviceQueue> makeQueue();
  std::unique_ptr<DeviceEvent> makeEvent();
  MemoryInfo classify(const void* pointer);
  /// A word of pinned memory, zero at first.
  static Flag flagAt(const DeviceBlock& pinned, std::size_t offset);
  static std::uint32_t load(Flag flag);
  static void ok(const Status& status) { EXPECT_TRUE(status.isOk()) << status.text(); }
  /// Looks for ten seconds.
  static bool eventually(const std::function<bool()>& holds);
  /// Waits until the queue has done its jobs.
  void finish(DeviceQueue& queue);

 private:
  std::unique_ptr<DeviceProvider> provider_;
  Device* device_ = nullptr;
};

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_CONFORMANCE_FIXTURE_H_
