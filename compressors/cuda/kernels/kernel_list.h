/// The kernels of this library, so that all can be loaded before one is launched.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_KERNEL_LIST_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_KERNEL_LIST_H_

namespace goss::compressors::cuda {

/// Adds a kernel. Each is added by an initialiser in launch.h, so that no kernel file can forget one: a kernel that is
/// not loaded beforehand is wrong only on a GPU, and there only now and then. Returns true.
bool listKernel(const void* kernel);

/// Loads all kernels into the current device's context. By default CUDA loads a kernel at its first launch, and may
/// wait for the context's streams then, also for one that waits for the host. Returns CUDA's error code, 0 for none:
/// the first kernel's that cannot run on the device, because the library was built for others or the driver is too old.
int loadKernels();

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_KERNEL_LIST_H_
