// The checker catches each kind of broken schedule and says where it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "schedule/channels.h"
#include "schedule/checker.h"
#include "schedule/structure.h"

namespace goss::schedule {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Emit = std::function<void(ScheduleBuilder&)>;

std::vector<Schedule> build(Collective collective, std::uint32_t chunks, const std::vector<Emit>& ranks, int root = 0) {
  const int size = static_cast<int>(ranks.size());
  const bool blocks = collective == Collective::allGather || collective == Collective::reduceScatter ||
                      collective == Collective::allToAll;
  std::vector<Schedule> schedules;
  for (int r = 0; r < size; ++r) {
    ScheduleBuilder builder({collective, size, r, root, blocks ? Partition::byRank : Partition::even, chunks});
    ranks[static_cast<std::size_t>(r)](builder);
    schedules.push_back(builder.build("test"));
  }
  return schedules;
}

std::string faultOf(const std::vector<Schedule>& schedules) {
  const Result<RunFacts> facts = checkSchedules(schedules);
  return facts.isOk() ? "no fault" : facts.status().text();
}

/// A correct all-reduce of two ranks: rank 1 sends to rank 0, which adds and returns the sum.
const Emit kAddAndReturn = [](ScheduleBuilder& b) {
  b.recvReduce(1, {data(0)});
  b.finish({data(0)});
  b.send(1, {data(0)});
};
const Emit kSendAndWait = [](ScheduleBuilder& b) {
  b.send(0, {data(0)});
  b.recv(0, {data(0)});
};

std::string faultOfPair(const Emit& rank0, const Emit& rank1) {
  return faultOf(build(Collective::allReduce, 1, {rank0, rank1}));
}

TEST(Checker, AcceptsACorrectAllReduce) {
  const Result<RunFacts> facts = checkSchedules(build(Collective::allReduce, 1, {kAddAndReturn, kSendAndWait}));
  ASSERT_TRUE(facts.isOk()) << facts.status().text();
  EXPECT_TRUE(facts.value().identical_bits);
  EXPECT_EQ(facts.value().messages, 2u);
  EXPECT_EQ(facts.value().longest_path, 2);
  EXPECT_EQ(facts.value().lossy_depth, 2);
}

TEST(Checker, CatchesAMissingSend) {
  const Emit only_receives = [](ScheduleBuilder& b) { b.recv(0, {data(0)}); };
  EXPECT_THAT(faultOfPair(kAddAndReturn, only_receives), AllOf(StartsWith("rank 0 step 0"), HasSubstr("missing send")));
}

TEST(Checker, CatchesAMissingReceive) {
  const Emit only_sends = [](ScheduleBuilder& b) { b.send(0, {data(0)}); };
  EXPECT_THAT(faultOfPair(kAddAndReturn, only_sends),
              AllOf(StartsWith("rank 0 step 2"), HasSubstr("leftover message")));
}

TEST(Checker, CatchesALeftoverMessage) {
  const Emit sends_twice = [](ScheduleBuilder& b) {
    b.send(0, {data(0)});
    b.send(0, {data(0)});
    b.recv(0, {data(0)});
  };
  EXPECT_THAT(faultOfPair(kAddAndReturn, sends_twice),
              AllOf(StartsWith("rank 1 step 1"), HasSubstr("leftover message")));
}

TEST(Checker, CatchesAContributionThatIsCountedTwice) {
  const Emit adds_twice = [](ScheduleBuilder& b) {
    b.recvReduce(1, {data(0)});
    b.recvReduce(1, {data(0)});
    b.finish({data(0)});
    b.send(1, {data(0)});
  };
  const Emit sends_twice = [](ScheduleBuilder& b) {
    b.send(0, {data(0)});
    b.send(0, {data(0)});
    b.recv(0, {data(0)});
  };
  EXPECT_THAT(faultOfPair(adds_twice, sends_twice),
              AllOf(StartsWith("rank 0 step 1"), HasSubstr("rank 1's contribution to chunk 0 twice")));
}

TEST(Checker, CatchesAnUndefinedRead) {
  const Emit sends_garbage = [](ScheduleBuilder& b) {
    b.send(0, {b.scratch(0)});
    b.recv(0, {data(0)});
  };
  EXPECT_THAT(faultOfPair(kAddAndReturn, sends_garbage),
              AllOf(StartsWith("rank 1 step 0"), HasSubstr("scratch 0, which holds nothing yet")));
}

TEST(Checker, CatchesMessagesOfDifferentSlotCounts) {
  const Emit sends_one = [](ScheduleBuilder& b) {
    b.send(1, {data(0)});
    b.recv(1, {data(0), data(1)});
  };
  const Emit expects_two = [](ScheduleBuilder& b) {
    b.recvReduce(0, {data(0), data(1)});
    b.finish({data(0), data(1)});
    b.send(0, {data(0), data(1)});
  };
  EXPECT_THAT(faultOf(build(Collective::allReduce, 2, {sends_one, expects_two})),
              AllOf(StartsWith("rank 1 step 0"), HasSubstr("receives 2 chunks where rank 0 step 0 sends 1")));
}

TEST(Checker, CatchesMessagesInTheWrongOrder) {
  const Emit sends_one_zero = [](ScheduleBuilder& b) {
    b.send(1, {data(1)});
    b.send(1, {data(0)});
    b.recv(1, {data(0), data(1)});
  };
  const Emit expects_zero_one = [](ScheduleBuilder& b) {
    b.recvReduce(0, {data(0)});
    b.recvReduce(0, {data(1)});
    b.finish({data(0), data(1)});
    b.send(0, {data(0), data(1)});
  };
  EXPECT_THAT(faultOf(build(Collective::allReduce, 2, {sends_one_zero, expects_zero_one})),
              AllOf(StartsWith("rank 1 step"), HasSubstr("reduces chunk")));
}

TEST(Checker, CatchesAWrongOrdinal) {
  std::vector<Schedule> schedules = build(Collective::allReduce, 1, {kAddAndReturn, kSendAndWait});
  schedules[1].steps[0].ordinal = 1;
  EXPECT_THAT(faultOf(schedules),
              AllOf(StartsWith("rank 1 step 0"), HasSubstr("message 1 with rank 0 in the place of message 0")));
}

TEST(Checker, CatchesADeadlockThatOnlyRendezvousHas) {
  // Each rank adds into the slot that it is still sending: legal while the channel takes the message, else nobody
  // receives.
  const Emit rank0 = [](ScheduleBuilder& b) {
    b.send(1, {data(0)});
    b.recvReduce(1, {data(0)});
    b.finish({data(0)});
  };
  const Emit rank1 = [](ScheduleBuilder& b) {
    b.send(0, {data(0)});
    b.recvReduce(0, {data(0)});
    b.finish({data(0)});
  };
  EXPECT_THAT(faultOfPair(rank0, rank1), HasSubstr("deadlock at channel capacity 0"));
}

TEST(Checker, CatchesADeadlockThatFullChannelsHave) {
  // The first receive writes what the second send reads, and the second send waits for room behind the first.
  const auto exchange = [](int peer) {
    return [peer](ScheduleBuilder& b) {
      b.send(peer, {data(0)});
      b.send(peer, {data(1)});
      const Slot first = b.scratch(0);
      b.copy(data(1), b.scratch(1));
      b.recv(peer, {first});
      b.reduce(data(0), first);
      b.recvReduce(peer, {data(1)});
      b.finish({data(0), data(1)});
    };
  };
  std::vector<Schedule> schedules = build(Collective::allReduce, 2, {exchange(1), exchange(0)});
  ASSERT_THAT(faultOf(schedules), HasSubstr("deadlock at channel capacity 0"));
  // Two messages that are received in one order and sent in the other need a channel capacity of two.
  for (Schedule& schedule : schedules) {
    const Step& second_send = schedule.steps[1];
    Step& first_receive = schedule.steps[3];
    ASSERT_EQ(second_send.kind, StepKind::send);
    ASSERT_EQ(first_receive.kind, StepKind::recv);
    first_receive.dependencies = {static_cast<std::uint32_t>(schedule.dependencies.size()), 1};
    schedule.dependencies.push_back(1);
  }
  EXPECT_THAT(faultOf(schedules), HasSubstr("deadlock at channel capacity 1"));
}

TEST(Checker, CatchesADeadlockOfWaitingForEachOther) {
  const auto waits_first = [](int peer) {
    return [peer](ScheduleBuilder& b) {
      b.recvReduce(peer, {data(0)});
      b.finish({data(0)});
      b.send(peer, {data(0)});
    };
  };
  EXPECT_THAT(
      faultOfPair(waits_first(1), waits_first(0)),
      AllOf(StartsWith("rank"), HasSubstr("deadlock at channel capacity unlimited"), HasSubstr("receiving message 0")));
}

TEST(Checker, CatchesAMissingFinish) {
  const Emit unfinished = [](ScheduleBuilder& b) {
    b.recvReduce(1, {data(0)});
    b.send(1, {data(0)});
  };
  EXPECT_THAT(faultOfPair(unfinished, kSendAndWait), HasSubstr("rank 0 output 0: passed 0 finishes instead of 1"));
}

TEST(Checker, CatchesASecondFinish) {
  const Emit finishes_again = [](ScheduleBuilder& b) {
    b.send(0, {data(0)});
    b.recv(0, {data(0)});
    b.finish({data(0)});
  };
  EXPECT_THAT(faultOfPair(kAddAndReturn, finishes_again),
              AllOf(StartsWith("rank 1 step 2"), HasSubstr("second finish of chunk 0")));
}

TEST(Checker, CatchesAFinishOfAPartialSum) {
  const Emit too_early = [](ScheduleBuilder& b) {
    b.finish({data(0)});
    b.recvReduce(1, {data(0)});
    b.send(1, {data(0)});
  };
  EXPECT_THAT(faultOfPair(too_early, kSendAndWait),
              AllOf(StartsWith("rank 0 step 0"), HasSubstr("finish of chunk 0 with 1 contributions")));
}

TEST(Checker, CatchesAnIncompleteSum) {
  const Emit keeps_own = [](ScheduleBuilder& b) { b.send(0, {data(0)}); };
  const Emit adds = [](ScheduleBuilder& b) {
    b.recvReduce(1, {data(0)});
    b.finish({data(0)});
  };
  EXPECT_THAT(faultOfPair(adds, keeps_own), HasSubstr("rank 1 output 0: 1 contributions instead of 2"));
}

TEST(Checker, CatchesAMissingOutput) {
  const Emit root = [](ScheduleBuilder& b) { b.send(1, {data(0)}); };
  const Emit into_scratch = [](ScheduleBuilder& b) { b.recv(0, {b.scratch(0)}); };
  EXPECT_THAT(faultOf(build(Collective::broadcast, 1, {root, into_scratch})),
              HasSubstr("rank 1 output 0: never written"));
}

TEST(Checker, CatchesAWriteToAnOutputThatIsNotDelivered) {
  const Emit adds = [](ScheduleBuilder& b) {
    b.recvReduce(1, {data(0)});
    b.finish({data(0)});
  };
  const Emit uses_output_as_scratch = [](ScheduleBuilder& b) {
    b.copy(input(0), output(0));
    b.send(0, {output(0)});
  };
  EXPECT_THAT(faultOf(build(Collective::reduce, 1, {adds, uses_output_as_scratch})),
              AllOf(StartsWith("rank 1 step 0"), HasSubstr("writes output 0, which is not delivered")));
}

TEST(Checker, CatchesAWriteToTheInput) {
  std::vector<Schedule> schedules = build(Collective::allReduce, 1, {kAddAndReturn, kSendAndWait});
  for (Slot& slot : schedules[1].slots)
    slot = input(0);
  EXPECT_THAT(faultOf(schedules), AllOf(StartsWith("rank 1 step 1"), HasSubstr("writes the caller's input 0")));
}

TEST(Checker, CatchesAHazardWithoutADependency) {
  std::vector<Schedule> schedules = build(Collective::allReduce, 1, {kAddAndReturn, kSendAndWait});
  schedules[0].steps[2].dependencies.count = 0;
  EXPECT_THAT(faultOf(schedules), AllOf(StartsWith("rank 0 step 2"), HasSubstr("without waiting for step 1")));
}

TEST(Checker, AcceptsAHazardThatIsOrderedIndirectly) {
  ScheduleBuilder builder({Collective::allReduce, 2, 1, -1, Partition::even, 1});
  builder.send(0, {data(0)});
  builder.recv(0, {data(0)});
  builder.copy(data(0), builder.scratch(0));
  builder.recv(0, {data(0)}); // after the send (0), the receive (1) and the copy (2)
  Schedule schedule = builder.build("test");
  Step& last = schedule.steps[3];
  last.dependencies = {static_cast<std::uint32_t>(schedule.dependencies.size()), 1};
  schedule.dependencies.push_back(2);
  EXPECT_TRUE(checkStructure(schedule).isOk()) << checkStructure(schedule).text();
}

TEST(Checker, CatchesADependencyOnALaterStep) {
  std::vector<Schedule> schedules = build(Collective::allReduce, 1, {kAddAndReturn, kSendAndWait});
  schedules[0].dependencies[0] = 2;
  EXPECT_THAT(faultOf(schedules), HasSubstr("depends on step 2, which is not earlier"));
}

TEST(Checker, CatchesASlotThatDoesNotExist) {
  std::vector<Schedule> schedules = build(Collective::allReduce, 1, {kAddAndReturn, kSendAndWait});
  schedules[0].slots[0].index = 7;
  EXPECT_THAT(faultOf(schedules), AllOf(StartsWith("rank 0 step 0"), HasSubstr("does not exist")));
}

TEST(Checker, CatchesASendToItself) {
  std::vector<Schedule> schedules = build(Collective::allReduce, 1, {kAddAndReturn, kSendAndWait});
  schedules[1].steps[0].peer = 1;
  EXPECT_THAT(faultOf(schedules), AllOf(StartsWith("rank 1 step 0"), HasSubstr("peer 1 of 2 ranks")));
}

TEST(Checker, CatchesAReductionOutsideOfReductions) {
  const Emit sends_twice = [](ScheduleBuilder& b) {
    b.send(1, {data(0)});
    b.send(1, {data(0)});
  };
  const Emit adds_both = [](ScheduleBuilder& b) {
    b.recv(0, {data(0)});
    b.recvReduce(0, {data(0)});
  };
  EXPECT_THAT(faultOf(build(Collective::broadcast, 1, {sends_twice, adds_both})),
              AllOf(StartsWith("rank 1 step 1"), HasSubstr("reduces in a broadcast")));
}

TEST(Checker, CatchesWhatIsOnlyWrongInPlace) {
  // Reads its input again after writing the output: other values when both are one buffer.
  const Emit first = [](ScheduleBuilder& b) {
    b.send(1, {input(0)});
    b.send(2, {input(0)});
  };
  const Emit second = [](ScheduleBuilder& b) {
    b.recv(0, {output(0)});
    b.finish({output(0)});
    b.send(2, {input(0)});
  };
  const Emit third = [](ScheduleBuilder& b) {
    b.recv(0, {output(0)});
    b.recvReduce(1, {output(0)});
    b.finish({output(0)});
  };
  EXPECT_THAT(faultOf(build(Collective::exscan, 1, {first, second, third})),
              StartsWith("in place: rank 2 step 1: reduces chunk 0 after its finish"));
}

TEST(Checker, ReportsResultsThatDifferInTheirLastBits) {
  // Rank 0 gets (0+1)+2, ranks 1 and 2 get 0+(1+2).
  const Emit rank0 = [](ScheduleBuilder& b) {
    b.send(1, {data(0)});
    b.recvReduce(1, {data(0)});
    b.recvReduce(2, {data(0)});
    b.finish({data(0)});
  };
  const Emit rank1 = [](ScheduleBuilder& b) {
    b.send(0, {input(0)});
    b.recvReduce(2, {data(0)});
    b.recvReduce(0, {data(0)});
    b.finish({data(0)});
    b.send(2, {data(0)});
  };
  const Emit rank2 = [](ScheduleBuilder& b) {
    b.send(0, {input(0)});
    b.send(1, {input(0)});
    b.recv(1, {data(0)});
  };
  std::vector<Schedule> schedules = build(Collective::allReduce, 1, {rank0, rank1, rank2});
  const Result<ChannelTable> table = pairMessages(schedules);
  ASSERT_TRUE(table.isOk());
  const Result<RunFacts> facts = runSymbolically(schedules, table.value(), RunMode{});
  ASSERT_TRUE(facts.isOk()) << facts.status().text();
  EXPECT_FALSE(facts.value().identical_bits);
}

TEST(CheckSizes, CatchesAMessageThatIsLargerThanItsReceive) {
  const Emit sends = [](ScheduleBuilder& b) {
    b.copy(input(0), output(0));
    b.send(1, {input(1)});
    b.recv(1, {output(1)});
  };
  const Emit receives = [](ScheduleBuilder& b) {
    b.copy(input(1), output(1));
    b.send(0, {input(0)});
    b.recv(0, {output(0)});
  };
  const std::vector<Schedule> schedules = build(Collective::allToAll, 2, {sends, receives});
  const Shape fits{.input_blocks = {{0, 4}, {4, 4}}, .output_blocks = {{0, 4}, {4, 4}}};
  const Shape too_long{.input_blocks = {{0, 4}, {4, 5}}, .output_blocks = {{0, 4}, {4, 4}}};
  EXPECT_TRUE(checkSizes(schedules, std::vector<Shape>{fits, fits}, 8).isOk());
  EXPECT_THAT(checkSizes(schedules, std::vector<Shape>{fits, fits}, 9).text(),
              HasSubstr("8 elements, the formula says 9"));
  EXPECT_THAT(checkSizes(schedules, std::vector<Shape>{too_long, fits}, 9).text(),
              AllOf(StartsWith("rank 1 step 2"), HasSubstr("size mismatch")));
}

} // namespace
} // namespace goss::schedule
