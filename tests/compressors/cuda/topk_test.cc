/// Top-k on a device beside the CPU's, byte for byte, on vectors long enough for a short list: where it holds the
/// selected ones, and where a sample deceives.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/compressors/cuda/harness.h"

namespace goss::test {
namespace {

constexpr std::size_t kCount = 150'001; // three tiles of indices, the last chunk short

void expectHostsBytes(const std::string& spec, const Floats& values, std::size_t shift) {
  SCOPED_TRACE(spec + ", " + std::to_string(shift));
  const auto made = makeDeviceCodec(spec);
  ASSERT_TRUE(made.isOk()) << made.status().text();
  const DeviceCodec& device = *made.value();
  Bytes expected(device.host().maxBytes(values.size()));
  HostScratch host_scratch(device.host().scratchBytes(values.size()));
  EncodeSegment segment{0, values.size(), expected, 0};
  EncodeJob job;
  job.values = values;
  job.random = randomness(0);
  job.scratch = host_scratch.span();
  job.segments = {&segment, 1};
  ASSERT_TRUE(device.host().encode(job).isOk());
  expected.resize(segment.bytes);

  const Bytes empty(device.host().maxBytes(values.size())), scratch_bytes(device.scratchBytes(values.size()));
  const Lent at_values(values, shift), payload(empty.data(), empty.size(), shift / 4);
  const Lent scratch(scratch_bytes.data(), scratch_bytes.size());
  segment.out = payload.bytes();
  job.values = at_values.span();
  job.scratch = scratch.bytes();
  ASSERT_TRUE(device.encode(job, nullptr).isOk());
  expectSame(expected, payload.back(expected.size()), "payload");
  EXPECT_TRUE(scratch.back(0).empty()); // and nothing behind it was written
}

/// Indices alone and bit maps, few and many, with a short list (up to an eighth) and without.
void expectHostsBytesOf(const Floats& values) {
  GOSS_NEED_DEVICE();
  for (const char* spec :
       {"topk:ratio=0.005+none", "topk:ratio=0.02+none", "topk:ratio=0.1+int8", "topk:ratio=0.3+none",
        "topk:ratio=0.005,select=sampled+none", "topk:ratio=0.2,select=sampled+none",
        "topk:ratio=0.005,indices=packed+none", "topk:ratio=0.1,indices=packed+int8",
        "topk:ratio=0.3,indices=packed+none", "topk:ratio=0.02,select=sampled,indices=packed+none"}) {
    for (const std::size_t shift : {std::size_t{0}, std::size_t{4}}) {
      expectHostsBytes(spec, values, shift);
    }
  }
}

Floats madeBy(const std::function<float(std::size_t)>& value) {
  Floats values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = value(i);
  }
  return values;
}

TEST(DeviceTopK, TakesTheHostsElements) { expectHostsBytesOf(valuesOf(kCount, 1)); }

TEST(DeviceTopK, TakesTheFirstOfEqualOnes) {
  const Floats random = valuesOf(kCount, 2);
  expectHostsBytesOf(madeBy([&](std::size_t i) { return std::round(random[i]); }));
  expectHostsBytesOf(madeBy([&](std::size_t i) { return random[i] > 0 ? 1.0f : -1.0f; }));
  expectHostsBytesOf(Floats(kCount, 2.5f));
  expectHostsBytesOf(Floats(kCount, 0.0f));
}

TEST(DeviceTopK, TakesZerosWhereThereIsLittleElse) {
  expectHostsBytesOf(madeBy([](std::size_t i) { return i % 1000 == 7 ? 1.0f + static_cast<float>(i) : 0.0f; }));
}

TEST(DeviceTopK, TakesWhatIsNotFiniteFirst) {
  Floats values = valuesOf(kCount, 3);
  for (std::size_t i = 5; i < kCount; i += 997) {
    values[i] = i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
  }
  expectHostsBytesOf(values);
  expectHostsBytesOf(Floats(kCount, std::numeric_limits<float>::infinity()));
  expectHostsBytesOf(Floats(kCount, std::numeric_limits<float>::quiet_NaN()));
}

// All candidates of a vector in one chunk, and vectors whose sample, groups of 16 elements evenly apart, sees none of
// the large elements, or them alone.
TEST(DeviceTopK, FindsThemWhereASampleDeceives) {
  const Floats random = valuesOf(kCount, 4);
  expectHostsBytesOf(madeBy([&](std::size_t i) { return i / 4096 == 20 ? 100 + random[i] : random[i]; }));
  for (const std::size_t apart : {std::size_t{128}, std::size_t{300}, std::size_t{468}}) {
    expectHostsBytesOf(madeBy([&](std::size_t i) { return i % apart < 16 ? 0.0f : random[i]; }));
    expectHostsBytesOf(madeBy([&](std::size_t i) { return i % apart < 16 ? 50 + random[i] : 0.01f * random[i]; }));
  }
}

TEST(DeviceTopK, TakesAllOrOne) {
  GOSS_NEED_DEVICE();
  expectHostsBytes("topk:ratio=1+none", valuesOf(kCount, 5), 0);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4097}}) {
    expectHostsBytes("topk:ratio=0.0001+none", valuesOf(count, 6), 4);
    expectHostsBytes("topk:ratio=1+none", valuesOf(count, 6), 4);
  }
}

} // namespace
} // namespace goss::test
