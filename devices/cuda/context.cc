#include "devices/cuda/context.h"

#include <fmt/format.h>

namespace goss::devices::cuda {

Status Context::statusOf(CUresult error, const char* call) const {
  if (error == CUDA_SUCCESS) return {};
  return Status::error(GOSS_ERR_DEVICE, fmt::format("{}: {}: {}", name_, call, driver_.textOf(error)));
}

Status Context::ofKernel(Status status) const {
  if (status.kind() != GOSS_ERR_INTERNAL) return status;
  return Status::error(GOSS_ERR_DEVICE, fmt::format("{}: {}", name_, status.text()));
}

} // namespace goss::devices::cuda
