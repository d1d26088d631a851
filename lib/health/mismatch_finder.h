/// How calls that do not match are detected and named, however long ago they were made.
#ifndef GOSS_LIB_HEALTH_MISMATCH_FINDER_H_
#define GOSS_LIB_HEALTH_MISMATCH_FINDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "call/codec_pair.h"
#include "call/signature.h"
#include "engine/operation_table.h"
#include "gossamer/status.h"
#include "health/failure_propagator.h"
#include "health/peers.h"
#include "platform/thread_safety.h"

namespace goss {

/// Two ranks that called different things may both return success: a root reads nothing, and calls of no elements send
/// nothing. The next envelope that one of them reads from the other carries another history. Then the reader sends its
/// last calls, and the other one, which has kept its own, finds the first that differs, and fails the communicator with
/// both names: its abort is the answer. Until then the operation that has read the envelope stays as it is, incomplete.
/// Every function needs the engine's lock.
class MismatchFinder {
 public:
  /// The arguments outlive it.
  MismatchFinder(const Peers& peers, OperationTable& operations, FailurePropagator& propagator)
      : peers_(peers), operations_(operations), propagator_(propagator) {}

  /// Remembers the text of `codecs`, so that the errors of later mismatches can name the codecs that have this tag.
  void know(const std::shared_ptr<const CodecPair>& codecs) GOSS_ON_LOOP { codecs_[codecs->tag()] = codecs; }
  /// `rank` has sent another envelope than that of `operation`, which must not complete. Fails the communicator: at
  /// once, or, where an earlier call did not match, as soon as this rank knows which.
  void disagree(Operation& operation, int rank, const Envelope& theirs) GOSS_ON_LOOP;
  /// Compares the call that `rank` probes for with this rank's call of that number. Fails the communicator if they do
  /// not match; returns whether they may.
  bool checkProbe(int rank, const ControlMessage& probe) GOSS_ON_LOOP;
  /// Handles a message of type history from `rank`.
  void handle(int rank, const ControlMessage& message) GOSS_ON_LOOP;

 private:
  void tellHistory(int rank) GOSS_ON_LOOP;
  /// The error for calls of one number that do not match; names both.
  [[nodiscard]] Status mismatch(std::uint64_t number, int rank, const Envelope& theirs,
                                const Envelope& ours) const GOSS_ON_LOOP;
  [[nodiscard]] std::string describeOwn(const Signature& ours) const GOSS_ON_LOOP;

  const Peers peers_;
  OperationTable& operations_;
  FailurePropagator& propagator_;
  std::map<std::uint8_t, std::shared_ptr<const CodecPair>> codecs_ GOSS_GUARDED; ///< By tag: the last one of a call.
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_MISMATCH_FINDER_H_
