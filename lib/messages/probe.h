/// goss_probe: the operation completes when a message that its pattern accepts has arrived, and does not receive the
/// message.
#ifndef GOSS_LIB_MESSAGES_PROBE_H_
#define GOSS_LIB_MESSAGES_PROBE_H_

#include <string>
#include <vector>

#include "engine/operation.h"
#include "messages/message_environment.h"

namespace goss {

class ProbeOperation final : public Operation, public QueuedReceive {
 public:
  ProbeOperation(MessageContext& context, const Pattern& pattern);

  void startOnLoop() override;
  void advanceOnLoop() override {}
  bool pollOnLoop() override;
  void withdrawOnLoop() override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::vector<int> waitingForRanks() const override;

  [[nodiscard]] Pattern pattern() const override { return pattern_; }
  [[nodiscard]] bool takes() const override { return false; }
  void takeOnLoop(const goss_message& found) override;
  void giveBackOnLoop() override {}
  void giveUpOnLoop(const Status& why) override;

 private:
  MessageContext& context_;
  const Pattern pattern_;
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_PROBE_H_
