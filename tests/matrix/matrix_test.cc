// The C ABI over every transport x ranks x collective x dtype x op x count x in-place x algorithm, with exact results.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/matrix/expected.h"
#ifdef GOSS_TEST_TLS
#include "tests/support/credential_files.h"
#endif
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr std::byte kPoison{0xA5};
/// Around every buffer, to notice writes outside of it.
constexpr std::size_t kGuardElems = 16;

goss_status call(goss_comm_t comm, const Case& test, const void* send, void* recv, int root) {
  goss_options options = GOSS_OPTIONS_INIT;
  options.scale = 0.5;
  if (!test.algorithm.empty()) options.algorithm = test.algorithm.c_str();
  const std::size_t n = test.count;
  const DType t = test.dtype;
  switch (test.collective) {
    case Collective::allReduce:
      return goss_all_reduce(comm, send, recv, n, t, test.op, &options, nullptr);
    case Collective::reduce:
      return goss_reduce(comm, send, recv, n, t, test.op, root, &options, nullptr);
    case Collective::broadcast:
      return goss_broadcast(comm, send, recv, n, t, root, &options, nullptr);
    case Collective::allGather:
      return goss_all_gather(comm, send, recv, n, t, &options, nullptr);
    case Collective::reduceScatter:
      return goss_reduce_scatter(comm, send, recv, n, t, test.op, &options, nullptr);
    case Collective::allToAll:
      return goss_all_to_all(comm, send, recv, n, t, &options, nullptr);
    case Collective::gather:
      return goss_gather(comm, send, recv, n, t, root, &options, nullptr);
    case Collective::scatter:
      return goss_scatter(comm, send, recv, n, t, root, &options, nullptr);
    case Collective::scan:
      return goss_scan(comm, send, recv, n, t, test.op, &options, nullptr);
    case Collective::exscan:
      return goss_exscan(comm, send, recv, n, t, test.op, &options, nullptr);
    case Collective::barrier:
      return goss_barrier(comm, &options, nullptr);
  }
  return GOSS_ERR_INTERNAL;
}

/// The buffers of one call, with guards.
class Buffers {
 public:
  Buffers(const Case& test, int rank, int ranks, int root)
      : test_(test),
        element_(goss_dtype_size(test.dtype)),
        send_count_(sendCount(test, rank, ranks, root)),
        recv_count_(recvCount(test, rank, ranks, root)) {
    const auto send_at = test.in_place && send_count_ > 0 && recv_count_ > 0
                             ? sendOffsetInPlace(test, rank, root)
                             : static_cast<std::ptrdiff_t>(recv_count_ + kGuardElems);
    recv_first_ = kGuardElems + static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, -send_at));
    send_first_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(recv_first_) + send_at);
    const std::size_t end = std::max(recv_first_ + recv_count_, send_first_ + send_count_) + kGuardElems;
    memory_.assign(end * element_, kPoison);
    std::vector<double> values;
    for (std::size_t i = 0; i < send_count_; ++i)
      values.push_back(inputValue(test, rank, ranks, i));
    const auto encoded = encode(test.dtype, values);
    std::copy(encoded.begin(), encoded.end(), memory_.begin() + static_cast<std::ptrdiff_t>(send_first_ * element_));
    expected_ = memory_;
    // Encoded in one go: element by element it would take longer than the collective.
    std::vector<double> wanted(recv_count_);
    std::vector<bool> written(recv_count_);
    for (std::size_t i = 0; i < recv_count_; ++i) {
      const auto value = expectedValue(test, rank, ranks, root, i);
      written[i] = value.has_value();
      wanted[i] = value.value_or(0);
    }
    const auto encoded_wanted = encode(test.dtype, wanted);
    for (std::size_t i = 0; i < recv_count_; ++i) {
      if (written[i]) std::memcpy(&expected_[(recv_first_ + i) * element_], &encoded_wanted[i * element_], element_);
    }
  }

  [[nodiscard]] const void* send() const { return memory_.data() + send_first_ * element_; }
  [[nodiscard]] void* recv() { return memory_.data() + recv_first_ * element_; }

  /// The first element that is not as expected, or "".
  [[nodiscard]] std::string difference() const {
    if (memory_ == expected_) return "";
    for (std::size_t i = 0; i * element_ < memory_.size(); ++i) {
      if (std::memcmp(&memory_[i * element_], &expected_[i * element_], element_) == 0) continue;
      return "element " + std::to_string(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(recv_first_)) +
             " of the receive buffer (send buffer at " +
             std::to_string(static_cast<std::ptrdiff_t>(send_first_) - static_cast<std::ptrdiff_t>(recv_first_)) + ")";
    }
    return "";
  }

 private:
  const Case& test_;
  std::size_t element_;
  std::size_t send_count_;
  std::size_t recv_count_;
  std::size_t recv_first_ = 0;
  std::size_t send_first_ = 0;
  std::vector<std::byte> memory_;
  std::vector<std::byte> expected_;
};

/// False when it failed: the caller gives up, as the ranks are out of step.
bool check(goss_comm_t comm, const Case& test, int rank, int ranks) {
  const int root = static_cast<int>(test.count + static_cast<std::size_t>(test.dtype)) % ranks;
  Buffers buffers(test, rank, ranks, root);
  const goss_status status = call(comm, test, buffers.send(), buffers.recv(), root);
  EXPECT_EQ(status, GOSS_SUCCESS) << test.describe() << " root " << root << ": " << goss_last_error();
  const std::string difference = buffers.difference();
  EXPECT_EQ(difference, "") << test.describe() << " root " << root << " on rank " << rank << " of " << ranks;
  return status == GOSS_SUCCESS && difference.empty();
}

std::vector<std::size_t> awkwardCounts(int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> counts{0, 1, p - 1, p, p + 1, 127};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

bool reduces(Collective collective) {
  return collective == Collective::allReduce || collective == Collective::reduce ||
         collective == Collective::reduceScatter || collective == Collective::scan || collective == Collective::exscan;
}

std::vector<ReduceOp> legalOps(Collective collective, DType dtype) {
  if (!reduces(collective)) return {GOSS_SUM};
  if (dtype == GOSS_BOOL) return {GOSS_MIN, GOSS_MAX, GOSS_LAND, GOSS_LOR, GOSS_LXOR};
  std::vector<ReduceOp> ops{GOSS_SUM, GOSS_PROD, GOSS_MIN, GOSS_MAX};
  if (dtype < GOSS_FLOAT16) ops.insert(ops.end(), {GOSS_BAND, GOSS_BOR, GOSS_BXOR, GOSS_LAND, GOSS_LOR, GOSS_LXOR});
  if (collective != Collective::scan && collective != Collective::exscan) ops.push_back(GOSS_AVG);
  if (dtype >= GOSS_FLOAT16) ops.push_back(GOSS_PREMUL_SUM);
  return ops;
}

std::vector<std::string> algorithmsFor(const std::string& collective, int ranks) {
  char* text = nullptr;
  EXPECT_EQ(goss_explain(collective.c_str(), ranks, 1 << 20, nullptr, &text), GOSS_SUCCESS) << goss_last_error();
  std::vector<std::string> names;
  if (text == nullptr) return names;
  const nlohmann::json answer = nlohmann::json::parse(text);
  for (const auto& candidate : answer.at("candidates")) {
    const std::string name = candidate.at("algorithm");
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  goss_free(text);
  // Only offered for small vectors, but legal for all: then it runs as messages.
  names.emplace_back("flat");
  return names;
}

class Matrix : public ::testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
#ifdef GOSS_TEST_TLS
  /// Secured ranks find their credentials where a user's find them.
  void SetUp() override {
    if (std::get<0>(GetParam()) != "tls") return;
    credentials_.emplace();
    ::setenv("GOSS_TLS", credentials_->sharedKey().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("GOSS_TLS"); }
#endif

  [[nodiscard]] RanksSetup setup() const {
    RanksSetup setup;
    setup.transport = std::get<0>(GetParam());
    setup.ranks = std::get<1>(GetParam());
    setup.timeout_ms = 60000;
    return setup;
  }

#ifdef GOSS_TEST_TLS
 private:
  std::optional<CredentialFiles> credentials_;
#endif
};

/// Picks every case, or under GOSS_TEST_QUICK (sanitizers) one in eleven: the same ones on all ranks. Eleven does
/// not divide the length of the inner loops (counts times two), so that the picks wander over all values. Started by
/// hand, without that variable, a sanitized build runs every case.
class Sample {
 public:
  bool takeNext() { return next_++ % stride_ == 0; }

 private:
  std::size_t next_ = 0;
  std::size_t stride_ = std::getenv("GOSS_TEST_QUICK") != nullptr ? 11 : 1;
};

TEST_P(Matrix, EveryDtypeOpAndCount) {
  const int ranks = setup().ranks;
  runRanks(setup(), [&](goss_comm_t comm, int rank) {
    Sample sample;
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      for (int dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
        Case test;
        test.collective = static_cast<Collective>(collective);
        test.dtype = static_cast<DType>(dtype);
        for (const ReduceOp op : legalOps(test.collective, test.dtype)) {
          for (const std::size_t count : awkwardCounts(ranks)) {
            for (const bool in_place : {false, true}) {
              test.op = op;
              test.count = count;
              test.in_place = in_place;
              if (sample.takeNext() && !check(comm, test, rank, ranks)) return;
            }
          }
        }
      }
    }
  });
}

TEST_P(Matrix, EveryAlgorithm) {
  const int ranks = setup().ranks;
  const std::vector<std::pair<std::string, Collective>> collectives{{"allreduce", Collective::allReduce},
                                                                    {"reduce", Collective::reduce},
                                                                    {"broadcast", Collective::broadcast},
                                                                    {"allgather", Collective::allGather},
                                                                    {"reduce_scatter", Collective::reduceScatter},
                                                                    {"alltoall", Collective::allToAll},
                                                                    {"gather", Collective::gather},
                                                                    {"scatter", Collective::scatter},
                                                                    {"scan", Collective::scan},
                                                                    {"exscan", Collective::exscan},
                                                                    {"barrier", Collective::barrier}};
  std::vector<std::vector<std::string>> algorithms;
  for (const auto& [name, collective] : collectives)
    algorithms.push_back(algorithmsFor(name, ranks));
  runRanks(setup(), [&](goss_comm_t comm, int rank) {
    Sample sample;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      EXPECT_FALSE(algorithms[i].empty()) << collectives[i].first;
      for (const std::string& algorithm : algorithms[i]) {
        Case test;
        test.collective = collectives[i].second;
        test.algorithm = algorithm;
        std::vector<std::size_t> counts = awkwardCounts(ranks);
        counts.push_back(100003); // Several fragments and blocks, none of them even.
        for (const std::size_t count : counts) {
          for (const bool in_place : {false, true}) {
            test.dtype = count % 2 == 0 ? GOSS_FLOAT64 : GOSS_BFLOAT16;
            test.op =
                test.collective == Collective::scan || test.collective == Collective::exscan ? GOSS_SUM : GOSS_AVG;
            test.count = count;
            test.in_place = in_place;
            if (sample.takeNext() && !check(comm, test, rank, ranks)) return;
          }
        }
      }
    }
  });
}

TEST_P(Matrix, UnevenBlocks) {
  const int ranks = setup().ranks;
  const auto p = static_cast<std::size_t>(ranks);
  runRanks(setup(), [&](goss_comm_t comm, int rank) {
    for (std::size_t base : {0U, 1U, 5U, 3001U}) {
      // Some blocks are empty; they lie in reverse order with gaps.
      std::vector<std::size_t> counts(p);
      std::vector<std::size_t> displs(p);
      for (std::size_t r = 0; r < p; ++r)
        counts[r] = (r % 3) * base;
      std::size_t end = 0;
      for (std::size_t r = p; r-- > 0;) {
        displs[r] = end + 2;
        end = displs[r] + counts[r];
      }
      const auto me = static_cast<std::size_t>(rank);
      const auto value = [](std::size_t from, std::size_t i) { return static_cast<std::int32_t>(from * 100000 + i); };

      std::vector<std::int32_t> mine(counts[me] + 1);
      for (std::size_t i = 0; i < counts[me]; ++i)
        mine[i] = value(me, i);
      std::vector<std::int32_t> gathered(end + 1, -1);
      std::vector<std::int32_t> expected(end + 1, -1);
      for (std::size_t r = 0; r < p; ++r) {
        for (std::size_t i = 0; i < counts[r]; ++i)
          expected[displs[r] + i] = value(r, i);
      }
      EXPECT_EQ(goss_all_gatherv(comm, mine.data(), gathered.data(), counts.data(), displs.data(), GOSS_INT32, nullptr,
                                 nullptr),
                GOSS_SUCCESS)
          << goss_last_error();
      EXPECT_EQ(gathered, expected);

      std::size_t total = 0;
      std::size_t first = 0;
      for (std::size_t r = 0; r < p; ++r) {
        if (r == me) first = total;
        total += counts[r];
      }
      std::vector<std::int32_t> vector(total + 1);
      for (std::size_t i = 0; i < total; ++i)
        vector[i] = static_cast<std::int32_t>(i + me);
      std::vector<std::int32_t> block(counts[me] + 1, -1);
      EXPECT_EQ(goss_reduce_scatterv(comm, vector.data(), block.data(), counts.data(), GOSS_INT32, GOSS_SUM, nullptr,
                                     nullptr),
                GOSS_SUCCESS)
          << goss_last_error();
      for (std::size_t i = 0; i < counts[me]; ++i) {
        ASSERT_EQ(block[i], static_cast<std::int32_t>(p * (first + i) + p * (p - 1) / 2));
      }
      EXPECT_EQ(block[counts[me]], -1);

      // Rank r sends (r + 2 j) % 4 * base elements to rank j.
      const auto size = [&](std::size_t from, std::size_t to) { return (from + 2 * to) % 4 * base; };
      std::vector<std::size_t> send_counts(p);
      std::vector<std::size_t> recv_counts(p);
      std::vector<std::int32_t> out;
      std::vector<std::int32_t> wanted;
      for (std::size_t r = 0; r < p; ++r) {
        send_counts[r] = size(me, r);
        recv_counts[r] = size(r, me);
        for (std::size_t i = 0; i < send_counts[r]; ++i)
          out.push_back(value(me * 10 + r, i));
        for (std::size_t i = 0; i < recv_counts[r]; ++i)
          wanted.push_back(value(r * 10 + me, i));
      }
      out.push_back(0);
      wanted.push_back(-1);
      std::vector<std::int32_t> in(wanted.size(), -1);
      EXPECT_EQ(goss_all_to_allv(comm, out.data(), send_counts.data(), nullptr, in.data(), recv_counts.data(), nullptr,
                                 GOSS_INT32, nullptr, nullptr),
                GOSS_SUCCESS)
          << goss_last_error();
      EXPECT_EQ(in, wanted);
    }
  });
}

std::string nameOfCase(const ::testing::TestParamInfo<std::tuple<std::string, int>>& test) {
  return std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param)) + "ranks";
}

#ifdef GOSS_MATRIX_MPI
// As below for UCX.
INSTANTIATE_TEST_SUITE_P(Mpi, Matrix, ::testing::Combine(::testing::Values("mpi"), ::testing::Values(3)), nameOfCase);
#else
INSTANTIATE_TEST_SUITE_P(All, Matrix,
                         ::testing::Combine(::testing::Values("loopback", "shm", "tcp", "sim"),
                                            ::testing::Values(1, 2, 3, 4, 7, 8)),
                         nameOfCase);
#endif

#ifdef GOSS_TEST_TLS
// Beneath the records the links are those of tcp, whose rows are above.
INSTANTIATE_TEST_SUITE_P(Tls, Matrix, ::testing::Combine(::testing::Values("tls"), ::testing::Values(3)), nameOfCase);
#endif

#ifdef GOSS_HAVE_UCX
// The transport has a conformance suite of its own; here is to be seen that the library finds and uses it.
INSTANTIATE_TEST_SUITE_P(Ucx, Matrix, ::testing::Combine(::testing::Values("ucx"), ::testing::Values(3)), nameOfCase);
#endif

} // namespace
} // namespace goss::test
