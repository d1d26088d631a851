/// Every kernel of every codec can be launched: with a device it runs, and without one CUDA refuses it and says so.
/// Needs no device, and so is what finds, on machines without one, a launch that would end the process.
#include "compressors/catalogue.h"
#include "tests/compressors/cuda/harness.h"

namespace goss::test {
namespace {

constexpr std::size_t kCount = 5000;

/// Device memory, or, without a device, an address that nothing follows.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    if (auto made = DeviceBuffer::make(bytes); made.isOk()) {
      buffer_ = std::make_unique<DeviceBuffer>(made.take());
      EXPECT_TRUE(buffer_->upload(0, Bytes(bytes).data(), bytes).isOk());
    }
  }
  [[nodiscard]] std::span<std::byte> bytes() const {
    auto* nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{4096}); // NOLINT
    return {buffer_ ? buffer_->data() : nowhere, bytes_};
  }
  [[nodiscard]] std::span<float> floats() const {
    return {reinterpret_cast<float*>(bytes().data()), bytes_ / sizeof(float)};
  }

 private:
  const std::size_t bytes_;
  std::unique_ptr<DeviceBuffer> buffer_;
};

void expectLaunched(const Status& status, const char* what, std::string_view spec) {
  if (compressors::cuda::deviceName().isOk()) {
    EXPECT_TRUE(status.isOk()) << spec << " " << what << ": " << status.text();
    return;
  }
  EXPECT_EQ(status.kind(), GOSS_ERR_INTERNAL) << spec << " " << what;
  EXPECT_NE(status.text().find("CUDA refused"), std::string::npos) << status.text();
}

void launchAll(const DeviceCodec& codec) {
  const Codec& host = codec.host();
  const Memory values(kCount * 4), residual(kCount * 4), payload(host.maxBytes(kCount)),
      scratch(codec.scratchBytes(kCount));
  EncodeSegment segment{0, kCount, payload.bytes(), 0};
  EncodeJob encode;
  encode.values = values.floats();
  encode.residual = residual.floats().data();
  encode.scratch = scratch.bytes();
  encode.segments = {&segment, 1};
  expectLaunched(codec.encode(encode, nullptr), "encode", host.spec());
  const PayloadView view = payload.bytes();
  DecodeJob decode;
  decode.payloads = {&view, 1};
  decode.out = values.floats();
  decode.scratch = scratch.bytes();
  expectLaunched(codec.decode(decode, nullptr), "decode", host.spec());
  MergeJob merge;
  merge.payloads = {&view, 1};
  merge.values = values.floats();
  merge.scratch = scratch.bytes();
  const Memory out(host.maxBytes(kCount));
  merge.out = out.bytes();
  expectLaunched(codec.merge(merge, nullptr), "merge", host.spec());
}

TEST(Launches, RunOrAreRefused) {
  for (const compressors::CodecEntry& entry : compressors::builtinCodecs()) {
    const auto made = makeDeviceCodec(entry.example);
    if (made.isOk() && !made.value()->host().traits().multi_phase) {
      launchAll(*made.value());
    }
  }
}

TEST(Launches, OfPhasesRunOrAreRefused) {
  const auto made = makeDeviceCodec("powersgd:rank=2");
  ASSERT_TRUE(made.isOk()) << made.status().text();
  const Memory values(kCount * 4), state(made.value()->host().stateFloats(kCount, 50) * 4),
      scratch(made.value()->runScratchBytes(kCount, 50));
  compressors::cuda::DeviceRunJob job;
  job.run.values = values.floats();
  job.run.columns = 50;
  job.run.state = state.floats();
  job.scratch = scratch.bytes();
  const auto run = made.value()->start(job);
  ASSERT_TRUE(run.isOk()) << run.status().text();
  for (int phase = 0; phase < 3; ++phase) {
    expectLaunched(run.value()->next(nullptr).status(), "next", "powersgd");
  }
}

} // namespace
} // namespace goss::test
