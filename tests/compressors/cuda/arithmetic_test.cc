/// Reductions on the device have the bits of those on the host.
#include "compressors/cuda/device/arithmetic.h"

#include <random>

#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "tests/compressors/cuda/harness.h"

namespace goss::test {
namespace {

/// Bytes of any value: NaN, infinities and subnormals are among them.
Bytes anyBytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(engine());
  return bytes;
}

/// Vectors that lie at multiples of 16 bytes and that do not; the result in place of the first, or elsewhere.
TEST(DeviceArithmetic, HasTheBitsOfTheHosts) {
  GOSS_NEED_DEVICE();
  constexpr std::size_t kCount = 4099;
  for (int type = 0; type < GOSS_DTYPE_COUNT; ++type) {
    const auto dtype = static_cast<DType>(type);
    const std::size_t element = kernels::elementBytes(dtype);
    const Bytes a = anyBytes(kCount * element, 1);
    const Bytes b = anyBytes(kCount * element, 2);
    for (int operation = 0; operation < GOSS_OP_COUNT; ++operation) {
      const auto op = static_cast<ReduceOp>(operation);
      if (!kernels::supported(dtype, op)) continue;
      const std::string what = "dtype " + std::to_string(type) + ", op " + std::to_string(operation);
      Bytes expected(a.size());
      kernels::reduce(dtype, op, expected.data(), a.data(), b.data(), kCount);
      const Lent left(a.data(), a.size());
      const Lent right(b.data(), b.size(), operation % 2 == 0 ? 0 : element);
      const Lent to(a.data(), a.size());
      for (const Lent* into : {&to, &left}) {
        ASSERT_EQ(compressors::cuda::launchReduce(
                      {dtype, op, into->bytes().data(), left.bytes().data(), right.bytes().data(), kCount}, nullptr),
                  0);
        expectSame(expected, into->back(expected.size()), what);
      }
      if (op != GOSS_AVG) continue;
      kernels::average(dtype, expected.data(), expected.data(), kCount, 3);
      ASSERT_EQ(compressors::cuda::launchAverage({dtype, to.bytes().data(), to.bytes().data(), kCount, 3}, nullptr), 0);
      expectSame(expected, to.back(expected.size()), what);
    }
  }
}

} // namespace
} // namespace goss::test
