#include "schedule/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <queue>

#include "schedule/stored.h"

namespace goss::schedule {

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A send and its receive.
struct Message {
  std::uint32_t send = 0; ///< Flat step.
  std::uint32_t recv = 0; ///< Flat step.
  std::uint32_t channel = 0;
};

/// One direction between two ranks. Its messages, which are received in the order in which they are sent, are
/// Program::messages[first] to [last - 1].
struct Channel {
  int from = 0;
  int to = 0;
  int sender = 0;   ///< Index of the schedule of `from`.
  int receiver = 0; ///< Index of the schedule that stands for that of `to`.
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The steps of all ranks in one numbering (flat step = first_step_of_rank + index), linked across ranks.
struct Program {
  std::vector<std::uint32_t> first_step;       ///< By rank; the last entry is the total.
  std::vector<int> schedule_of;                ///< By flat step: index of its schedule.
  std::vector<const Step*> step;               ///< By flat step.
  std::vector<std::uint32_t> message_of;       ///< By flat step: index of its message; kNone for local steps.
  std::vector<std::uint32_t> dependency_count; ///< By flat step.
  std::vector<std::uint32_t> first_successor;  ///< By flat step; the last entry is the total.
  std::vector<std::uint32_t> successors;
  std::vector<Message> messages;
  std::vector<Channel> channels;
};

bool isRecv(const Step& step) { return step.kind == StepKind::recv || step.kind == StepKind::recvReduce; }

void linkSuccessors(std::span<const Schedule> schedules, Program& program) {
  const std::size_t steps = program.step.size();
  program.first_successor = std::vector<std::uint32_t>(steps + 1);
  program.dependency_count = std::vector<std::uint32_t>(steps);
  const auto forEachEdge = [&](auto&& visit) {
    for (std::size_t flat = 0; flat < steps; ++flat) {
      const auto rank = static_cast<std::size_t>(program.schedule_of[flat]);
      for (const std::uint32_t before : schedules[rank].dependenciesOf(*program.step[flat])) {
        visit(program.first_step[rank] + before, static_cast<std::uint32_t>(flat));
      }
    }
  };
  forEachEdge([&](std::uint32_t before, std::uint32_t after) {
    ++program.first_successor[before + 1];
    ++program.dependency_count[after];
  });
  for (std::size_t flat = 0; flat < steps; ++flat)
    program.first_successor[flat + 1] += program.first_successor[flat];
  program.successors.resize(program.first_successor[steps]);
  std::vector<std::uint32_t> next(program.first_successor.begin(), program.first_successor.end() - 1);
  forEachEdge([&](std::uint32_t before, std::uint32_t after) { program.successors[next[before]++] = after; });
}

/// One end of a message; after sorting, both ends of a message have the same index.
struct End {
  std::uint64_t channel;
  std::uint32_t ordinal;
  std::uint32_t step;
  friend bool operator<(const End& a, const End& b) {
    return a.channel != b.channel ? a.channel < b.channel : a.ordinal < b.ordinal;
  }
};

/// Says which simulated rank stands for another one, where only some ranks are simulated (Symmetry).
class StandIns {
 public:
  StandIns(const Symmetry& symmetry, int size)
      : period_(symmetry.period > 0 ? symmetry.period : size),
        local_(symmetry.local),
        blocks_(size / period_),
        exclusive_or_(symmetry.exclusive_or) {}

  /// Index of the schedule that stands for that of `rank`.
  [[nodiscard]] int indexOf(int rank) const { return rank % period_ / local_; }
  /// The simulated `rank` sends to `peer`, whose stand-in receives that message from the rank that this returns.
  [[nodiscard]] int seenFrom(int rank, int peer) const {
    const int block = peer / period_;
    const int opposite = exclusive_or_ ? block : (blocks_ - block) % blocks_;
    return opposite * period_ + rank + (local_ - peer % local_) % local_;
  }

 private:
  int period_;
  int local_;
  int blocks_;
  bool exclusive_or_;
};

Status matchMessages(std::span<const Schedule> schedules, const Symmetry& symmetry, Program& program) {
  const auto size = static_cast<std::uint64_t>(schedules[0].size);
  const StandIns stand_ins(symmetry, schedules[0].size);
  std::vector<End> sends;
  std::vector<End> recvs;
  for (std::uint32_t flat = 0; flat < program.step.size(); ++flat) {
    const Step& step = *program.step[flat];
    const int self = program.schedule_of[flat];
    if (step.kind == StepKind::send) {
      const int from = stand_ins.seenFrom(schedules[static_cast<std::size_t>(self)].rank, step.peer);
      sends.push_back(
          {static_cast<std::uint64_t>(from) * size + static_cast<std::uint64_t>(stand_ins.indexOf(step.peer)),
           step.ordinal, flat});
    }
    if (isRecv(step))
      recvs.push_back(
          {static_cast<std::uint64_t>(step.peer) * size + static_cast<std::uint64_t>(self), step.ordinal, flat});
  }
  std::sort(sends.begin(), sends.end());
  std::sort(recvs.begin(), recvs.end());
  for (std::size_t i = 0; i < std::max(sends.size(), recvs.size()); ++i) {
    const bool fits = i < sends.size() && i < recvs.size() && !(sends[i] < recvs[i]) && !(recvs[i] < sends[i]);
    if (fits) continue;
    const bool send_alone = i >= recvs.size() || (i < sends.size() && sends[i] < recvs[i]);
    const End& end = send_alone ? sends[i] : recvs[i];
    return Status::error(
        GOSS_ERR_INTERNAL,
        fmt::format("{} for {} ranks: {} {} of the channel from rank {} to rank {} meets no {}", schedules[0].algorithm,
                    size, send_alone ? "send" : "receive", end.ordinal, end.channel / size,
                    schedules[end.channel % size].rank, send_alone ? "receive" : "send"));
  }
  for (std::uint32_t i = 0; i < sends.size(); ++i) {
    if (i == 0 || sends[i].channel != sends[i - 1].channel) {
      const std::uint32_t send = sends[i].step;
      const int sender = program.schedule_of[send];
      program.channels.push_back({schedules[static_cast<std::size_t>(sender)].rank, program.step[send]->peer, sender,
                                  static_cast<int>(sends[i].channel % size), i, i});
    }
    ++program.channels.back().last;
    program.messages.push_back({sends[i].step, recvs[i].step, static_cast<std::uint32_t>(program.channels.size() - 1)});
    program.message_of[sends[i].step] = i;
    program.message_of[recvs[i].step] = i;
  }
  return Status::ok();
}

Result<Program> compile(std::span<const Schedule> schedules, const Symmetry& symmetry) {
  Program program;
  program.first_step.push_back(0);
  for (std::size_t index = 0; index < schedules.size(); ++index) {
    assert(schedules[index].size == schedules[0].size);
    for (const Step& step : schedules[index].steps) {
      program.step.push_back(&step);
      program.schedule_of.push_back(static_cast<int>(index));
    }
    program.first_step.push_back(static_cast<std::uint32_t>(program.step.size()));
  }
  program.message_of.assign(program.step.size(), kNone);
  linkSuccessors(schedules, program);
  if (Status status = matchMessages(schedules, symmetry, program); !status.isOk()) return status;
  return program;
}

/// Remaining work of one fragment.
struct FragmentState {
  /// By flat step: dependencies that are not done, counting the fragment's start as one.
  std::vector<std::uint32_t> waits_for;
  std::vector<double> bytes;                  ///< By flat step: bytes that it moves.
  std::vector<std::uint8_t> arrived;          ///< By message.
  std::vector<std::uint32_t> next_of_channel; ///< By channel: its next message that has not been sent.
  std::vector<std::uint32_t> steps_left;      ///< By rank.
  std::uint32_t ranks_left = 0;
  double finish_s = 0;
};

class Simulator {
 public:
  Simulator(const Program& program, std::span<const Schedule> schedules, const Shape& shape, const Links& links,
            const SimulationOptions& options)
      : program_(program),
        schedules_(schedules),
        links_(links),
        options_(options),
        size_(schedules.size()),
        gains_by_storing_(links.size() == 2 && schedules[0].collective == Collective::broadcast &&
                          storesMessages(schedules[0], options.fragments)) {
    const std::uint32_t simulated = std::min(options.fragments, std::max<std::uint32_t>(options.detailed_fragments, 2));
    for (std::uint32_t f = 0; f < simulated; ++f)
      fragments_.push_back(newFragment(shape, f));
    // Ports: of each rank towards its own node, of each rank to other nodes, and of each node.
    const std::size_t ports = 2 * size_ + static_cast<std::size_t>(links.nodeCount());
    up_free_.assign(ports, 0);
    down_free_.assign(ports, 0);
    cpu_free_.assign(size_, 0);
    up_busy_.assign(ports, 0);
    down_busy_.assign(ports, 0);
    down_first_.assign(ports, std::numeric_limits<double>::infinity());
    cpu_busy_.assign(size_, 0);
    flow_free_.assign(program.channels.size(), 0);
    flow_busy_.assign(program.channels.size(), 0);
    queues_.resize(2 * size_);
    sending_.assign(2 * size_, false);
    result_.ranks.resize(size_);
  }

  Result<Simulation> run() {
    const std::uint32_t window = std::max<std::uint32_t>(options_.window, 1);
    for (std::uint32_t f = 0; f < std::min<std::size_t>(window, fragments_.size()); ++f) {
      for (std::uint32_t rank = 0; rank < size_; ++rank)
        push(0, What::start, f, rank);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
    for (const FragmentState& fragment : fragments_) {
      if (fragment.ranks_left > 0) return stuck(fragment);
    }
    summarize();
    return std::move(result_);
  }

 private:
  enum class What : std::uint8_t { start, enqueue, sendNext, complete, arrive };
  struct Event {
    double time;
    std::uint64_t sequence; ///< Ties are broken by the order in which events were made, never by an address or hash.
    What what;
    std::uint32_t fragment;
    std::uint32_t id;
  };
  /// A port takes its next message after all other events of that moment: of messages that become ready together, the
  /// first in program order leaves first.
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      if (a.time != b.time) return a.time > b.time;
      const bool a_sends = a.what == What::sendNext;
      const bool b_sends = b.what == What::sendNext;
      return a_sends != b_sends ? a_sends : a.sequence > b.sequence;
    }
  };
  /// (fragment, flat step of the send): the least key is the first in program order.
  using SendKey = std::uint64_t;
  using SendQueue = std::priority_queue<SendKey, std::vector<SendKey>, std::greater<>>;

  /// Bytes that each step of a fragment moves.
  [[nodiscard]] std::vector<double> bytesOfSteps(const ChunkSizes& sizes, const Shape& shape) const {
    std::vector<double> result;
    result.reserve(program_.step.size());
    for (const Schedule& schedule : schedules_) {
      for (const Step& step : schedule.steps) {
        std::uint64_t elems = 0;
        for (const Slot slot : schedule.slotsOf(step.targets))
          elems += sizes.of(schedule, slot);
        double bytes = static_cast<double>(elems * shape.element_bytes);
        const bool moves =
            (step.kind == StepKind::send || isRecv(step) || step.kind == StepKind::reduce) && step.targets.count > 0;
        if (moves && schedule.slotsOf(step.targets)[0].space == Space::payload) bytes *= options_.codec.payload_ratio;
        if (step.kind == StepKind::encode) bytes /= step.targets.count; // The second target is the same chunk again.
        result.push_back(bytes);
      }
    }
    return result;
  }

  FragmentState newFragment(const Shape& shape, std::uint32_t index) {
    FragmentState fragment;
    fragment.waits_for = program_.dependency_count;
    for (std::uint32_t& count : fragment.waits_for)
      ++count;
    const ChunkSizes sizes(schedules_[0], shape, index, options_.fragments);
    const bool as_before = index > 0 && sizes == sizes_;
    fragment.bytes = as_before ? fragments_[index - 1].bytes : bytesOfSteps(sizes, shape);
    sizes_ = sizes;
    for (const Schedule& schedule : schedules_) {
      fragment.steps_left.push_back(static_cast<std::uint32_t>(schedule.steps.size()));
      if (!schedule.steps.empty()) ++fragment.ranks_left;
    }
    fragment.arrived.assign(program_.messages.size(), 0);
    for (const Channel& channel : program_.channels)
      fragment.next_of_channel.push_back(channel.first);
    return fragment;
  }

  void push(double time, What what, std::uint32_t fragment, std::uint32_t id) {
    events_.push({time, next_sequence_++, what, fragment, id});
  }

  void handle(const Event& event) {
    switch (event.what) {
      case What::start:
        startFragment(event.time, event.fragment, event.id);
        break;
      case What::enqueue:
        enqueue(event.time, event.fragment, event.id);
        break;
      case What::sendNext:
        sendNext(event.time, event.id);
        break;
      case What::complete:
        complete(event.time, event.fragment, event.id);
        break;
      case What::arrive:
        arrive(event.time, event.fragment, event.id);
        break;
    }
  }

  void startFragment(double time, std::uint32_t f, std::uint32_t rank) {
    for (std::uint32_t s = program_.first_step[rank]; s < program_.first_step[rank + 1]; ++s)
      release(time, f, s);
  }

  /// Step `s` waits for one dependency fewer.
  void release(double time, std::uint32_t f, std::uint32_t s) {
    if (--fragments_[f].waits_for[s] > 0) return;
    const Step& step = *program_.step[s];
    if (step.kind == StepKind::send) {
      tryChannel(time, f, program_.messages[program_.message_of[s]].channel);
    } else if (isRecv(step)) {
      if (fragments_[f].arrived[program_.message_of[s]] != 0) {
        finishRecv(time, f, s);
      } else {
        tryChannel(time, f, program_.messages[program_.message_of[s]].channel);
      }
    } else {
      compute(time, f, s, localSeconds(f, s));
    }
  }

  [[nodiscard]] double localSeconds(std::uint32_t f, std::uint32_t s) const {
    const Step& step = *program_.step[s];
    const Schedule& schedule = schedules_[static_cast<std::size_t>(program_.schedule_of[s])];
    const CpuPrice& cpu = links_.cpu();
    const double bytes = fragments_[f].bytes[s];
    if (step.kind == StepKind::encode || step.kind == StepKind::decode) return codecSeconds(step, schedule, bytes);
    if (step.kind == StepKind::reduce) return cpu.reduce_bytes_per_s > 0 ? bytes / cpu.reduce_bytes_per_s : 0;
    const std::span<const Slot> targets = schedule.slotsOf(step.targets);
    const std::span<const Slot> sources = schedule.slotsOf(step.sources);
    if (step.kind == StepKind::combine && sources.size() > 1) {
      const auto added = static_cast<double>(sources.size() - 1);
      return cpu.reduce_bytes_per_s > 0 ? added * bytes / cpu.reduce_bytes_per_s : 0;
    }
    if (std::equal(targets.begin(), targets.end(), sources.begin(), sources.end())) return 0; // finish, in place
    // Compared with so fast a message, the root's copy from its input to its output would not be negligible. The price
    // assumes one buffer for both, as MPI_Bcast has.
    if (gains_by_storing_ && storedGain(links_.price(0, 1), bytes) > 1) return 0;
    return cpu.copy_bytes_per_s > 0 ? bytes / cpu.copy_bytes_per_s : 0;
  }

  [[nodiscard]] double codecSeconds(const Step& step, const Schedule& schedule, double bytes) const {
    const CodecPrice& codec = options_.codec;
    const std::span<const Slot> sources = schedule.slotsOf(step.sources);
    const auto payloads = static_cast<double>(
        std::count_if(sources.begin(), sources.end(), [](Slot slot) { return slot.space == Space::payload; }));
    // Without a value to which it is added, the first payload is decoded.
    const bool begins = !sources.empty() && sources[0].space == Space::payload;
    const double set = (step.targets.count > 1 ? 1 : 0) + (begins ? 1 : 0);
    const double added = payloads - (begins ? 1 : 0);
    const double encodes = step.kind == StepKind::encode ? bytes / codec.encode_bytes_per_s : 0;
    return encodes + set * bytes / codec.decode_bytes_per_s + added * bytes / codec.add_bytes_per_s;
  }

  void compute(double time, std::uint32_t f, std::uint32_t s, double seconds) {
    double& cpu_free = cpu_free_[static_cast<std::size_t>(program_.schedule_of[s])];
    cpu_free = std::max(time, cpu_free) + seconds;
    cpu_busy_[static_cast<std::size_t>(program_.schedule_of[s])] += seconds;
    push(cpu_free, What::complete, f, s);
  }

  /// Sends messages of the channel, in order, as far as they may go.
  void tryChannel(double time, std::uint32_t f, std::uint32_t c) {
    FragmentState& fragment = fragments_[f];
    const Channel& channel = program_.channels[c];
    const double eager_bytes = links_.price(channel.from, channel.to).eager_bytes;
    for (std::uint32_t& next = fragment.next_of_channel[c]; next < channel.last; ++next) {
      const Message& message = program_.messages[next];
      if (fragment.waits_for[message.send] > 0) return;
      // With eager_bytes == 0 every message, also an empty one, waits until both ends are ready.
      const bool eager = eager_bytes > 0 && fragment.bytes[message.send] <= eager_bytes;
      if (!eager && fragment.waits_for[message.recv] > 0) return;
      push(time, What::enqueue, f, next);
    }
  }

  [[nodiscard]] bool crossesNodes(const Channel& channel) const {
    return links_.nodeOf(channel.from) != links_.nodeOf(channel.to);
  }

  void enqueue(double time, std::uint32_t f, std::uint32_t m) {
    const Message& message = program_.messages[m];
    const Channel& channel = program_.channels[message.channel];
    const auto queue = static_cast<std::uint32_t>(2 * channel.sender + (crossesNodes(channel) ? 1 : 0));
    queues_[queue].push(SendKey{f} << 32 | message.send);
    if (sending_[queue]) return;
    sending_[queue] = true;
    push(time, What::sendNext, 0, queue);
  }

  /// The port that a simulated rank uses for this channel, and how long `bytes` occupy it.
  struct Port {
    std::size_t index;
    double seconds;
  };
  [[nodiscard]] Port portOf(int schedule, bool crosses, double node_bytes_per_s, double bytes, double flow_s) const {
    const auto r = static_cast<std::size_t>(schedule);
    if (!crosses) return {r, flow_s};
    if (node_bytes_per_s <= 0) return {size_ + r, flow_s};
    return {2 * size_ + static_cast<std::size_t>(links_.nodeOf(schedules_[r].rank)), bytes / node_bytes_per_s};
  }

  void sendNext(double time, std::uint32_t queue) {
    sending_[queue] = !queues_[queue].empty();
    if (!sending_[queue]) return;
    const SendKey key = queues_[queue].top();
    queues_[queue].pop();
    const auto f = static_cast<std::uint32_t>(key >> 32);
    const auto s = static_cast<std::uint32_t>(key);
    const std::uint32_t m = program_.message_of[s];
    const std::uint32_t c = program_.messages[m].channel;
    const Channel& channel = program_.channels[c];
    const LinkPrice& price = links_.price(channel.from, channel.to);
    const bool crosses = crossesNodes(channel);
    const double bytes = fragments_[f].bytes[s];
    // Only plans of broadcasts differ in this: every plan of a collective that moves blocks stores all its messages.
    const double flow_s = bytes / price.bandwidth_bytes_per_s / (gains_by_storing_ ? storedGain(price, bytes) : 1);
    const Port up =
        portOf(channel.sender, crosses, links_.node(links_.nodeOf(channel.from)).up_bytes_per_s, bytes, flow_s);
    const Port down =
        portOf(channel.receiver, crosses, links_.node(links_.nodeOf(channel.to)).down_bytes_per_s, bytes, flow_s);

    double start = std::max(time, up_free_[up.index]);
    if (price.sender_bytes_per_s > 0) {
      double& cpu_free = cpu_free_[static_cast<std::size_t>(channel.sender)];
      const double seconds = bytes / price.sender_bytes_per_s + price.overhead_s;
      start = std::max(start, cpu_free);
      cpu_free = start + seconds;
      cpu_busy_[static_cast<std::size_t>(channel.sender)] += seconds;
    }
    up_free_[up.index] = start + up.seconds;
    up_busy_[up.index] += up.seconds;
    down_busy_[down.index] += down.seconds;
    const double flow_start = std::max(start, flow_free_[c]);
    flow_free_[c] = flow_start + flow_s;
    flow_busy_[c] += flow_s;
    const double down_start = std::max(start + price.latency_s, down_free_[down.index]);
    const double down_end = down_start + down.seconds;
    down_first_[down.index] = std::min(down_first_[down.index], down_start);
    down_free_[down.index] = down_end;
    const double arrival = std::max(down_end, flow_start + price.latency_s + std::max(flow_s, up.seconds));

    RankTraffic& traffic = result_.ranks[static_cast<std::size_t>(channel.sender)];
    traffic.bytes_sent += static_cast<std::uint64_t>(bytes);
    ++traffic.messages_sent;
    const double port_free = start + up.seconds + price.overhead_s;
    push(port_free, What::sendNext, 0, queue);
    push(port_free, What::complete, f, s);
    push(arrival, What::arrive, f, m);
  }

  void arrive(double time, std::uint32_t f, std::uint32_t m) {
    fragments_[f].arrived[m] = 1;
    const std::uint32_t s = program_.messages[m].recv;
    if (fragments_[f].waits_for[s] == 0) finishRecv(time, f, s);
  }

  void finishRecv(double time, std::uint32_t f, std::uint32_t s) {
    const double rate = links_.cpu().reduce_bytes_per_s;
    if (program_.step[s]->kind == StepKind::recvReduce && rate > 0) {
      compute(time, f, s, fragments_[f].bytes[s] / rate);
    } else {
      push(time, What::complete, f, s);
    }
  }

  void complete(double time, std::uint32_t f, std::uint32_t s) {
    FragmentState& fragment = fragments_[f];
    const auto rank = static_cast<std::uint32_t>(program_.schedule_of[s]);
    for (std::uint32_t i = program_.first_successor[s]; i < program_.first_successor[s + 1]; ++i) {
      release(time, f, program_.successors[i]);
    }
    if (--fragment.steps_left[rank] > 0) return;
    --fragment.ranks_left;
    fragment.finish_s = std::max(fragment.finish_s, time);
    RankTraffic& traffic = result_.ranks[rank];
    traffic.finish_s = std::max(traffic.finish_s, time);
    const std::uint32_t next = f + std::max<std::uint32_t>(options_.window, 1);
    if (next < fragments_.size()) push(time, What::start, next, rank);
  }

  [[nodiscard]] Status stuck(const FragmentState& fragment) const {
    for (std::size_t rank = 0; rank < size_; ++rank) {
      if (fragment.steps_left[rank] == 0) continue;
      return Status::error(
          GOSS_ERR_INTERNAL,
          fmt::format("{} for {} ranks never ends: {} steps of rank {} wait for each other", schedules_[0].algorithm,
                      links_.size(), fragment.steps_left[rank], schedules_[rank].rank));
    }
    return Status::ok();
  }

  void summarize() {
    const std::size_t simulated = fragments_.size();
    if (options_.fragments > simulated) {
      const std::size_t half = simulated / 2;
      const double middle = fragments_[half - 1].finish_s;
      const double last = fragments_[simulated - 1].finish_s;
      const double each = std::max(0.0, (last - middle) / static_cast<double>(simulated - half));
      const std::uint64_t more = options_.fragments - simulated;
      for (RankTraffic& rank : result_.ranks) {
        rank.finish_s += each * static_cast<double>(more);
        rank.bytes_sent = rank.bytes_sent * options_.fragments / simulated;
        rank.messages_sent = rank.messages_sent * options_.fragments / simulated;
      }
    }
    for (std::size_t rank = 0; rank < size_; ++rank) {
      if (result_.ranks[rank].finish_s <= result_.finish_s) continue;
      result_.finish_s = result_.ranks[rank].finish_s;
      result_.critical_rank = schedules_[rank].rank;
    }
    result_.least_s =
        scale() * std::max({longest(up_busy_), longest(down_busy_), longest(cpu_busy_), longest(flow_busy_)});
    result_.finish_s = std::max({result_.finish_s, result_.least_s, lastArrival()});
  }

  [[nodiscard]] double scale() const { return options_.fragments / static_cast<double>(fragments_.size()); }

  static double longest(const std::vector<double>& busy) {
    return busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
  }

  /// A lower bound of the time when the last message arrives: the first arrival at a port and the time that all bytes
  /// occupy it. Extrapolation only knows how far apart the simulated fragments ended, which may be less.
  [[nodiscard]] double lastArrival() const {
    double last = 0;
    for (std::size_t port = 0; port < down_busy_.size(); ++port)
      if (down_busy_[port] > 0) last = std::max(last, down_first_[port] + scale() * down_busy_[port]);
    return last;
  }

  const Program& program_;
  std::span<const Schedule> schedules_;
  const Links& links_;
  SimulationOptions options_;
  std::size_t size_;
  /// Whether messages have storedGain(): those of a broadcast in one piece between two ranks. Among more, which copy at
  /// the same time, the gain was not measured.
  const bool gains_by_storing_;
  std::vector<FragmentState> fragments_;
  ChunkSizes sizes_;               ///< The sizes of the last fragment.
  std::vector<double> up_free_;    ///< By port: time when it can send again.
  std::vector<double> down_free_;  ///< By port: time when it can receive again.
  std::vector<double> cpu_free_;   ///< By rank: time when its processor is free again.
  std::vector<double> flow_free_;  ///< By channel: time when its flow is free again.
  std::vector<double> flow_busy_;  ///< By channel: seconds of use.
  std::vector<double> up_busy_;    ///< By port: seconds of sending.
  std::vector<double> down_busy_;  ///< By port: seconds of receiving.
  std::vector<double> down_first_; ///< By port: time when it first receives.
  std::vector<double> cpu_busy_;   ///< By rank: seconds of use of its processor.
  std::vector<SendQueue> queues_;  ///< By rank: messages inside its node, messages to other nodes.
  std::vector<bool> sending_;      ///< By queue.
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::uint64_t next_sequence_ = 0;
  Simulation result_;
};

} // namespace

std::vector<int> ranksToSimulate(const Symmetry& symmetry, int size) {
  std::vector<int> ranks;
  for (int rank = 0; rank < (symmetry.period > 0 ? symmetry.period : size); rank += symmetry.local)
    ranks.push_back(rank);
  return ranks;
}

Result<Simulation> simulate(std::span<const Schedule> schedules, const Shape& shape, const Links& links,
                            const SimulationOptions& options) {
  assert(!schedules.empty() && links.size() == schedules[0].size && options.fragments >= 1);
  assert(schedules.size() == ranksToSimulate(options.symmetry, links.size()).size());
  Result<Program> program = compile(schedules, options.symmetry);
  if (!program.isOk()) return program.status();
  return Simulator(program.value(), schedules, shape, links, options).run();
}

} // namespace goss::schedule
