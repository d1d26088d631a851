/// A call of ranks that may share a GPU: finds out whether the buffers of all lie there, and runs the call there if
/// they do. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_SHARED_CALL_H_
#define GOSS_LIB_EXECUTION_SHARED_CALL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "call/call.h"
#include "engine/operation.h"
#include "execution/run.h"
#include "execution/run_environment.h"
#include "execution/shared_memory.h"
#include "execution/shared_run.h"
#include "planner/planner.h"
#include "platform/thread_safety.h"

namespace goss {

/// Each rank chooses the memory of its buffers by itself, so the ranks of a call that may share a GPU first exchange
/// offers, which say where their buffers lie. A rank whose buffers do not lie on a GPU, or whose call is a part of a
/// stream, sends an empty offer and starts the staged call at once. The others wait for all offers. Ranks of several
/// processes then map each other's memory, and tell each other whether all have it, unless they said so at first,
/// because it is that of an earlier call. Under the engine's lock.
class SharedCall {
 public:
  /// A part of `operation`. The arguments outlive it; `context` is that of the operation's runs. The environment has
  /// Lending.
  SharedCall(Operation& operation, const RunEnvironment& environment, RunContext& context);
  ~SharedCall();

  /// Whether the ranks of the call tell each other their devices: its vectors are long, it is not compressed, and the
  /// GPU has kernels for all that it does. All ranks get the same answer.
  static bool isFor(const Call& call);
  /// For later starts of `call`, of which `lanes` fragments are in flight.
  void bind(const Call& call, const Plan& plan, std::uint32_t lanes);
  /// A start of the call begins; those that cannot share stay inactive.
  void begin(std::uint64_t sequence) GOSS_ON_LOOP;
  /// Advances the exchange of devices and the runs. RunContext::outcome gets a failure of the call.
  void advance() GOSS_ON_LOOP;
  /// Since begin(): whether the call runs on the device, has done so, or may. Then it is not staged.
  [[nodiscard]] bool mayShare() const { return device_ >= 0; }
  /// From begin() until nothing is left to do.
  [[nodiscard]] bool active() const;
  [[nodiscard]] bool isUnderWay() const;
  /// Whether advance() would change anything.
  [[nodiscard]] bool hasCome() const;
  /// Cancels the messages and what the device's thread has not begun. From now on no rank may borrow these buffers.
  void withdraw() GOSS_ON_LOOP;
  /// After withdraw(): whether neither this rank's device reads others' buffers, nor theirs these. Frees scratch memory
  /// then.
  bool tryLeave() GOSS_ON_LOOP;
  void appendWaitingFor(std::vector<int>& ranks) const;

 private:
  [[nodiscard]] RunContext meetingContext() const;
  [[nodiscard]] bool mightShare() GOSS_ON_LOOP;
  [[nodiscard]] Status prepare();
  void offer(bool is_prepared) GOSS_ON_LOOP;
  void meet() GOSS_ON_LOOP;
  void decide() GOSS_ON_LOOP;
  void share() GOSS_ON_LOOP;
  void tellMapped(const Status& mapped) GOSS_ON_LOOP;
  void advanceWork() GOSS_ON_LOOP;
  void beginRun(std::uint32_t lane, std::uint32_t fragment) GOSS_ON_LOOP;
  void end();

  Operation& operation_;
  const RunEnvironment& environment_;
  RunContext& context_;

  // The schedule by which each rank gathers the offers of all.
  const std::shared_ptr<const Schedule> meeting_schedule_;
  const std::vector<std::vector<std::uint32_t>> meeting_dependents_;
  Call meeting_call_;
  RunContext meeting_context_;
  Run meeting_;
  std::array<std::byte, SharedOffer::kBytes> told_{};
  bool have_mapped_ = false; ///< The ranks exchange offers for the second time.
  /// What the device's thread does: it calls the driver, which the loop must not do.
  enum class Work : std::uint8_t { none, prepares, maps };
  Work work_ = Work::none;

  bool meets_ = false; ///< isFor() the bound call.
  std::uint32_t fragments_ = 0;
  std::uint32_t lanes_ = 0;
  std::uint64_t sequence_ = 0;
  Tag loan_ = 0;
  std::int32_t device_ = -1;         ///< -1: the call is staged.
  TimePoint loan_end_{};             ///< After withdraw(): until then tryLeave() waits for ranks that read.
  DeviceStation* station_ = nullptr; ///< Station of the runs in runs_.
  SharedMemory memory_;
  std::size_t scratch_bytes_ = 0; ///< Scratch memory of the largest fragment.
  BlockPool::Lease scratch_;      ///< That of all fragments in flight.
  std::vector<std::unique_ptr<SharedRun>> runs_;
  std::vector<std::uint32_t> fragment_of_run_;
  std::uint32_t fragments_left_ = 0;
  std::optional<DeviceJob> job_; ///< Does work_ on station_. Declared behind what it uses.
};

/// Whether the ranks' agreement on a shared device, or what follows it, has not ended.
inline bool isActive(const std::unique_ptr<SharedCall>& shared) { return shared != nullptr && shared->active(); }

} // namespace goss

#endif // GOSS_LIB_EXECUTION_SHARED_CALL_H_
