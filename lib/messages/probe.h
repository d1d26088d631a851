/// goss_probe: the operation completes when a message that its pattern accepts has arrived, and does not receive the
/// message.
#ifndef GOSS_LIB_MESSAGES_PROBE_H_
#define GOSS_LIB_MESSAGES_PROBE_H_

#include <string>
#include <vector>

#include "engine/operation.h"
#include "messages/message_context.h"
#include "platform/thread_safety.h"

namespace goss {

class ProbeOperation final : public Operation, public QueuedReceive {
 public:
  ProbeOperation(MessageContext& context, const Pattern& pattern);

  void startOnLoop() GOSS_ON_LOOP override;
  void advanceOnLoop() GOSS_ON_LOOP override {}
  bool pollOnLoop() GOSS_ON_LOOP override;
  void withdrawOnLoop() GOSS_ON_LOOP override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override;

  [[nodiscard]] Pattern pattern() const override { return pattern_; }
  [[nodiscard]] bool takes() const override { return false; }
  void takeOnLoop(const goss_message& found) GOSS_ON_LOOP override;
  void giveBackOnLoop() GOSS_ON_LOOP override {}
  void giveUpOnLoop(const Status& why) GOSS_ON_LOOP override;

 private:
  MessageContext& context_;
  const Pattern pattern_;
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_PROBE_H_
