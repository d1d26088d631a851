// Schedules and layouts together, on numbers: a small interpreter runs all ranks in one thread, in separate buffers and
// in place, in fragments, with weights and with blocks of different sizes, and every element of every buffer is
// compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "collectives/catalogue.h"
#include "schedule/checker.h"
#include "schedule/contract.h"
#include "schedule/layout.h"
#include "schedule/sample_requests.h"
#include "tests/support/quick.h"

namespace goss::collectives {
namespace {

using schedule::Extent;
using schedule::Layout;
using schedule::Role;
using schedule::Shape;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kUntouched = -1;
constexpr std::int64_t kFinish = 3; // finish multiplies by this, so that a second or missing one shows

struct Case {
  std::uint64_t count = 0;
  std::uint32_t fragments = 1;
  bool in_place = false;
  bool weighted = false;
};

/// Element i of chunk c of fragment f as rank r contributes it.
std::int64_t element(int r, std::uint32_t f, std::uint32_t c, std::uint64_t i) {
  return (r + 1) * 100000000LL + f * 10000000LL + c * 10000LL + static_cast<std::int64_t>(i);
}

/// One rank's memory: the caller's buffers and the fragments' scratch.
struct Memory {
  Numbers buffers;
  std::size_t input_at = 0;
  std::size_t output_at = 0;
  std::vector<Numbers> scratch; ///< By fragment.

  std::int64_t* at(Slot slot, Extent extent, std::uint32_t fragment) {
    switch (slot.space) {
      case Space::input:
        return buffers.data() + input_at + extent.offset_elems;
      case Space::output:
        return buffers.data() + output_at + extent.offset_elems;
      default:
        return scratch[fragment].data() + extent.offset_elems;
    }
  }
};

std::vector<Extent> packed(const std::vector<std::uint64_t>& sizes) {
  std::vector<Extent> blocks;
  std::uint64_t at = 0;
  for (const std::uint64_t size : sizes)
    blocks.push_back({std::exchange(at, at + size), size});
  return blocks;
}

/// Everything about one run of one algorithm.
class Trial {
 public:
  Trial(const Algorithm& algorithm, PlanRequest request, const Case& test_case) : request_(request), case_(test_case) {
    for (request.rank = 0; request.rank < request.size; ++request.rank) {
      schedules_.push_back(algorithm.plan(request));
      addMemory(request.rank);
    }
    next_.assign(schedules_.size() * case_.fragments, {});
  }

  /// False when no step can run before all are done.
  bool execute() {
    std::size_t left = 0;
    for (const Schedule& schedule : schedules_)
      left += schedule.steps.size() * case_.fragments;
    while (left > 0) {
      std::size_t ran = 0;
      for (int r = 0; r < request_.size; ++r) {
        for (std::uint32_t f = 0; f < case_.fragments; ++f)
          ran += advance(r, f) ? 1 : 0;
      }
      if (ran == 0) return false;
      left -= ran;
    }
    return true;
  }

  void expectResults() {
    for (int r = 0; r < request_.size; ++r) {
      std::vector<bool> checked(memories_[index(r)].buffers.size(), false);
      for (std::uint32_t f = 0; f < case_.fragments; ++f)
        expectFragment(r, f, checked);
      for (std::size_t i = 0; i < checked.size(); ++i) {
        if (checked[i]) continue;
        ASSERT_EQ(memories_[index(r)].buffers[i], kUntouched) << "rank " << r << " element " << i;
      }
    }
  }

 private:
  static std::size_t index(int r) { return static_cast<std::size_t>(r); }
  [[nodiscard]] Role role(int r) const { return {request_.collective, request_.size, r, request_.root}; }
  [[nodiscard]] const Layout& layout(int r, std::uint32_t f) const { return layouts_[index(r) * case_.fragments + f]; }
  [[nodiscard]] std::uint64_t blockElems(int from, int to) const {
    if (!request_.uneven) return case_.count;
    const bool exchange = request_.collective == Collective::allToAll;
    return (case_.count + static_cast<std::uint64_t>(exchange ? 3 * from + 5 * to : 5 * to)) % 11;
  }

  [[nodiscard]] Shape shapeOf(int rank) const {
    Shape shape;
    shape.element_bytes = sizeof(std::int64_t);
    if (request_.partition == Partition::even) {
      shape.count = case_.count;
      const std::uint32_t chunks = schedules_.back().chunk_count;
      for (std::uint32_t c = 0; case_.weighted && c < chunks; ++c)
        shape.weights.push_back((c + 1) % 3 + (chunks < 3));
      return shape;
    }
    std::vector<std::uint64_t> in;
    std::vector<std::uint64_t> out;
    for (int c = 0; c < request_.size; ++c)
      in.push_back(blockElems(rank, c));
    for (int c = 0; c < request_.size; ++c) {
      out.push_back(request_.collective == Collective::allToAll ? blockElems(c, rank) : blockElems(0, c));
    }
    shape.input_blocks = packed(in);
    shape.output_blocks = packed(out);
    return shape;
  }

  /// Buffers as large as the caller's; those that hold only the own block begin at that block's offset, so that all
  /// extents can count from the beginning of the whole.
  void addMemory(int rank) {
    const Shape shape = shapeOf(rank);
    std::uint64_t in = shape.count;
    std::uint64_t out = shape.count;
    for (const Extent& block : shape.input_blocks)
      in += block.count_elems;
    for (const Extent& block : shape.output_blocks)
      out += block.count_elems;
    Memory memory;
    memory.buffers.assign(case_.in_place ? std::max(in, out) : in + out, kUntouched);
    memory.output_at = case_.in_place ? 0 : in;
    for (std::uint32_t f = 0; f < case_.fragments; ++f) {
      layouts_.emplace_back(schedules_.back(), shape, f, case_.fragments);
      memory.scratch.emplace_back(layouts_.back().scratchElems(), kUntouched);
      for (std::uint32_t c = 0; c < schedules_.back().chunk_count; ++c) {
        if (!schedule::startsInInput(role(rank), c)) continue;
        const Extent extent = layouts_.back().inputChunk(c);
        std::int64_t* values = memory.at(input(c), extent, f);
        for (std::uint64_t i = 0; i < extent.count_elems; ++i)
          values[i] = element(rank, f, c, i);
      }
    }
    memories_.push_back(std::move(memory));
  }

  /// Runs the fragment's next step in program order, if it can run.
  bool advance(int rank, std::uint32_t fragment) {
    std::size_t& next = next_[index(rank) * case_.fragments + fragment];
    const Schedule& schedule = schedules_[index(rank)];
    if (next == schedule.steps.size()) return false;
    const Step& step = schedule.steps[next];
    if (!executeStep(rank, fragment, step)) return false;
    ++next;
    return true;
  }

  bool executeStep(int rank, std::uint32_t f, const Step& step) {
    const Schedule& schedule = schedules_[index(rank)];
    const auto targets = schedule.slotsOf(step.targets);
    const auto sources = schedule.slotsOf(step.sources);
    if (step.kind == StepKind::send) {
      Numbers message;
      for (const Slot slot : targets)
        append(message, rank, f, slot);
      channels_[{rank, step.peer, f}].push_back(std::move(message));
      return true;
    }
    Numbers received;
    if (step.kind == StepKind::recv || step.kind == StepKind::recvReduce) {
      auto& channel = channels_[{step.peer, rank, f}];
      if (channel.empty()) return false;
      received = std::move(channel.front());
      channel.pop_front();
    } else {
      for (const Slot slot : sources)
        append(received, rank, f, slot);
    }
    if (step.kind == StepKind::recvReduce) addTo(received, rank, f, sources);
    if (step.kind == StepKind::reduce) {
      const auto half = static_cast<std::ptrdiff_t>(received.size() / 2);
      std::transform(received.begin(), received.begin() + half, received.begin() + half, received.begin(),
                     std::plus<>());
      received.resize(static_cast<std::size_t>(half));
    }
    if (step.kind == StepKind::finish) {
      for (std::int64_t& value : received)
        value *= kFinish;
    }
    store(received, rank, f, targets);
    return true;
  }

  void append(Numbers& to, int rank, std::uint32_t f, Slot slot) {
    const Extent extent = layout(rank, f).extentOf(slot);
    const std::int64_t* values = memories_[index(rank)].at(slot, extent, f);
    to.insert(to.end(), values, values + extent.count_elems);
  }

  void addTo(Numbers& sum, int rank, std::uint32_t f, std::span<const Slot> slots) {
    Numbers own;
    for (const Slot slot : slots)
      append(own, rank, f, slot);
    ASSERT_EQ(own.size(), sum.size());
    std::transform(sum.begin(), sum.end(), own.begin(), sum.begin(), std::plus<>());
  }

  void store(const Numbers& values, int rank, std::uint32_t f, std::span<const Slot> slots) {
    auto from = values.begin();
    for (const Slot slot : slots) {
      const Extent extent = layout(rank, f).extentOf(slot);
      const auto count = static_cast<std::ptrdiff_t>(extent.count_elems);
      ASSERT_LE(count, values.end() - from);
      std::copy(from, from + count, memories_[index(rank)].at(slot, extent, f));
      from += count;
    }
    ASSERT_EQ(from, values.end());
  }

  void expectFragment(int rank, std::uint32_t f, std::vector<bool>& checked) {
    for (std::uint32_t c = 0; c < schedules_[index(rank)].chunk_count; ++c) {
      if (schedule::delivers(role(rank), c)) expectOutput(rank, f, c, checked);
    }
    for (std::uint32_t c = 0; c < schedules_[index(rank)].chunk_count; ++c) {
      const bool overwritten = case_.in_place && schedule::delivers(role(rank), c);
      if (overwritten || !schedule::startsInInput(role(rank), c)) continue;
      const Extent extent = layout(rank, f).inputChunk(c);
      for (std::uint64_t i = 0; i < extent.count_elems; ++i) {
        const std::size_t at = memories_[index(rank)].input_at + extent.offset_elems + i;
        ASSERT_EQ(memories_[index(rank)].buffers[at], element(rank, f, c, i)) << "input of rank " << rank << " changed";
        checked[at] = true;
      }
    }
  }

  void expectOutput(int rank, std::uint32_t f, std::uint32_t c, std::vector<bool>& checked) {
    const Extent extent = layout(rank, f).outputChunk(c);
    const schedule::RankRange from = schedule::contributors(role(rank), c);
    const std::uint32_t source_chunk =
        request_.collective == Collective::allToAll ? static_cast<std::uint32_t>(rank) : c;
    for (std::uint64_t i = 0; i < extent.count_elems; ++i) {
      std::int64_t expected = 0;
      for (int r = from.first; r < from.last; ++r)
        expected += element(r, f, source_chunk, i);
      if (schedule::reduces(request_.collective)) expected *= kFinish;
      const std::size_t at = memories_[index(rank)].output_at + extent.offset_elems + i;
      ASSERT_EQ(memories_[index(rank)].buffers[at], expected) << "rank " << rank << " chunk " << c << " element " << i;
      checked[at] = true;
    }
  }

  struct Key {
    int source;
    int destination;
    std::uint32_t fragment;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 mistakes the comparisons that the compiler makes
    auto operator<=>(const Key&) const = default;
  };

  PlanRequest request_;
  Case case_;
  std::vector<Schedule> schedules_;
  std::vector<Layout> layouts_; ///< By rank and fragment.
  std::vector<Memory> memories_;
  std::vector<std::size_t> next_; ///< By rank and fragment.
  std::map<Key, std::deque<Numbers>> channels_;
};

std::vector<Case> casesFor(const PlanRequest& request) {
  const auto p = static_cast<std::uint64_t>(request.size);
  std::vector<Case> cases;
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, p - 1, p, p + 1, std::uint64_t{1009}}) {
    cases.push_back({.count = count});
    cases.push_back({.count = count, .fragments = 3});
    if (schedule::allowsInPlace(request.collective)) cases.push_back({.count = count, .in_place = true});
    if (request.partition == Partition::even) cases.push_back({.count = count, .fragments = 2, .weighted = true});
  }
  return cases;
}

class Numerical : public testing::TestWithParam<int> {};

TEST_P(Numerical, EveryAlgorithmGivesTheRightNumbers) {
  const Catalogue catalogue = builtinAlgorithms();
  for (const CatalogueEntry& entry : catalogue.entries()) {
    if (entry.collective == Collective::barrier) continue; // moves no numbers
    for (const PlanRequest& request : schedule::sampleRequests(*entry.algorithm, entry.collective, GetParam())) {
      for (const Case& test_case : casesFor(request)) {
        SCOPED_TRACE(std::string(schedule::nameOf(entry.collective)) + " " + std::string(entry.algorithm->name()) +
                     ", count " + std::to_string(test_case.count) + ", fragments " +
                     std::to_string(test_case.fragments) + (test_case.in_place ? ", in place" : "") +
                     (request.uneven ? ", uneven" : ""));
        Trial trial(*entry.algorithm, request, test_case);
        ASSERT_TRUE(trial.execute());
        ASSERT_NO_FATAL_FAILURE(trial.expectResults());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Numerical,
                         testing::ValuesIn(test::fullOr(std::vector<int>{1, 2, 3, 4, 7, 8, 12},
                                                        std::vector<int>{1, 2, 3, 8})));

} // namespace
} // namespace goss::collectives
