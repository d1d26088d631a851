#include "devices/cuda/device.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "devices/cuda/codec.h"
#include "devices/cuda/kernels.h"
#include "devices/cuda/queue.h"

namespace goss::devices::cuda {

namespace {

/// How long the first call on a device waits for earlier copies, which take microseconds.
constexpr std::chrono::milliseconds kPatience(100);

/// Device memory that `release` of the driver gives up.
class DeviceMemory final : public DeviceBlock {
 public:
  using Release = CUresult (*)(CUdeviceptr memory);
  DeviceMemory(const Context& context, CUdeviceptr memory, std::size_t bytes, Release release)
      : context_(context), memory_(memory), bytes_(bytes), release_(release) {}
  ~DeviceMemory() override {
    const InContext inside(context_);
    release_(memory_);
  }
  [[nodiscard]] std::byte* data() const override { return reinterpret_cast<std::byte*>(memory_); }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  const Context& context_;
  const CUdeviceptr memory_;
  const std::size_t bytes_;
  const Release release_;
};

/// The status of a call on memory of processes: what the driver refuses is no failure of the device.
Status ofSharing(const Context& context, CUresult error, const char* call) {
  const bool refuses = error == CUDA_ERROR_INVALID_VALUE || error == CUDA_ERROR_INVALID_CONTEXT ||
                       error == CUDA_ERROR_ALREADY_MAPPED || error == CUDA_ERROR_INVALID_HANDLE ||
                       error == CUDA_ERROR_OUT_OF_MEMORY || error == CUDA_ERROR_NOT_PERMITTED ||
                       error == CUDA_ERROR_NOT_SUPPORTED;
  if (!refuses) return context.statusOf(error, call);
  return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("{}: processes do not share the memory: {}: {}",
                                                         context.name(), call, context.driver().textOf(error)));
}

/// The process's own pages, registered with the device: other processes read memory of cuMemHostAlloc by no call of the
/// kernel's.
class PinnedMemory final : public DeviceBlock {
 public:
  PinnedMemory(const Context& context, void* memory, std::size_t bytes)
      : context_(context), memory_(memory), bytes_(bytes) {}
  ~PinnedMemory() override {
    if (registered_) {
      const InContext inside(context_);
      // A device that has failed unregisters nothing: the pages stay, or others at these addresses could not be pinned.
      if (context_.driver().memHostUnregister(memory_) != CUDA_SUCCESS) return;
    }
    ::munmap(memory_, bytes_);
  }
  Status registerWithDevice() {
    const InContext inside(context_);
    const CUresult error =
        context_.driver().memHostRegister(memory_, bytes_, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (error == CUDA_ERROR_OUT_OF_MEMORY)
      return Status::error(
          GOSS_ERR_RESOURCE,
          fmt::format("{}: {} bytes cannot be pinned; raise ulimit -l, or free memory", context_.name(), bytes_));
    if (error != CUDA_SUCCESS) return context_.statusOf(error, "cuMemHostRegister");
    registered_ = true;
    CUdeviceptr seen = 0;
    const CUresult where = context_.driver().memHostGetDevicePointer(&seen, memory_, 0);
    if (where != CUDA_SUCCESS || seen != reinterpret_cast<CUdeviceptr>(memory_))
      return Status::error(
          GOSS_ERR_UNSUPPORTED,
          fmt::format("{}: the device has other addresses than the host for pinned memory", context_.name()));
    return {};
  }
  [[nodiscard]] std::byte* data() const override { return static_cast<std::byte*>(memory_); }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  const Context& context_;
  void* const memory_;
  const std::size_t bytes_;
  bool registered_ = false;
};

Result<std::unique_ptr<DeviceBlock>> allocatePinned(const Context& context, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("{}: no memory for {} pinned bytes", context.name(), bytes));
  auto block = std::make_unique<PinnedMemory>(context, memory, bytes);
  if (Status status = block->registerWithDevice(); !status.isOk()) return status;
  return std::unique_ptr<DeviceBlock>(std::move(block));
}

Result<std::unique_ptr<DeviceBlock>> allocateDevice(const Context& context, std::size_t bytes) {
  const InContext inside(context);
  CUdeviceptr memory = 0;
  const CUresult error = context.driver().memAlloc(&memory, bytes);
  if (error == CUDA_ERROR_OUT_OF_MEMORY)
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("{}: no memory for {} bytes", context.name(), bytes));
  if (error != CUDA_SUCCESS) return context.statusOf(error, "cuMemAlloc");
  return std::unique_ptr<DeviceBlock>(std::make_unique<DeviceMemory>(context, memory, bytes, context.driver().memFree));
}

} // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  std::array<char, 128> model{"unknown"};
  CUcontext context = nullptr;
  CUresult error = driver.deviceGet(&device, ordinal);
  if (error == CUDA_SUCCESS) driver.deviceGetName(model.data(), static_cast<int>(model.size()), device);
  if (error == CUDA_SUCCESS) error = driver.primaryCtxRetain(&context, device);
  const std::string name = fmt::format("cuda device {} ({})", ordinal, model.data());
  if (error != CUDA_SUCCESS)
    return Status::error(GOSS_ERR_DEVICE, fmt::format("{} does not open: {}", name, driver.textOf(error)));
  auto opened = std::make_unique<CudaDevice>(driver, ordinal, context, name);
  if (Status status = opened->probeFlags(); !status.isOk()) return status;
  return opened;
}

void CudaDevice::synchronizeCopies() {
  std::call_once(copies_synchronize_, [this] { makeCopiesSynchronous(); });
}

void CudaDevice::makeCopiesSynchronous() {
  const Driver& driver = context_.driver();
  const InContext inside(context_);
  unsigned flags = 0;
  const bool has_flags = driver.ctxGetFlags != nullptr && driver.ctxSetFlags != nullptr;
  if (has_flags && driver.ctxGetFlags(&flags) == CUDA_SUCCESS && (flags & CU_CTX_SYNC_MEMOPS) == 0)
    driver.ctxSetFlags(flags | CU_CTX_SYNC_MEMOPS); // A driver that refuses it leaves the program as it was.
  // A copy that came before is in the default stream, which may stand behind a gate, or belong to a capture.
  CudaQueue legacy(context_, CU_STREAM_LEGACY, false, nullptr);
  const auto event = this->event();
  if (!event.isOk() || !legacy.check().isOk() || !legacy.record(*event.value()).isOk()) return;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (auto done = event.value()->isDone(); done.isOk() && !done.value(); done = event.value()->isDone())
    if (std::chrono::steady_clock::now() > end) return;
}

Status CudaDevice::probeFlags() {
  auto word = allocate(MemoryKind::pinned, sizeof(std::uint32_t));
  if (!word.isOk()) return word.status();
  auto tried = queue(nullptr);
  if (!tried.isOk()) return tried.status();
  probed_ = word.take();
  auto* const flag = reinterpret_cast<Flag>(probed_->data());
  Status status = tried.value()->raise(flag, 1);
  if (status.isOk()) status = tried.value()->await(flag, 1);
  if (status.kind() != GOSS_ERR_UNSUPPORTED) return status;
  if (status = loadGates(); status.isOk()) return {};
  flags_ = Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("{}: its streams do not await values in memory, and no kernel does it for them "
                                     "({}); install a driver of CUDA 12 or later",
                                     context_.name(), status.text()));
  return {};
}

Status CudaDevice::loadGates() {
  CUdevice device = 0;
  int limited = 0;
  if (context_.driver().deviceGet(&device, ordinal_) == CUDA_SUCCESS)
    context_.driver().deviceGetAttribute(&limited, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, device);
  if (limited != 0)
    return Status::error(GOSS_ERR_UNSUPPORTED, "the driver ends kernels that run for seconds, because of a display");
  const auto& library = kernelLibrary();
  if (!library.isOk()) return library.status();
  const InContext inside(context_);
  const Status status = library.value()->load();
  if (status.isOk()) gates_ = &library.value()->gates;
  return status;
}

Status CudaDevice::prepareArithmetic() {
  const auto& library = kernelLibrary();
  if (!library.isOk()) return library.status();
  const InContext inside(context_);
  return library.value()->load();
}

Result<std::unique_ptr<DeviceBlock>> CudaDevice::allocate(MemoryKind kind, std::size_t bytes) {
  if (kind == MemoryKind::host || bytes == 0)
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("{}: allocates pinned and device memory, of a byte or more", context_.name()));
  return kind == MemoryKind::pinned ? allocatePinned(context_, bytes) : allocateDevice(context_, bytes);
}

std::string CudaDevice::identityOf(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  CUuuid uuid{};
  if (driver.deviceGetUuid == nullptr || driver.deviceGet(&device, ordinal) != CUDA_SUCCESS ||
      driver.deviceGetUuid(&uuid, device) != CUDA_SUCCESS)
    return {};
  return {uuid.bytes, sizeof uuid.bytes};
}

Result<MemoryHandle> CudaDevice::exportMemory(const void* base) {
  MemoryHandle exported{};
  CUipcMemHandle handle{};
  static_assert(sizeof handle == sizeof exported);
  const Driver& driver = context_.driver();
  if (driver.ipcGetMemHandle == nullptr || driver.ipcOpenMemHandle == nullptr || driver.ipcCloseMemHandle == nullptr)
    return ofSharing(context_, CUDA_ERROR_NOT_SUPPORTED, "cuIpcGetMemHandle");
  const InContext inside(context_);
  const CUresult error = driver.ipcGetMemHandle(&handle, reinterpret_cast<CUdeviceptr>(base));
  if (error != CUDA_SUCCESS) return ofSharing(context_, error, "cuIpcGetMemHandle");
  std::memcpy(exported.data(), &handle, sizeof handle);
  return exported;
}

Result<std::unique_ptr<DeviceBlock>> CudaDevice::importMemory(const MemoryHandle& handle, std::size_t bytes) {
  CUipcMemHandle imported{};
  std::memcpy(&imported, handle.data(), sizeof imported);
  CUdeviceptr memory = 0;
  const InContext inside(context_);
  const CUresult error = context_.driver().ipcOpenMemHandle(&memory, imported, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (error != CUDA_SUCCESS) return ofSharing(context_, error, "cuIpcOpenMemHandle");
  return std::unique_ptr<DeviceBlock>(
      std::make_unique<DeviceMemory>(context_, memory, bytes, context_.driver().ipcCloseMemHandle));
}

Status CudaDevice::checkStream(CUstream stream) const {
  const InContext inside(context_);
  CUcontext context = nullptr;
  CUresult error = context_.driver().streamGetCtx(stream, &context);
  if (error == CUDA_ERROR_INVALID_HANDLE)
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("{}: the stream does not exist, or was destroyed", context_.name()));
  if (error != CUDA_SUCCESS) return context_.statusOf(error, "cuStreamGetCtx");
  if (context == context_.handle()) return {};
  error = context_.driver().ctxPushCurrent(context);
  if (error != CUDA_SUCCESS) return context_.statusOf(error, "cuCtxPushCurrent");
  CUdevice device = -1;
  error = context_.driver().ctxGetDevice(&device);
  context_.driver().ctxPopCurrent(nullptr);
  if (error != CUDA_SUCCESS) return context_.statusOf(error, "cuCtxGetDevice");
  if (device == ordinal_)
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("{}: the stream is one of another context than the device's primary one, and "
                                     "events do not cross contexts; make it in the primary context, as CUDA's runtime "
                                     "does",
                                     context_.name()));
  return Status::error(
      GOSS_ERR_INVALID_ARGUMENT,
      fmt::format("{}: the stream is one of device {}; give a stream of the buffers' device", context_.name(), device));
}

Result<std::unique_ptr<DeviceQueue>> CudaDevice::queue(void* stream) {
  const auto given = static_cast<CUstream>(stream);
  const bool own_device = given == nullptr || given == CU_STREAM_LEGACY || given == CU_STREAM_PER_THREAD;
  if (given != nullptr && !flags_.isOk()) return flags_;
  if (!own_device)
    if (Status status = checkStream(given); !status.isOk()) return status;
  return CudaQueue::make(context_, given, gates_);
}

std::unique_ptr<DeviceQueue> CudaDevice::wrap(void* stream) {
  return std::make_unique<CudaQueue>(context_, static_cast<CUstream>(stream), false, gates_);
}

Result<std::unique_ptr<DeviceEvent>> CudaDevice::event() {
  const InContext inside(context_);
  CUevent event = nullptr;
  const CUresult error = context_.driver().eventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (error != CUDA_SUCCESS) return context_.statusOf(error, "cuEventCreate");
  return std::unique_ptr<DeviceEvent>(std::make_unique<CudaEvent>(context_, event));
}

Result<std::shared_ptr<const QueuedCodec>> CudaDevice::codec(std::string_view spec) {
  return CudaCodec::make(context_, spec);
}

} // namespace goss::devices::cuda
