#include "execution/tensor_use.h"

#include <fmt/format.h>

namespace goss {

bool holdsTensorOnLoop(OperationTable& operations, std::uint64_t tensor, TensorHolders holders) {
  bool holds = false;
  operations.forEachActiveOnLoop([&](const Operation& operation) {
    if (holders == TensorHolders::phased && !operation.isPhased()) return;
    const std::uint64_t its = operation.keptTensor();
    holds = holds || (its != 0 && (tensor == 0 || its == tensor));
  });
  return holds;
}

Status tensorInUse(const Operation& operation) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                       fmt::format("{}: another operation on tensor {} has not ended; wait for it first, or give each "
                                   "vector a tensor of its own",
                                   operation.describe(), operation.keptTensor()));
}

bool mustLetOthersEncodeOnLoop(OperationTable& operations, const Operation& operation, bool of_sum) {
  bool must = false;
  const std::uint64_t tensor = operation.keptTensor();
  if (tensor == 0) return false;
  operations.forEachActiveOnLoop([&](const Operation& other) {
    if (other.keptTensor() != tensor || other.isPhased()) return;
    must = must || (other.sequence < operation.sequence && other.encodingsLeft(of_sum) > 0);
  });
  return must;
}

} // namespace goss
