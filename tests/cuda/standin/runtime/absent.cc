// Functions of the runtime that programs link against and that the stand-in does not have: graphs that are built by
// hand, memory pools, loaded libraries.
#include "tests/cuda/standin/runtime/runtime_api.h"

extern "C" {

cudaError_t cudaDeviceEnablePeerAccess() { return cudaErrorNotSupported; }
cudaError_t cudaDeviceGetDefaultMemPool() { return cudaErrorNotSupported; }
cudaError_t cudaDeviceGetGraphMemAttribute() { return cudaErrorNotSupported; }
cudaError_t cudaDeviceSetGraphMemAttribute() { return cudaErrorNotSupported; }
cudaError_t cudaGetSymbolAddress() { return cudaErrorNotSupported; }
cudaError_t cudaGraphAddNode() { return cudaErrorNotSupported; }
cudaError_t cudaGraphConditionalHandleCreate() { return cudaErrorNotSupported; }
cudaError_t cudaGraphNodeGetDependencies() { return cudaErrorNotSupported; }
cudaError_t cudaIpcGetEventHandle() { return cudaErrorNotSupported; }
cudaError_t cudaIpcOpenEventHandle() { return cudaErrorNotSupported; }
cudaError_t cudaKernelSetAttributeForDevice() { return cudaErrorNotSupported; }
cudaError_t cudaLaunchCooperativeKernel() { return cudaErrorNotSupported; }
cudaError_t cudaLibraryGetGlobal() { return cudaErrorNotSupported; }
cudaError_t cudaLibraryGetKernel() { return cudaErrorNotSupported; }
cudaError_t cudaLibraryGetKernelCount() { return cudaErrorNotSupported; }
cudaError_t cudaLibraryGetManaged() { return cudaErrorNotSupported; }
cudaError_t cudaLibraryGetUnifiedFunction() { return cudaErrorNotSupported; }
cudaError_t cudaLibraryLoadData() { return cudaErrorNotSupported; }
cudaError_t cudaLibraryLoadFromFile() { return cudaErrorNotSupported; }
cudaError_t cudaLibraryUnload() { return cudaErrorNotSupported; }
cudaError_t cudaMemPoolGetAttribute() { return cudaErrorNotSupported; }
cudaError_t cudaMemPoolSetAccess() { return cudaErrorNotSupported; }
cudaError_t cudaMemPoolSetAttribute() { return cudaErrorNotSupported; }
cudaError_t cudaMemPoolTrimTo() { return cudaErrorNotSupported; }
cudaError_t cudaMemcpy2DAsync() { return cudaErrorNotSupported; }
cudaError_t cudaMemcpyToSymbol() { return cudaErrorNotSupported; }
cudaError_t cudaProfilerStart() { return cudaErrorNotSupported; }
cudaError_t cudaProfilerStop() { return cudaErrorNotSupported; }
cudaError_t cudaStreamAddCallback() { return cudaErrorNotSupported; }
cudaError_t cudaStreamBeginCaptureToGraph() { return cudaErrorNotSupported; }
cudaError_t cudaStreamUpdateCaptureDependencies() { return cudaErrorNotSupported; }
cudaError_t cudaUserObjectRelease() { return cudaErrorNotSupported; }

} // extern "C"
