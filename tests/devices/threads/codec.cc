#include "tests/devices/threads/codec.h"

#include <utility>

#include "tests/cuda/host_kernels/host_kernels.h"
#include "tests/devices/threads/queue.h"

namespace goss::test {

namespace {

Status push(DeviceQueue& queue, HostKernel kernel) {
  return static_cast<ThreadQueue&>(queue).launch(std::move(kernel));
}

class ThreadCodec final : public QueuedCodec {
 public:
  explicit ThreadCodec(HostCodec codec) : codec_(std::move(codec)) {}

  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return codec_->scratchBytes(count); }
  [[nodiscard]] bool makesNan() const override { return codec_->makesNan(); }
  Status encode(DeviceQueue& queue, const EncodeJob& job) const override {
    return push(queue, encodeKernel(codec_, job));
  }
  Status decode(DeviceQueue& queue, const DecodeJob& job) const override {
    return push(queue, decodeKernel(codec_, job));
  }
  Status merge(DeviceQueue& queue, MergeJob& job) const override { return push(queue, mergeKernel(codec_, job)); }
  Status clearHeld(DeviceQueue& queue, const DecodeJob& job) const override {
    return push(queue, clearHeldKernel(codec_, job));
  }

 private:
  const HostCodec codec_;
};

} // namespace

Result<std::shared_ptr<const QueuedCodec>> makeThreadCodec(std::string_view spec) {
  Result<HostCodec> codec = makeHostCodec(spec);
  if (!codec.isOk()) return codec.status();
  return std::shared_ptr<const QueuedCodec>(std::make_shared<ThreadCodec>(codec.take()));
}

} // namespace goss::test
