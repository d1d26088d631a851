#include "schedule/symbolic.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/split_mix.h"
#include "schedule/contract.h"
#include "schedule/structure.h"
#include "schedule/symbols.h"

namespace goss::schedule {

namespace {

constexpr std::uint32_t kUndefined = ~0u;

/// Steps are numbered over all ranks: rank r's step i is start_[r] + i.
class Execution {
 public:
  Execution(std::span<const Schedule> ranks, const ChannelTable& table, const RunMode& mode)
      : ranks_(ranks), table_(table), mode_(mode), random_(mode.seed), channels_(table.channels.size()) {
    for (std::size_t r = 0; r < ranks.size(); ++r)
      addRank(r);
  }

  Result<RunFacts> run();

 private:
  struct ChannelState {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    bool send_offered = false;
    bool receive_offered = false;
  };
  struct StepState {
    std::uint32_t rank = 0;
    std::uint32_t waits_for = 0;
    std::uint32_t first_dependent = 0;
    std::uint32_t dependents = 0;
    std::uint32_t payload = 0; ///< send: where its values begin in payloads_.
    int time = 0;              ///< Number of messages on the longest path to its end.
    bool ready = false;
  };

  void addRank(std::size_t rank);
  void addDependents(std::size_t rank);
  void fillInput(std::size_t rank);

  [[nodiscard]] const Step& stepOf(std::uint32_t id) const { return ranks_[states_[id].rank].steps[localOf(id)]; }
  [[nodiscard]] std::uint32_t localOf(std::uint32_t id) const { return id - start_[states_[id].rank]; }
  [[nodiscard]] std::uint32_t sendAt(const Channel& channel, std::uint32_t message) const {
    return start_[static_cast<std::size_t>(channel.source)] + table_.sends[channel.first + message];
  }
  [[nodiscard]] std::uint32_t receiveAt(const Channel& channel, std::uint32_t message) const {
    return start_[static_cast<std::size_t>(channel.destination)] + table_.receives[channel.first + message];
  }

  void becomeReady(std::uint32_t id);
  void offer(std::uint32_t channel);
  void offerRendezvous(const Channel& channel, ChannelState& state);
  void execute(std::uint32_t id);
  void executeSend(std::uint32_t id, std::uint32_t channel);
  void executeReceive(std::uint32_t id, std::uint32_t channel);
  void executeLocal(std::uint32_t id);
  void executeCodec(std::uint32_t id);
  void combineWeighted(std::uint32_t id, std::span<const Slot> sources);
  void complete(std::uint32_t id);

  std::uint32_t read(std::uint32_t id, Slot slot);
  void write(std::uint32_t id, Slot slot, std::uint32_t value);
  std::uint32_t combine(std::uint32_t id, std::uint32_t a, std::uint32_t b);
  std::uint32_t finished(std::uint32_t id, std::uint32_t value);
  void fail(std::uint32_t id, const std::string& what);

  Status deadlock() const;
  Status checkOutputs(RunFacts& facts) const;
  Status checkWeights(const Role& role, const Symbol& value) const;
  Status checkOutput(const Role& role, std::uint32_t chunk, std::uint32_t value) const;
  [[nodiscard]] Role roleOf(std::size_t rank) const {
    return {ranks_[rank].collective, ranks_[rank].size, static_cast<int>(rank), ranks_[rank].root,
            &ranks_[rank].neighborhood};
  }

  std::span<const Schedule> ranks_;
  const ChannelTable& table_;
  RunMode mode_;
  base::SplitMix64 random_;
  std::vector<std::uint32_t> start_;
  std::vector<StepState> states_;
  std::vector<std::uint32_t> dependents_;
  std::vector<CellMap> cell_maps_;
  std::vector<std::vector<std::uint32_t>> cells_; ///< By rank: value of each cell.
  SymbolStore symbols_;
  std::vector<std::uint32_t> payloads_;
  std::vector<ChannelState> channels_;
  std::vector<std::uint32_t> runnable_;
  std::size_t remaining_ = 0;
  bool compressed_ = false; ///< Encoding is a step of the schedule, not something that each send implies.
  Status status_;
};

void Execution::addRank(std::size_t rank) {
  const Schedule& schedule = ranks_[rank];
  compressed_ = compressed_ || !schedule.payload_like.empty();
  start_.push_back(static_cast<std::uint32_t>(states_.size()));
  for (const Step& step : schedule.steps) {
    StepState state;
    state.rank = static_cast<std::uint32_t>(rank);
    state.waits_for = step.dependencies.count;
    states_.push_back(state);
  }
  remaining_ = states_.size();
  addDependents(rank);
  cell_maps_.emplace_back(schedule, mode_.in_place);
  cells_.emplace_back(cell_maps_.back().count(schedule), kUndefined);
  fillInput(rank);
}

void Execution::addDependents(std::size_t rank) {
  const Schedule& schedule = ranks_[rank];
  const std::uint32_t start = start_[rank];
  for (const Step& step : schedule.steps) { // Ranges may overlap, and need not cover the pool.
    for (const std::uint32_t before : schedule.dependenciesOf(step))
      ++states_[start + before].dependents;
  }
  auto next = static_cast<std::uint32_t>(dependents_.size());
  for (std::size_t id = start; id < states_.size(); ++id) {
    states_[id].first_dependent = next;
    next += std::exchange(states_[id].dependents, 0);
  }
  dependents_.resize(next);
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    for (const std::uint32_t before : schedule.dependenciesOf(schedule.steps[i])) {
      StepState& state = states_[start + before];
      dependents_[state.first_dependent + state.dependents++] = start + i;
    }
  }
}

void Execution::fillInput(std::size_t rank) {
  const Role role = roleOf(rank);
  for (std::uint32_t c = 0; c < ranks_[rank].chunk_count; ++c) {
    if (!startsInInput(role, c)) continue;
    cells_[rank][cell_maps_[rank].of(input(c))] = symbols_.contribution(role.rank, c);
  }
}

void Execution::fail(std::uint32_t id, const std::string& what) {
  if (!status_.isOk()) return;
  status_ = Status::error(GOSS_ERR_INTERNAL, fmt::format("rank {} step {}: {}", states_[id].rank, localOf(id), what));
}

void Execution::becomeReady(std::uint32_t id) {
  states_[id].ready = true;
  const Step& step = stepOf(id);
  const int rank = static_cast<int>(states_[id].rank);
  if (step.kind == StepKind::send) {
    offer(table_.channelOf(rank, step.peer));
  } else if (isReceive(step.kind)) {
    offer(table_.channelOf(step.peer, rank));
  } else {
    runnable_.push_back(id);
  }
}

/// Makes the next send and the next receive of a channel runnable if nothing blocks them.
void Execution::offer(std::uint32_t index) {
  const Channel& channel = table_.channels[index];
  ChannelState& state = channels_[index];
  if (mode_.capacity == 0) return offerRendezvous(channel, state);
  const auto held = static_cast<int>(state.sent - state.received);
  if (!state.send_offered && state.sent < channel.count && (mode_.capacity == kUnlimited || held < mode_.capacity) &&
      states_[sendAt(channel, state.sent)].ready) {
    state.send_offered = true;
    runnable_.push_back(sendAt(channel, state.sent));
  }
  if (!state.receive_offered && held > 0 && states_[receiveAt(channel, state.received)].ready) {
    state.receive_offered = true;
    runnable_.push_back(receiveAt(channel, state.received));
  }
}

void Execution::offerRendezvous(const Channel& channel, ChannelState& state) {
  if (state.send_offered || state.sent == channel.count) return;
  const std::uint32_t send = sendAt(channel, state.sent);
  if (!states_[send].ready || !states_[receiveAt(channel, state.sent)].ready) return;
  state.send_offered = true;
  runnable_.push_back(send);
}

void Execution::complete(std::uint32_t id) {
  --remaining_;
  const StepState& state = states_[id];
  for (std::uint32_t i = 0; i < state.dependents; ++i) {
    const std::uint32_t next = dependents_[state.first_dependent + i];
    states_[next].time = std::max(states_[next].time, state.time);
    if (--states_[next].waits_for == 0) becomeReady(next);
  }
}

std::uint32_t Execution::read(std::uint32_t id, Slot slot) {
  const std::uint32_t rank = states_[id].rank;
  const std::uint32_t value = cells_[rank][cell_maps_[rank].of(slot)];
  if (value == kUndefined) {
    fail(id, fmt::format("reads {}, which holds nothing yet", describe(slot)));
  }
  return value;
}

void Execution::write(std::uint32_t id, Slot slot, std::uint32_t value) {
  const Schedule& schedule = ranks_[states_[id].rank];
  if (!exchangesBlocks(schedule.collective)) {
    const std::uint32_t chunk = schedule.chunkLike(slot);
    if (symbols_[value].chunk != chunk) {
      return fail(id, fmt::format("puts chunk {} into a slot for chunk {}", symbols_[value].chunk, chunk));
    }
  }
  cells_[states_[id].rank][cell_maps_[states_[id].rank].of(slot)] = value;
}

std::uint32_t Execution::combine(std::uint32_t id, std::uint32_t a, std::uint32_t b) {
  std::string fault;
  const std::uint32_t sum = symbols_.sum(roleOf(states_[id].rank), a, b, fault);
  if (!fault.empty()) fail(id, fault);
  return sum;
}

std::uint32_t Execution::finished(std::uint32_t id, std::uint32_t value) {
  std::string fault;
  const std::uint32_t result = symbols_.finished(roleOf(states_[id].rank), value, fault);
  if (!fault.empty()) fail(id, fault);
  return result;
}

void Execution::executeSend(std::uint32_t id, std::uint32_t channel_index) {
  const Step& step = stepOf(id);
  states_[id].payload = static_cast<std::uint32_t>(payloads_.size());
  for (const Slot slot : ranks_[states_[id].rank].slotsOf(step.targets)) {
    const std::uint32_t value = read(id, slot);
    if (!status_.isOk()) return;
    payloads_.push_back(compressed_ ? value : symbols_.encoded(value));
  }
  ChannelState& state = channels_[channel_index];
  ++state.sent;
  state.send_offered = false;
  if (mode_.capacity == 0) executeReceive(receiveAt(table_.channels[channel_index], state.received), channel_index);
  complete(id);
  offer(channel_index);
}

void Execution::executeReceive(std::uint32_t id, std::uint32_t channel_index) {
  const Step& step = stepOf(id);
  const Schedule& schedule = ranks_[states_[id].rank];
  ChannelState& state = channels_[channel_index];
  const std::uint32_t send = sendAt(table_.channels[channel_index], state.received);
  const std::uint32_t sent_slots = stepOf(send).targets.count;
  if (sent_slots != step.targets.count) {
    return fail(id, fmt::format("receives {} chunks where rank {} step {} sends {}", step.targets.count, step.peer,
                                localOf(send), sent_slots));
  }
  const auto targets = schedule.slotsOf(step.targets);
  const auto sources = schedule.slotsOf(step.sources);
  for (std::uint32_t i = 0; i < targets.size() && status_.isOk(); ++i) {
    std::uint32_t value = payloads_[states_[send].payload + i];
    if (step.kind == StepKind::recvReduce) {
      const std::uint32_t mine = read(id, sources[i]);
      if (!status_.isOk()) return;
      value = combine(id, mine, value);
    }
    write(id, targets[i], value);
  }
  states_[id].time = std::max(states_[id].time, states_[send].time + 1);
  ++state.received;
  state.receive_offered = false;
  complete(id);
  offer(channel_index);
}

void Execution::combineWeighted(std::uint32_t id, std::span<const Slot> sources) {
  const Schedule& schedule = ranks_[states_[id].rank];
  const Step& step = stepOf(id);
  std::vector<std::uint32_t> operands;
  for (const Slot source : sources)
    operands.push_back(read(id, source));
  if (!status_.isOk()) return;
  std::string fault;
  const std::uint32_t sum = symbols_.combined(roleOf(states_[id].rank), operands, schedule.weightsOf(step), fault);
  if (!fault.empty()) return fail(id, fault);
  write(id, schedule.slotsOf(step.targets)[0], sum);
}

void Execution::executeLocal(std::uint32_t id) {
  const Step& step = stepOf(id);
  const Schedule& schedule = ranks_[states_[id].rank];
  const auto targets = schedule.slotsOf(step.targets);
  const auto sources = schedule.slotsOf(step.sources);
  if (step.kind == StepKind::combine) {
    combineWeighted(id, sources);
    if (!status_.isOk()) return;
  } else if (step.kind == StepKind::reduce) {
    const std::uint32_t first = read(id, sources[0]);
    const std::uint32_t second = read(id, sources[1]);
    if (status_.isOk()) write(id, targets[0], combine(id, first, second));
  } else {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::uint32_t value = read(id, sources[i]);
      if (!status_.isOk()) return;
      write(id, targets[i], step.kind == StepKind::finish ? finished(id, value) : value);
    }
  }
  complete(id);
}

void Execution::executeCodec(std::uint32_t id) {
  const Step& step = stepOf(id);
  const Schedule& schedule = ranks_[states_[id].rank];
  const Role role = roleOf(states_[id].rank);
  std::uint32_t sum = kUndefined;
  for (const Slot source : schedule.slotsOf(step.sources)) {
    std::uint32_t value = read(id, source);
    if (!status_.isOk()) return;
    std::string fault;
    if (source.space == Space::payload) {
      value = symbols_.valueOf(role, value, schedule.payload_finished[source.index], fault);
      if (!fault.empty()) return fail(id, fault);
    }
    sum = sum == kUndefined ? value : combine(id, sum, value);
  }
  if (step.finishes) sum = finished(id, sum);
  if (!status_.isOk()) return;
  const auto targets = schedule.slotsOf(step.targets);
  if (step.kind == StepKind::decode) {
    write(id, targets[0], sum);
  } else {
    const std::uint32_t payload = symbols_.payloadOf(sum);
    write(id, targets[0], payload);
    std::string fault;
    if (targets.size() > 1) {
      write(id, targets[1], symbols_.valueOf(role, payload, schedule.payload_finished[targets[0].index], fault));
    }
    if (!fault.empty()) return fail(id, fault);
  }
  complete(id);
}

void Execution::execute(std::uint32_t id) {
  const Step& step = stepOf(id);
  const int rank = static_cast<int>(states_[id].rank);
  if (step.kind == StepKind::send) {
    executeSend(id, table_.channelOf(rank, step.peer));
  } else if (isReceive(step.kind)) {
    executeReceive(id, table_.channelOf(step.peer, rank));
  } else if (step.kind == StepKind::encode || step.kind == StepKind::decode) {
    executeCodec(id);
  } else {
    executeLocal(id);
  }
}

Status Execution::deadlock() const {
  for (std::size_t c = 0; c < table_.channels.size(); ++c) {
    const Channel& channel = table_.channels[c];
    const ChannelState& state = channels_[c];
    if (state.sent == channel.count && state.received == channel.count) continue;
    const bool stuck_in_send = state.sent < channel.count && states_[sendAt(channel, state.sent)].ready;
    const std::uint32_t id = stuck_in_send ? sendAt(channel, state.sent) : receiveAt(channel, state.received);
    if (!states_[id].ready) continue;
    const std::string capacity = mode_.capacity == kUnlimited ? "unlimited" : fmt::format("{}", mode_.capacity);
    return Status::error(
        GOSS_ERR_INTERNAL,
        fmt::format("rank {} step {}: deadlock at channel capacity {}: {} message {} {} rank {} never ends",
                    states_[id].rank, localOf(id), capacity, stuck_in_send ? "sending" : "receiving",
                    stuck_in_send ? state.sent : state.received, stuck_in_send ? "to" : "from", stepOf(id).peer));
  }
  return Status::error(GOSS_ERR_INTERNAL, fmt::format("deadlock with {} steps left", remaining_));
}

/// The result must be the rank's row of the mixing matrix: the same ranks with exactly the same weights.
Status Execution::checkWeights(const Role& role, const Symbol& value) const {
  std::vector<const Neighborhood*> neighborhoods;
  for (const Schedule& schedule : ranks_)
    neighborhoods.push_back(&schedule.neighborhood);
  const std::map<int, double> expected = promisedWeights(role.rank, neighborhoods);
  std::map<int, double> found = value.weights;
  if (found.empty()) found[static_cast<int>(value.from._Find_first())] = 1;
  for (int rank = 0; rank < role.size; ++rank) {
    const auto weightIn = [rank](const std::map<int, double>& row) { return row.contains(rank) ? row.at(rank) : 0.0; };
    if (weightIn(found) == weightIn(expected)) continue;
    return Status::error(GOSS_ERR_INTERNAL,
                         fmt::format("rank {} chunk {}: the contribution of rank {} has weight {} instead of {}",
                                     role.rank, value.chunk, rank, weightIn(found), weightIn(expected)));
  }
  return Status::ok();
}

Status Execution::checkOutput(const Role& role, std::uint32_t chunk, std::uint32_t index) const {
  const auto wrong = [&](const std::string& what) {
    return Status::error(GOSS_ERR_INTERNAL, fmt::format("rank {} output {}: {}", role.rank, chunk, what));
  };
  if (index == kUndefined) return wrong("never written");
  const Symbol& value = symbols_[index];
  if (value.payload) return wrong("holds a payload");
  if (role.collective == Collective::neighborAllReduce && value.chunk == chunk) return checkWeights(role, value);
  const std::uint32_t expected_chunk = exchangesBlocks(role.collective) ? static_cast<std::uint32_t>(role.rank) : chunk;
  if (value.chunk != expected_chunk) return wrong(fmt::format("holds chunk {}", value.chunk));
  const Contributions expected = setOf(contributors(role, chunk));
  if (value.from != expected) {
    const Contributions difference = value.from ^ expected;
    return wrong(fmt::format("{} contributions instead of {}, first difference rank {}", value.from.count(),
                             expected.count(), difference._Find_first()));
  }
  const int finishes = reduces(role.collective) ? 1 : 0;
  if (value.finishes != finishes)
    return wrong(fmt::format("passed {} finishes instead of {}", value.finishes, finishes));
  return Status::ok();
}

Status Execution::checkOutputs(RunFacts& facts) const {
  const Collective collective = ranks_[0].collective;
  const bool same_everywhere =
      collective == Collective::allReduce || collective == Collective::broadcast || collective == Collective::allGather;
  std::vector<std::uint64_t> expression(ranks_[0].chunk_count, 0);
  std::vector<std::uint64_t> lossy_expression(ranks_[0].chunk_count, 0);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Role role = roleOf(r);
    for (std::uint32_t c = 0; c < ranks_[r].chunk_count; ++c) {
      if (!delivers(role, c)) continue;
      const std::uint32_t index = cells_[r][cell_maps_[r].of(output(c))];
      if (Status status = checkOutput(role, c, index); !status.isOk()) return status;
      const Symbol& value = symbols_[index];
      facts.lossy_depth = std::max(facts.lossy_depth, value.lossy_depth);
      const std::uint64_t lossy = encodedExpression(value);
      if (r == 0) {
        expression[c] = value.expression;
        lossy_expression[c] = lossy;
      } else if (same_everywhere) {
        facts.identical_bits = facts.identical_bits && value.expression == expression[c];
        facts.identical_when_lossy = facts.identical_when_lossy && lossy == lossy_expression[c];
      }
    }
  }
  return Status::ok();
}

Result<RunFacts> Execution::run() {
  for (std::uint32_t id = 0; id < states_.size(); ++id) {
    if (states_[id].waits_for == 0 && !states_[id].ready) becomeReady(id);
  }
  while (!runnable_.empty() && status_.isOk()) {
    const std::size_t pick = random_.below(runnable_.size());
    const std::uint32_t id = std::exchange(runnable_[pick], runnable_.back());
    runnable_.pop_back();
    execute(id);
  }
  if (!status_.isOk()) return status_;
  if (remaining_ > 0) return deadlock();
  RunFacts facts;
  facts.messages = table_.messages();
  for (const StepState& state : states_)
    facts.longest_path = std::max(facts.longest_path, state.time);
  if (Status status = checkOutputs(facts); !status.isOk()) return status;
  return facts;
}

} // namespace

Result<RunFacts> runSymbolically(std::span<const Schedule> ranks, const ChannelTable& table, const RunMode& mode) {
  return Execution(ranks, table, mode).run();
}

} // namespace goss::schedule
