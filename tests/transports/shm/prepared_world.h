/// Ranks of one host whose links are made at first use, and messages between them.
#ifndef GOSS_TESTS_TRANSPORTS_SHM_PREPARED_WORLD_H_
#define GOSS_TESTS_TRANSPORTS_SHM_PREPARED_WORLD_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gossamer/config.h"
#include "platform/clock.h"
#include "transports/shm/shm.h"

namespace goss::transports {

inline constexpr std::chrono::milliseconds kLong(20000);

inline std::vector<unsigned char> bytesOf(std::size_t size) {
  std::vector<unsigned char> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return bytes;
}

struct Send final : SendOperation {
  Send(int to, std::size_t size) : contents(bytesOf(size)), piece{contents.data(), size} {
    peer = to;
    tag = 5;
    pieces = {&piece, 1};
    bytes = size;
  }
  void onSent(const Status& result) override {
    done = true;
    status = result;
  }
  std::vector<unsigned char> contents;
  iovec piece;
  bool done = false;
  Status status;
};

struct Recv final : RecvOperation {
  Recv(int from, std::size_t size) : contents(size), piece{contents.data(), size} {
    peer = from;
    tag = 5;
    pieces = {&piece, 1};
    capacity = size;
  }
  Status onMatched(const Envelope&, std::size_t) override { return Status::ok(); }
  void onReceived(const Status& result) override {
    done = true;
    status = result;
  }
  [[nodiscard]] bool isRight() const { return done && status.isOk() && contents == bytesOf(contents.size()); }
  std::vector<unsigned char> contents;
  iovec piece;
  bool done = false;
  Status status;
};

struct Loss {
  int peer = -1;
  Status status;
  PeerLoss how = PeerLoss::silent;
};

/// Ranks of one host, of which each has prepared its links to all others.
class World {
 public:
  struct Rank final : TransportListener {
    void onPeerLost(int peer, const Status& status, PeerLoss how) override { losses.push_back({peer, status, how}); }
    std::unique_ptr<ShmTransport> transport;
    std::vector<Loss> losses;
  };

  /// `hidden`: no rank finds the process of another, so that it asks for its board.
  explicit World(int ranks, bool hidden = false) {
    config_.shm_direct_bytes = 100000;
    std::vector<std::string> addresses;
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>());
      TransportContext context;
      context.self = rank;
      context.size = ranks;
      context.config = &config_;
      context.listener = ranks_.back().get();
      ranks_.back()->transport = std::make_unique<ShmTransport>(context);
      shm::ShmAddress address = *shm::ShmAddress::decode(at(rank).open().take());
      if (hidden) address.process = 1;
      addresses.push_back(address.encode());
    }
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (from == to) continue;
        EXPECT_TRUE(at(from).prepare(to, addresses[static_cast<std::size_t>(to)]).isOk());
      }
    }
  }
  ShmTransport& at(int rank) { return *(*this)[rank].transport; }
  Rank& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  void turn() {
    for (auto& rank : ranks_)
      if (rank->transport) rank->transport->progress();
  }
  bool until(const std::function<bool()>& condition, std::chrono::milliseconds limit = kLong) {
    const platform::Deadline deadline = platform::Deadline::after(limit);
    while (!condition()) {
      if (deadline.expired()) return false;
      turn();
    }
    return true;
  }
  int count(int rank, LinkState state) {
    int links = 0;
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank && at(rank).link(peer) == state) ++links;
    return links;
  }
  bool exchange(int from, int to, std::size_t bytes) {
    Recv recv(from, bytes);
    at(to).recv(recv);
    Send send(to, bytes);
    if (at(from).send(send)) send.done = true;
    return until([&] { return send.done && recv.done; }) && recv.isRight();
  }

 private:
  Config config_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

} // namespace goss::transports

#endif // GOSS_TESTS_TRANSPORTS_SHM_PREPARED_WORLD_H_
