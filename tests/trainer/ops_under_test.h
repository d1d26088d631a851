/// The backend that ops_test.cc and gpt_test.cc test: each program that has them says which.
#ifndef GOSS_TESTS_TRAINER_OPS_UNDER_TEST_H_
#define GOSS_TESTS_TRAINER_OPS_UNDER_TEST_H_

#include <memory>

#include "trainer/compute/ops.h"

namespace goss::trainer {

/// Buffers are in the host's memory.
std::unique_ptr<Ops> opsUnderTest();

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_OPS_UNDER_TEST_H_
