/// Runs ranks, as threads or as forked processes, each with its own transport, and operations that check the contract
/// of gossamer/transport.h while they record what happened.
#ifndef GOSS_TESTS_TRANSPORTS_CONFORMANCE_HARNESS_H_
#define GOSS_TESTS_TRANSPORTS_CONFORMANCE_HARNESS_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gossamer/config.h"
#include "gossamer/transport.h"
#include "platform/memory/shared_pages.h"

namespace goss::tests {

/// How the suite makes one transport.
struct TransportFactory {
  std::string name;
  std::function<std::unique_ptr<Transport>(const TransportContext&)> make;
  bool between_processes = false;                   ///< Works between forked processes, and notices when one is killed.
  std::function<void(Config&)> configure = nullptr; ///< Settings that this entry of the list is about; may be null.
  bool lends = false;                               ///< Messages are sent out of regions.
  bool naps = false;                                ///< Nothing wakes it: it looks now and then, the less the longer.
};
// NOLINTNEXTLINE(readability-identifier-naming): googletest's name
inline void PrintTo(const TransportFactory& factory, std::ostream* out) { *out << factory.name; }

/// All transports of this build; a new one joins in transports.cc.
std::vector<TransportFactory> allTransports();
/// The transports that work between processes.
std::vector<TransportFactory> processTransports();

using Bytes = std::vector<std::byte>;
/// Bytes that differ for each seed.
Bytes pattern(std::size_t size, std::uint64_t seed);
/// Whether `bytes` is pattern(bytes.size(), seed).
bool isPattern(std::span<const std::byte> bytes, std::uint64_t seed);

class Node;

/// Cancels itself when it is destroyed while it is pending.
class TestSend final : public SendOperation {
 public:
  /// `cuts`: bytes of each piece of the gather list but the last; none: one piece.
  TestSend(Node& node, int to, Tag with_tag, Bytes message, const std::vector<std::size_t>& cuts = {});
  ~TestSend() override;
  TestSend(const TestSend&) = delete;
  TestSend& operator=(const TestSend&) = delete;
  void post();
  void cancel();
  void onSent(const Status& result) override;

  int completions = 0;
  Status status;
  [[nodiscard]] bool done() const { return completions > 0; }
  std::function<void()> then;

 private:
  Node& node_;
  Bytes message_;
  platform::SharedPages lent_; ///< A copy of message_, where the factory lends().
  std::vector<iovec> cut_;
  bool pending_ = false;
};

/// Cancels itself when it is destroyed while it is pending.
class TestRecv final : public RecvOperation {
 public:
  enum class Kind { scatter, views };
  TestRecv(Node& node, int from, Tag with_tag, std::size_t room, Kind kind = Kind::scatter,
           const std::vector<std::size_t>& cuts = {});
  ~TestRecv() override;
  TestRecv(const TestRecv&) = delete;
  TestRecv& operator=(const TestRecv&) = delete;
  void post();
  void cancel();
  Status onMatched(const Envelope& with, std::size_t length) override;
  void onData(std::size_t offset, std::span<const std::byte> view) override;
  void onReceived(const Status& result) override;

  int matches = 0;
  int completions = 0;
  Status status;
  Envelope envelope{};
  bool refuse = false;            ///< onMatched answers with a mismatch.
  bool may_be_taken_back = false; ///< The sender may cancel the first message half way.
  std::function<void()> on_match, on_data, then;
  [[nodiscard]] bool done() const { return completions > 0; }
  /// The received bytes; meaningful when done() and status is ok.
  [[nodiscard]] std::span<const std::byte> received() const { return {room_.data(), length_}; }

 private:
  Node& node_;
  Bytes room_;
  std::vector<iovec> cut_;
  std::size_t length_ = 0;
  std::size_t viewed_ = 0;
  bool pending_ = false;
};

struct Loss {
  int peer = -1;
  Status status;
  PeerLoss how = PeerLoss::silent;
};

struct Board;

/// One rank.
class Node final : public TransportListener {
 public:
  Node(const TransportFactory& factory, const Config& config, int rank, int ranks, Board& board);
  ~Node() override;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  [[nodiscard]] bool isOpen() const { return transport_ != nullptr; }
  /// Opens, meets all others and waits until every link is ready.
  bool connectAll();
  /// Drives progress until `condition` holds, sleeping in poll() when there is nothing to do. A wake-up that gets lost
  /// shows as a failure after `limit`.
  bool until(const std::function<bool()>& condition, std::chrono::milliseconds limit = std::chrono::seconds(20));
  /// Waits for a condition that something else than this transport makes true.
  bool pollUntil(const std::function<bool()>& condition, std::chrono::milliseconds limit = std::chrono::seconds(20));
  /// Calls progress() once.
  void turn();
  /// Drives progress for a while.
  void driveFor(std::chrono::milliseconds span);
  /// Waits, driving progress, until all ranks called it as often.
  bool barrier();
  /// Messages are sent out of regions.
  [[nodiscard]] bool lends() const { return lends_; }
  /// Closes the transport: the goodbye.
  void close() { transport_.reset(); }
  /// Tells all ranks that the run has failed, so that they stop waiting.
  void giveUp(const std::string& why);

  void onPeerLost(int peer, const Status& status, PeerLoss how) override;
  std::vector<Loss> losses;

  // The trap: callbacks come out of progress() only, and never out of another call inside of it.
  void enter() { ++depth_; }
  void leave() { --depth_; }
  void checkCallback(const char* name) const;

 private:
  bool drive(const std::function<bool()>& condition, std::chrono::milliseconds limit, std::chrono::milliseconds slice);

  const int rank_;
  const int ranks_;
  const bool lends_;
  Board& board_;
  Config config_;
  std::unique_ptr<Transport> transport_;
  bool in_progress_ = false;
  int depth_ = 0;
  int barriers_ = 0;
};

/// Runs body(node) for each rank in a thread of its own (over MPI: in a process of its own). Links are ready before and
/// a barrier comes after.
void runThreads(const TransportFactory& factory, int ranks, const std::function<void(Node&)>& body,
                const Config& config = {});

/// Runs body(node, pids) for rank 0 here and body(node, {}) for the others in forked children, of which those listed in
/// `killed` may end by SIGKILL; the others must end without a failure. There is no barrier after.
void runProcesses(const TransportFactory& factory, int ranks,
                  const std::function<void(Node&, const std::vector<pid_t>&)>& body,
                  const std::vector<int>& killed = {}, const Config& config = {});

} // namespace goss::tests

#endif // GOSS_TESTS_TRANSPORTS_CONFORMANCE_HARNESS_H_
