#include "tests/trainer/ops_under_test.h"
#include "trainer/compute/cpu_ops.h"

namespace goss::trainer {

std::unique_ptr<Ops> opsUnderTest() { return std::make_unique<CpuOps>(); }

} // namespace goss::trainer
