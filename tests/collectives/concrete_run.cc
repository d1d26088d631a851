#include "tests/collectives/concrete_run.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "schedule/contract.h"

namespace goss::collectives {

namespace {

using Number = std::optional<std::uint64_t>; ///< Nothing: never written.

/// What rank `rank` contributes to chunk `chunk`. Other sums of such numbers are equal by chance only.
std::uint64_t contribution(int rank, std::uint32_t chunk) {
  return std::mt19937_64(static_cast<std::uint64_t>(rank) << 32 | chunk)();
}
/// A second finish and a missing one give other numbers.
std::uint64_t finished(std::uint64_t sum) { return sum * 3 + 1; }

class ConcreteRun {
 public:
  ConcreteRun(const std::vector<Schedule>& ranks, const ConcreteMode& mode)
      : ranks_(ranks), mode_(mode), random_(mode.seed), memory_(ranks.size()) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      done_.emplace_back(ranks[r].steps.size(), false);
      for (std::uint32_t s = 0; s < ranks[r].steps.size(); ++s)
        left_.push_back({r, s});
      for (std::uint32_t c = 0; c < ranks[r].chunk_count; ++c) {
        if (schedule::startsInInput(role(r), c)) memory_[r][place(input(c))] = contribution(static_cast<int>(r), c);
      }
    }
  }

  std::string run() {
    while (!left_.empty()) {
      std::shuffle(left_.begin(), left_.end(), random_);
      const std::size_t before = left_.size();
      std::erase_if(left_, [&](const At& at) { return done_[at.rank][at.step] || advance(at); });
      if (left_.size() == before) return "nothing can go on, with " + std::to_string(before) + " steps left";
    }
    for (const auto& [peers, messages] : channels_) {
      if (!messages.empty()) return "a message that nobody receives";
    }
    return difference();
  }

 private:
  struct At {
    std::size_t rank;
    std::uint32_t step;
  };
  using Place = std::pair<Space, std::uint32_t>;
  using Numbers = std::vector<Number>;

  [[nodiscard]] schedule::Role role(std::size_t rank) const {
    return {ranks_[0].collective, static_cast<int>(ranks_.size()), static_cast<int>(rank), ranks_[0].root};
  }
  [[nodiscard]] Place place(Slot slot) const {
    const bool same = mode_.in_place && slot.space == Space::output;
    return {same ? Space::input : slot.space, slot.index};
  }
  static bool receives(const Step& step) { return step.kind == StepKind::recv || step.kind == StepKind::recvReduce; }

  [[nodiscard]] bool mayRun(const At& at) const {
    const Schedule& schedule = ranks_[at.rank];
    const auto before = schedule.dependenciesOf(schedule.steps[at.step]);
    return std::all_of(before.begin(), before.end(), [&](std::uint32_t step) { return done_[at.rank][step]; });
  }

  /// The receive of a rank that the next message from `source` is for, if it may run.
  [[nodiscard]] std::optional<At> receiver(std::size_t rank, std::size_t source) const {
    for (std::uint32_t s = 0; s < ranks_[rank].steps.size(); ++s) {
      const Step& step = ranks_[rank].steps[s];
      if (!receives(step) || step.peer != static_cast<int>(source) || done_[rank][s]) continue;
      return mayRun({rank, s}) ? std::optional<At>({rank, s}) : std::nullopt;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool isNext(const At& at) const {
    const Step& step = ranks_[at.rank].steps[at.step];
    for (std::uint32_t s = 0; s < at.step; ++s) {
      const Step& other = ranks_[at.rank].steps[s];
      if (other.peer == step.peer && receives(other) == receives(step) &&
          (receives(other) || other.kind == StepKind::send) && !done_[at.rank][s])
        return false;
    }
    return true;
  }

  /// Whether the step ran.
  bool advance(const At& at) {
    const Step& step = ranks_[at.rank].steps[at.step];
    if (!mayRun(at)) return false;
    if (step.kind == StepKind::send) return send(at, step);
    if (receives(step)) return !mode_.rendezvous && receive(at);
    done_[at.rank][at.step] = true;
    store(at.rank, step, computed(at.rank, step));
    return true;
  }

  bool send(const At& at, const Step& step) {
    const auto to = receiver(static_cast<std::size_t>(step.peer), at.rank);
    if (!isNext(at) || (mode_.rendezvous && !to)) return false;
    channels_[{at.rank, static_cast<std::size_t>(step.peer)}].push_back(load(at.rank, step.targets));
    done_[at.rank][at.step] = true;
    if (mode_.rendezvous) receive(*to);
    return true;
  }

  bool receive(const At& at) {
    const Step& step = ranks_[at.rank].steps[at.step];
    auto& channel = channels_[{static_cast<std::size_t>(step.peer), at.rank}];
    if (channel.empty() || !isNext(at)) return false;
    Numbers message = std::move(channel.front());
    channel.pop_front();
    message.resize(step.targets.count);
    if (step.kind == StepKind::recvReduce) {
      const Numbers mine = load(at.rank, step.sources);
      for (std::size_t i = 0; i < message.size(); ++i)
        message[i] = sum(message[i], mine[i]);
    }
    store(at.rank, step, message);
    done_[at.rank][at.step] = true;
    return true;
  }

  /// A barrier's tokens have no numbers: what counts is who was heard of.
  Number sum(Number a, Number b) const {
    if (!a || !b) return std::nullopt;
    return schedule::reduces(ranks_[0].collective) ? *a + *b : *a;
  }

  [[nodiscard]] Numbers computed(std::size_t rank, const Step& step) {
    Numbers values = load(rank, step.sources);
    const bool adds = step.kind == StepKind::reduce || step.kind == StepKind::encode || step.kind == StepKind::decode;
    if (adds) {
      Number total = values[0];
      for (std::size_t i = 1; i < values.size(); ++i)
        total = sum(total, values[i]);
      values.assign(step.targets.count, total);
    }
    if (step.kind != StepKind::finish && !(adds && step.finishes && step.kind != StepKind::reduce)) return values;
    for (Number& value : values) {
      if (value) value = finished(*value);
    }
    return values;
  }

  Numbers load(std::size_t rank, PoolRange range) {
    Numbers values;
    for (const Slot slot : ranks_[rank].slotsOf(range))
      values.push_back(memory_[rank][place(slot)]);
    return values;
  }

  void store(std::size_t rank, const Step& step, const Numbers& values) {
    const auto slots = ranks_[rank].slotsOf(step.targets);
    for (std::size_t i = 0; i < slots.size(); ++i)
      memory_[rank][place(slots[i])] = values[i];
  }

  [[nodiscard]] std::string difference() {
    const bool numbers = ranks_[0].collective != Collective::barrier;
    for (std::size_t r = 0; numbers && r < ranks_.size(); ++r) {
      for (std::uint32_t c = 0; c < ranks_[r].chunk_count; ++c) {
        const bool delivered = schedule::delivers(role(r), c);
        if (delivered && memory_[r][place(output(c))] != expected(r, c))
          return "output " + std::to_string(c) + " of rank " + std::to_string(r) + " is wrong";
        if ((delivered && mode_.in_place) || !schedule::startsInInput(role(r), c)) continue;
        if (memory_[r][place(input(c))] != contribution(static_cast<int>(r), c))
          return "input " + std::to_string(c) + " of rank " + std::to_string(r) + " has changed";
      }
    }
    return "";
  }

  [[nodiscard]] Number expected(std::size_t rank, std::uint32_t chunk) const {
    const schedule::RankRange from = schedule::contributors(role(rank), chunk);
    const bool exchange = ranks_[0].collective == Collective::allToAll;
    std::uint64_t sum = 0;
    for (int r = from.first; r < from.last; ++r)
      sum += contribution(r, exchange ? static_cast<std::uint32_t>(rank) : chunk);
    return schedule::reduces(ranks_[0].collective) ? finished(sum) : sum;
  }

  const std::vector<Schedule>& ranks_;
  ConcreteMode mode_;
  std::mt19937_64 random_;
  std::vector<std::map<Place, Number>> memory_;
  std::vector<std::vector<bool>> done_;
  std::vector<At> left_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<Numbers>> channels_; ///< By source and destination.
};

} // namespace

std::string runConcretely(const std::vector<Schedule>& ranks, const ConcreteMode& mode) {
  return ConcreteRun(ranks, mode).run();
}

} // namespace goss::collectives
