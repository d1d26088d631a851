/// Which operations use what is kept of a tensor from one compressed operation to the next.
#ifndef GOSS_LIB_EXECUTION_TENSOR_USE_H_
#define GOSS_LIB_EXECUTION_TENSOR_USE_H_

#include <cstdint>

#include "engine/operation_table.h"
#include "gossamer/status.h"
#include "platform/thread_safety.h"

namespace goss {

/// Multi-phase operations hold the kept state of their tensor from start to end; others use it step by step.
enum class TensorHolders : std::uint8_t { phased, all };

/// Whether such an active operation uses what is kept of `tensor` (0: of any tensor). Needs the engine's lock.
bool holdsTensorOnLoop(OperationTable& operations, std::uint64_t tensor,
                       TensorHolders holders = TensorHolders::phased) GOSS_ON_LOOP;
/// The error of an operation whose tensor another operation holds.
Status tensorInUse(const Operation& operation);

/// Whether an operation that was started before `operation` still has to encode with the error feedback that the next
/// encoding needs: that of sums if `of_sum`, else that of each rank's own contribution. So the losses of operations on
/// one tensor are the same whether the operations overlap or run one after the other. Needs the engine's lock.
bool mustLetOthersEncodeOnLoop(OperationTable& operations, const Operation& operation, bool of_sum) GOSS_ON_LOOP;

} // namespace goss

#endif // GOSS_LIB_EXECUTION_TENSOR_USE_H_
