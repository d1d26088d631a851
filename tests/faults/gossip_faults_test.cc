// Synchronizers beside a rank that is stopped for two seconds, and behind one that is killed in the middle of a round:
// methods of pairs go on, the others wait or do not (a stopped rank answers nobody who wants its memory), and all go on
// when it comes back. Survivors go on from their mean.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/child_process.h"
#include "tests/support/free_port.h"
#ifdef GOSS_TEST_TLS
#include "tests/support/credential_files.h"
#endif

namespace goss::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;
constexpr int kVictim = 1;

struct Trained {
  enum class Beside { waits, goesOn, either };
  const char* word;              ///< For gossip_rank.
  Beside beside = Beside::waits; ///< What the others do beside a stopped rank.
};
constexpr Trained kMethods[] = {
    {"dpsgd"},
    {"choco:gamma=0.5,codec=int8:block=32"},
    {"choco:topology=one-peer-exponential,gamma=0.5,codec=int8:block=32>choco:topology=full,gamma=0.5,codec=int8"},
    {"deepsqueeze:gamma=0.5,codec=int8:block=32"},
    {"sgp"},
    {"moshpit"},
    {"+adpsgd", Trained::Beside::goesOn},
    {"+acid", Trained::Beside::goesOn},
    {"+sgp:wait=0", Trained::Beside::either},
    {"+moshpit:wait=0", Trained::Beside::either},
    {"+heloco:h=4", Trained::Beside::either},
};
constexpr std::size_t kMethodCount = std::size(kMethods);

/// A rank's process, and what it has said.
class Rank {
 public:
  Rank(const std::vector<std::string>& command, const std::vector<std::string>& environment)
      : process_(command, environment) {}

  [[nodiscard]] ChildProcess& process() { return process_; }
  /// Steps of each method, as last told.
  [[nodiscard]] const std::vector<int>& steps() const { return steps_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }

  /// Reads all lines that come within `span`.
  void read(std::chrono::milliseconds span) {
    const auto end = Clock::now() + span;
    while (!ended_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      const std::optional<std::string> line = process_.readLine(std::max(left, 1ms));
      if (!line) return;
      std::istringstream words(*line);
      std::string first;
      words >> first;
      if (first == "steps") {
        steps_.clear();
        for (int count = 0; words >> count;)
          steps_.push_back(count);
      } else if (first == "end") {
        ended_ = true;
      } else {
        others_.push_back(*line);
      }
    }
  }

 private:
  ChildProcess process_;
  std::vector<int> steps_ = std::vector<int>(kMethodCount);
  std::vector<std::string> others_;
  bool ended_ = false;
};

class GossipFaults : public ::testing::TestWithParam<std::string> {
 protected:
  void start(const std::vector<std::string>& settings) {
    std::vector<std::string> command = {GOSSIP_RANK};
    for (const Trained& method : kMethods)
      command.emplace_back(method.word);
    const std::string port = std::to_string(freePorts(1));
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<std::string> environment = {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(kRanks),
                                              "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port, "GOSS_LOG=off"};
      environment.insert(environment.end(), settings.begin(), settings.end());
      ranks_.push_back(std::make_unique<Rank>(command, environment));
    }
  }

  Rank& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }

  /// Waits until each rank has made `more` steps beyond `from`[rank] of each method.
  void awaitSteps(const std::vector<std::vector<int>>& from, int more) {
    const auto deadline = Clock::now() + 60s;
    const auto areMade = [&] {
      for (std::size_t at = 0; at < from.size(); ++at)
        for (std::size_t i = 0; i < kMethodCount; ++i)
          if (ranks_[at]->steps()[i] < from[at][i] + more) return false;
      return true;
    };
    while (!areMade() && Clock::now() < deadline)
      for (const auto& one : ranks_)
        one->read(5ms);
    ASSERT_TRUE(areMade()) << ::testing::PrintToString(rank(0).steps()) << ::testing::PrintToString(rank(0).others());
  }
  std::vector<std::vector<int>> steps() {
    std::vector<std::vector<int>> all;
    for (const auto& one : ranks_)
      all.push_back(one->steps());
    return all;
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST_P(GossipFaults, RanksGoOnBesideAStoppedOneAndAfterAKilledOne) {
  std::vector<std::string> settings = {"GOSS_TRANSPORT=" + GetParam()};
#ifdef GOSS_TEST_TLS
  const CredentialFiles files;
  if (GetParam() == "tls") settings = {"GOSS_TRANSPORT=tls", "GOSS_TLS=" + files.sharedKey()};
#endif
  start(settings);
  awaitSteps(steps(), 8);
  if (HasFatalFailure()) return;

  rank(kVictim).process().signal(SIGSTOP);
  for (const int other : {0, 2})
    rank(other).read(300ms); // Rounds that the victim had already sent its part of end.
  const std::vector<std::vector<int>> at_stop = steps();
  std::this_thread::sleep_for(1700ms);
  for (const int other : {0, 2})
    rank(other).read(100ms);
  const std::vector<std::vector<int>> at_end = steps();
  for (const std::size_t other : {0U, 2U}) {
    for (std::size_t i = 0; i < kMethodCount; ++i) {
      if (kMethods[i].beside == Trained::Beside::either) continue;
      const int made = at_end[other][i] - at_stop[other][i];
      EXPECT_TRUE(kMethods[i].beside == Trained::Beside::waits ? made <= 1 : made > 3)
          << "rank " << other << " made " << made << " steps of " << kMethods[i].word << " beside a stopped rank";
    }
  }
  rank(kVictim).process().signal(SIGCONT);
  awaitSteps(steps(), 8);
  if (HasFatalFailure()) return;

  rank(kVictim).process().signal(SIGKILL);
  for (const int other : {0, 2}) {
    const auto deadline = Clock::now() + 60s;
    while (!rank(other).ended() && Clock::now() < deadline)
      rank(other).read(100ms);
    std::size_t failed = 0, went_on = 0;
    for (const std::string& line : rank(other).others()) {
      failed += line.starts_with("failed ") ? 1 : 0;
      went_on += line.starts_with("went on ") ? 1 : 0;
      EXPECT_FALSE(line.starts_with("wrong")) << "rank " << other << ": " << line;
      EXPECT_TRUE(!line.starts_with("failed ") || line.find("rank 1") != std::string::npos) << other << ": " << line;
    }
    EXPECT_EQ(failed, kMethodCount);
    EXPECT_EQ(went_on, kMethodCount) << ::testing::PrintToString(rank(other).others());
    EXPECT_EQ(rank(other).process().wait(10s), 0);
  }
}

std::vector<std::string> transports() {
#ifdef GOSS_TEST_TLS
  return {"shm", "tcp", "tls"};
#else
  return {"shm", "tcp"};
#endif
}

INSTANTIATE_TEST_SUITE_P(Transports, GossipFaults, ::testing::ValuesIn(transports()),
                         [](const auto& test) { return test.param; });

} // namespace
} // namespace goss::test
