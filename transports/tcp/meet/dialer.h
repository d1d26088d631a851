/// Connects to one peer, with all connections of the link.
#ifndef GOSS_TRANSPORTS_TCP_MEET_DIALER_H_
#define GOSS_TRANSPORTS_TCP_MEET_DIALER_H_

#include <chrono>
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
/// when they are many; more, when a system has accepted a call), several at a time. The first address that welcomes
/// this rank gets all connections. Calls again while the deadline allows. One thread.
class Dialer {
 public:
  struct Made {
    platform::Stream stream;
    Hello hello;  ///< The hello that was sent on it.
    int via = -1; ///< The rank that relays it; -1: none.
    std::optional<platform::SocketAddress> remote;
  };
  using Handler = std::function<void(Made made)>;

  struct Target {
    int peer = -1;
    std::vector<platform::SocketAddress> addresses; ///< Best first; not empty.
    /// Addresses at which a router may answer; the dialer never takes them for refusing_host.
    std::vector<platform::SocketAddress> of_routers{};
    std::size_t connections = 1;
    platform::StreamSecurity* security = nullptr; ///< Null: no encryption. Outlives this object.
    std::string identity;                         ///< With security: the identity that the peer must prove.
    bool once = false;                            ///< The dialer stops when all addresses have failed once.
    /// The purpose of the calls: purpose, epoch, token, and the first connection of how many.
    Hello hello{};
    /// The deadline, instead of the bootstrap's timeout, and the host whose refusal proves that the peer's process has
    /// ended.
    std::optional<platform::Deadline> deadline = std::nullopt;
    std::optional<platform::SocketAddress> refusing_host = std::nullopt;
    bool one_host = false; ///< The peer's host is this one: nobody else can listen at the peer's port while it lives.
    /// When the process itself refuses this rank, the dialer calls again; and while the process may only be busy or
    /// stopped, because its system has accepted a call, no deadline ends the dialer.
    bool persists = false;
  };
  /// `next_token` counts poll tokens for all dialers. `context`, `poller` and `next_token` outlive this object.
  /// `handler` gets every connection.
  Dialer(const TransportContext& context, platform::Poller& poller, std::uint64_t& next_token, Target target,
         Handler handler);

  void start();
  /// Whether it began to call only a moment ago and may soon be done.
  [[nodiscard]] bool isFresh() const { return !stale_.never() && !stale_.expired(); }
  /// Whether an event with this token belongs to this dialer, which then handles it.
  bool handle(std::uint64_t token);
  void tick();
  /// Calls refusing_host again, at least kLastTicks before the peer is given up: the calls before may be lost, or this
  /// process may have got no processor since. In one tick the poller may report the tick before the answer.
  void callOnceMore();
  static constexpr int kLastTicks = 2;
  [[nodiscard]] int peer() const { return target_.peer; }
  [[nodiscard]] bool isDone() const { return connected_ == count_; }
  /// The peer calls and is about to be welcomed: this end drops its calls until resume(). False: this end's call
  /// becomes the link.
  bool yield();
  [[nodiscard]] bool yields() const { return yields_; }
  void resume();
  /// A stream to the peer that the rank `via` relays: it counts as a call, and becomes the link's only connection.
  void takeRelayed(platform::Stream stream, int via);
  /// Whether a system answers at one of the addresses: the peer's process may only be busy.
  [[nodiscard]] bool isHeard() const;
  /// Whether the system at refusing_host has accepted a call: the process that listens there lives, though it may be
  /// busy.
  [[nodiscard]] bool hostHasAccepted() const { return host_accepted_; }
  /// Whether the host of the peer says that nobody listens at its port, or another job: the peer's process has ended.
  [[nodiscard]] bool foundNobody() const { return found_nobody_; }
  /// Why the dialer gave up, because the deadline passed or the peer refused this rank; ok until then.
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
    platform::Deadline answer_due; ///< After this the other end may no longer wait for "go".
  };

  void callNext();
  Status call(std::size_t address, std::size_t index);
  void callAgain(std::size_t address);
  void callRest(std::size_t address);
  /// Sends the greeting and the hello, as far as possible now.
  void greet(std::uint64_t token, Call& call);
  [[nodiscard]] Hello greeting(const Call& call) const;
  bool introduce(Call& call);
  void readAnswer(std::uint64_t token);
  void drop(std::uint64_t token, const std::string& why);
  /// As drop(), because the other end has closed. The system of a process that is ending accepts calls until it closes
  /// the listening socket, and then resets them: so refusing_host is called again at once.
  void hungUp(std::uint64_t token, const std::string& why);
  /// As drop(), because the other end refuses this rank.
  void dropRefused(std::uint64_t token, const std::string& why);
  /// The system at that address has refused a call.
  void noteRefusal(std::size_t address) { found_nobody_ = found_nobody_ || isRefusingHost(address); }
  /// Whether the address is the peer's own host's, not a router's.
  [[nodiscard]] bool isRefusingHost(std::size_t address) const;
  [[nodiscard]] platform::Deadline headStart() const;
  void extend();
  /// Whether the time is over, also that of a last call to refusing_host.
  bool isOver();
  /// Whether the next address has to wait for the process behind one that has accepted a call.
  bool waitsForProcess();
  void giveUp(const std::string& why);

  static constexpr std::int64_t kHeadStartMs = 250;
  static constexpr std::int64_t kMaxHeadStartsMs = 1000; ///< Sum over all addresses.
  static constexpr std::int64_t kPauseMs = 200;
  /// In a round of the addresses refusing_host is called again so often without a pause.
  static constexpr int kRepeats = 3;
  /// The last call comes so long before the deadline.
  static constexpr std::chrono::milliseconds kLastCall{100};
  /// At start-up other addresses are tried so much later when a system has accepted a call: the peer's process may only
  /// be busy.
  static constexpr std::int64_t kHeardMs = 2000;
  static constexpr std::int64_t kFreshMs = 500;
  /// A call to a peer that was connected before is repeated after this time, because the path may work again.
  static constexpr std::int64_t kPatienceMs = 3000;

  const TransportContext& context_;
  platform::Poller& poller_;
  std::uint64_t& next_token_;
  const Target target_;
  Handler handler_;
  platform::Deadline deadline_;
  platform::Deadline next_call_;
  platform::Deadline patience_;
  platform::Deadline stale_; ///< Set by start().
  bool waited_ = false;      ///< This round of the addresses has waited for the process behind an accepted call.
  std::size_t next_address_ = 0;
  int repeats_left_ = kRepeats;
  int last_ticks_ = 0;  ///< Ticks since the last call, which comes at 0.
  bool chosen_ = false; ///< An address has welcomed this rank.
  bool yields_ = false;
  bool host_accepted_ = false;
  bool found_nobody_ = false;
  std::size_t count_ = 1; ///< Number of connections.
  std::size_t connected_ = 0;
  std::map<std::uint64_t, Call> calls_; ///< By poll token.
  std::vector<std::string> failures_;   ///< By address: why the last call failed.
  Status error_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_MEET_DIALER_H_
