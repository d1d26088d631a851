/// Operations that log what the engine does with them.
#ifndef GOSS_TESTS_LIB_ENGINE_OPERATIONS_H_
#define GOSS_TESTS_LIB_ENGINE_OPERATIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "engine/operation.h"

namespace goss {

using Names = std::vector<std::string>;

class LoggingHost final : public OperationHost {
 public:
  void expired(Operation& operation) override { log.push_back("expired " + operation.describe()); }
  void failed(Operation&, const Status& status) override { log.push_back(status.text()); }
  void probeDue(Operation& operation, TimePoint) override { log.push_back("probe " + operation.describe()); }
  void startUnposted(Operation& operation) override {
    log.push_back("start " + operation.describe());
    if (then) then(operation);
  }

  Names log;
  std::function<void(Operation& operation)> then; ///< Called by startUnposted().
};

class LoggingOperation final : public Operation {
 public:
  LoggingOperation(LoggingHost& host, std::string name) : Operation(host), host_(host), name_(std::move(name)) {
    timeout_ms = 1'000'000;
  }
  void startOnLoop() override {
    if (at_start) at_start();
  }
  void advanceOnLoop() override {
    host_.log.push_back(name_);
    if (then) then();
  }
  bool pollOnLoop() override {
    host_.log.push_back(name_);
    if (then) then();
    return found;
  }
  void withdrawOnLoop() override {}
  bool tryLeaveOnLoop() override { return has_left; }
  [[nodiscard]] std::string describe() const override { return name_; }
  [[nodiscard]] std::vector<int> waitingForRanks() const override { return {}; }

  std::function<void()> at_start;
  std::function<void()> then; ///< Called when the operation is advanced or polled.
  bool found = false;         ///< What pollOnLoop() returns.
  bool has_left = true;       ///< What tryLeaveOnLoop() returns.

 private:
  LoggingHost& host_;
  const std::string name_;
};

} // namespace goss

#endif // GOSS_TESTS_LIB_ENGINE_OPERATIONS_H_
