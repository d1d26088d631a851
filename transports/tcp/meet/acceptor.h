/// Accepts the connections to this rank's listening sockets.
#ifndef GOSS_TRANSPORTS_TCP_MEET_ACCEPTOR_H_
#define GOSS_TRANSPORTS_TCP_MEET_ACCEPTOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "gossamer/transport_context.h"
#include "platform/clock.h"
#include "platform/filtered_stream.h"
#include "platform/listening_socket.h"
#include "platform/poller.h"
#include "platform/socket.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// A caller becomes a connection when it has shown the job's secret and said "go"; with security, only after it has
/// proved who it is, and as the rank whose identity that is. At most kMaxUnknown callers that have not shown the secret
/// are kept, for kUnknownMs each; for one more the oldest is dropped. A caller that has shown the secret and is
/// welcomed has kWelcomed to say "go". Only so many callers of one rank, and of all ranks, are welcomed at a time: the
/// connections of others are closed, and they may call again. One thread.
class Acceptor {
 public:
  struct Caller {
    platform::Stream stream;
    Hello hello;
    std::string from;
    int via = -1; ///< The rank that relays it; -1: none.
    std::optional<platform::SocketAddress> remote;
  };
  using Handler = std::function<void(Caller caller)>;
  /// The identity of a rank, or null while it is not known yet.
  using Identities = std::function<const std::string*(int rank)>;
  /// Whether a member with this hello may connect now: then it is welcomed. An error says why not, and is logged if its
  /// kind is protocol: other refusals are normal.
  using Gate = std::function<Status(const Hello& hello)>;

  /// Time in which a welcomed caller must say "go". Dialer says it within half of that, or not at all.
  static constexpr std::chrono::milliseconds kWelcomed{20000};

  /// Events of its sockets carry tokens from `first_token` up. `context` outlives this object.
  Acceptor(const TransportContext& context, const base::Log& log, platform::Poller& poller, std::uint64_t first_token);

  /// Listens on the interface of the config and the first free one of `ports`. Errors: invalidArgument, resource.
  Result<std::vector<platform::SocketAddress>> listen(platform::PortRange ports);
  void setHandler(Handler handler) { handler_ = std::move(handler); }
  void setGate(Gate gate) { gate_ = std::move(gate); }
  /// Sets how long welcomed callers may be silent.
  void setWelcomeSpan(std::chrono::milliseconds span) { welcome_span_ = span; }
  /// Called before listen(). `security` outlives this object.
  void setSecurity(platform::StreamSecurity& security, Identities identities) {
    security_ = &security;
    identities_ = std::move(identities);
  }

  [[nodiscard]] bool owns(std::uint64_t token) const { return token >= first_token_; }
  void handle(std::uint64_t token);
  /// Takes a relayed stream as if it had been accepted by a listening socket. Errors: resource.
  Status take(platform::Stream stream, int via);
  /// Whether this rank was welcomed and has not said "go" yet.
  [[nodiscard]] bool awaitsGo(int rank) const;
  /// Number of callers that were welcomed to be relayed and have not said "go" yet.
  [[nodiscard]] std::size_t relayCallers() const;
  /// Drops callers whose time is over.
  void tick();
  [[nodiscard]] bool isIdle() const;
  void logOnce(const std::string& from, std::string_view reason);

 private:
  enum class State { greeting, hello, unknown, go, refused };
  /// A connection whose handshake is not complete.
  struct Handshake {
    platform::Stream stream;
    std::string from;
    int via = -1;
    std::optional<platform::SocketAddress> remote;
    std::string input;
    State state = State::greeting;
    bool writes = false; ///< The poller watches its socket for space.
    Hello hello;
    platform::Deadline deadline;
  };

  [[nodiscard]] static bool isKnown(const Handshake& handshake) {
    return handshake.state == State::unknown || handshake.state == State::go;
  }
  void acceptAll(platform::ListeningSocket& listener);
  void addCaller(platform::Accepted accepted);
  /// Number of callers that have not shown the secret, or were refused.
  [[nodiscard]] std::size_t unknownCallers() const;
  void dropOldestUnknown(std::string_view why);
  [[nodiscard]] bool isFull(std::uint32_t rank) const;
  [[nodiscard]] std::size_t knownCallers() const;
  Result<platform::Stream> secure(platform::UniqueFd fd);
  void read(std::uint64_t token);
  /// One step; true: another step may be possible without waiting for the socket.
  bool readOnce(std::uint64_t token);
  /// False: the handshake is not complete, or failed.
  bool greet(Handshake& handshake, std::uint64_t token);
  void judge(Handshake& handshake);
  void judgeIdentity(Handshake& handshake);
  void welcome(Handshake& handshake);
  void refuse(Handshake& handshake, std::string_view reason);
  void refuseAndLog(Handshake& handshake, std::string_view reason);
  void close(Handshake& handshake);
  void dropExpired();

  static constexpr std::size_t kMaxUnknown = 128;
  static constexpr std::int64_t kUnknownMs = 5000;
  /// Limit for one rank: its connections, and calls at several of this host's addresses.
  static constexpr std::size_t kMaxKnownOfRank = 128;
  /// Limit over all ranks, besides as many calls as all ranks may make at a time.
  static constexpr std::size_t kMaxKnown = 256;
  static constexpr int kMaxAtOnce = 256; ///< Callers that are accepted before other work is done.

  const TransportContext& context_;
  const base::Log& log_;
  platform::Poller& poller_;
  const std::uint64_t first_token_;
  std::uint64_t next_token_;
  std::vector<platform::ListeningSocket> listeners_; ///< Tokens first_token_ + index.
  std::map<std::uint64_t, Handshake> handshakes_;    ///< By token; the first is the oldest.
  std::set<std::string> logged_;
  Handler handler_;
  Gate gate_;
  std::chrono::milliseconds welcome_span_ = kWelcomed;
  platform::StreamSecurity* security_ = nullptr; ///< Null: connections are not encrypted.
  Identities identities_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_MEET_ACCEPTOR_H_
