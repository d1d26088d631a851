// Programs that MPI calls legal: no message waits for the receive of another one, over any transport.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "tests/support/environment.h"
#include "tests/support/quick.h"
#include "tests/support/thread_ranks.h"
#ifdef GOSS_TEST_TLS
#include "tests/support/credential_files.h"
#endif

namespace goss::test {
namespace {

/// Far less than what these programs send without a receive.
constexpr const char* kRoom = "64K";
constexpr std::size_t kMany = 300;
constexpr std::size_t kShort = 16 * 1024;
constexpr std::size_t kHuge = std::size_t{24} << 20;

class Flow : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    environment_.set("GOSS_UNEXPECTED_BYTES", kRoom);
    setup_.transport = GetParam();
    if (setup_.transport == "ring") {
      setup_.transport = "shm";
      environment_.set("GOSS_SHM_PATH", "ring");
    }
#ifdef GOSS_TEST_TLS
    if (setup_.transport == "tls") environment_.set("GOSS_TLS", files_.sharedKey());
#endif
  }
  void run(const std::function<void(goss_comm_t comm, int rank)>& body) { runRanks(setup_, body); }

 private:
#ifdef GOSS_TEST_TLS
  CredentialFiles files_;
#endif
  ScopedEnvironment environment_;
  RanksSetup setup_;
};

using Bytes = std::vector<unsigned char>;
Bytes pattern(std::size_t size, std::size_t seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed);
  return bytes;
}

void ok(goss_status status) { ASSERT_EQ(status, GOSS_SUCCESS) << goss_last_error(); }

void receives(goss_comm_t comm, int tag, const Bytes& expected) {
  Bytes room(expected.size());
  ok(goss_recv(comm, room.data(), room.size(), GOSS_UINT8, 0, tag, nullptr, nullptr));
  EXPECT_TRUE(room == expected) << "tag " << tag;
}

void receives(goss_comm_t comm, int tag, std::size_t size, std::size_t seed) {
  receives(comm, tag, pattern(size, seed));
}

TEST_P(Flow, AHugeMessageABarrierAndThenItsReceive) {
  run([](goss_comm_t comm, int rank) {
    const Bytes bytes = pattern(kHuge, 1);
    goss_request_t request = nullptr;
    if (rank == 0) ok(goss_send(comm, bytes.data(), kHuge, GOSS_UINT8, 1, 5, nullptr, &request));
    ok(goss_barrier(comm, nullptr, nullptr));
    if (rank == 1) receives(comm, 5, kHuge, 1);
    if (rank == 0) ok(goss_wait(&request, nullptr));
  });
}

TEST_P(Flow, ManyMessagesABarrierAndThenTheirReceives) {
  run([](goss_comm_t comm, int rank) {
    std::vector<Bytes> bytes;
    std::vector<goss_request_t> requests(kMany, nullptr);
    for (std::size_t i = 0; rank == 0 && i < kMany; ++i) {
      bytes.push_back(pattern(kShort, i));
      ok(goss_send(comm, bytes[i].data(), kShort, GOSS_UINT8, 1, 5, nullptr, &requests[i]));
    }
    ok(goss_barrier(comm, nullptr, nullptr));
    for (std::size_t i = 0; i < kMany; ++i) {
      if (rank == 0) ok(goss_wait(&requests[i], nullptr));
      if (rank == 1) receives(comm, 5, kShort, i);
    }
  });
}

TEST_P(Flow, ABroadcastOnOneCommunicatorAndABarrierOnAnother) {
  run([](goss_comm_t comm, int rank) {
    goss_comm_t other = nullptr;
    ok(goss_comm_split(comm, 0, rank, &other));
    const Bytes bytes = pattern(kHuge, 3);
    Bytes room(kHuge);
    goss_request_t request = nullptr;
    if (rank == 0) ok(goss_broadcast(comm, bytes.data(), room.data(), kHuge, GOSS_UINT8, 0, nullptr, &request));
    ok(goss_barrier(other, nullptr, nullptr));
    if (rank == 1) ok(goss_broadcast(comm, room.data(), room.data(), kHuge, GOSS_UINT8, 0, nullptr, &request));
    ok(goss_wait(&request, nullptr));
    EXPECT_TRUE(room == bytes);
    ok(goss_comm_destroy(other));
  });
}

TEST_P(Flow, TheSecondTagBeforeTheFirst) {
  run([](goss_comm_t comm, int rank) {
    const Bytes first = pattern(kHuge, 1);
    const Bytes second = pattern(kHuge, 2);
    goss_request_t requests[2] = {};
    if (rank == 0) {
      ok(goss_send(comm, first.data(), kHuge, GOSS_UINT8, 1, 1, nullptr, &requests[0]));
      ok(goss_send(comm, second.data(), kHuge, GOSS_UINT8, 1, 2, nullptr, &requests[1]));
      for (goss_request_t& request : requests)
        ok(goss_wait(&request, nullptr));
    } else {
      receives(comm, 2, kHuge, 2);
      receives(comm, 1, kHuge, 1);
    }
  });
}

TEST_P(Flow, TheLastOfManyTagsFirst) {
  run([](goss_comm_t comm, int rank) {
    std::vector<Bytes> bytes;
    std::vector<goss_request_t> requests(kMany, nullptr);
    for (std::size_t i = 0; i < kMany; ++i) {
      bytes.push_back(pattern(i % 3 == 0 ? 0 : kShort, i));
      const int tag = static_cast<int>(i);
      if (rank == 0) ok(goss_send(comm, bytes[i].data(), bytes[i].size(), GOSS_UINT8, 1, tag, nullptr, &requests[i]));
    }
    for (std::size_t i = kMany; i-- > 0;) {
      if (rank == 1) receives(comm, static_cast<int>(i), bytes[i].size(), i);
    }
    for (std::size_t i = 0; rank == 0 && i < kMany; ++i)
      ok(goss_wait(&requests[i], nullptr));
  });
}

TEST_P(Flow, AnAbortPassesAHugeMessage) {
  run([](goss_comm_t comm, int rank) {
    const Bytes bytes = pattern(kHuge, 1);
    Bytes room(16);
    goss_request_t request = nullptr;
    if (rank == 0) {
      ok(goss_send(comm, bytes.data(), kHuge, GOSS_UINT8, 1, 5, nullptr, &request));
      ok(goss_comm_abort(comm, "enough"));
      EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_ABORTED);
    } else {
      EXPECT_EQ(goss_recv(comm, room.data(), 16, GOSS_UINT8, 0, 6, nullptr, nullptr), GOSS_ERR_ABORTED);
    }
  });
}

TEST_P(Flow, WhatHasNoReceiveCostsTheReceiverLittle) {
  rusage before{};
  rusage after{};
  run([&](goss_comm_t comm, int rank) {
    const std::size_t messages = fullOr<std::size_t>(kMany, 100);
    const Bytes bytes = pattern(1 << 20, 1);
    std::vector<goss_request_t> requests(messages, nullptr);
    ::getrusage(RUSAGE_SELF, &before);
    for (std::size_t i = 0; rank == 0 && i < messages; ++i) // All out of one buffer.
      ok(goss_send(comm, bytes.data(), bytes.size(), GOSS_UINT8, 1, 5, nullptr, &requests[i]));
    ok(goss_barrier(comm, nullptr, nullptr));
    ::getrusage(RUSAGE_SELF, &after);
    for (std::size_t i = 0; i < messages && !HasFatalFailure(); ++i) {
      if (rank == 0) ok(goss_wait(&requests[i], nullptr));
      if (rank == 1) receives(comm, 5, bytes);
    }
  });
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB, of 100 MiB and more that were sent";
}

/// "ring": through shared memory alone, where no memory of the peer is read in place.
const char* const kTransports[] = {
    "tcp", "shm", "ring", "loopback", "sim",
#ifdef GOSS_TEST_TLS
    "tls",
#endif
#ifdef GOSS_HAVE_UCX
    "ucx",
#endif
};
INSTANTIATE_TEST_SUITE_P(, Flow, ::testing::ValuesIn(kTransports),
                         [](const auto& one) { return std::string(one.param); });

} // namespace
} // namespace goss::test
