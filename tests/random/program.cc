#include "tests/random/program.h"

#include <array>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include "tests/matrix/call.h"

namespace goss::test {

namespace {

constexpr std::array kStarts{"blocking", "later", "persistent", "grouped"};

/// The library answers in milliseconds, and programs ask often.
std::vector<std::string> knownAlgorithms(Collective collective, int ranks) {
  static std::mutex mutex;
  static std::map<std::pair<Collective, int>, std::vector<std::string>> known;
  const std::lock_guard lock(mutex);
  std::vector<std::string>& names = known[{collective, ranks}];
  if (names.empty()) names = algorithmsFor(collective, ranks);
  return names;
}

std::vector<std::size_t> unevenBlocks(const Step& step, int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  std::mt19937_64 random(step.call.salt);
  std::vector<std::size_t> blocks(step.call.collective == Collective::allToAll ? p * p : p);
  for (std::size_t& block : blocks)
    block = random() % 3 == 0 ? 0 : random() % (2 * step.call.count + 1);
  return blocks;
}

} // namespace

Case caseFor(const Step& step, int ranks) {
  Case call = step.call;
  call.root %= ranks;
  const bool blocks = call.collective == Collective::allGather || call.collective == Collective::reduceScatter ||
                      call.collective == Collective::allToAll || call.collective == Collective::gather ||
                      call.collective == Collective::scatter;
  if (blocks) call.count /= static_cast<std::size_t>(ranks);
  if (step.uneven) {
    call.blocks = unevenBlocks(step, ranks);
  } else if (step.algorithm >= 0) {
    const std::vector<std::string> names = knownAlgorithms(call.collective, ranks);
    if (!names.empty()) call.algorithm = names[static_cast<std::size_t>(step.algorithm) % names.size()];
  }
  return call;
}

std::string Step::describe() const {
  const std::string on = " on communicator " + std::to_string(comm);
  if (kind == Kind::destroy) return "destroy" + on;
  if (kind == Kind::dup) return "dup" + on;
  if (kind == Kind::split) {
    return "split" + on + " into " + std::to_string(colors) + (reversed ? ", reversed" : "") +
           (left_out >= 0 ? ", without rank " + std::to_string(left_out) : "");
  }
  std::string text = kStarts.at(static_cast<std::size_t>(start)) + std::string(on) + ": ";
  if (start == Start::later || start == Start::persistent) text += "(wait within " + std::to_string(wait_within) + ") ";
  if (kind == Kind::exchange) {
    return text + std::to_string(messages) + " messages of " + std::to_string(call.count) + " of dtype " +
           std::to_string(call.dtype) + " to rank + " + std::to_string(shift) + (late_receive ? ", received late" : "");
  }
  return text + call.describe() + (uneven ? " uneven" : "") +
         (algorithm >= 0 ? " forced " + std::to_string(algorithm) : "");
}

std::string Program::describe() const {
  std::string text = "seed " + std::to_string(seed) + ", " + std::to_string(ranks) + " ranks, " +
                     std::to_string(connections) + " connections";
  for (const auto& [name, value] : environment)
    text += ", " + name + "=" + value;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (std::size_t i = 0; i < lanes[lane].size(); ++i) {
      text += "\n  thread " + std::to_string(lane) + " step " + std::to_string(i) + ": " + lanes[lane][i].describe();
    }
  }
  return text;
}

} // namespace goss::test
