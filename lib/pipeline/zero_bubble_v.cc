// ZB-V: rank r of p holds stages r and 2p-1-r, so that the loss is computed on the rank that has the first stage.
#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <optional>

#include "pipeline/generate.h"

namespace goss::pipeline {

namespace {

/// State of one rank while the order is made.
struct RankState {
  std::deque<int> warm_up; ///< Chunks of the forwards whose order is fixed in advance.
  int now = 0;
  int held = 0;                                       ///< Number of activations held, each of half a rank's layers.
  std::array<int, 2> forwards{}, inputs{}, weights{}; ///< Number of actions done, by chunk.
  std::vector<Action> order;
};

struct ReadyAction {
  int start = 0;
  int preference = 0; ///< Among actions that can start first, the one with the least preference runs.
  ActionKind kind = ActionKind::forward;
  int chunk = 0;
};

/// List scheduling under a limit of 2p activations, with unit times for every action. A forward is preferred to the
/// gradient of an input and that to the gradient of weights, except that weights come first when a forward of the
/// second chunk is about to wait for memory; and the first chunk leaves one activation free, so that it cannot block
/// the second. The rules were found by trial: with equal times no rank has a gap once m >= 2p - 1, for p up to 8 at
/// least (the tests check each), and 2p - 1 - m units before.
class VScheduler {
 public:
  VScheduler(int ranks, int micro_batches)
      : p_(ranks), m_(micro_batches), ranks_(static_cast<std::size_t>(ranks)), ends_(stageCount() * 2) {
    for (auto& ends : ends_)
      ends.assign(static_cast<std::size_t>(micro_batches), kNever);
    for (int r = 0; r < p_; ++r) {
      std::deque<int>& warm = at(r).warm_up;
      warm.assign(static_cast<std::size_t>(2 * (p_ - r) - 1), 0);
      for (int i = 0; i < r; ++i) {
        warm.push_back(1);
        warm.push_back(0);
      }
      warm.push_back(1);
    }
  }

  std::vector<std::vector<Action>> run() {
    const int total = p_ * m_ * 6; // forward, input and weight gradients of two chunks
    for (int done = 0; done < total; ++done) {
      std::optional<ReadyAction> best;
      int best_rank = 0;
      for (int r = p_ - 1; r >= 0; --r) {
        const std::optional<ReadyAction> action = bestOf(r);
        if (!action || (best && action->start >= best->start)) continue;
        best = action;
        best_rank = r;
      }
      take(best_rank, *best);
    }
    std::vector<std::vector<Action>> orders;
    for (RankState& state : ranks_)
      orders.push_back(std::move(state.order));
    return orders;
  }

 private:
  static constexpr int kNever = std::numeric_limits<int>::max();

  std::size_t stageCount() const { return 2 * static_cast<std::size_t>(p_); }
  RankState& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  int stageOf(int rank, int chunk) const { return chunk == 0 ? rank : 2 * p_ - 1 - rank; }
  int& end(bool is_forward, int stage, int k) {
    return ends_[static_cast<std::size_t>(stage) * 2 + (is_forward ? 0 : 1)][static_cast<std::size_t>(k)];
  }

  /// Time at which the input of the next forward of a chunk is ready; kNever: not known yet, or no forward is left.
  int forwardReady(int rank, int chunk) {
    const int k = at(rank).forwards[static_cast<std::size_t>(chunk)];
    const int stage = stageOf(rank, chunk);
    if (k >= m_) return kNever;
    return stage == 0 ? 0 : end(true, stage - 1, k);
  }
  int inputReady(int rank, int chunk) {
    const int k = at(rank).inputs[static_cast<std::size_t>(chunk)];
    const int stage = stageOf(rank, chunk);
    if (k >= m_) return kNever;
    const int forward = end(true, stage, k);
    return stage == 2 * p_ - 1 ? forward : std::max(forward, end(false, stage + 1, k));
  }

  std::optional<ReadyAction> bestOf(int rank) {
    RankState& state = at(rank);
    while (!state.warm_up.empty() && state.forwards[static_cast<std::size_t>(state.warm_up.front())] >= m_)
      state.warm_up.pop_front();
    std::optional<ReadyAction> best;
    const auto consider = [&](int ready, int preference, ActionKind kind, int chunk) {
      if (ready == kNever) return;
      const ReadyAction action{std::max(state.now, ready), preference, kind, chunk};
      const bool is_better =
          !best || action.start < best->start || (action.start == best->start && action.preference < best->preference);
      if (is_better) best = action;
    };
    if (!state.warm_up.empty()) {
      consider(forwardReady(rank, state.warm_up.front()), 0, ActionKind::forward, state.warm_up.front());
      return best;
    }
    const int limit = 2 * p_;
    const int second = forwardReady(rank, 1);
    const bool memory_is_awaited = state.held >= limit && second != kNever && second <= state.now + 1;
    if (state.held < limit - 1) consider(forwardReady(rank, 0), 0, ActionKind::forward, 0);
    if (state.held < limit) consider(second, 1, ActionKind::forward, 1);
    for (int chunk = 0; chunk < 2; ++chunk) {
      const auto c = static_cast<std::size_t>(chunk);
      consider(inputReady(rank, chunk), 4 + chunk, ActionKind::backwardInput, chunk);
      const bool has_weights = state.weights[c] < state.inputs[c];
      if (has_weights) consider(state.now, (memory_is_awaited ? 2 : 6) + chunk, ActionKind::backwardWeight, chunk);
    }
    return best;
  }

  void take(int rank, const ReadyAction& action) {
    RankState& state = at(rank);
    const auto chunk = static_cast<std::size_t>(action.chunk);
    const int stage = stageOf(rank, action.chunk);
    int k = 0;
    switch (action.kind) {
      case ActionKind::forward:
        k = state.forwards[chunk]++;
        ++state.held;
        end(true, stage, k) = action.start + 1;
        if (!state.warm_up.empty()) state.warm_up.pop_front();
        break;
      case ActionKind::backwardInput:
        k = state.inputs[chunk]++;
        end(false, stage, k) = action.start + 1;
        break;
      default:
        k = state.weights[chunk]++;
        --state.held;
        break;
    }
    state.now = action.start + 1;
    state.order.push_back({action.kind, 0, static_cast<std::uint16_t>(stage), k, 0});
  }

  int p_;
  int m_;
  std::vector<RankState> ranks_;
  std::vector<std::vector<int>> ends_; ///< [stage * 2 + (0 forward, 1 input gradient)][micro-batch]
};

} // namespace

std::vector<std::vector<Action>> zeroBubbleVOrder(int ranks, int micro_batches) {
  return VScheduler(ranks, micro_batches).run();
}

} // namespace goss::pipeline
