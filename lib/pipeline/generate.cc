#include "pipeline/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/invalid.h"

namespace goss::pipeline {

namespace {

using Kind = ActionKind;
using Order = std::vector<Action>;

constexpr int kMaxRanks = 4096;
constexpr int kMaxStages = 65535;
constexpr std::int64_t kMaxMicroBatches = 1 << 24; ///< over all batches

struct Builder {
  const Request& request;
  Order order;
  void add(Kind kind, int stage, int micro_batch, int version = 0) {
    order.push_back({kind, 0, static_cast<std::uint16_t>(stage), micro_batch, version});
  }
};

void gpipe(Builder& b, int rank) {
  for (int k = 0; k < b.request.micro_batches; ++k)
    b.add(Kind::forward, rank, k);
  for (int k = 0; k < b.request.micro_batches; ++k)
    b.add(Kind::backward, rank, k);
}

void oneForwardOneBackward(Builder& b, int rank) {
  const int m = b.request.micro_batches;
  const int warm = std::min(b.request.ranks - rank - 1, m);
  for (int k = 0; k < warm; ++k)
    b.add(Kind::forward, rank, k);
  for (int k = 0; k < m; ++k) {
    if (warm + k < m) b.add(Kind::forward, rank, warm + k);
    b.add(Kind::backward, rank, k);
  }
}

void interleaved(Builder& b, int rank) {
  const int p = b.request.ranks;
  const int v = b.request.chunks;
  const int total = b.request.micro_batches * v;
  const int warm = std::min(2 * (p - rank - 1) + (v - 1) * p, total);
  const auto addAt = [&](Kind kind, int k) {
    const int chunk = k % (p * v) / p;
    const int stage = (kind == Kind::forward ? chunk : v - 1 - chunk) * p + rank;
    b.add(kind, stage, k / (p * v) * p + k % p);
  };
  for (int k = 0; k < warm; ++k)
    addAt(Kind::forward, k);
  for (int k = 0; k < total; ++k) {
    if (warm + k < total) addAt(Kind::forward, warm + k);
    addAt(Kind::backward, k);
  }
}

/// ZB-H1 (delay 1) and ZB-H2 (delay 2): rank r runs delay * (p - r - 1) forwards ahead and keeps its weight gradients
/// delay * r micro-batches behind, so that they fill the gaps of the wind-down.
void zeroBubbleH(Builder& b, int rank, int delay) {
  const int m = b.request.micro_batches;
  const int warm = std::min(delay * (b.request.ranks - rank - 1), m);
  const int behind = std::min(delay * rank, m);
  for (int k = 0; k < warm; ++k)
    b.add(Kind::forward, rank, k);
  for (int k = 0; k < m; ++k) {
    if (warm + k < m) b.add(Kind::forward, rank, warm + k);
    b.add(Kind::backwardInput, rank, k);
    if (k >= behind) b.add(Kind::backwardWeight, rank, k - behind);
  }
  for (int k = m - behind; k < m; ++k)
    b.add(Kind::backwardWeight, rank, k);
}

/// 1F1B over all batches without a flush; `period` micro-batches make an update. PipeDream uses the newest weights that
/// the forward pass can have, 2BW those before the last update, so that two versions are enough.
void withoutFlush(Builder& b, int rank, int period) {
  const int total = b.request.micro_batches * b.request.batches;
  const int warm = std::min(b.request.ranks - rank - 1, total);
  const auto versionOf = [&](int k) {
    return period == 1 ? std::max(0, k - (b.request.ranks - rank - 1)) : std::max(0, k / period - 1);
  };
  for (int k = 0; k < warm; ++k)
    b.add(Kind::forward, rank, k, versionOf(k));
  for (int k = 0; k < total; ++k) {
    if (warm + k < total) b.add(Kind::forward, rank, warm + k, versionOf(warm + k));
    b.add(Kind::backward, rank, k, versionOf(k));
    if ((k + 1) % period != 0) continue;
    b.add(Kind::reduce, rank, k);
    b.add(Kind::step, rank, k, (k + 1) / period);
  }
}

/// Generates one rank's order; `stages_a_rank` 0: the request's chunks.
struct Generator {
  const char* name;
  int stages_a_rank;
  bool flushes;
  void (*order)(Builder& builder, int rank);
};

constexpr std::array<Generator, 8> kGenerators = {{
    {"gpipe", 1, true, gpipe},
    {"1f1b", 1, true, oneForwardOneBackward},
    {"interleaved", 0, true, interleaved},
    {"zb-h1", 1, true, [](Builder& b, int rank) { zeroBubbleH(b, rank, 1); }},
    {"zb-h2", 1, true, [](Builder& b, int rank) { zeroBubbleH(b, rank, 2); }},
    {"zb-v", 2, true, nullptr},
    {"pipedream", 1, false, [](Builder& b, int rank) { withoutFlush(b, rank, 1); }},
    {"2bw", 1, false, [](Builder& b, int rank) { withoutFlush(b, rank, b.request.micro_batches); }},
}};

using base::invalid;

Status checkRequest(const Request& r, int stages_a_rank) {
  if (r.ranks < 1 || r.ranks > kMaxRanks) {
    return invalid(fmt::format("a pipeline has 1 to {} ranks, not {}", kMaxRanks, r.ranks));
  }
  const std::int64_t total = static_cast<std::int64_t>(r.micro_batches) * r.batches;
  if (r.micro_batches < 1 || r.batches < 1 || total > kMaxMicroBatches) {
    return invalid(fmt::format("a schedule has 1 to {} micro-batches, not {} batches of {}", kMaxMicroBatches,
                               r.batches, r.micro_batches));
  }
  if (stages_a_rank < 1 || static_cast<std::int64_t>(stages_a_rank) * r.ranks > kMaxStages) {
    return invalid(fmt::format("{} stages a rank are not between 1 and {} in all", stages_a_rank, kMaxStages));
  }
  if (r.name == "interleaved" && r.micro_batches % r.ranks != 0) {
    return invalid(fmt::format("interleaved needs micro-batches in multiples of the ranks: {} is no multiple of {}",
                               r.micro_batches, r.ranks));
  }
  if (r.name == "2bw" && r.micro_batches < r.ranks) {
    return invalid(fmt::format("2bw needs at least as many micro-batches a batch as ranks: {} is less than {}",
                               r.micro_batches, r.ranks));
  }
  return Status::ok();
}

void place(Schedule& schedule, const Request& request, int stages_a_rank) {
  const int p = request.ranks;
  const int stages = p * stages_a_rank;
  schedule.ranks = p;
  schedule.chains.emplace_back();
  for (int stage = 0; stage < stages; ++stage) {
    schedule.chains.front().push_back(stage);
    const bool is_on_the_way_back = request.name == "zb-v" && stage >= p;
    schedule.stage_rank.push_back(is_on_the_way_back ? 2 * p - 1 - stage : stage % p);
  }
}

/// Puts a recomputation before each backward pass of `order`.
Order withRecompute(const Order& order) {
  Order result;
  for (const Action& action : order) {
    if (action.kind == Kind::backward || action.kind == Kind::backwardInput) {
      result.push_back(action);
      result.back().kind = Kind::recompute;
    }
    result.push_back(action);
  }
  return result;
}

/// Repeats the orders of one batch, with a step of each stage after them, for every batch.
void repeat(Schedule& schedule, const Request& request) {
  const std::vector<Order> once = schedule.per_rank;
  for (Order& order : schedule.per_rank)
    order.clear();
  for (int batch = 0; batch < request.batches; ++batch) {
    for (std::size_t rank = 0; rank < once.size(); ++rank) {
      Order& order = schedule.per_rank[rank];
      for (Action action : once[rank]) {
        action.micro_batch += batch * request.micro_batches;
        action.version = batch;
        order.push_back(action);
      }
      for (int stage = 0; stage < schedule.stages(); ++stage) {
        if (schedule.stage_rank[static_cast<std::size_t>(stage)] != static_cast<int>(rank)) continue;
        const int last = (batch + 1) * request.micro_batches - 1;
        order.push_back({Kind::reduce, 0, static_cast<std::uint16_t>(stage), last, 0});
        order.push_back({Kind::step, 0, static_cast<std::uint16_t>(stage), last, batch + 1});
      }
    }
  }
}

} // namespace

const std::vector<std::string>& scheduleNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Generator& generator : kGenerators)
      names.emplace_back(generator.name);
    return names;
  }();
  return kNames;
}

Result<Schedule> generate(const Request& request) {
  const auto* found = std::find_if(kGenerators.begin(), kGenerators.end(),
                                   [&](const Generator& generator) { return request.name == generator.name; });
  if (found == kGenerators.end()) {
    return invalid(fmt::format("there is no pipeline schedule '{}'; there are: {}", request.name,
                               fmt::join(scheduleNames(), ", ")));
  }
  const int stages_a_rank = found->stages_a_rank == 0 ? request.chunks : found->stages_a_rank;
  if (Status status = checkRequest(request, stages_a_rank); !status.isOk()) return status;
  Schedule schedule;
  place(schedule, request, stages_a_rank);
  schedule.micro_batches = request.micro_batches * request.batches;
  if (found->order == nullptr) {
    schedule.per_rank = zeroBubbleVOrder(request.ranks, request.micro_batches);
  } else {
    for (int rank = 0; rank < request.ranks; ++rank) {
      Builder builder{request, {}};
      found->order(builder, rank);
      schedule.per_rank.push_back(std::move(builder.order));
    }
  }
  if (request.recompute) {
    for (Order& order : schedule.per_rank)
      order = withRecompute(order);
  }
  if (found->flushes) repeat(schedule, request);
  if (Status status = addMessages(schedule); !status.isOk()) return status;
  return schedule;
}

void addFinalSteps(Schedule& schedule) {
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    Order& order = schedule.per_rank[static_cast<std::size_t>(schedule.stage_rank[static_cast<std::size_t>(stage)])];
    const auto chain = static_cast<std::uint8_t>(stagePlaces(schedule)[static_cast<std::size_t>(stage)].chain);
    const auto last = schedule.micro_batches - 1;
    order.push_back({Kind::reduce, chain, static_cast<std::uint16_t>(stage), last, 0});
    order.push_back({Kind::step, chain, static_cast<std::uint16_t>(stage), last, 1});
  }
}

} // namespace goss::pipeline
