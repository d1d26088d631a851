/// Calls one peer until all connections to it stand.
#ifndef GOSS_TRANSPORTS_TCP_MEET_DIALER_H_
#define GOSS_TRANSPORTS_TCP_MEET_DIALER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/transport_context.h"
#include "platform/clock.h"
#include "platform/filtered_stream.h"
#include "platform/poller.h"
#include "platform/socket.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// Tries the peer's addresses in order, the next one when the last failed or has not answered for kHeadStartMs (less,
/// when they are many), several at a time. The first that welcomes us gets all connections. Calls again while the
/// deadline allows. One thread.
class Dialer {
 public:
  struct Made {
    platform::Stream stream;
    Hello hello;  ///< What was said on it.
    int via = -1; ///< The rank that relays it, if one does.
  };
  using Handler = std::function<void(Made made)>;

  struct Target {
    int peer = -1;
    std::vector<platform::SocketAddress> addresses; ///< Best first; not empty.
    /// Hosts at which a router answers, if anybody: none of them is refusing_host.
    std::vector<platform::SocketAddress> of_routers{};
    std::size_t connections = 1;
    platform::StreamSecurity* security = nullptr; ///< Null: in clear. Outlives this.
    std::string identity;                         ///< With security: what the peer must prove.
    bool once = false;                            ///< When all addresses have failed, that is the end.
    /// What it is about: purpose, epoch, token, and the first connection of how many.
    Hello hello{};
    /// Not by the bootstrap's timeout: until when, and the host whose refusal is the peer's, so that it is in vain to
    /// try on.
    std::optional<platform::Deadline> deadline = std::nullopt;
    std::optional<platform::SocketAddress> refusing_host = std::nullopt;
  };
  /// `next_token` counts poll tokens for all dialers. `context`, `poller` and `next_token` outlive this. `handler` gets
  /// every connection.
  Dialer(const TransportContext& context, platform::Poller& poller, std::uint64_t& next_token, Target target,
         Handler handler);

  void start();
  /// Whether an event with this token is this dialer's; handles it then.
  bool handle(std::uint64_t token);
  void tick();
  [[nodiscard]] int peer() const { return target_.peer; }
  [[nodiscard]] bool isDone() const { return connected_ == count_; }
  /// The peer calls and is about to be welcomed: calls are dropped until resume(). False: this end's call is the one.
  bool yield();
  [[nodiscard]] bool yields() const { return yields_; }
  void resume();
  /// A way to the peer that the rank `via` relays: it counts as one that was called. It will be a link's only one.
  void takeRelayed(platform::Stream stream, int via);
  /// A system answers at one of the addresses: its process may only be busy.
  [[nodiscard]] bool isHeard() const;
  /// A system has answered at the refusing_host host: the process that listens there lives, though it may be busy.
  [[nodiscard]] bool hasFirmAnswer() const { return firm_answer_; }
  /// Nobody listens where the peer did, its host says: its process has ended.
  [[nodiscard]] bool foundNobody() const { return found_nobody_; }
  /// Set when the deadline passed or the peer refused us; ok until then.
  [[nodiscard]] const Status& error() const { return error_; }
  /// The addresses and why the last call of each has failed.
  [[nodiscard]] std::string trouble() const;

 private:
  struct Call {
    platform::Stream stream;
    std::size_t address = 0;
    std::size_t index = 0;
    bool connected = false;
    bool introduced = false;
    int via = -1;
    std::string input;
    platform::Deadline answer_due; ///< Later the other end may not be waiting for "go" any more.
  };

  void callNext();
  Status call(std::size_t address, std::size_t index);
  void callRest(std::size_t address);
  /// Greets and introduces itself, as far as it can now.
  void greet(std::uint64_t token, Call& call);
  [[nodiscard]] Hello greeting(const Call& call) const;
  bool introduce(Call& call);
  void readAnswer(std::uint64_t token);
  void drop(std::uint64_t token, const std::string& why);
  /// The same, because the other end refuses us.
  void dropRefused(std::uint64_t token, const std::string& why);
  /// The system at that address has refused a call.
  void noteRefusal(std::size_t address) { found_nobody_ = found_nobody_ || isFirm(address); }
  [[nodiscard]] bool isFirm(std::size_t address) const;
  [[nodiscard]] platform::Deadline headStart() const;
  void giveUp(const std::string& why);

  static constexpr std::int64_t kHeadStartMs = 250;
  static constexpr std::int64_t kMaxHeadStartsMs = 1000; ///< Of all addresses together.
  static constexpr std::int64_t kPauseMs = 200;
  /// A call to a peer that was connected before is repeated after so long: the path may work again.
  static constexpr std::int64_t kPatienceMs = 3000;

  const TransportContext& context_;
  platform::Poller& poller_;
  std::uint64_t& next_token_;
  const Target target_;
  Handler handler_;
  platform::Deadline deadline_;
  platform::Deadline next_call_;
  platform::Deadline patience_;
  std::size_t next_address_ = 0;
  bool chosen_ = false; ///< An address has welcomed us.
  bool yields_ = false;
  bool firm_answer_ = false;
  bool found_nobody_ = false;
  std::size_t count_ = 1; ///< Of connections.
  std::size_t connected_ = 0;
  std::map<std::uint64_t, Call> calls_; ///< By poll token.
  std::vector<std::string> failures_;   ///< By address: why the last call failed.
  Status error_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_MEET_DIALER_H_
