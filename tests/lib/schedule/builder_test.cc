// The builder derives dependencies from slot hazards and puts every chunk where the collective delivers it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gossamer/schedule.h"

namespace goss {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::uint32_t> dependencies(const Schedule& schedule, std::size_t step) {
  const auto span = schedule.dependenciesOf(schedule.steps[step]);
  return {span.begin(), span.end()};
}

std::vector<Slot> targets(const Schedule& schedule, std::size_t step) {
  const auto span = schedule.slotsOf(schedule.steps[step].targets);
  return {span.begin(), span.end()};
}

std::vector<Slot> sources(const Schedule& schedule, std::size_t step) {
  const auto span = schedule.slotsOf(schedule.steps[step].sources);
  return {span.begin(), span.end()};
}

Slot scratchSlot(std::uint32_t index) { return {Space::scratch, index}; }

ScheduleBuilder allReduce(std::uint32_t chunks) {
  return ScheduleBuilder({Collective::allReduce, 3, 0, -1, Partition::even, chunks});
}

TEST(Builder, ReadAfterWriteWaitsForTheWrite) {
  ScheduleBuilder builder = allReduce(1);
  builder.recvReduce(1, {data(0)});
  builder.send(2, {data(0)});
  const Schedule schedule = builder.build("test");
  EXPECT_THAT(dependencies(schedule, 1), ElementsAre(0));
}

TEST(Builder, WriteAfterReadWaitsForAllReaders) {
  ScheduleBuilder builder = allReduce(1);
  builder.recvReduce(1, {data(0)});
  builder.send(1, {data(0)});
  builder.send(2, {data(0)});
  builder.recv(2, {data(0)});
  const Schedule schedule = builder.build("test");
  EXPECT_THAT(dependencies(schedule, 3), ElementsAre(0, 1, 2));
}

TEST(Builder, WriteAfterWriteWaitsForTheFirst) {
  ScheduleBuilder builder = allReduce(1);
  builder.recv(1, {data(0)});
  builder.recv(2, {data(0)});
  const Schedule schedule = builder.build("test");
  EXPECT_THAT(dependencies(schedule, 1), ElementsAre(0));
}

TEST(Builder, DifferentChunksAreIndependent) {
  ScheduleBuilder builder = allReduce(2);
  builder.recvReduce(1, {data(0)});
  builder.send(2, {data(1)});
  builder.recvReduce(2, {data(1)});
  const Schedule schedule = builder.build("test");
  EXPECT_THAT(dependencies(schedule, 1), IsEmpty());
  EXPECT_THAT(dependencies(schedule, 2), ElementsAre(1));
}

TEST(Builder, FirstReductionReadsTheInputAndWritesTheOutput) {
  ScheduleBuilder builder = allReduce(1);
  builder.recvReduce(1, {data(0)});
  builder.recvReduce(2, {data(0)});
  const Schedule schedule = builder.build("test");
  ASSERT_EQ(schedule.steps.size(), 2u); // and no copy at the end
  EXPECT_THAT(sources(schedule, 0), ElementsAre(input(0)));
  EXPECT_THAT(targets(schedule, 0), ElementsAre(output(0)));
  EXPECT_THAT(sources(schedule, 1), ElementsAre(output(0)));
}

TEST(Builder, InputAndOutputOfOneChunkCountAsOnePlace) {
  ScheduleBuilder builder = allReduce(1);
  builder.send(1, {data(0)}); // reads the input, which is the output when the caller is in place
  builder.recv(2, {data(0)});
  const Schedule schedule = builder.build("test");
  EXPECT_THAT(dependencies(schedule, 1), ElementsAre(0));
}

TEST(Builder, OutputsOfAllToAllAreSeparatePlaces) {
  ScheduleBuilder builder({Collective::allToAll, 3, 0, -1, Partition::byRank, 3});
  builder.send(1, {input(1)});
  builder.recv(1, {output(1)});
  const Schedule schedule = builder.build("test");
  EXPECT_THAT(dependencies(schedule, 1), IsEmpty());
}

TEST(Builder, CopiesWhatIsDeliveredButNeverMoved) {
  ScheduleBuilder builder({Collective::allGather, 3, 1, -1, Partition::byRank, 3});
  builder.send(2, {data(1)});
  builder.recv(0, {data(0)});
  builder.recv(0, {data(2)});
  const Schedule schedule = builder.build("test");
  ASSERT_EQ(schedule.steps.size(), 4u);
  EXPECT_EQ(schedule.steps[3].kind, StepKind::copy);
  EXPECT_THAT(sources(schedule, 3), ElementsAre(input(1)));
  EXPECT_THAT(targets(schedule, 3), ElementsAre(output(1)));
}

TEST(Builder, ChunksOfOthersLiveInScratch) {
  ScheduleBuilder builder({Collective::reduceScatter, 3, 1, -1, Partition::byRank, 3});
  builder.recvReduce(0, {data(1), data(2)});
  builder.send(2, {data(2)});
  const Schedule schedule = builder.build("test");
  EXPECT_THAT(targets(schedule, 0), ElementsAre(output(1), scratchSlot(0)));
  EXPECT_THAT(sources(schedule, 0), ElementsAre(input(1), input(2)));
  EXPECT_THAT(targets(schedule, 1), ElementsAre(scratchSlot(0)));
  EXPECT_THAT(schedule.scratch_like, ElementsAre(2u));
}

TEST(Builder, OnlyTheRootOfAReduceWritesItsOutput) {
  for (const int rank : {0, 1}) {
    ScheduleBuilder builder({Collective::reduce, 2, rank, 1, Partition::even, 1});
    builder.recvReduce(1 - rank, {data(0)});
    const Schedule schedule = builder.build("test");
    EXPECT_THAT(targets(schedule, 0), ElementsAre(rank == 1 ? output(0) : scratchSlot(0)));
  }
}

TEST(Builder, OrdinalsCountMessagesByPeerAndDirection) {
  ScheduleBuilder builder = allReduce(1);
  builder.send(1, {data(0)});
  builder.send(2, {data(0)});
  builder.send(1, {data(0)});
  builder.recvReduce(1, {data(0)});
  builder.recv(1, {data(0)});
  const Schedule schedule = builder.build("test");
  std::vector<std::uint32_t> ordinals;
  for (const Step& step : schedule.steps)
    ordinals.push_back(step.ordinal);
  EXPECT_THAT(ordinals, ElementsAre(0, 0, 1, 0, 1));
}

TEST(Builder, FinishWaitsForTheSumAndTheSendWaitsForFinish) {
  ScheduleBuilder builder = allReduce(1);
  builder.recvReduce(1, {data(0)});
  builder.finish({data(0)});
  builder.send(2, {data(0)});
  const Schedule schedule = builder.build("test");
  EXPECT_THAT(dependencies(schedule, 1), ElementsAre(0));
  EXPECT_THAT(dependencies(schedule, 2), ElementsAre(1));
}

TEST(Builder, KnowsWhatARankHolds) {
  ScheduleBuilder builder({Collective::broadcast, 2, 1, 0, Partition::even, 2});
  EXPECT_FALSE(builder.holds(0));
  builder.recv(0, {data(0)});
  EXPECT_TRUE(builder.holds(0));
  EXPECT_FALSE(builder.holds(1));
}

TEST(Builder, CopyOfASlotToItselfIsNoStep) {
  ScheduleBuilder builder = allReduce(1);
  builder.recvReduce(1, {data(0)});
  builder.copy(data(0), output(0));
  EXPECT_EQ(builder.build("test").steps.size(), 1u);
}

} // namespace
} // namespace goss
