/// A transport without peers: the test says what becomes of links and messages.
#ifndef GOSS_TESTS_LIB_MESH_FAKE_TRANSPORT_H_
#define GOSS_TESTS_LIB_MESH_FAKE_TRANSPORT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/transport.h"
#include "mesh/mesh.h"

namespace goss::test {

/// Links that were prepared become ready when something is sent over them. A message leaves at once, but to a peer that
/// is `blocked` it leaves in the first progress() after which that is 0; each progress() counts `blocked` down.
class FakeTransport final : public Transport {
 public:
  struct Peer {
    LinkState link = LinkState::idle;
    int blocked = 0; ///< Turns; negative: for ever.
    PeerStatistics statistics;
    std::vector<SendOperation*> held;
  };

  explicit FakeTransport(int size) : peers(static_cast<std::size_t>(size)) {}

  [[nodiscard]] std::string_view name() const override { return "fake"; }
  Result<std::string> open() override { return address; }
  [[nodiscard]] bool reaches(std::string_view) const override { return true; }
  Status connect(int peer, std::string_view) override { return at(peer).link = LinkState::ready, Status::ok(); }
  Status prepare(int, std::string_view) override { return Status::ok(); }
  [[nodiscard]] LinkState link(int peer) const override { return peers[static_cast<std::size_t>(peer)].link; }
  [[nodiscard]] Status linkError(int) const override { return Status::ok(); }
  bool send(SendOperation& operation) override {
    sent_to.push_back(operation.peer);
    at(operation.peer).link = LinkState::ready;
    if (at(operation.peer).blocked == 0) return true;
    at(operation.peer).held.push_back(&operation);
    return false;
  }
  void recv(RecvOperation& operation) override { posted.push_back(&operation); }
  void cancel(SendOperation& operation) override { std::erase(at(operation.peer).held, &operation); }
  void cancel(RecvOperation& operation) override { std::erase(posted, &operation); }
  [[nodiscard]] bool peek(int, Tag, Tag, Arrived&) const override { return false; }
  void discard(Tag, Tag) override {}
  bool progress() override {
    ++turns;
    for (Peer& peer : peers) {
      if (peer.blocked > 0) --peer.blocked;
      if (peer.blocked != 0) continue;
      for (SendOperation* operation : std::exchange(peer.held, {}))
        operation->onSent(Status::ok());
    }
    return true;
  }
  [[nodiscard]] int pollFd() const override { return -1; }
  bool prepareToSleep() override { return true; }
  void sleepEnded() override {}
  [[nodiscard]] PeerStatistics statistics(int peer) const override {
    return peers[static_cast<std::size_t>(peer)].statistics;
  }

  Peer& at(int peer) { return peers[static_cast<std::size_t>(peer)]; }
  std::vector<int> takeSentTo() { return std::exchange(sent_to, {}); }

  std::string address = "here";
  std::vector<Peer> peers;
  std::vector<int> sent_to;
  std::vector<RecvOperation*> posted; ///< The test brings them messages, and takes them out.
  int turns = 0;                      ///< Calls of progress().
};

/// Rank 0 of `size` ranks of one host, whose links are those of `transport`.
struct FakeWorld {
  explicit FakeWorld(int size)
      : transport(new FakeTransport(size)), mesh(0, size, [this] {
          std::vector<std::unique_ptr<Transport>> transports;
          transports.emplace_back(transport);
          return transports;
        }()) {
    PeerCard card;
    card.host = "host";
    connected = mesh.open(card);
    if (connected.isOk()) connected = mesh.connect(std::vector<PeerCard>(static_cast<std::size_t>(size), card));
  }
  void lose(int peer, PeerLoss how) {
    mesh.onPeerLost(peer, Status::error(GOSS_ERR_PEER_LOST, "gone", ErrorScope::peer, peer), how);
  }

  FakeTransport* const transport; ///< The mesh owns it.
  Mesh mesh;
  Status connected;
};

} // namespace goss::test

#endif // GOSS_TESTS_LIB_MESH_FAKE_TRANSPORT_H_
