#include "tests/random/mismatch.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tests/random/generate.h"

namespace goss::test {

namespace {

constexpr std::array kAlterations{"another collective",  "another count", "a count of 0", "other counts per rank",
                                  "another dtype",       "another op",    "another root", "another algorithm",
                                  "the next step first", "left out",      "twice"};

/// What a call must share with `call` of `rank` to match it.
std::string mustMatch(const Case& call, int rank, int ranks) {
  std::string text = std::to_string(static_cast<int>(call.collective));
  if (call.collective == Collective::barrier) return text;
  text += " " + std::to_string(call.dtype) + " '" + call.algorithm + "'";
  if (reduces(call.collective)) text += " op " + std::to_string(call.op);
  const bool has_root = call.collective == Collective::broadcast || call.collective == Collective::reduce ||
                        call.collective == Collective::gather || call.collective == Collective::scatter;
  if (has_root) text += " root " + std::to_string(call.root);
  if (call.blocks.empty()) return text + " count " + std::to_string(call.count);
  const bool pairs = call.collective == Collective::allToAll; // Two ranks need to know only what goes between them.
  for (std::size_t i = 0; i < call.blocks.size(); ++i) {
    const int from = static_cast<int>(i) / ranks;
    const int to = static_cast<int>(i) % ranks;
    if (!pairs || (from == rank) != (to == rank)) text += " " + std::to_string(call.blocks[i]);
  }
  return text;
}

/// A value of 0..count-1 that is not `value`.
int another(int value, int count, std::uint64_t pick) {
  return (value + 1 + static_cast<int>(pick % static_cast<std::uint64_t>(count - 1))) % count;
}

ReduceOp anotherOp(const Case& call, std::uint64_t pick) {
  const std::vector<ReduceOp> ops = legalOps(call.collective, call.dtype);
  if (ops.size() < 2) return call.op;
  const auto at = static_cast<int>(std::find(ops.begin(), ops.end(), call.op) - ops.begin());
  return ops[static_cast<std::size_t>(another(at, static_cast<int>(ops.size()), pick))];
}

void alter(Step& step, const Alteration& alteration) {
  Case& call = step.call;
  switch (alteration.what) {
    case Alteration::What::collective:
      call.collective =
          static_cast<Collective>(another(static_cast<int>(call.collective), kCollectiveCount, alteration.pick));
      call.op = legalOps(call.collective, call.dtype)[0];
      call.in_place = step.uneven = false;
      call.gap = 0;
      break;
    case Alteration::What::count:
      call.count =
          alteration.pick % 2 == 0 || call.count < 64 ? call.count + 8 + alteration.pick % 5000 : call.count / 2;
      break;
    case Alteration::What::zero:
      call.count = 0;
      break;
    case Alteration::What::blocks: // The blocks follow from the counts.
      call.salt += 1 + alteration.pick;
      break;
    case Alteration::What::dtype:
      call.dtype = static_cast<DType>(another(call.dtype, GOSS_DTYPE_COUNT, alteration.pick));
      call.op = legalOps(call.collective, call.dtype)[0];
      break;
    case Alteration::What::op:
      call.op = anotherOp(call, alteration.pick);
      break;
    case Alteration::What::root:
      ++call.root;
      break;
    case Alteration::What::algorithm:
      ++step.algorithm;
      break;
    default:
      break;
  }
}

Lane altered(const Lane& lane, const Alteration& alteration) {
  Lane steps = lane;
  const auto at = steps.begin() + static_cast<std::ptrdiff_t>(alteration.step);
  switch (alteration.what) {
    case Alteration::What::swapped:
      std::swap(*at, *(at + 1));
      break;
    case Alteration::What::missing:
      steps.erase(at);
      break;
    case Alteration::What::twice:
      steps.insert(at, Step(*at));
      break;
    default:
      alter(*at, alteration);
  }
  return steps;
}

/// Whether the first call that the rank makes in place of another one differs from that.
bool changes(const Mismatch& mismatch) {
  const Alteration& alteration = mismatch.alteration;
  const Lane& lane = mismatch.program.lanes[0];
  Step expected = lane[alteration.step];
  Step called = altered(lane, alteration)[alteration.step];
  const bool moves = alteration.what == Alteration::What::swapped || alteration.what == Alteration::What::missing ||
                     alteration.what == Alteration::What::twice;
  if (moves) { // Two steps with one algorithm may be the same call: the planner may choose what the other one forces.
    called = lane[alteration.step + 1];
    expected.algorithm = called.algorithm = -1;
  }
  const int ranks = mismatch.program.ranks;
  const auto text = [&](const Step& step) { return mustMatch(caseFor(step, ranks), mismatch.accused, ranks); };
  return text(expected) != text(called);
}

/// Communicators of all ranks, each made of the one before. `place`: a rank's number in the first, and then in the
/// last.
Lane divisions(Generator& random, int ranks, int& place) {
  Lane lane;
  const int made = random.oneIn(2) ? 0 : 1 + static_cast<int>(random.below(2));
  for (int i = 0; i < made; ++i) {
    Step step;
    step.kind = random.oneOf({Step::Kind::dup, Step::Kind::split});
    step.comm = i;
    step.reversed = step.kind == Step::Kind::split && random.oneIn(2);
    if (step.reversed) place = ranks - 1 - place;
    lane.push_back(step);
  }
  return lane;
}

} // namespace

std::string Alteration::describe() const {
  return "rank " + std::to_string(rank) + " has " + kAlterations.at(static_cast<std::size_t>(what)) + " in step " +
         std::to_string(step) + " (pick " + std::to_string(pick) + ")";
}

Lane Mismatch::laneOf(int rank) const {
  return rank == alteration.rank ? altered(program.lanes[0], alteration) : program.lanes[0];
}

Mismatch generateMismatch(std::uint64_t seed) {
  Generator random(seed);
  Mismatch made;
  Program& program = made.program;
  program.seed = seed;
  program.ranks = 2 + static_cast<int>(random.below(4));
  Alteration& alteration = made.alteration;
  alteration.rank = made.accused = static_cast<int>(random.below(static_cast<std::size_t>(program.ranks)));
  Lane lane = divisions(random, program.ranks, made.accused);
  const int comm = static_cast<int>(lane.size());
  const std::size_t steps = 1 + random.below(4);
  alteration.step = lane.size() + random.below(steps);
  for (std::size_t i = 0; i < steps; ++i)
    lane.push_back(random.collective(program.ranks));
  for (const std::size_t count : {1U, 300U, 1U, 20000U, 1U, 1U}) {
    Step step;
    step.call.count = count;
    step.call.salt = 77 + made.closing++;
    lane.push_back(step);
  }
  for (std::size_t i = static_cast<std::size_t>(comm); i < lane.size(); ++i)
    lane[i].comm = comm;
  program.lanes.push_back(lane);
  Step& step = program.lanes[0][alteration.step];
  do {
    alteration.pick = random.below(1000000);
    alteration.what = static_cast<Alteration::What>(random.below(Alteration::kWhats));
    step.algorithm = lane[alteration.step].algorithm;
    if (alteration.what == Alteration::What::algorithm) step.algorithm = 0;
    if (alteration.what == Alteration::What::root) step.algorithm = -1;
  } while (!changes(made));
  random.addSettings(program);
  return made;
}

} // namespace goss::test
