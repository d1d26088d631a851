// libcudart.so.13 of the stand-in: the runtime over the driver. LD_PRELOAD puts both under a stock build of PyTorch.
// Kernels are not run: a launch does nothing and succeeds.
#include "tests/cuda/standin/runtime/runtime_api.h"

#include <cstdio>
#include <cstring>

#include "tests/cuda/standin/settings.h"

namespace {

thread_local cudaError_t last = cudaSuccess;

/// What the driver returned, which cudaGetLastError remembers.
cudaError_t from(CUresult result) {
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) last = result;
  return result;
}

CUdeviceptr at(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

struct Launch {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local Launch pushed;

} // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) { return from(cuDeviceGetCount(count)); }
cudaError_t cudaGetDevice(int* device) { return from(cuCtxGetDevice(device)); }
cudaError_t cudaSetDevice(int device) {
  CUcontext context = nullptr;
  const CUresult result = cuDevicePrimaryCtxRetain(&context, device);
  return from(result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result);
}
cudaError_t cudaDriverGetVersion(int* version) { return from(cuDriverGetVersion(version)); }
cudaError_t cudaRuntimeGetVersion(int* version) { return from(cuDriverGetVersion(version)); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  std::memset(properties, 0, sizeof *properties);
  properties->totalGlobalMem = std::size_t{16} << 30;
  properties->sharedMemPerBlock = properties->sharedMemPerBlockOptin = 48 << 10;
  properties->sharedMemPerMultiprocessor = 100 << 10;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->multiProcessorCount = 4;
  properties->major = 9;
  properties->unifiedAddressing = 1;
  properties->l2CacheSize = 4 << 20;
  properties->memoryBusWidth = 1024;
  properties->pciBusID = device + 1;
  for (int& most : properties->maxGridSize)
    most = 65535;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  return from(cuDeviceGetName(properties->name, sizeof properties->name, device));
}
cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return from(cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device));
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device + 1));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return from(cuCtxSynchronize()); }
cudaError_t cudaDeviceReset() { return from(cuCtxSynchronize()); }
cudaError_t cudaDeviceCanAccessPeer(int* can, int /*device*/, int /*peer*/) {
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  CUdeviceptr made = 0;
  const CUresult result = bytes == 0 ? CUDA_SUCCESS : cuMemAlloc_v2(&made, bytes);
  *memory = reinterpret_cast<void*>(made);
  return from(result);
}
cudaError_t cudaFree(void* memory) { return from(cuMemFree_v2(at(memory))); }
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t /*stream*/) {
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t /*stream*/) { return cudaFree(memory); }
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags) {
  CUdeviceptr made = 0;
  const CUresult result = cuMemAllocManaged(&made, bytes, flags);
  *memory = reinterpret_cast<void*>(made);
  return from(result);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return from(cuMemHostAlloc(memory, bytes, flags));
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) { return cudaHostAlloc(memory, bytes, 0); }
cudaError_t cudaFreeHost(void* memory) { return from(cuMemFreeHost(memory)); }
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return from(cuMemHostRegister_v2(memory, bytes, flags));
}
cudaError_t cudaHostUnregister(void* memory) { return from(cuMemHostUnregister(memory)); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) { return from(cuMemGetInfo_v2(free, total)); }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  std::memset(attributes, 0, sizeof *attributes);
  attributes->device = -1;
  int managed = 0;
  if (cuPointerGetAttribute(&attributes->type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(memory)) != CUDA_SUCCESS)
    return cudaSuccess;
  cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at(memory));
  cuPointerGetAttribute(&attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at(memory));
  if (managed != 0) attributes->type = 3;
  attributes->devicePointer = const_cast<void*>(memory);
  attributes->hostPointer = attributes->type == 2 ? nullptr : const_cast<void*>(memory);
  return cudaSuccess;
}
cudaError_t cudaIpcGetMemHandle(CUipcMemHandle* handle, void* memory) {
  return from(cuIpcGetMemHandle(handle, at(memory)));
}
cudaError_t cudaIpcOpenMemHandle(void** memory, CUipcMemHandle handle, unsigned flags) {
  CUdeviceptr opened = 0;
  const CUresult result = cuIpcOpenMemHandle_v2(&opened, handle, flags);
  *memory = reinterpret_cast<void*>(opened);
  return from(result);
}
cudaError_t cudaIpcCloseMemHandle(void* memory) { return from(cuIpcCloseMemHandle(at(memory))); }

cudaError_t cudaMemcpy(void* to, const void* source, std::size_t bytes, int /*kind*/) {
  return from(cuMemcpy(at(to), at(source), bytes));
}
cudaError_t cudaMemcpyAsync(void* to, const void* source, std::size_t bytes, int /*kind*/, cudaStream_t stream) {
  return from(cuMemcpyAsync(at(to), at(source), bytes, stream));
}
cudaError_t cudaMemcpyPeerAsync(void* to, int /*to_device*/, const void* source, int /*device*/, std::size_t bytes,
                                cudaStream_t stream) {
  return from(cuMemcpyAsync(at(to), at(source), bytes, stream));
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return from(cuMemsetD8Async(at(to), static_cast<unsigned char>(value), bytes, stream));
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  const cudaError_t result = cudaMemsetAsync(to, value, bytes, nullptr);
  return result == cudaSuccess ? from(cuStreamSynchronize(nullptr)) : result;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return from(cuStreamCreateWithPriority(stream, flags, priority));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return from(cuStreamCreate(stream, flags));
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return from(cuStreamCreate(stream, CU_STREAM_DEFAULT)); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return from(cuStreamDestroy_v2(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return from(cuStreamSynchronize(stream)); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return from(cuStreamQuery(stream)); }
cudaError_t cudaStreamGetPriority(cudaStream_t /*stream*/, int* priority) {
  *priority = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return from(cuStreamWaitEvent(stream, event, flags));
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int* status) {
  CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = cuStreamIsCapturing(stream, &found);
  *status = found;
  return from(result);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int* status, unsigned long long* id, CUgraph* graph,
                                     const CUgraphNode** dependencies, void* /*edges*/, std::size_t* count) {
  std::uint64_t found = 0;
  CUstreamCaptureStatus is = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = cuStreamGetCaptureInfo_v2(stream, &is, &found, graph, dependencies, count);
  *status = is;
  if (id != nullptr) *id = found;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (count != nullptr) *count = 0;
  return from(result);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode) {
  return from(cuStreamBeginCapture_v2(stream, static_cast<CUstreamCaptureMode>(mode)));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, CUgraph* graph) {
  return from(cuStreamEndCapture(stream, graph));
}
cudaError_t cudaGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  return from(cuGraphInstantiateWithFlags(executable, graph, flags));
}
cudaError_t cudaGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}
cudaError_t cudaGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return from(cuGraphGetNodes(graph, nodes, count));
}
cudaError_t cudaGraphLaunch(CUgraphExec executable, cudaStream_t stream) {
  return from(cuGraphLaunch(executable, stream));
}
cudaError_t cudaGraphExecDestroy(CUgraphExec executable) { return from(cuGraphExecDestroy(executable)); }
cudaError_t cudaGraphDestroy(CUgraph graph) { return from(cuGraphDestroy(graph)); }
cudaError_t cudaUserObjectCreate(CUuserObject* object, void* argument, cudaHostFn_t destroy, unsigned references,
                                 unsigned flags) {
  return from(cuUserObjectCreate(object, argument, destroy, references, flags));
}
cudaError_t cudaGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
  return from(cuGraphRetainUserObject(graph, object, count, flags));
}
cudaError_t cudaThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return from(cuThreadExchangeStreamCaptureMode(mode));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return from(cuLaunchHostFunc(stream, function, argument));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) { return from(cuEventCreate(event, flags)); }
cudaError_t cudaEventCreate(cudaEvent_t* event) { return from(cuEventCreate(event, CU_EVENT_DEFAULT)); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return from(cuEventDestroy_v2(event)); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return from(cuEventRecord(event, stream)); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return from(cuEventRecordWithFlags(event, stream, flags));
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return from(cuEventQuery(event)); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return from(cuEventSynchronize(event)); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  cuEventSynchronize(begin);
  cuEventSynchronize(end);
  return from(cuEventElapsedTime(milliseconds, begin, end));
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last;
  last = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return last; }
const char* cudaGetErrorString(cudaError_t error) {
  const char* text = nullptr;
  cuGetErrorString(static_cast<CUresult>(error), &text);
  return text;
}
const char* cudaGetErrorName(cudaError_t error) {
  const char* text = nullptr;
  cuGetErrorName(static_cast<CUresult>(error), &text);
  return text;
}

/// What a program asks for that the stand-in does not have.
static CUresult missing() { return CUDA_ERROR_NOT_SUPPORTED; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags, int* result) {
  if (cuGetProcAddress_v2(name, function, static_cast<int>(version), flags, result) != CUDA_SUCCESS)
    *function = reinterpret_cast<void*>(&missing);
  if (result != nullptr) *result = 0;
  return cudaSuccess;
}

void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
void __cudaRegisterFunction() {}
void __cudaRegisterVar() {}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream) {
  pushed = {grid, block, shared_bytes, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, cudaStream_t* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared_bytes = pushed.shared_bytes;
  *stream = pushed.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel) {
  cudaStandinUse(kernel);
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(const void* kernel) { return cudaLaunchKernel(kernel); }
cudaError_t cudaLaunchKernelExC(const void* /*config*/, const void* kernel) { return cudaLaunchKernel(kernel); }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* /*function*/) {
  std::memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute() { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count) {
  *count = 2;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count) {
  *count = 2;
  return cudaSuccess;
}

} // extern "C"
