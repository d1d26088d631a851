// Layouts cover every element exactly once, keep parts on cache lines where it pays, and are the same on all ranks.
#include "schedule/layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace goss::schedule {
namespace {

Schedule evenSchedule(std::uint32_t chunks) {
  Schedule schedule;
  schedule.partition = Partition::even;
  schedule.chunk_count = chunks;
  return schedule;
}

/// The chunks' ranges follow one another from `begin` to `end`.
void expectCovers(const Layout& layout, std::uint32_t chunks, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t at = begin;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    EXPECT_EQ(layout.inputChunk(c).offset_elems, at) << "chunk " << c;
    EXPECT_EQ(layout.inputChunk(c), layout.outputChunk(c));
    at += layout.inputChunk(c).count_elems;
  }
  EXPECT_EQ(at, end);
}

TEST(EvenPart, SizesDifferByAtMostOneUnitLargestFirst) {
  EXPECT_EQ(evenPart(10, 4, 0, 1), (Extent{0, 3}));
  EXPECT_EQ(evenPart(10, 4, 1, 1), (Extent{3, 3}));
  EXPECT_EQ(evenPart(10, 4, 2, 1), (Extent{6, 2}));
  EXPECT_EQ(evenPart(10, 4, 3, 1), (Extent{8, 2}));
}

TEST(EvenPart, PartsBeyondTheDataAreEmpty) {
  EXPECT_EQ(evenPart(2, 4, 1, 1), (Extent{1, 1}));
  EXPECT_EQ(evenPart(2, 4, 3, 1), (Extent{2, 0}));
  EXPECT_EQ(evenPart(0, 3, 2, 16), (Extent{0, 0}));
}

TEST(EvenPart, BoundariesAreMultiplesOfTheUnit) {
  EXPECT_EQ(evenPart(100, 3, 0, 16), (Extent{0, 48}));
  EXPECT_EQ(evenPart(100, 3, 1, 16), (Extent{48, 32}));
  EXPECT_EQ(evenPart(100, 3, 2, 16), (Extent{80, 20}));
}

TEST(PartUnit, AlignsLargePartsToCacheLines) {
  EXPECT_EQ(partUnit(1 << 20, 4, 4), 16u);
  EXPECT_EQ(partUnit(100, 4, 4), 1u);
  EXPECT_EQ(partUnit(1 << 20, 4, 128), 1u);
}

TEST(Layout, EvenChunksCoverTheVectorForAnyCount) {
  for (const std::uint64_t count : {0u, 1u, 6u, 7u, 8u, 1009u, 100003u}) {
    const Shape shape{.element_bytes = 4, .count = count};
    expectCovers(Layout(evenSchedule(7), shape), 7, 0, count);
  }
}

TEST(Layout, FragmentsCoverTheVector) {
  const Shape shape{.element_bytes = 2, .count = 50021};
  std::uint64_t begin = 0;
  for (std::uint32_t f = 0; f < 3; ++f) {
    const Layout layout(evenSchedule(5), shape, f, 3);
    const std::uint64_t end = layout.inputChunk(4).offset_elems + layout.inputChunk(4).count_elems;
    expectCovers(layout, 5, begin, end);
    begin = end;
  }
  EXPECT_EQ(begin, shape.count);
}

TEST(Layout, WeightsShareTheVectorInProportion) {
  const Shape shape{.element_bytes = 4, .count = 100, .weights = {1, 0, 3}};
  const Layout layout(evenSchedule(3), shape);
  EXPECT_EQ(layout.inputChunk(0), (Extent{0, 25}));
  EXPECT_EQ(layout.inputChunk(1), (Extent{25, 0}));
  EXPECT_EQ(layout.inputChunk(2), (Extent{25, 75}));
}

TEST(Layout, WeightsCoverTheVectorForAnyCount) {
  for (std::uint64_t count = 0; count < 60; ++count) {
    const Shape shape{.element_bytes = 4, .count = count, .weights = {0.3, 0.1, 2.5, 0.7}};
    expectCovers(Layout(evenSchedule(4), shape), 4, 0, count);
  }
}

TEST(Layout, BlocksOfRanksKeepTheirPlaces) {
  Schedule schedule = evenSchedule(2);
  schedule.partition = Partition::byRank;
  const Shape shape{.element_bytes = 4, .input_blocks = {{0, 3}, {10, 5}}, .output_blocks = {{7, 3}, {0, 5}}};
  const Layout layout(schedule, shape);
  EXPECT_EQ(layout.inputChunk(1), (Extent{10, 5}));
  EXPECT_EQ(layout.outputChunk(0), (Extent{7, 3}));
  EXPECT_EQ(layout.extentOf(output(1)), (Extent{0, 5}));
}

TEST(Layout, FragmentsOfBlocksCoverEachBlock) {
  Schedule schedule = evenSchedule(2);
  schedule.partition = Partition::byRank;
  const Shape shape{.element_bytes = 4, .input_blocks = {{0, 7}, {7, 0}}, .output_blocks = {{0, 7}, {7, 0}}};
  EXPECT_EQ(Layout(schedule, shape, 0, 2).inputChunk(0), (Extent{0, 4}));
  EXPECT_EQ(Layout(schedule, shape, 1, 2).inputChunk(0), (Extent{4, 3}));
  EXPECT_EQ(Layout(schedule, shape, 1, 2).inputChunk(1), (Extent{7, 0}));
}

TEST(Layout, ScratchSlotsAreAsLargeAsTheirChunkAndStartOnCacheLines) {
  Schedule schedule = evenSchedule(3);
  schedule.scratch_like = {2, 0, 0};
  const Shape shape{.element_bytes = 8, .count = 10};
  const Layout layout(schedule, shape);
  EXPECT_EQ(layout.scratchSlot(0), (Extent{0, 3}));
  EXPECT_EQ(layout.scratchSlot(1), (Extent{8, 4}));
  EXPECT_EQ(layout.scratchSlot(2), (Extent{16, 4}));
  EXPECT_EQ(layout.scratchElems(), 24u);
}

} // namespace
} // namespace goss::schedule
