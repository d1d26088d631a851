// Programs that MPI's rules allow, over the transport of the environment, with little room for messages that wait: what
// is sent before its receive holds up no barrier, no other communicator and no other tag.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "gossamer/gossamer.h"

namespace {

constexpr std::size_t kHuge = 16u << 20;
constexpr std::size_t kLong = 1u << 20;

struct Ranks {
  goss_comm_t comm = nullptr;
  int32_t rank = 0;
  int32_t size = 0;
  [[nodiscard]] int32_t next() const { return (rank + 1) % size; }
  [[nodiscard]] int32_t previous() const { return (rank + size - 1) % size; }
};

using Bytes = std::vector<std::uint8_t>;

bool check(goss_status status, const char* what) {
  if (status == GOSS_SUCCESS) return true;
  std::fprintf(stderr, "error: %s: %s\n", what, goss_last_error());
  return false;
}

Bytes pattern(std::size_t size, int seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + static_cast<std::size_t>(seed));
  return bytes;
}

bool isPattern(const Bytes& bytes, int seed) {
  if (bytes == pattern(bytes.size(), seed)) return true;
  std::fprintf(stderr, "error: wrong bytes\n");
  return false;
}

bool barrier(goss_comm_t comm) { return check(goss_barrier(comm, nullptr, nullptr), "barrier"); }

bool receive(const Ranks& ranks, std::size_t size, int tag, int seed) {
  Bytes bytes(size);
  return check(goss_recv(ranks.comm, bytes.data(), size, GOSS_UINT8, ranks.previous(), tag, nullptr, nullptr),
               "receive") &&
         isPattern(bytes, seed);
}

/// `count` sends to the next rank, a barrier, and then the receives.
bool sendThenMeetThenReceive(const Ranks& ranks, std::size_t size, int count) {
  const Bytes bytes = pattern(size, ranks.rank);
  std::vector<goss_request_t> requests(static_cast<std::size_t>(count), nullptr);
  for (goss_request_t& request : requests)
    if (!check(goss_send(ranks.comm, bytes.data(), size, GOSS_UINT8, ranks.next(), 1, nullptr, &request), "send"))
      return false;
  if (!barrier(ranks.comm)) return false;
  for (int i = 0; i < count; ++i)
    if (!receive(ranks, size, 1, ranks.previous())) return false;
  return check(goss_wait_all(requests.data(), requests.size()), "wait");
}

/// Rank 0 begins a broadcast on one communicator and meets the others on another before they take part.
bool meetBeforeABroadcast(const Ranks& ranks, goss_comm_t other) {
  Bytes bytes = ranks.rank == 0 ? pattern(kHuge, 5) : Bytes(kHuge);
  const auto broadcast = [&](goss_request_t* request) {
    return check(goss_broadcast(ranks.comm, bytes.data(), bytes.data(), kHuge, GOSS_UINT8, 0, nullptr, request),
                 "broadcast");
  };
  goss_request_t request = nullptr;
  if (ranks.rank == 0 && !broadcast(&request)) return false;
  if (!barrier(other)) return false;
  if (ranks.rank != 0 && !broadcast(&request)) return false;
  return check(goss_wait(&request, nullptr), "wait") && isPattern(bytes, 5);
}

/// Sends with tag 1 and then tag 2, received the other way round.
bool receiveInReverse(const Ranks& ranks) {
  const Bytes bytes = pattern(kHuge, ranks.rank);
  std::vector<goss_request_t> requests(2, nullptr);
  for (int tag : {1, 2})
    if (!check(goss_send(ranks.comm, bytes.data(), kHuge, GOSS_UINT8, ranks.next(), tag, nullptr,
                         &requests[static_cast<std::size_t>(tag - 1)]),
               "send"))
      return false;
  return receive(ranks, kHuge, 2, ranks.previous()) && receive(ranks, kHuge, 1, ranks.previous()) &&
         check(goss_wait_all(requests.data(), requests.size()), "wait");
}

} // namespace

int main() {
  Ranks ranks;
  goss_comm_t other = nullptr;
  if (!check(goss_comm_create(nullptr, &ranks.comm), "create") ||
      !check(goss_comm_rank(ranks.comm, &ranks.rank), "rank") ||
      !check(goss_comm_size(ranks.comm, &ranks.size), "size") || !check(goss_comm_dup(ranks.comm, &other), "dup"))
    return 1;
  const bool right = sendThenMeetThenReceive(ranks, kHuge, 1) && sendThenMeetThenReceive(ranks, kLong, 30) &&
                     sendThenMeetThenReceive(ranks, 1000, 3000) && meetBeforeABroadcast(ranks, other) &&
                     receiveInReverse(ranks);
  if (!right) return 1;
  if (ranks.rank == 0) std::printf("all programs are right\n");
  return check(goss_comm_destroy(other), "destroy") && check(goss_comm_destroy(ranks.comm), "destroy") ? 0 : 1;
}
