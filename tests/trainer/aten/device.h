/// The device that the tests of backend aten use.
#ifndef GOSS_TESTS_TRAINER_ATEN_DEVICE_H_
#define GOSS_TESTS_TRAINER_ATEN_DEVICE_H_

#include <cstdlib>
#include <memory>
#include <string>

#include "trainer/compute/backend.h"

namespace goss::trainer {

/// The device that GOSS_TEST_DEVICE names; the CPU by default.
inline std::string testDevice() {
  const char* device = std::getenv("GOSS_TEST_DEVICE");
  return device != nullptr ? device : "cpu";
}

inline std::unique_ptr<Ops> makeAten(const std::string& precision = "f32") {
  return makeOps("aten", testDevice(), precision);
}

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_ATEN_DEVICE_H_
