// Calls that do not match, and that each rank may end with success because it has nothing to read: the next collective
// that reads anything fails with both names, and none returns a wrong result with success.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMaxElems = 9000;
constexpr int kMaxRanks = 4;

enum class Kind { barrier, broadcast, reduce, scatter, gather, allReduce, allGather, reduceScatter, allToAll, scan };

struct Invocation {
  Kind kind = Kind::barrier;
  std::size_t count = 0;
  goss_dtype dtype = GOSS_FLOAT64;
  goss_op op = GOSS_SUM;
  int root = 0;
};

/// As errors name it.
std::string nameOf(const Invocation& call) {
  if (call.kind == Kind::barrier) return "barrier";
  const char* names[] = {"",           "broadcast",  "reduce",         "scatter",    "gather",
                         "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "scan"};
  std::string name = names[static_cast<int>(call.kind)];
  const Kind reductions[] = {Kind::reduce, Kind::allReduce, Kind::reduceScatter, Kind::scan};
  if (std::find(std::begin(reductions), std::end(reductions), call.kind) != std::end(reductions))
    name += call.op == GOSS_SUM ? "(sum)" : "(max)";
  name += " of " + std::to_string(call.count) + (call.dtype == GOSS_FLOAT64 ? " float64" : " int32");
  const Kind rooted[] = {Kind::broadcast, Kind::reduce, Kind::scatter, Kind::gather};
  if (std::find(std::begin(rooted), std::end(rooted), call.kind) != std::end(rooted))
    name += ", root " + std::to_string(call.root);
  return name;
}

/// A rank's memory, long enough for any call.
struct Buffers {
  std::vector<double> send = std::vector<double>(kMaxElems * kMaxRanks, 1.0);
  std::vector<double> recv = std::vector<double>(kMaxElems * kMaxRanks);
};

goss_status invoke(goss_comm_t comm, const Invocation& c, Buffers& memory) {
  const double* send = memory.send.data();
  double* recv = memory.recv.data();
  switch (c.kind) {
    case Kind::barrier:
      return goss_barrier(comm, nullptr, nullptr);
    case Kind::broadcast:
      return goss_broadcast(comm, send, recv, c.count, c.dtype, c.root, nullptr, nullptr);
    case Kind::reduce:
      return goss_reduce(comm, send, recv, c.count, c.dtype, c.op, c.root, nullptr, nullptr);
    case Kind::scatter:
      return goss_scatter(comm, send, recv, c.count, c.dtype, c.root, nullptr, nullptr);
    case Kind::gather:
      return goss_gather(comm, send, recv, c.count, c.dtype, c.root, nullptr, nullptr);
    case Kind::allReduce:
      return goss_all_reduce(comm, send, recv, c.count, c.dtype, c.op, nullptr, nullptr);
    case Kind::allGather:
      return goss_all_gather(comm, send, recv, c.count, c.dtype, nullptr, nullptr);
    case Kind::reduceScatter:
      return goss_reduce_scatter(comm, send, recv, c.count, c.dtype, c.op, nullptr, nullptr);
    case Kind::allToAll:
      return goss_all_to_all(comm, send, recv, c.count, c.dtype, nullptr, nullptr);
    case Kind::scan:
      return goss_scan(comm, send, recv, c.count, c.dtype, c.op, nullptr, nullptr);
  }
  return GOSS_ERR_INTERNAL;
}

/// An all_reduce of integers, so that sums are exact. Fails the test if a successful result is wrong.
goss_status sumOf(goss_comm_t comm, int rank, std::int64_t round, std::size_t count) {
  std::int32_t ranks = 0;
  EXPECT_EQ(goss_comm_size(comm, &ranks), GOSS_SUCCESS);
  std::vector<std::int64_t> values(count, 1000 * (rank + 1) + round);
  const goss_status status =
      goss_all_reduce(comm, values.data(), values.data(), count, GOSS_INT64, GOSS_SUM, nullptr, nullptr);
  if (status == GOSS_SUCCESS) {
    EXPECT_EQ(values, std::vector<std::int64_t>(count, 500L * ranks * (ranks + 1) + ranks * round))
        << "wrong, with success, round " << round;
  }
  return status;
}

/// The ranks' calls on a communicator of their own: so many sums that match, a call of each rank, and sums again.
struct Program {
  int sums_before = 0;
  std::vector<Invocation> calls; ///< By rank.
  std::size_t sum_count = 1;
};

/// Errors of all ranks of one program.
class Errors {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(text);
  }
  /// Whether each names two different calls of the program, and their number.
  [[nodiscard]] bool nameTheMismatchOf(const Program& program) {
    const std::lock_guard lock(mutex_);
    const std::string operation = "operation " + std::to_string(program.sums_before) + " does not match";
    return std::all_of(texts_.begin(), texts_.end(), [&](const std::string& text) {
      std::set<std::string> named;
      for (const Invocation& call : program.calls)
        if (text.find("called " + nameOf(call)) != std::string::npos) named.insert(nameOf(call));
      return named.size() >= 2 && text.find(operation) != std::string::npos;
    });
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

void runProgram(goss_comm_t world, int rank, const Program& program, Errors& errors, Buffers& memory) {
  goss_comm_t comm = nullptr;
  ASSERT_EQ(goss_comm_dup(world, &comm), GOSS_SUCCESS) << goss_last_error();
  goss_status status = GOSS_SUCCESS;
  // Others may be ahead, and find the mismatch before this rank has ended its sums.
  for (int i = 0; i < program.sums_before && status == GOSS_SUCCESS; ++i)
    status = sumOf(comm, rank, i, program.sum_count);
  if (status == GOSS_SUCCESS) status = invoke(comm, program.calls[static_cast<std::size_t>(rank)], memory);
  for (int i = 0; i < 3 && status == GOSS_SUCCESS; ++i)
    status = sumOf(comm, rank, i, program.sum_count);
  EXPECT_EQ(status, GOSS_ERR_MISMATCH) << "rank " << rank << ": " << goss_last_error();
  if (status != GOSS_SUCCESS) errors.add(goss_last_error());
  EXPECT_EQ(goss_comm_destroy(comm), GOSS_SUCCESS);
}

/// The boards of a world's first four communicators are wide, so that bytes lie behind their slots
/// (lib/boards/board_channel.h).
constexpr std::size_t kProgramsOfAWorld = 3;

void expectReported(const std::string& transport, int ranks, const std::vector<Program>& programs) {
  RanksSetup setup;
  setup.ranks = ranks;
  setup.transport = transport;
  std::vector<Errors> errors(programs.size());
  for (std::size_t first = 0; first < programs.size(); first += kProgramsOfAWorld) {
    runRanks(setup, [&](goss_comm_t world, int rank) {
      Buffers memory;
      for (std::size_t i = first; i < std::min(first + kProgramsOfAWorld, programs.size()); ++i)
        runProgram(world, rank, programs[i], errors[i], memory);
    });
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::string calls;
    for (const Invocation& call : programs[i].calls)
      calls += nameOf(call) + "; ";
    EXPECT_TRUE(errors[i].nameTheMismatchOf(programs[i])) << "program " << i << ": " << calls;
  }
}

/// Rank 0 calls the first, all others the second.
std::vector<Invocation> rankZeroApart(int ranks, const Invocation& first, const Invocation& second) {
  std::vector<Invocation> calls(static_cast<std::size_t>(ranks), second);
  calls[0] = first;
  return calls;
}

class MismatchTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MismatchTest, InWhichNobodyReadsIsReportedByTheNextSum) {
  const auto rooted = [](Kind kind, std::size_t count, int root) {
    return Invocation{kind, count, GOSS_FLOAT64, GOSS_SUM, root};
  };
  for (const int ranks : {2, 3}) {
    std::vector<Program> programs;
    for (const std::size_t sum_count : {std::size_t{1}, std::size_t{1000}, std::size_t{8000}}) {
      const auto add = [&](std::vector<Invocation> calls) { programs.push_back({2, std::move(calls), sum_count}); };
      add(rankZeroApart(ranks, rooted(Kind::broadcast, 1000, 0), rooted(Kind::reduce, 2000, 0)));
      add(rankZeroApart(ranks, rooted(Kind::scatter, 700, 0), rooted(Kind::gather, 900, 0)));
      add(rankZeroApart(ranks, rooted(Kind::broadcast, 1000, 0), rooted(Kind::broadcast, 1000, 1)));
      add(rankZeroApart(ranks, rooted(Kind::scatter, 500, 0), rooted(Kind::scatter, 500, 1)));
      for (const Kind kind : {Kind::broadcast, Kind::scatter}) {
        std::vector<Invocation> own;
        for (int rank = 0; rank < ranks; ++rank)
          own.push_back(rooted(kind, 600, rank));
        add(own);
      }
      add(rankZeroApart(ranks, {Kind::allReduce, 0}, {Kind::allReduce, 0, GOSS_INT32}));
      add(rankZeroApart(ranks, {Kind::allGather, 0}, {Kind::reduceScatter, 0}));
    }
    expectReported(GetParam(), ranks, programs);
  }
}

TEST_P(MismatchTest, OfAnyTwoCallsIsReported) {
  constexpr unsigned kSeed = 18;
  std::mt19937 random(kSeed);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const int ranks = 3;
  const auto anyCall = [&] {
    constexpr std::array<std::size_t, 6> kCounts{0, 0, 1, 100, 1000, 2500};
    Invocation call{static_cast<Kind>(below(10))};
    if (call.kind == Kind::barrier) return call;
    call.count = kCounts[below(kCounts.size())];
    call.dtype = below(2) == 0 ? GOSS_FLOAT64 : GOSS_INT32;
    call.op = below(2) == 0 ? GOSS_SUM : GOSS_MAX;
    call.root = static_cast<int>(below(static_cast<std::size_t>(ranks)));
    return call;
  };
  std::vector<Program> programs;
  while (programs.size() < 30) {
    const std::array<Invocation, 2> two{anyCall(), anyCall()};
    if (nameOf(two[0]) == nameOf(two[1])) continue;
    Program program;
    program.sums_before = static_cast<int>(below(3));
    program.sum_count = below(2) == 0 ? 1 : 1 + below(8000);
    for (int rank = 0; rank < ranks; ++rank)
      program.calls.push_back(two[rank == 0 ? 0 : rank == 1 ? 1 : below(2)]);
    programs.push_back(program);
  }
  expectReported(GetParam(), ranks, programs);
}

INSTANTIATE_TEST_SUITE_P(Transports, MismatchTest, ::testing::Values("shm", "loopback", "tcp", "sim"),
                         [](const auto& one) { return std::string(one.param); });

goss_status allToAllOfNothing(goss_comm_t comm, bool uneven) {
  const std::array<std::size_t, 2> none{};
  double nothing = 0;
  if (!uneven) return goss_all_to_all(comm, &nothing, &nothing, 0, GOSS_FLOAT64, nullptr, nullptr);
  return goss_all_to_allv(comm, &nothing, none.data(), none.data(), &nothing, none.data(), none.data(), GOSS_FLOAT64,
                          nullptr, nullptr);
}

TEST(Mismatch, OfAVariantWithCountsIsReported) {
  RanksSetup setup;
  setup.timeout_ms = 5000;
  for (const char* transport : {"loopback", "shm"}) {
    setup.transport = transport;
    runRanks(setup, [](goss_comm_t comm, int rank) {
      goss_status status = allToAllOfNothing(comm, rank == 0);
      if (status == GOSS_SUCCESS) status = sumOf(comm, rank, 0, 1);
      EXPECT_EQ(status, GOSS_ERR_MISMATCH) << goss_last_error();
    });
  }
}

TEST(Mismatch, OfLongAgoIsStillReported) {
  constexpr int kCalls = 100;
  RanksSetup setup;
  for (const char* transport : {"loopback", "shm"}) {
    setup.transport = transport;
    runRanks(setup, [&](goss_comm_t comm, int rank) {
      std::int64_t value = 0;
      // No rank reads anything, except on boards, where the second call notices the mismatch.
      goss_status status = goss_broadcast(comm, &value, &value, 0, GOSS_INT64, rank, nullptr, nullptr);
      for (int i = 0; i < kCalls && status == GOSS_SUCCESS; ++i)
        status = goss_all_gather(comm, &value, &value, 0, GOSS_INT64, nullptr, nullptr);
      if (status == GOSS_SUCCESS) status = sumOf(comm, rank, 0, 1);
      EXPECT_EQ(status, GOSS_ERR_MISMATCH);
      EXPECT_THAT(goss_last_error(), HasSubstr(setup.transport == "shm" ? "broadcast of 0 int64" : "more than 64"));
    });
  }
}

TEST(Mismatch, OfNonBlockingCallsIsReportedByOneOfThem) {
  RanksSetup setup;
  for (const char* transport : {"loopback", "shm", "tcp"}) {
    setup.transport = transport;
    runRanks(setup, [](goss_comm_t comm, int rank) {
      std::vector<double> send(4000, 1.0), recv(4000);
      std::array<goss_request_t, 3> requests{};
      EXPECT_EQ(goss_broadcast(comm, send.data(), recv.data(), 1000, GOSS_FLOAT64, rank, nullptr, requests.data()),
                GOSS_SUCCESS);
      for (std::size_t i = 1; i < requests.size(); ++i) {
        const goss_status status = goss_all_reduce(comm, send.data(), recv.data() + 1000 * i, 1000, GOSS_FLOAT64,
                                                   GOSS_SUM, nullptr, &requests[i]);
        if (status != GOSS_SUCCESS) requests[i] = nullptr;
      }
      EXPECT_EQ(goss_wait_all(requests.data(), requests.size()), GOSS_ERR_MISMATCH);
      EXPECT_THAT(goss_last_error(), HasSubstr("broadcast of 1000 float64, root 0"));
      EXPECT_THAT(goss_last_error(), HasSubstr("broadcast of 1000 float64, root 1"));
    });
  }
}

// Over and over the same buffers, as a training loop has it: such calls skip the checks and the planning.
TEST(Mismatch, IsReportedByCallsThatWereMadeBefore) {
  RanksSetup setup;
  setup.transport = "shm";
  runRanks(setup, [](goss_comm_t comm, int rank) {
    std::vector<double> sent(2000, 1.0), got(2000);
    const auto sum = [&] {
      return goss_all_reduce(comm, sent.data(), got.data(), 1500, GOSS_FLOAT64, GOSS_SUM, nullptr, nullptr);
    };
    for (int i = 0; i < 50; ++i)
      ASSERT_EQ(sum(), GOSS_SUCCESS);
    EXPECT_EQ(goss_broadcast(comm, sent.data(), got.data(), 300, GOSS_FLOAT64, rank, nullptr, nullptr), GOSS_SUCCESS);
    EXPECT_EQ(sum(), GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), HasSubstr("operation 50 does not match"));
    EXPECT_THAT(goss_last_error(), HasSubstr("broadcast of 300 float64, root 0"));
    EXPECT_THAT(goss_last_error(), HasSubstr("broadcast of 300 float64, root 1"));
  });
}

} // namespace
} // namespace goss::test
