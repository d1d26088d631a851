/// Helpers of the tests of device codecs: device memory with guards, values, and comparisons bit for bit.
#ifndef GOSS_TESTS_COMPRESSORS_CUDA_HARNESS_H_
#define GOSS_TESTS_COMPRESSORS_CUDA_HARNESS_H_

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compressors/cuda/codecs/device_catalogue.h"
#include "compressors/cuda/device/memory.h"

/// Ends a test with the reason where there is no device; host code always has one.
#define GOSS_NEED_DEVICE() \
  if (const auto device = compressors::cuda::deviceName(); !device.isOk()) GTEST_SKIP() << device.status().text()

namespace goss::test {

using compressors::cuda::DeviceBuffer;
using compressors::cuda::DeviceCodec;
using compressors::cuda::makeDeviceCodec;
using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;

/// Device memory that begins `misalign` bytes after an aligned address, with what is given.
class Lent {
 public:
  Lent(const void* from, std::size_t bytes, std::size_t misalign = 0)
      : buffer_(std::make_unique<const DeviceBuffer>(DeviceBuffer::make(bytes + misalign + kGuard).take())),
        misalign_(misalign),
        bytes_(bytes) {
    const Bytes guard(kGuard, std::byte{0xa5});
    EXPECT_TRUE(buffer_->upload(misalign + bytes, guard.data(), kGuard).isOk());
    EXPECT_TRUE(buffer_->upload(misalign, from, bytes).isOk());
  }
  explicit Lent(const Floats& values, std::size_t misalign = 0) : Lent(values.data(), values.size() * 4, misalign) {}

  [[nodiscard]] float* floats() const { return reinterpret_cast<float*>(buffer_->data() + misalign_); }
  [[nodiscard]] std::span<float> span() const { return {floats(), bytes_ / 4}; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {buffer_->data() + misalign_, bytes_}; }
  /// The current contents; checks that no byte behind them was written.
  [[nodiscard]] Bytes back(std::size_t bytes) const {
    Bytes now(bytes), guard(kGuard);
    EXPECT_TRUE(buffer_->download(now.data(), misalign_, bytes).isOk());
    EXPECT_TRUE(buffer_->download(guard.data(), misalign_ + bytes_, kGuard).isOk());
    EXPECT_EQ(guard, Bytes(kGuard, std::byte{0xa5})) << "written behind the end";
    return now;
  }
  [[nodiscard]] Floats backFloats() const {
    const Bytes now = back(bytes_);
    Floats values(bytes_ / 4);
    if (bytes_ != 0) {
      std::memcpy(values.data(), now.data(), bytes_);
    }
    return values;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  std::unique_ptr<const DeviceBuffer> buffer_;
  std::size_t misalign_, bytes_;
};

/// Bit for bit; of NaNs only that they are.
inline void expectSame(const Floats& host, const Floats& device, const std::string& what) {
  ASSERT_EQ(host.size(), device.size());
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (std::isnan(host[i]) && std::isnan(device[i])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(host[i]), std::bit_cast<std::uint32_t>(device[i]))
        << what << ": element " << i << " is " << host[i] << " on the host and " << device[i] << " on the device";
  }
}

inline void expectSame(const Bytes& host, const Bytes& device, const std::string& what) {
  ASSERT_EQ(host.size(), device.size());
  for (std::size_t i = 0; i < host.size(); ++i) {
    ASSERT_EQ(host[i], device[i]) << what << ": byte " << i << " of " << host.size();
  }
}

enum class Kind { plain, special };

inline Floats valuesOf(std::size_t count, std::uint32_t seed, Kind kind = Kind::plain) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::ldexp(normal(engine), static_cast<int>(i / 97 % 9) - 4);
  }
  if (kind == Kind::special) {
    constexpr float kOdd[] = {0.0f,
                              -0.0f,
                              1e-42f,
                              -3e-39f,
                              1e-31f,
                              3e38f,
                              -3.4e38f,
                              65504.0f,
                              448.0f,
                              1e-7f,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
    for (std::size_t i = 0; i < count; ++i) {
      // Blocks without any, with finite ones, and with all of them.
      const std::size_t stretch = i / 700 % 4;
      if (engine() % 50 == 0 && stretch != 0) {
        values[i] = kOdd[engine() % (stretch == 1 ? 5 : stretch == 2 ? 10 : 13)];
      }
      values[i] = stretch == 3 && i / 2800 % 2 == 1 ? 0.0f : values[i];
    }
  }
  return values;
}

inline Randomness randomness(std::uint32_t rank) {
  const RandomContext context{42, 1, 7, 3};
  return {PrivateStream(context, rank), SharedStream(context)};
}

struct HostScratch {
  explicit HostScratch(std::size_t bytes) : memory(bytes + 64) {}
  std::span<std::byte> span() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return std::span(memory).subspan((64 - address % 64) % 64).first(memory.size() - 64);
  }
  Bytes memory;
};

} // namespace goss::test

#endif // GOSS_TESTS_COMPRESSORS_CUDA_HARNESS_H_
