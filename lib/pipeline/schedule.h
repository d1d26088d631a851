/// A pipeline schedule is data: for every rank the list of actions that it takes, in order.
#ifndef GOSS_LIB_PIPELINE_SCHEDULE_H_
#define GOSS_LIB_PIPELINE_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace goss::pipeline {

/// Values are the C ABI's goss_pipeline_kind.
enum class ActionKind : std::uint8_t {
  forward = 0,
  backward = 1,       ///< Gradients of the input and of the weights in one pass.
  backwardInput = 2,  ///< The half of backward that the previous stage waits for.
  backwardWeight = 3, ///< The other half, which no stage waits for.
  recompute = 4,      ///< Computes the activations of a forward again that kept only its input.
  sendForward = 5,    ///< Sends the output of `stage`.
  recvForward = 6,    ///< Receives the input of `stage`.
  sendBackward = 7,   ///< Sends the gradient of the input of `stage`.
  recvBackward = 8,   ///< Receives the gradient of the output of `stage`.
  reduce = 9,         ///< Sums the gradient of `stage` over its replicas.
  step = 10           ///< Updates the weights of `stage`.
};

struct Action {
  ActionKind kind = ActionKind::forward;
  std::uint8_t chain = 0;
  std::uint16_t stage = 0;
  std::int32_t micro_batch = 0; ///< For reduce and step: the last one whose gradient they take.
  /// Number of updates in the weights that the action uses; for a step, in the weights that it makes.
  std::int32_t version = 0;
  bool operator==(const Action&) const = default;
};

inline bool isCompute(ActionKind kind) { return kind <= ActionKind::recompute; }
inline bool isSend(ActionKind kind) { return kind == ActionKind::sendForward || kind == ActionKind::sendBackward; }
inline bool isRecv(ActionKind kind) { return kind == ActionKind::recvForward || kind == ActionKind::recvBackward; }

/// All ranks' actions. A chain is a model cut into stages; two chains run in opposite directions are two replicas of
/// one model. Every micro-batch goes through all stages of one chain, every stage is on one rank.
struct Schedule {
  int ranks = 0;
  int micro_batches = 0;                ///< Numbered from 0 over all batches that the schedule spans.
  std::vector<std::vector<int>> chains; ///< [chain] the stages in the order of the forward pass.
  std::vector<int> stage_rank;          ///< [stage] the rank that holds it.
  std::vector<std::vector<Action>> per_rank;

  [[nodiscard]] int stages() const { return static_cast<int>(stage_rank.size()); }
};

/// The neighbours of a stage in its chain.
struct StagePlace {
  int chain = 0;
  int previous = -1; ///< -1: the first
  int next = -1;     ///< -1: the last
};

/// [stage]; every stage must be in exactly one chain.
std::vector<StagePlace> stagePlaces(const Schedule& schedule);

/// "2F0", "1SEND_B3", "0STEP7": torch.distributed.pipelining's notation, with "@version" where it is not 0.
std::string toText(const Action& action);
/// "F", "SEND_B", ...
const char* kindText(ActionKind kind);

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_SCHEDULE_H_
