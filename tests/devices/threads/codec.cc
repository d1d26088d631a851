#include "tests/devices/threads/codec.h"

#include <utility>

#include "tests/cuda/host_kernels/host_kernels.h"
#include "tests/devices/threads/memory.h"
#include "tests/devices/threads/queue.h"

namespace goss::test {

namespace {

/// Vectors and payloads lie in device memory alone.
void* reachOnDevice(const void* pointer, std::size_t bytes) {
  return classifyAddress(pointer).kind == MemoryKind::device ? reach(pointer, bytes) : nullptr;
}

class ThreadCodec final : public QueuedCodec {
 public:
  explicit ThreadCodec(HostCodec codec) : codec_(std::move(codec)) {}

  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return codec_->scratchBytes(count); }
  Status encode(DeviceQueue& queue, const EncodeJob& job) const override {
    return push(queue, encodeKernel(codec_, job));
  }
  Status decode(DeviceQueue& queue, const DecodeJob& job) const override {
    return push(queue, decodeKernel(codec_, job));
  }
  Status merge(DeviceQueue& queue, MergeJob& job) const override { return push(queue, mergeKernel(codec_, job)); }

 private:
  static Status push(DeviceQueue& queue, HostKernel kernel) {
    return static_cast<ThreadQueue&>(queue).push([kernel = std::move(kernel)] {
      return kernel(reachOnDevice) ? Status::ok() : Status::error(GOSS_ERR_DEVICE, "a kernel of a codec did not run");
    });
  }

  const HostCodec codec_;
};

} // namespace

Result<std::shared_ptr<const QueuedCodec>> makeThreadCodec(std::string_view spec) {
  Result<HostCodec> codec = makeHostCodec(spec);
  if (!codec.isOk()) return codec.status();
  return std::shared_ptr<const QueuedCodec>(std::make_shared<ThreadCodec>(codec.take()));
}

} // namespace goss::test
