#include "tests/devices/threads/device.h"

#include <atomic>
#include <cstdlib>
#include <vector>

#include "compressors/chain.h"
#include "tests/devices/threads/behaviour.h"
#include "tests/devices/threads/memory.h"

namespace goss::test {

namespace {

long number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

/// `pointer` as workers reach it; false when it is not null and they do not.
template <typename T>
bool translate(T*& pointer, std::size_t count) {
  if (pointer == nullptr || count == 0) return true;
  pointer = static_cast<T*>(reach(pointer, count * sizeof(T)));
  return pointer != nullptr;
}

template <typename T>
bool translate(std::span<T>& span) {
  T* data = span.data();
  const bool reached = translate(data, span.size());
  span = {data, span.size()};
  return reached;
}

std::atomic<std::uint64_t>& classified() {
  static std::atomic<std::uint64_t> count{0};
  return count;
}

class ThreadCodec final : public DeviceCodec {
 public:
  explicit ThreadCodec(std::shared_ptr<const Codec> codec) : codec_(std::move(codec)) {}
  [[nodiscard]] const Codec& codec() const override { return *codec_; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return codec_->scratchBytes(count); }

  Status encode(DeviceQueue& queue, const EncodeJob& job) const override {
    for (EncodeSegment& segment : job.segments)
      segment.bytes = codec_->maxBytes(segment.count);
    const std::vector<EncodeSegment> list(job.segments.begin(), job.segments.end());
    return static_cast<ThreadQueue&>(queue).push([codec = codec_, given = job, list] {
      EncodeJob here = given;
      std::vector<EncodeSegment> segments = list;
      bool reached = translate(here.values) && translate(here.reference, here.values.size()) &&
                     translate(here.residual, here.values.size()) && translate(here.scratch);
      for (EncodeSegment& segment : segments)
        reached = reached && translate(segment.out);
      if (!reached) return Status::error(GOSS_ERR_DEVICE, "an encode of memory that is not on the device");
      here.segments = segments;
      return codec->encode(here);
    });
  }

  Status decode(DeviceQueue& queue, const DecodeJob& job) const override {
    const std::vector<PayloadView> list(job.payloads.begin(), job.payloads.end());
    return static_cast<ThreadQueue&>(queue).push([codec = codec_, given = job, list] {
      DecodeJob here = given;
      std::vector<PayloadView> payloads = list;
      bool reached = translate(here.out) && translate(here.scratch);
      for (PayloadView& payload : payloads)
        reached = reached && translate(payload);
      if (!reached) return Status::error(GOSS_ERR_DEVICE, "a decode of memory that is not on the device");
      here.payloads = payloads;
      return codec->decode(here);
    });
  }

 private:
  std::shared_ptr<const Codec> codec_;
};

} // namespace

Machine::Machine(const Behaviour& behaves) : behaviour(behaves) {
  for (int i = 0; i < kThreadDevices; ++i)
    healths[static_cast<std::size_t>(i)] =
        std::make_shared<Health>("threads device " + std::to_string(i), behaviour.fail_at);
}

std::shared_ptr<Machine>& machineOfThread() {
  static thread_local std::shared_ptr<Machine> machine;
  if (machine == nullptr)
    machine = std::make_shared<Machine>(Behaviour{static_cast<int>(number("THREADS_LATENCY_US")),
                                                  number("THREADS_ONE_QUEUE") != 0, number("THREADS_FAIL_AT")});
  return machine;
}

std::uint64_t classifiedByThreads() { return classified(); }

void useNewDevices(const Behaviour& behaviour) { machineOfThread() = std::make_shared<Machine>(behaviour); }

std::shared_ptr<Worker> ThreadDevice::worker() {
  const int latency_us = machine_->behaviour.latency_us;
  if (!machine_->behaviour.one_queue) return std::make_shared<Worker>(latency_us, health());
  const std::lock_guard lock(machine_->mutex);
  std::weak_ptr<Worker>& only = machine_->only[static_cast<std::size_t>(ordinal_)];
  std::shared_ptr<Worker> worker = only.lock();
  if (worker == nullptr) only = worker = std::make_shared<Worker>(latency_us, health());
  return worker;
}

Result<std::unique_ptr<DeviceBlock>> ThreadDevice::allocate(MemoryKind kind, std::size_t bytes) {
  if (Status status = health()->status(); !status.isOk()) return status;
  if (kind == MemoryKind::host)
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "a device allocates no pageable memory");
  return allocateBlock(kind, ordinal_, bytes);
}

Result<std::unique_ptr<DeviceQueue>> ThreadDevice::queue(void* stream) {
  if (Status status = health()->status(); !status.isOk()) return status;
  if (stream != nullptr)
    return std::unique_ptr<DeviceQueue>(std::make_unique<ThreadQueue>(nullptr, static_cast<Stream*>(stream), ordinal_, health()));
  auto own = std::make_unique<Stream>();
  own->worker = worker();
  Stream* made = own.get();
  return std::unique_ptr<DeviceQueue>(std::make_unique<ThreadQueue>(std::move(own), made, ordinal_, health()));
}

Result<std::unique_ptr<DeviceEvent>> ThreadDevice::event() {
  if (Status status = health()->status(); !status.isOk()) return status;
  return std::unique_ptr<DeviceEvent>(std::make_unique<ThreadEvent>(health()));
}

Result<std::unique_ptr<DeviceCodec>> ThreadDevice::codec(std::string_view spec) {
  Result<Compression> made = compressors::makeCompression(spec);
  if (!made.isOk()) return made.status();
  const CodecTraits traits = made.value().codec->traits();
  if (!traits.fixed_size || traits.multi_phase)
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         "threads: codec '" + std::string(spec) + "' has payloads of no fixed size");
  return std::unique_ptr<DeviceCodec>(std::make_unique<ThreadCodec>(made.value().codec));
}

Result<MemoryInfo> ThreadsProvider::classify(const void* pointer) {
  ++classified();
  return classifyAddress(pointer);
}

Result<Device*> ThreadsProvider::open(int ordinal) {
  if (ordinal < 0 || ordinal >= deviceCount())
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "threads: there is no device " + std::to_string(ordinal));
  return &devices_[static_cast<std::size_t>(ordinal)];
}

} // namespace goss::test
