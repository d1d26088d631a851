/// The table of tensor operations that the command line asks for.
#ifndef GOSS_TRAINER_COMPUTE_BACKEND_H_
#define GOSS_TRAINER_COMPUTE_BACKEND_H_

#include <memory>
#include <string>

#include "trainer/compute/ops.h"

namespace goss::trainer {

/// `backend`, `device` and `precision` as in TrainOptions. For aten this loads the backend and LibTorch, which stay
/// loaded until the process ends. Throws Error that says what to install, or what is wrong with the device.
std::unique_ptr<Ops> makeOps(const std::string& backend, const std::string& device,
                             const std::string& precision = "f32");

} // namespace goss::trainer

#endif // GOSS_TRAINER_COMPUTE_BACKEND_H_
