/// The table of tensor operations on ATen, LibTorch's tensor library: on a CUDA device, or on a CPU core. It lies in a
/// shared object of its own, libgoss_train_aten.so, so that only runs that ask for it load LibTorch.
#ifndef GOSS_TRAINER_COMPUTE_ATEN_ATEN_OPS_H_
#define GOSS_TRAINER_COMPUTE_ATEN_ATEN_OPS_H_

#include "trainer/compute/ops.h"

namespace goss::trainer {

inline constexpr const char* kAtenLibrary = "libgoss_train_aten.so";
inline constexpr const char* kAtenSymbol = "goss_train_make_aten_ops_2";

/// The function that kAtenSymbol names: returns a new backend, which the caller owns, on `device`: "cpu", "cuda",
/// "cuda:N", or "" for a CUDA device where there is one and the CPU otherwise. "cuda" is device number `local_rank`
/// modulo the number of devices.
///
/// Everything is float32: TF32 is off, and so are algorithms whose bits differ from call to call. With `bf16` matrix
/// products round their factors and results to bfloat16, and add up in float32. Nothing is recorded
/// for differentiation. Work goes to the device's current stream, in order; upload, download and squaredNorm wait for
/// the stream, so their results on the host are complete. Throws Error that says what is wrong with the device.
using MakeAtenOps = Ops*(const char* device, int local_rank, bool bf16);

} // namespace goss::trainer

#endif // GOSS_TRAINER_COMPUTE_ATEN_ATEN_OPS_H_
