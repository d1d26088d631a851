/// One rank's part in a step: its buffers, its calls and their expected results.
#ifndef GOSS_TESTS_RANDOM_WORK_H_
#define GOSS_TESTS_RANDOM_WORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "tests/random/program.h"

namespace goss::test {

/// One thread.
class Work {
 public:
  virtual ~Work() = default;
  /// Calls the C ABI; where `requests` is given, what was started is appended to it.
  virtual goss_status start(std::uint32_t flags, std::vector<goss_request_t>* requests) = 0;
  /// Calls what start() left for the moment at which the caller begins to wait.
  virtual goss_status startRest(std::vector<goss_request_t>& requests) = 0;
  /// Makes the buffers what they were, for another start.
  virtual void reset() = 0;
  /// Checks what request `index` of start() has received. "" when it is right.
  virtual std::string checkMessage(std::size_t index, const goss_message& message) = 0;
  /// The first difference from the reference, or "".
  [[nodiscard]] virtual std::string difference() const = 0;
  [[nodiscard]] virtual std::string describe() const = 0;
};

/// `place`: of the step in its lane; tags follow from it.
std::unique_ptr<Work> makeWork(const Step& step, goss_comm_t comm, std::size_t place);

} // namespace goss::test

#endif // GOSS_TESTS_RANDOM_WORK_H_
