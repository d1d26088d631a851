#include "tests/random/generate.h"

#include <algorithm>
#include <string>

namespace goss::test {

/// Elements that all ranks together may have, roughly, so that the reference takes no longer than the library.
std::size_t Generator::count(int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  const std::size_t most = (oneIn(12) ? 2000000 : 300000) / (p * p);
  switch (below(12)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
    case 3:
    case 4:
    case 5:
      return std::min(most, 2 + below(130));
    case 6:
      return below(most + 1);
    case 7:
      return most;
    default: // Beside powers of two there are fragments, boards, rings and parts that end.
      return std::min(most, (std::size_t{1} << (5 + below(12))) + below(3) - 1);
  }
}

Case Generator::call(int ranks) {
  Case call;
  call.collective = static_cast<Collective>(below(kCollectiveCount));
  call.dtype = static_cast<DType>(below(GOSS_DTYPE_COUNT));
  const std::vector<ReduceOp> ops = legalOps(call.collective, call.dtype);
  call.op = ops[below(ops.size())];
  call.count = count(ranks);
  call.root = static_cast<int>(below(8));
  call.salt = random_() % 1000000;
  call.in_place = oneIn(3);
  return call;
}

void Generator::addStart(Step& step) {
  step.start = oneOf({Start::blocking, Start::blocking, Start::later, Start::later, Start::persistent, Start::grouped});
  step.wait_within = below(5);
}

Step Generator::collective(int ranks) {
  Step step;
  step.call = call(ranks);
  const Collective kind = step.call.collective;
  const bool has_variant =
      kind == Collective::allGather || kind == Collective::reduceScatter || kind == Collective::allToAll;
  step.uneven = has_variant && oneIn(3);
  if (step.uneven) step.call.gap = kind != Collective::reduceScatter && oneIn(2) ? 1 + below(5) : 0;
  if (step.uneven && kind == Collective::allToAll) step.call.in_place = false;
  if (oneIn(3)) step.algorithm = static_cast<int>(below(64));
  addStart(step);
  return step;
}

Step Generator::exchange(int ranks) {
  Step step;
  step.kind = Step::Kind::exchange;
  step.call = call(ranks);
  step.call.collective = Collective::broadcast; // Chooses values as for a broadcast, because no operation changes them.
  step.shift = static_cast<int>(below(8));
  step.messages = 1 + static_cast<int>(below(4));
  addStart(step);
  step.late_receive = step.start == Start::later && oneIn(2);
  return step;
}

Lane Generator::lane(int ranks, std::size_t steps) {
  Lane lane;
  std::vector<int> alive{0};
  int made = 1;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t chosen = below(alive.size());
    Step step;
    const std::size_t kind = below(24);
    if (kind == 0 && made < 6) {
      step.kind = Step::Kind::split;
      step.colors = 1 + static_cast<int>(below(3));
      step.reversed = oneIn(2);
      if (oneIn(3)) step.left_out = static_cast<int>(below(static_cast<std::size_t>(ranks)));
    } else if (kind == 1 && made < 6) {
      step.kind = Step::Kind::dup;
    } else if (kind == 2 && chosen > 0) {
      step.kind = Step::Kind::destroy;
    } else {
      step = kind < 8 ? exchange(ranks) : collective(ranks);
    }
    step.comm = alive[chosen];
    if (step.kind == Step::Kind::destroy) alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(chosen));
    if (step.kind == Step::Kind::split || step.kind == Step::Kind::dup) alive.push_back(made++);
    lane.push_back(step);
  }
  return lane;
}

void Generator::addSettings(Program& program) {
  const auto maybe = [&](const char* name, std::initializer_list<const char*> values) {
    if (oneIn(3)) program.environment.emplace_back(name, oneOf(values));
  };
  maybe("GOSS_FRAGMENT_BYTES", {"4K", "5000", "64K"});
  maybe("GOSS_SHM_RING_BYTES", {"64K", "4M"});
  maybe("GOSS_SHM_PATH", {"ring", "mapped", "addresses"});
  maybe("GOSS_SHM_DIRECT_BYTES", {"1", "1000", "64K"});
  maybe("GOSS_RECONNECT", {"on"});
  maybe("GOSS_SPIN_US", {"0", "1"});
  maybe("GOSS_SIM_DROP", {"0.02", "0.2"});
  program.environment.emplace_back("GOSS_SIM_SEED", std::to_string(program.seed));
  program.connections = oneIn(3) ? 3 : 1;
}

Program generate(std::uint64_t seed) {
  Generator random(seed);
  Program program;
  program.seed = seed;
  program.ranks = 1 + static_cast<int>(random.below(5)) + (random.oneIn(4) ? static_cast<int>(random.below(4)) : 0);
  const std::size_t lanes = random.oneIn(2) ? 1 : 2 + random.below(2);
  for (std::size_t i = 0; i < lanes; ++i)
    program.lanes.push_back(random.lane(program.ranks, 4 + random.below(20 / lanes)));
  random.addSettings(program);
  return program;
}

} // namespace goss::test
