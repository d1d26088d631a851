/// Transports of several ranks that one thread drives in turn, and strangers that call them.
#ifndef GOSS_TESTS_TRANSPORTS_TCP_WORLD_H_
#define GOSS_TESTS_TRANSPORTS_TCP_WORLD_H_

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gossamer/config.h"
#include "gossamer/transport.h"
#include "platform/clock.h"
#include "platform/fd.h"
#include "transports/tcp/stream/wire.h"
#include "transports/tcp/tcp.h"

namespace goss::test {

inline constexpr std::chrono::milliseconds kLong(20000);

struct Loss {
  int peer = -1;
  Status status;
  PeerLoss how = PeerLoss::silent;
};

/// A message of so many bytes, the same ones each time.
class Send final : public SendOperation {
 public:
  Send(int to, Tag with_tag, std::size_t size);
  void onSent(const Status& result) override {
    done = true;
    status = result;
  }
  [[nodiscard]] const std::vector<unsigned char>& contents() const { return bytes_; }
  bool done = false;
  Status status;

 private:
  std::vector<unsigned char> bytes_;
  iovec piece_;
};

class Recv final : public RecvOperation {
 public:
  Recv(int from, Tag with_tag, std::size_t size);
  Status onMatched(const Envelope&, std::size_t) override { return Status::ok(); }
  void onReceived(const Status& result) override {
    done = true;
    status = result;
  }
  [[nodiscard]] const std::vector<unsigned char>& contents() const { return bytes_; }
  bool done = false;
  Status status;

 private:
  std::vector<unsigned char> bytes_;
  iovec piece_;
};

/// The bounds on the pace of all sockets of this process that have one.
std::multiset<std::uint64_t> paces();

class World {
 public:
  class Rank final : public TransportListener {
   public:
    Config config;
    std::unique_ptr<transports::TcpTransport> transport;
    std::string address;
    std::vector<Loss> losses;
    void onPeerLost(int peer, const Status& status, PeerLoss how) override { losses.push_back({peer, status, how}); }
  };

  /// `open` of the `ranks` ranks exist; the rest are for strangers to play.
  explicit World(int ranks, int open, const std::function<void(Config&)>& configure = nullptr,
                 const std::function<platform::SecurityMaker(const Config&)>& security = nullptr);

  World(const World&) = delete;
  World& operator=(const World&) = delete;
  /// Ranks that only call are closed first: a rank that relays for them goes on until they have ended.
  ~World();
  /// Ends all transports, each in a thread of its own, for those that leave wait for one another; and calls this
  /// meanwhile.
  void leaveTogether(const std::function<void()>& meanwhile);

  Rank& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  transports::TcpTransport& transport(int rank) { return *(*this)[rank].transport; }
  [[nodiscard]] const std::array<std::byte, 16>& job() const { return job_; }
  /// Rank `rank` tells the others an address that refuses all calls: it can only call.
  void hide(int rank);
  /// Sets the patience of all open ranks.
  void setPatience(const transports::TcpTransport::Patience& patience);
  /// Connects the open ranks with one another; true when all links are ready.
  bool connectAll();
  bool until(const std::function<bool()>& condition, std::chrono::milliseconds limit = kLong);
  void driveFor(std::chrono::milliseconds span);
  /// Sends `bytes` bytes from one rank to another and checks them.
  bool exchange(int from, int to, std::size_t bytes);
  /// `from` sends and leaves at once: whether `to` gets what was sent, and hears the goodbye.
  bool deliversBeforeLeaving(int from, int to);

  /// A socket that is connected to that rank and has said nothing.
  platform::UniqueFd call(int rank);
  /// A good hello for `rank` from the rank `from`.
  [[nodiscard]] transports::tcp::Hello hello(int from, int rank) const;
  /// Says hello to `rank`, and waits to be welcomed.
  platform::UniqueFd introduce(const transports::tcp::Hello& hello, int rank);
  /// Plays rank `from` up to a ready link with `rank`.
  platform::UniqueFd impersonate(int from, int rank);
  /// Reads until the other end closes, driving the world.
  std::string readToEnd(int fd);

 private:
  std::array<std::byte, 16> job_;
  std::vector<int> hidden_;
  std::vector<platform::UniqueFd> held_; ///< Sockets that are bound and do not listen.
  std::vector<std::unique_ptr<Rank>> ranks_;
  int size_;
};

} // namespace goss::test

#endif // GOSS_TESTS_TRANSPORTS_TCP_WORLD_H_
