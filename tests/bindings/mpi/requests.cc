// Requests of collectives among those of messages, in every function that waits; collectives while messages are under
// way; threads. For two ranks or more.
#include "tests/bindings/mpi/support.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace {

constexpr int kRequests = 6;
constexpr int kElements = 5000;

/// Two messages around the ring, two collectives, and one persistent one of each.
class Mixture {
 public:
  Mixture() {
    const int rank = rankIn(MPI_COMM_WORLD);
    ranks_ = sizeOf(MPI_COMM_WORLD);
    last_ = (rank + ranks_ - 1) % ranks_;
    next_ = (rank + 1) % ranks_;
    OK(MPI_Recv_init(received_.data(), kElements, MPI_INT, last_, 3, MPI_COMM_WORLD, &message_));
    OK(MPIX_Allreduce_init(sent_.data(), sums_.data(), kElements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &collective_));
    sent_.assign(kElements, rank + 1);
  }

  std::array<MPI_Request, kRequests> start() {
    received_.assign(kElements, 0);
    sums_.assign(kElements, 0);
    most_.assign(kElements, 0);
    root_.assign(kElements, rankIn(MPI_COMM_WORLD) == 0 ? 77 : 0);
    std::array<MPI_Request, kRequests> all{};
    all[0] = message_;
    all[1] = collective_;
    OK(MPI_Startall(2, all.data()));
    OK(MPI_Isend(sent_.data(), kElements, MPI_INT, next_, 3, MPI_COMM_WORLD, &all[2]));
    OK(MPI_Iallreduce(sent_.data(), most_.data(), kElements, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &all[3]));
    all[4] = MPI_REQUEST_NULL;
    OK(MPI_Ibcast(root_.data(), kElements, MPI_INT, 0, MPI_COMM_WORLD, &all[5]));
    return all;
  }

  /// Persistent handles stay, the others are gone; and everything has come.
  void finish(const std::array<MPI_Request, kRequests>& all) {
    CHECK(all[0] == message_ && all[1] == collective_);
    for (std::size_t i = 2; i < all.size(); ++i)
      CHECK(all[i] == MPI_REQUEST_NULL);
    for (std::size_t i : {std::size_t{0}, std::size_t{kElements - 1}})
      CHECK(received_[i] == last_ + 1 && sums_[i] == ranks_ * (ranks_ + 1) / 2 && most_[i] == ranks_ && root_[i] == 77);
  }

  void free() {
    OK(MPI_Request_free(&message_));
    OK(MPI_Request_free(&collective_));
    CHECK(message_ == MPI_REQUEST_NULL && collective_ == MPI_REQUEST_NULL);
  }

 private:
  int ranks_ = 0;
  int last_ = 0;
  int next_ = 0;
  std::vector<int> sent_ = std::vector<int>(kElements);
  std::vector<int> received_ = sent_;
  std::vector<int> sums_ = sent_;
  std::vector<int> most_ = sent_;
  std::vector<int> root_ = sent_;
  MPI_Request message_ = MPI_REQUEST_NULL;
  MPI_Request collective_ = MPI_REQUEST_NULL;
};

void oneByOne(std::array<MPI_Request, kRequests>& all) {
  for (MPI_Request& each : all) {
    if (&each == all.data() || &each == &all[3]) {
      int flag = 0;
      while (flag == 0)
        OK(MPI_Request_get_status(each, &flag, MPI_STATUS_IGNORE));
      OK(MPI_Test(&each, &flag, MPI_STATUS_IGNORE));
      CHECK(flag != 0);
    } else {
      OK(MPI_Wait(&each, MPI_STATUS_IGNORE));
    }
  }
}

/// Until MPI says that none is left; each of the five is told once.
void anyOf(std::array<MPI_Request, kRequests>& all, bool waits) {
  std::array<int, kRequests> told{};
  for (;;) {
    int index = MPI_UNDEFINED;
    int flag = 1;
    MPI_Status status;
    OK(waits ? MPI_Waitany(kRequests, all.data(), &index, &status)
             : MPI_Testany(kRequests, all.data(), &index, &flag, &status));
    if (flag == 0) continue;
    if (index == MPI_UNDEFINED) break;
    ++told[static_cast<std::size_t>(index)];
    CHECK(index != 0 || status.MPI_TAG == 3);
  }
  for (int i = 0; i < kRequests; ++i)
    CHECK(told[static_cast<std::size_t>(i)] == (i == 4 ? 0 : 1));
}

void someOf(std::array<MPI_Request, kRequests>& all, bool waits) {
  std::array<int, kRequests> told{};
  for (;;) {
    int done = 0;
    std::array<int, kRequests> indices{};
    std::array<MPI_Status, kRequests> statuses{};
    OK(waits ? MPI_Waitsome(kRequests, all.data(), &done, indices.data(), statuses.data())
             : MPI_Testsome(kRequests, all.data(), &done, indices.data(), statuses.data()));
    if (done == MPI_UNDEFINED) break;
    for (int i = 0; i < done; ++i)
      ++told[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])];
  }
  for (int i = 0; i < kRequests; ++i)
    CHECK(told[static_cast<std::size_t>(i)] == (i == 4 ? 0 : 1));
}

void mixtures() {
  Mixture mixture;
  for (int round = 0; round < 3; ++round)
    for (int way = 0; way < 7; ++way) {
      std::array<MPI_Request, kRequests> all = mixture.start();
      int flag = 0;
      if (way == 0) OK(MPI_Waitall(kRequests, all.data(), MPI_STATUSES_IGNORE));
      while (way == 1 && flag == 0)
        OK(MPI_Testall(kRequests, all.data(), &flag, MPI_STATUSES_IGNORE));
      if (way == 2) oneByOne(all);
      if (way == 3 || way == 4) anyOf(all, way == 3);
      if (way == 5 || way == 6) someOf(all, way == 5);
      mixture.finish(all);
    }
  mixture.free();
}

/// A rank in a collective still sends its messages, without which others do not come.
void messagesMeanwhile() {
  const int rank = rankIn(MPI_COMM_WORLD);
  std::vector<char> bytes(8 << 20, static_cast<char>(rank));
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) OK(MPI_Isend(bytes.data(), 8 << 20, MPI_CHAR, 1, 9, MPI_COMM_WORLD, &request));
  if (rank == 1) OK(MPI_Recv(bytes.data(), 8 << 20, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(rank > 1 || bytes.back() == 0);
}

/// Persistent operations begin in another order on each rank.
void anyOrder() {
  const int mine = rankIn(MPI_COMM_WORLD);
  const int ranks = sizeOf(MPI_COMM_WORLD);
  std::array<int, 2> result{};
  std::array<MPI_Request, 2> both{};
  OK(MPIX_Allreduce_init(&mine, &result[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, both.data()));
  OK(MPIX_Allreduce_init(&mine, &result[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]));
  const std::size_t first = mine % 2 == 0 ? 0 : 1;
  OK(MPI_Start(&both[first]));
  OK(MPI_Start(&both[1 - first]));
  OK(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE));
  CHECK(result[0] == ranks * (ranks - 1) / 2 && result[1] == ranks - 1);
  OK(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE)); // inactive ones are no matter
  for (MPI_Request& each : both)
    OK(MPI_Request_free(&each));
}

/// A persistent operation is freed on rank 0 before the others start theirs, and comes to its end. Open MPI refuses it
/// for its own.
void freedMeanwhile() {
  const int mine = rankIn(MPI_COMM_WORLD);
  const int ranks = sizeOf(MPI_COMM_WORLD);
  int sum = 0;
  int flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPIX_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  if (mine > 0) OK(MPI_Recv(nullptr, 0, MPI_INT, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Start(&request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  for (int other = 1; mine == 0 && other < ranks; ++other)
    OK(MPI_Send(nullptr, 0, MPI_INT, other, 11, MPI_COMM_WORLD));
  while (std::atomic_ref(sum).load() != ranks * (ranks - 1) / 2)
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/// Each thread has a communicator and both kinds of call.
void threads() {
  constexpr int kThreads = 3;
  std::array<MPI_Comm, kThreads> comms{};
  for (MPI_Comm& each : comms)
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));
  std::vector<std::thread> all;
  for (MPI_Comm comm : comms)
    all.emplace_back([comm] {
      const int ranks = sizeOf(comm);
      for (int i = 0; i < 40; ++i) {
        int sum = 0;
        std::array<int, 2> more{i, i};
        MPI_Request requests[2];
        OK(MPI_Iallreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]));
        OK(MPI_Ibcast(more.data(), 2, MPI_INT, i % ranks, comm, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(sum == i * ranks && more[1] == i);
        OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, comm));
        CHECK(sum == i * ranks);
      }
    });
  for (std::thread& each : all)
    each.join();
  for (MPI_Comm& each : comms)
    OK(MPI_Comm_free(&each));
}

} // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  CHECK(level == MPI_THREAD_MULTIPLE);
  mixtures();
  messagesMeanwhile();
  anyOrder();
  if (argc > 1) freedMeanwhile();
  threads();
  OK(MPI_Finalize());
  return 0;
}
