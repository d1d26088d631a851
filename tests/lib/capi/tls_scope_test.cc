// The links that are secured under GOSS_TLS_SCOPE: ranks are processes, some of which give their host another name.
#ifdef GOSS_TEST_TLS
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "tests/support/credential_files.h"

namespace goss::test {
namespace {

constexpr int kRanks = 4;

/// This process alone sees the other name. False: this system does not permit it.
bool renameHost() {
  const bool own = ::unshare(CLONE_NEWUTS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWUTS) == 0;
  const std::string name = "goss-other-host";
  return own && ::sethostname(name.data(), name.size()) == 0;
}

/// The transport to each rank, "-" for itself, once a sum has gone over them all; or what went wrong.
std::string transportsSeenBy(int rank, const goss_unique_id& id) {
  goss_config config;
  goss_comm_t comm = nullptr;
  if (goss_config_init(&config) != GOSS_SUCCESS) return goss_last_error();
  config.rank = rank;
  config.ranks = kRanks;
  config.unique_id = &id;
  config.timeout_ms = config.bootstrap_timeout_ms = 60000;
  if (goss_comm_create(&config, &comm) != GOSS_SUCCESS) return goss_last_error();
  std::string seen;
  for (int peer = 0; peer < kRanks; ++peer) {
    const char* name = "-";
    if (peer != rank && goss_comm_transport(comm, peer, &name) != GOSS_SUCCESS) name = "?";
    seen += (peer == 0 ? "" : " ") + std::string(name);
  }
  std::vector<float> vector(100000, static_cast<float>(rank + 1));
  if (goss_all_reduce(comm, vector.data(), vector.data(), vector.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr) !=
      GOSS_SUCCESS)
    seen = goss_last_error();
  else if (vector.front() != 10 || vector.back() != 10)
    seen = "a wrong sum";
  goss_comm_destroy(comm);
  return seen;
}

/// By rank; ranks 2 and 3 are on another host if `two_hosts`. Empty: the system permits no second host name.
std::vector<std::string> transportsByRank(bool two_hosts) {
  goss_unique_id id;
  if (goss_unique_id_create(&id) != GOSS_SUCCESS) return {goss_last_error()};
  std::vector<std::string> all(kRanks);
  std::vector<pid_t> children(kRanks);
  std::vector<int> answers(kRanks);
  bool permitted = true;
  for (int rank = 1; rank < kRanks; ++rank) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool named = !two_hosts || rank < 2 || renameHost();
      // The first byte says whether this can go on, before anybody waits for this rank.
      std::string answer(1, named ? 'y' : 'n');
      [[maybe_unused]] ssize_t written = ::write(ends[1], answer.data(), 1);
      if (named) answer = transportsSeenBy(rank, id);
      written = ::write(ends[1], answer.data(), answer.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    children[static_cast<std::size_t>(rank)] = child;
    answers[static_cast<std::size_t>(rank)] = ends[0];
    char first = 'n';
    EXPECT_EQ(::read(ends[0], &first, 1), 1);
    permitted = permitted && first == 'y';
  }
  if (permitted) all[0] = transportsSeenBy(0, id);
  for (std::size_t rank = 1; rank < kRanks; ++rank) {
    char text[512];
    if (!permitted) ::kill(children[rank], SIGKILL);
    for (ssize_t got = 0; permitted && (got = ::read(answers[rank], text, sizeof text)) > 0;)
      all[rank].append(text, static_cast<std::size_t>(got));
    ::close(answers[rank]);
    ::waitpid(children[rank], nullptr, 0);
  }
  return permitted ? all : std::vector<std::string>{};
}

class TlsScope : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("GOSS_TLS", files_.sharedKey().c_str(), 1); }
  void TearDown() override {
    ::unsetenv("GOSS_TLS");
    ::unsetenv("GOSS_TLS_SCOPE");
  }
  CredentialFiles files_;
};

using Rows = std::vector<std::string>;

TEST_F(TlsScope, AllSecuresTheLinksOfAHostToo) {
  EXPECT_EQ(transportsByRank(false), (Rows{"- tls tls tls", "tls - tls tls", "tls tls - tls", "tls tls tls -"}));
}

TEST_F(TlsScope, HostsLeavesTheLinksOfAHostToSharedMemory) {
  ::setenv("GOSS_TLS_SCOPE", "hosts", 1);
  EXPECT_EQ(transportsByRank(false), (Rows{"- shm shm shm", "shm - shm shm", "shm shm - shm", "shm shm shm -"}));
  const Rows two_hosts = transportsByRank(true);
  if (!two_hosts.empty()) {
    EXPECT_EQ(two_hosts, (Rows{"- shm tls tls", "shm - tls tls", "tls tls - shm", "tls tls shm -"}));
  }
}

} // namespace
} // namespace goss::test
#endif
