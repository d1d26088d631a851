// Which memory of other processes stays mapped.
#include "devices/peer_memory.h"

#include <gtest/gtest.h>

#include <set>

namespace goss {
namespace {

/// Maps everything but what begins at kRefused, at the address that its owner has.
class MappingDevice final : public Device {
 public:
  static constexpr std::uint64_t kRefused = 13;

  class Mapped final : public DeviceBlock {
   public:
    Mapped(std::multiset<std::uint64_t>& all, std::uint64_t base, std::size_t bytes)
        : all_(all), base_(base), bytes_(bytes) {
      all_.insert(base_);
    }
    ~Mapped() override { all_.erase(all_.find(base_)); }
    [[nodiscard]] std::byte* data() const override { return reinterpret_cast<std::byte*>(base_); }
    [[nodiscard]] std::size_t bytes() const override { return bytes_; }

   private:
    std::multiset<std::uint64_t>& all_;
    const std::uint64_t base_;
    const std::size_t bytes_;
  };

  [[nodiscard]] std::string name() const override { return "mapping device"; }
  [[nodiscard]] int ordinal() const override { return 0; }
  [[nodiscard]] std::string identity() const override { return "mapping"; }
  Result<std::unique_ptr<DeviceBlock>> allocate(MemoryKind, std::size_t) override { return refusal(); }
  Result<MemoryHandle> exportMemory(const void*) override { return refusal(); }
  Result<std::unique_ptr<DeviceBlock>> importMemory(const MemoryHandle& handle, std::size_t bytes) override {
    const auto base = static_cast<std::uint64_t>(handle[0]) << 12;
    if (base == kRefused << 12) return refusal();
    ++imports;
    return std::unique_ptr<DeviceBlock>(std::make_unique<Mapped>(mapped, base, bytes));
  }
  Result<std::unique_ptr<DeviceQueue>> queue(void*) override { return refusal(); }
  std::unique_ptr<DeviceQueue> wrap(void*) override { return nullptr; }
  void synchronizeCopies() override {}
  Result<std::unique_ptr<DeviceEvent>> event() override { return refusal(); }
  Result<std::shared_ptr<const QueuedCodec>> codec(std::string_view) override { return refusal(); }
  Status prepareArithmetic() override { return refusal(); }
  static Status refusal() { return Status::error(GOSS_ERR_UNSUPPORTED, "not by this device"); }

  std::multiset<std::uint64_t> mapped;
  int imports = 0;
};

PeerAllocation allocation(int rank, std::uint64_t id, std::uint64_t page) {
  PeerAllocation made{rank, id, page << 12, 4096, {}};
  made.handle[0] = static_cast<std::byte>(page);
  return made;
}

class PeerMemories : public testing::Test {
 protected:
  MappingDevice device_;
  bool may_wait_ = true;
  PeerMemory memory_{device_, [this] { return may_wait_; }};
};

TEST_F(PeerMemories, AreMappedOnceAndAgainWhenSomethingElseLiesThere) {
  (void)memory_.map(allocation(1, 5, 3));
  (void)memory_.map(allocation(1, 5, 3));
  (void)memory_.map(allocation(2, 5, 3));
  EXPECT_EQ(device_.imports, 2) << "Ranks have ids of their own.";
  (void)memory_.map(allocation(1, 6, 3));
  EXPECT_EQ(device_.imports, 3);
  EXPECT_EQ(device_.mapped.size(), 2U);
}

TEST_F(PeerMemories, StayAsLongAsSomebodyHoldsThemOrUnmappingWouldWait) {
  {
    const auto held = memory_.map(allocation(1, 5, 3));
    ASSERT_TRUE(held.isOk());
    memory_.forget(1);
    EXPECT_EQ(device_.mapped.size(), 1U);
    may_wait_ = false;
  }
  memory_.forget(1);
  EXPECT_EQ(device_.mapped.size(), 1U);
  may_wait_ = true;
  memory_.sweep();
  EXPECT_EQ(device_.mapped.size(), 0U);
}

TEST_F(PeerMemories, ThatWereNotUsedForLongestGoFirst) {
  for (std::uint64_t i = 0; i < PeerMemory::kMaxMapped; ++i)
    (void)memory_.map(allocation(1, i, 100 + i));
  (void)memory_.map(allocation(1, 0, 100));
  (void)memory_.map(allocation(2, 1, 50));
  EXPECT_EQ(device_.mapped.size(), PeerMemory::kMaxMapped);
  EXPECT_EQ(device_.mapped.count(100 << 12), 1U);
  EXPECT_EQ(device_.mapped.count(101 << 12), 0U);
}

TEST_F(PeerMemories, AreNotTriedAfterARefusal) {
  EXPECT_TRUE(memory_.succeeds());
  EXPECT_FALSE(memory_.map(allocation(1, 1, MappingDevice::kRefused)).isOk());
  EXPECT_FALSE(memory_.succeeds());
}

} // namespace
} // namespace goss
