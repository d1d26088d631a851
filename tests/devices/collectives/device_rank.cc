#include "tests/devices/collectives/device_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>

#include "builtins/builtins.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"

namespace goss::test {

namespace {

std::unique_ptr<DeviceBlock> allocate(Device& device, MemoryKind kind, std::size_t bytes) {
  auto block = device.allocate(kind, bytes);
  EXPECT_TRUE(block.isOk()) << block.status().text();
  return block.take();
}

void expectOk(const Status& status) { EXPECT_TRUE(status.isOk()) << status.text(); }

} // namespace

std::vector<std::byte> bytesOf(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floatsOf(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

goss_options onStream(DeviceRank& device, const char* algorithm) {
  goss_options options = GOSS_OPTIONS_INIT;
  options.stream = device.stream();
  options.algorithm = algorithm;
  return options;
}

std::pair<goss_status, std::string> failureOf(goss_comm_t comm) {
  goss_status status = GOSS_SUCCESS;
  const char* text = "";
  for (int i = 0; i < 20000 && status == GOSS_SUCCESS; ++i) {
    EXPECT_OK(goss_comm_error(comm, &status, &text));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {status, text};
}

DeviceRank::DeviceRank(int first) : first_(first) {
  auto provider = makeDeviceProvider(testedProvider(), false);
  EXPECT_TRUE(provider.isOk()) << provider.status().text();
  provider_ = provider.take();
  device_ = &at(0);
  auto queue = device_->queue(nullptr);
  EXPECT_TRUE(queue.isOk()) << queue.status().text();
  queue_ = queue.take();
  memory_ = allocate(*device_, MemoryKind::device, kMaxBytes);
  to_device_ = allocate(*device_, MemoryKind::pinned, kMaxBytes);
  to_host_ = allocate(*device_, MemoryKind::pinned, kMaxBytes);
}

DeviceRank::~DeviceRank() = default;

std::byte* DeviceRank::memory(std::size_t bytes) {
  EXPECT_LE(bytes, kMaxBytes);
  return memory_->data();
}

void DeviceRank::enqueueToDevice(const std::vector<std::byte>& host) {
  std::memcpy(to_device_->data(), host.data(), host.size());
  expectOk(queue_->copy(std::vector<CopyJob>{{memory_->data(), to_device_->data(), host.size()}}));
}

void DeviceRank::enqueueToHost(std::size_t bytes) {
  expectOk(queue_->copy(std::vector<CopyJob>{{to_host_->data(), memory_->data(), bytes}}));
}

bool DeviceRank::synchronize(int longest_ms) {
  auto event = device_->event();
  if (!event.isOk() || !queue_->record(*event.value()).isOk()) return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(longest_ms);
  for (auto done = event.value()->isDone(); done.isOk(); done = event.value()->isDone()) {
    if (done.value()) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return false;
}

std::vector<std::byte> DeviceRank::fetched(std::size_t bytes) const {
  return {to_host_->data(), to_host_->data() + bytes};
}

void runDeviceRanks(const DeviceSetup& setup,
                    const std::function<void(goss_comm_t comm, int rank, DeviceRank& device)>& body) {
  ScopedEnvironment environment;
  environment.set("GOSS_DEVICE", testedProvider());
  const std::uint64_t complaints_before = complaints();
  makeMachine(setup.machine, setup.ranks);
  goss_unique_id id;
  ASSERT_OK(goss_unique_id_create(&id));
  std::barrier<> end(setup.ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < setup.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      DeviceRank device(playRank(setup.machine, rank));
      beginToFail(setup.machine, rank);
      goss_config config;
      ASSERT_OK(goss_config_init(&config));
      config.rank = rank;
      config.ranks = setup.ranks;
      config.unique_id = &id;
      config.timeout_ms = setup.timeout_ms;
      if (!setup.transport.empty()) config.transport = setup.transport.c_str();
      goss_comm_t comm = nullptr;
      EXPECT_OK(goss_comm_create(&config, &comm));
      if (comm != nullptr) body(comm, rank, device);
      end.arrive_and_wait();
      EXPECT_OK(goss_comm_destroy(comm));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(complaints(), complaints_before) << "What the driver forbids was done; standard error says what.";
}

void failAndExpectAllToNameIt(int job, const std::function<goss_options(DeviceRank& device)>& options_of) {
  DeviceSetup setup{"tcp", 3};
  setup.machine.other_rank = 1;
  setup.machine.other_behaviour.fail_at = job;
  runDeviceRanks(setup, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    auto* memory = device.memory(kBytes);
    const goss_options options = options_of(device);
    goss_status status = GOSS_SUCCESS;
    for (int i = 0; i < 40 && status == GOSS_SUCCESS; ++i)
      status = goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr);
    const auto [failure, text] = failureOf(comm);
    EXPECT_EQ(failure, GOSS_ERR_DEVICE) << text;
    EXPECT_THAT(text, testing::HasSubstr("rank 1: " + deviceText(1))) << "on rank " << rank;
  });
}

} // namespace goss::test
