/// Loads all kernels before the tests of this program: from then on the stand-in launches no other, so that each test
/// that launches a kernel proves that it is listed.
#include "compressors/cuda/kernels/kernel_list.h"

#include <gtest/gtest.h>

#include "tests/compressors/cuda/simt/cuda_runtime.h"

namespace goss::test {
namespace {

class LoadedKernels final : public testing::Environment {
 public:
  void SetUp() override {
    ASSERT_EQ(compressors::cuda::loadKernels(), 0);
    ASSERT_FALSE(cuda_loaded_kernels.empty());
  }
};

[[maybe_unused]] testing::Environment* const kLoaded = testing::AddGlobalTestEnvironment(new LoadedKernels);

} // namespace
} // namespace goss::test
