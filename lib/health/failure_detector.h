/// Finds out, by probes while operations wait, which ranks of a communicator are silent and how far the others have
/// got.
#ifndef GOSS_LIB_HEALTH_FAILURE_DETECTOR_H_
#define GOSS_LIB_HEALTH_FAILURE_DETECTOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/operation_table.h"
#include "gossamer/status.h"
#include "health/peers.h"
#include "platform/thread_safety.h"

namespace goss {

/// docs/thread_model.md says when ranks are probed. Every function needs the engine's lock.
class FailureDetector {
 public:
  struct Rules {
    /// GOSS_SILENCE_MS: a rank that has not answered a probe for so long, while no bytes moved, is given up. 0: never.
    std::chrono::milliseconds silence{0};
    /// Whether the process of this world rank is on this host and runs. Such a rank is never given up: it may wait for
    /// a processor.
    std::function<bool(int world_rank)> is_seen_to_run;
    /// Whether this world rank is on this host, so that is_seen_to_run knows its process.
    std::function<bool(int world_rank)> is_here;
  };

  /// `operations`: those of the communicator. It outlives the detector.
  FailureDetector(const Peers& peers, OperationTable& operations, Rules rules);

  /// Probes the ranks that `operation` concerns, and sets when it is to be probed for again. If a rank has been silent
  /// for too long, this rank breaks off the link to it instead, and treats it as dead.
  void probe(Operation& operation, TimePoint now) GOSS_ON_LOOP;
  /// Answers a probe of `rank`: says how many collectives this rank has started, and for whom an operation waits.
  void reply(int rank) const GOSS_ON_LOOP;
  /// `rank` has sent a control message of this communicator, and so it lives.
  void heard(int rank, const ControlMessage& message) GOSS_ON_LOOP;
  /// Whether `rank` owes an answer to a probe, and its process is not seen to run; of a rank of another host, whether
  /// it has owed the answer for a second.
  [[nodiscard]] bool mayHaveStopped(int rank, TimePoint now) const GOSS_ON_LOOP;
  /// The error of an operation that has not completed at its deadline. It names the ranks that do not answer and those
  /// that have not started the operation, or else those that it waits for.
  [[nodiscard]] Status expiry(const Operation& operation, TimePoint now) const GOSS_ON_LOOP;

 private:
  /// What a rank's answers to probes have shown.
  struct PeerProgress {
    TimePoint asked{};         ///< Last probe.
    TimePoint probed{};        ///< First probe that was not answered; zero when all were.
    std::uint64_t started = 0; ///< Number of collectives that the rank says it has started.
    int waiting_for = -1;      ///< World rank that the rank says it waits for.
    TimePoint moved{};         ///< When bytes last moved, as far as this rank has seen.
    std::uint64_t movements = 0;
    bool answered = false;
    int unanswered = 0; ///< Probes without an answer so far.
  };

  [[nodiscard]] const PeerProgress& progressOf(int rank) const GOSS_ON_LOOP {
    return progress_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int waitingFor() const GOSS_ON_LOOP;
  [[nodiscard]] int awaitedBy(int rank) const GOSS_ON_LOOP;
  [[nodiscard]] int culpritOf(const Operation& operation, TimePoint now) const GOSS_ON_LOOP;
  [[nodiscard]] bool isSilent(int rank, TimePoint now) const GOSS_ON_LOOP;
  bool giveUpIfSilent(int rank, TimePoint now) GOSS_ON_LOOP;
  [[nodiscard]] std::vector<int> concernedRanks(const Operation& operation, std::vector<int> awaited) const;
  [[nodiscard]] std::vector<int> silentRanks(const Operation& operation, TimePoint now) const GOSS_ON_LOOP;
  [[nodiscard]] std::vector<int> missingRanks(const Operation& operation) const GOSS_ON_LOOP;
  [[nodiscard]] std::string reasonOf(const Operation& operation, TimePoint now) const GOSS_ON_LOOP;
  [[nodiscard]] std::string waitsOf(const Operation& operation) const GOSS_ON_LOOP;

  const Peers peers_;
  OperationTable& operations_;
  const Rules rules_;
  std::vector<PeerProgress> progress_ GOSS_GUARDED; ///< By rank.
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_FAILURE_DETECTOR_H_
