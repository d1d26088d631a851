#include "pipeline/schedule.h"

#include <fmt/format.h>

#include <array>

namespace goss::pipeline {

std::vector<StagePlace> stagePlaces(const Schedule& schedule) {
  std::vector<StagePlace> places(schedule.stage_rank.size());
  for (std::size_t chain = 0; chain < schedule.chains.size(); ++chain) {
    const std::vector<int>& stages = schedule.chains[chain];
    for (std::size_t i = 0; i < stages.size(); ++i) {
      places[static_cast<std::size_t>(stages[i])] = {static_cast<int>(chain), i == 0 ? -1 : stages[i - 1],
                                                     i + 1 == stages.size() ? -1 : stages[i + 1]};
    }
  }
  return places;
}

const char* kindText(ActionKind kind) {
  constexpr std::array<const char*, 11> kTexts = {"F",      "B",      "I",      "W",           "R",   "SEND_F",
                                                  "RECV_F", "SEND_B", "RECV_B", "REDUCE_GRAD", "STEP"};
  return kTexts[static_cast<std::size_t>(kind)];
}

std::string toText(const Action& action) {
  // PyTorch's reductions are of the whole batch and name no micro-batch; here they name the last one that they take.
  const std::string version = action.version == 0 ? "" : fmt::format("@{}", action.version);
  return fmt::format("{}{}{}{}", action.stage, kindText(action.kind), action.micro_batch, version);
}

} // namespace goss::pipeline
