// What callers learn without waiting: why a communicator or a request has failed, which ranks have not called a
// barrier, and a descriptor that signals completions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;
using namespace std::chrono_literals;

constexpr int kLongMs = 60000; ///< Only a failing test takes so long.

struct Failure {
  goss_status status = GOSS_ERR_INTERNAL;
  const char* text = nullptr;
};

Failure failureOf(goss_comm_t comm) {
  Failure failure;
  EXPECT_OK(goss_comm_error(comm, &failure.status, &failure.text));
  return failure;
}

Failure failureOf(goss_request_t request) {
  Failure failure;
  EXPECT_OK(goss_request_error(request, &failure.status, &failure.text));
  return failure;
}

/// Rank 0 aborts when rank 1, which no call of its own may fail, has come here.
void abortWhenBothAreReady(goss_comm_t comm, int rank, const char* reason) {
  std::int32_t ready = 0;
  if (rank == 1) {
    EXPECT_OK(goss_send(comm, &ready, 1, GOSS_INT32, 0, 99, nullptr, nullptr));
  } else {
    EXPECT_OK(goss_recv(comm, &ready, 1, GOSS_INT32, 1, 99, nullptr, nullptr));
    EXPECT_OK(goss_comm_abort(comm, reason));
  }
}

TEST(Errors, OfACommunicatorAreToldToThreadsThatHaveCalledNothing) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    EXPECT_EQ(failureOf(comm).status, GOSS_SUCCESS);
    EXPECT_THAT(failureOf(comm).text, StrEq(""));
    abortWhenBothAreReady(comm, rank, "out of tea");
    std::thread([&] {
      while (failureOf(comm).status == GOSS_SUCCESS)
        std::this_thread::sleep_for(1ms);
      const Failure failure = failureOf(comm);
      EXPECT_EQ(failure.status, GOSS_ERR_ABORTED);
      EXPECT_THAT(failure.text, HasSubstr("rank 0 aborted the communicator: out of tea"));
      EXPECT_STREQ(goss_last_error(), ""); // This thread has had no error.
      EXPECT_OK(goss_comm_error(comm, nullptr, nullptr));
    }).join();
    const Failure before = failureOf(comm);
    EXPECT_OK(goss_comm_abort(comm, "again"));
    EXPECT_EQ(failureOf(comm).text, before.text) << "the first failure stays, and its text where it is";
  });
  Failure untouched;
  EXPECT_EQ(goss_comm_error(nullptr, &untouched.status, &untouched.text), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(untouched.text, nullptr);
}

TEST(Errors, OfARequestAreToldUntilItIsWaitedFor) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    EXPECT_EQ(failureOf(goss_request_t{nullptr}).status, GOSS_SUCCESS);
    if (rank == 0) {
      const goss_options options = withTimeout(200);
      std::int32_t value = 0;
      goss_request_t request = nullptr;
      ASSERT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1, 5, &options, &request));
      EXPECT_EQ(failureOf(request).status, GOSS_SUCCESS) << "it is pending";
      while (failureOf(request).status == GOSS_SUCCESS)
        std::this_thread::sleep_for(1ms);
      EXPECT_EQ(failureOf(request).status, GOSS_ERR_TIMEOUT);
      const std::string text = failureOf(request).text;
      EXPECT_THAT(text, HasSubstr("rank 1, tag 5"));
      EXPECT_OK(goss_request_error(request, nullptr, nullptr));
      EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_TIMEOUT);
      EXPECT_EQ(request, nullptr);
      EXPECT_EQ(text, goss_last_error());
      EXPECT_EQ(failureOf(comm).status, GOSS_SUCCESS) << "it failed alone";
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Errors, OfAPersistentRequestAreToldUntilItStartsAgain) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_options options = withTimeout(100);
    options.flags = GOSS_PERSISTENT;
    std::int32_t value = 0;
    goss_request_t request = nullptr;
    ASSERT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1 - rank, 5, &options, &request));
    ASSERT_OK(goss_start(request));
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_TIMEOUT);
    EXPECT_EQ(failureOf(request).status, GOSS_ERR_TIMEOUT);
    EXPECT_THAT(failureOf(request).text, HasSubstr("tag 5"));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    goss_request_t sent = nullptr;
    EXPECT_OK(goss_send(comm, &rank, 1, GOSS_INT32, 1 - rank, 5, nullptr, &sent));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // The message is there, or nearly.
    goss_status status = GOSS_ERR_TIMEOUT;
    for (int i = 0; i < 50 && status == GOSS_ERR_TIMEOUT; ++i) {
      ASSERT_OK(goss_start(request));
      status = goss_wait(&request, nullptr);
    }
    EXPECT_EQ(status, GOSS_SUCCESS);
    EXPECT_EQ(failureOf(request).status, GOSS_SUCCESS);
    EXPECT_OK(goss_wait(&sent, nullptr));
    EXPECT_OK(goss_request_free(&request));
  });
}

class OverTransports : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, OverTransports, ::testing::Values("loopback", "shm", "tcp", "sim"),
                         [](const auto& test) { return std::string(test.param); });

/// The errors of ranks 0, 2 and 4, which call a barrier that ranks 1 and 3 do not.
std::array<std::string, 3> errorsOfABarrierThatTwoMiss(const std::string& transport, const char* algorithm) {
  std::array<std::string, 3> texts;
  runRanks(over(transport, 5), [&](goss_comm_t comm, int rank) {
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 1 || rank == 3) return;
    goss_options options = withTimeout(1000);
    options.algorithm = algorithm;
    EXPECT_EQ(goss_barrier(comm, &options, nullptr), GOSS_ERR_TIMEOUT);
    texts[static_cast<std::size_t>(rank / 2)] = goss_last_error();
  });
  return texts;
}

TEST_P(OverTransports, ABarrierNamesAllThatHaveNotCalledIt) {
  const auto isSilent = [](const std::string& text) { return text.find("no answer") != std::string::npos; };
  for (const char* algorithm : {static_cast<const char*>(nullptr), "flat", "dissemination"}) {
    std::array<std::string, 3> texts;
    // A rank that gets no processor for long is called silent, which this test is not about.
    for (int i = 0; i < 10 && (i == 0 || std::any_of(texts.begin(), texts.end(), isSilent)); ++i)
      texts = errorsOfABarrierThatTwoMiss(GetParam(), algorithm);
    for (const std::string& text : texts) {
      EXPECT_THAT(text, HasSubstr("barrier (operation 1) did not complete within 1000 ms"));
      EXPECT_THAT(text, HasSubstr(": ranks 1, 3 have not called it yet"));
    }
  }
}

// ---- The descriptor ----

int eventFd(goss_comm_t comm) {
  int fd = -1;
  EXPECT_OK(goss_comm_event_fd(comm, &fd));
  return fd;
}

bool isReadable(int fd, int timeout_ms = 0) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, timeout_ms) == 1 && (polled.revents & POLLIN) != 0;
}

/// As an event loop does it: never waits in the library.
goss_status collect(int fd, goss_request_t& request) {
  for (int done = 0;;) {
    if (!isReadable(fd, kLongMs)) {
      ADD_FAILURE() << "nothing completes";
      return GOSS_ERR_TIMEOUT;
    }
    const goss_status status = goss_test(&request, &done, nullptr);
    if (done != 0) return status;
    std::this_thread::yield(); // Another request of the communicator is complete.
  }
}

TEST_P(OverTransports, TheDescriptorIsReadableFromACompletionUntilItIsCollected) {
  runRanks(over(GetParam()), [](goss_comm_t comm, int rank) {
    const int fd = eventFd(comm);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(eventFd(comm), fd);
    std::array<std::int32_t, 2> values{};
    std::array<goss_request_t, 2> requests{};
    if (rank == 0) {
      for (int i = 0; i < 2; ++i)
        EXPECT_OK(goss_recv(comm, &values[static_cast<std::size_t>(i)], 1, GOSS_INT32, 1, i, nullptr,
                            &requests[static_cast<std::size_t>(i)]));
      EXPECT_FALSE(isReadable(fd));
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // Blocking calls do not count.
    if (rank == 1) {
      for (int i = 0; i < 2; ++i)
        EXPECT_OK(goss_send(comm, &i, 1, GOSS_INT32, 0, i, nullptr, nullptr));
      EXPECT_FALSE(isReadable(fd));
      return;
    }
    EXPECT_TRUE(isReadable(fd, kLongMs));
    EXPECT_EQ(collect(fd, requests[1]), GOSS_SUCCESS);
    EXPECT_TRUE(isReadable(fd, kLongMs)) << "the other one is complete, or will be";
    EXPECT_OK(goss_wait(&requests[0], nullptr));
    EXPECT_FALSE(isReadable(fd));
    EXPECT_EQ(values, (std::array<std::int32_t, 2>{0, 1}));
  });
}

/// No thread waits in the library on either rank, so that all progress is the library's own.
TEST_P(OverTransports, OperationsOfEveryKindCompleteWhileCallersOnlyPoll) {
  runRanks(over(GetParam()), [](goss_comm_t comm, int rank) {
    const int fd = eventFd(comm);
    for (std::int32_t round = 0; round < 30; ++round) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{200000}}) {
        std::vector<std::int32_t> mine(count, round + rank), sum(count), theirs(count);
        goss_request_t reduce = nullptr, send = nullptr, receive = nullptr;
        ASSERT_OK(goss_recv(comm, theirs.data(), count, GOSS_INT32, 1 - rank, 1, nullptr, &receive));
        ASSERT_OK(goss_all_reduce(comm, mine.data(), sum.data(), count, GOSS_INT32, GOSS_SUM, nullptr, &reduce));
        ASSERT_OK(goss_send(comm, mine.data(), count, GOSS_INT32, 1 - rank, 1, nullptr, &send));
        EXPECT_EQ(collect(fd, send), GOSS_SUCCESS);
        EXPECT_EQ(collect(fd, reduce), GOSS_SUCCESS);
        EXPECT_EQ(collect(fd, receive), GOSS_SUCCESS);
        EXPECT_FALSE(isReadable(fd));
        ASSERT_EQ(sum.back(), 2 * round + 1);
        ASSERT_EQ(theirs.back(), round + 1 - rank);
      }
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(EventFd, TellsOfPersistentRequestsEachTimeAndOfThoseThatAreWaitedForTogether) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    const int fd = eventFd(comm);
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    std::int32_t in = 0, out = 0, value = 0;
    goss_request_t reduce = nullptr;
    ASSERT_OK(goss_all_reduce(comm, &in, &out, 1, GOSS_INT32, GOSS_SUM, &options, &reduce));
    for (std::int32_t round = 0; round < 20; ++round) {
      in = round;
      ASSERT_OK(goss_start(reduce));
      EXPECT_EQ(collect(fd, reduce), GOSS_SUCCESS);
      EXPECT_EQ(out, 2 * round);
      std::array<goss_request_t, 2> both{};
      ASSERT_OK(goss_send(comm, &round, 1, GOSS_INT32, 1 - rank, 3, nullptr, &both[0]));
      ASSERT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1 - rank, 3, nullptr, &both[1]));
      EXPECT_TRUE(isReadable(fd, kLongMs));
      ASSERT_OK(goss_wait_all(both.data(), both.size()));
      EXPECT_FALSE(isReadable(fd));
      EXPECT_EQ(value, round);
    }
    EXPECT_OK(goss_request_free(&reduce));
    EXPECT_FALSE(isReadable(fd));
  });
}

TEST(EventFd, EachCompletionIsAnEdge) {
  runRanks(over("tcp"), [](goss_comm_t comm, int rank) {
    const int fd = eventFd(comm);
    if (rank == 1) {
      for (std::int32_t i = 0; i < 2; ++i) {
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
        EXPECT_OK(goss_send(comm, &i, 1, GOSS_INT32, 0, i, nullptr, nullptr));
      }
      return;
    }
    const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    ASSERT_EQ(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
    std::array<std::int32_t, 2> values{};
    std::array<goss_request_t, 2> requests{};
    for (std::size_t i = 0; i < 2; ++i)
      ASSERT_OK(goss_recv(comm, &values[i], 1, GOSS_INT32, 1, static_cast<int>(i), nullptr, &requests[i]));
    for (int i = 0; i < 2; ++i) { // The first one is not collected meanwhile.
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      EXPECT_EQ(::epoll_wait(epoll, &event, 1, kLongMs), 1);
    }
    EXPECT_OK(goss_wait_all(requests.data(), requests.size()));
    ::close(epoll);
  });
}

TEST(EventFd, ServesSeveralThreads) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    const int fd = eventFd(comm);
    std::vector<std::thread> threads;
    for (std::int32_t tag = 0; tag < 4; ++tag) {
      threads.emplace_back([=] {
        for (std::int32_t round = 0; round < 50; ++round) {
          std::int32_t value = -1;
          const std::int32_t mine = tag * 1000 + round;
          goss_request_t receive = nullptr, send = nullptr;
          EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1 - rank, tag, nullptr, &receive));
          EXPECT_OK(goss_send(comm, &mine, 1, GOSS_INT32, 1 - rank, tag, nullptr, &send));
          EXPECT_EQ(collect(fd, send), GOSS_SUCCESS);
          EXPECT_EQ(collect(fd, receive), GOSS_SUCCESS);
          EXPECT_EQ(value, mine);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    EXPECT_FALSE(isReadable(fd));
  });
}

TEST(EventFd, IsReadableForGoodOnceTheCommunicatorHasFailed) {
  runRanks(over("tcp"), [](goss_comm_t comm, int rank) {
    const int fd = eventFd(comm);
    std::int32_t value = 0;
    goss_request_t request = nullptr;
    EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1 - rank, 0, nullptr, &request));
    abortWhenBothAreReady(comm, rank, "enough");
    EXPECT_EQ(collect(fd, request), GOSS_ERR_ABORTED);
    EXPECT_TRUE(isReadable(fd));
    EXPECT_EQ(failureOf(comm).status, GOSS_ERR_ABORTED);
    EXPECT_EQ(eventFd(comm), fd) << "also asked for later";
  });
}

TEST(EventFd, AskedForOnAFailedCommunicatorIsReadable) {
  runRanks(2, [](goss_comm_t comm, int) {
    EXPECT_OK(goss_comm_abort(comm, "enough"));
    EXPECT_TRUE(isReadable(eventFd(comm)));
  });
}

TEST(EventFd, ThatIsPolledWakesItsPollerWhenTheCommunicatorIsDestroyed) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    goss_comm_t other = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &other));
    const int fd = eventFd(other);
    std::int32_t value = 0;
    goss_request_t request = nullptr;
    EXPECT_OK(goss_recv(other, &value, 1, GOSS_INT32, 1 - rank, 0, nullptr, &request));
    std::atomic<bool> polls{false};
    std::thread poller([&] {
      polls = true;
      pollfd polled{fd, POLLIN, 0};
      EXPECT_EQ(::poll(&polled, 1, kLongMs), 1);
    });
    while (!polls)
      std::this_thread::yield();
    std::this_thread::sleep_for(20ms); // Mostly it is inside poll() by now; else it finds the descriptor closed.
    EXPECT_OK(goss_comm_destroy(other));
    poller.join();
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(EventFd, OfALoneRankTellsOfItsOperationsToo) {
  runRanks(over("", 1), [](goss_comm_t comm, int) {
    const int fd = eventFd(comm);
    std::int32_t in = 7, out = 0, value = 0;
    goss_request_t reduce = nullptr, send = nullptr, receive = nullptr;
    EXPECT_OK(goss_all_reduce(comm, &in, &out, 1, GOSS_INT32, GOSS_SUM, nullptr, &reduce));
    EXPECT_EQ(collect(fd, reduce), GOSS_SUCCESS);
    EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 0, 0, nullptr, &receive));
    EXPECT_FALSE(isReadable(fd));
    EXPECT_OK(goss_send(comm, &in, 1, GOSS_INT32, 0, 0, nullptr, &send));
    EXPECT_EQ(collect(fd, receive), GOSS_SUCCESS);
    EXPECT_EQ(collect(fd, send), GOSS_SUCCESS);
    EXPECT_FALSE(isReadable(fd));
    EXPECT_EQ(value + out, 14);
  });
}

TEST(EventFd, RefusesNull) {
  int fd = -1;
  EXPECT_EQ(goss_comm_event_fd(nullptr, &fd), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(fd, -1);
  runRanks(1, [](goss_comm_t comm, int) { EXPECT_EQ(goss_comm_event_fd(comm, nullptr), GOSS_ERR_INVALID_ARGUMENT); });
}

} // namespace
} // namespace goss::test
