/// Hands one communicator's calls over to the library, each as a part of its stream (docs/devices.md), in NCCL's order:
/// a call comes behind the communicator's calls before it, whatever their streams. Calls of a group are submitted
/// together; where the library refuses one, those before it are submitted, and those after it are not.
#ifndef GOSS_BINDINGS_NCCL_STREAM_ORDER_H_
#define GOSS_BINDINGS_NCCL_STREAM_ORDER_H_

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/nccl/call.h"
#include "bindings/nccl/graph_calls.h"
#include "bindings/nccl/turn.h"
#include "gossamer/device.h"

namespace goss::nccl {

/// The context of a communicator's device.
const devices::cuda::Context& contextOf(Device& device);

/// Thread-safe. Calls are matched with those of the other ranks in the order of submit().
class StreamOrder {
 public:
  /// `comm` is lent until this is destroyed. `turns`: of the communicators that come out of it. Collective: the
  /// ranks make another communicator, for calls that CUDA graphs replay; where that fails, only captures do.
  static Result<std::unique_ptr<StreamOrder>> make(Device& device, goss_comm_t comm, std::shared_ptr<Turns> turns);
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;
  /// Waits for what was submitted; a communicator that failed is aborted.
  ~StreamOrder();

  /// Waits until the streams of `calls`, which submit() gets next, have read the scalars in device memory. A group
  /// calls it for all its communicators before the first submit(): a stream may come to its scalar behind another's
  /// call. Errors: as submit()'s; GOSS_ERR_TIMEOUT.
  Status fetchScalars(const std::vector<std::shared_ptr<Call>>& calls);
  /// Puts `calls`, one or a group, into their streams, or into the graph that these are captured into, and returns
  /// whether they run now: those of a graph run whenever it is launched. `fetched`: what fetchScalars() has returned.
  /// Errors: that; the first failure; GOSS_ERR_UNSUPPORTED where some streams of a group are captured and others are
  /// not; the library's. A call that cannot be captured breaks the capture and fails the communicator.
  Result<bool> submit(const std::vector<std::shared_ptr<Call>>& calls, const Status& fetched);
  /// Waits until all that was submitted, and all launches of graphs with calls, are done, or one has failed.
  void drain();

  /// The calls that CUDA graphs replay; null: there are none. They outlive this.
  [[nodiscard]] std::shared_ptr<GraphCalls> graphs();
  /// The first failure; success before.
  [[nodiscard]] Status failure();
  /// Ends all calls, here and on the other ranks; streams go on, with NaN for results.
  void abort(const std::string& reason);

 private:
  StreamOrder(Device& device, goss_comm_t comm, std::shared_ptr<Turns> turns)
      : device_(device), comm_(comm), turns_(std::move(turns)) {}

  using Queues = std::vector<DeviceQueue*>; ///< A submission's queues, each once: the first one does its work.
  using Capture = std::optional<devices::cuda::Capture>;

  // Under submit_mutex_.
  Result<DeviceQueue*> queueOf(cudaStream_t stream);
  Result<Queues> queuesOf(const std::vector<std::shared_ptr<Call>>& calls);
  /// The graph capture that all of `queues` take part in.
  Result<Capture> captureOf(const Queues& queues) const;
  Status submitToGraph(const devices::cuda::Capture& capture, const Queues& queues,
                       const std::vector<std::shared_ptr<Call>>& calls);
  Status join(const Queues& queues);
  /// Makes the first queue wait for the work that is in the others now.
  Status gather(const Queues& queues);
  Status leave(const Queues& queues);
  /// All queues but the first wait for `event`.
  static Status follow(const Queues& queues, DeviceEvent& event);
  Status fetchScalar(Call& call);
  Status awaitScalar(const Call& call);
  Status post(void* stream, const std::vector<std::shared_ptr<Call>>& calls);
  /// Gives a message its tag, which a refused one leaves to the next.
  Status startNext(Call& call, void* stream, goss_request_t* request);

  // Under mutex_.
  void collect();
  void note(const Status& failure);
  [[nodiscard]] bool blamesOther() const;
  void fail(const Status& failure);

  Device& device_; ///< The CUDA provider.
  const goss_comm_t comm_;
  goss_comm_t replays_ = nullptr; ///< Communicator of the calls that CUDA graphs replay; null: there is none.
  Status replays_made_;           ///< Why there is none.
  const std::shared_ptr<Turns> turns_;

  std::mutex submit_mutex_;
  std::map<cudaStream_t, std::unique_ptr<DeviceQueue>> queues_;
  std::unique_ptr<DeviceEvent> end_;    ///< Behind the last submission.
  std::unique_ptr<DeviceEvent> fork_;   ///< Recorded on the other streams of a group.
  std::unique_ptr<DeviceEvent> scalar_; ///< Behind the copy of a scalar.
  std::unique_ptr<DeviceBlock> host_scalar_;
  DeviceQueue* last_ = nullptr;
  std::map<std::pair<Kind, int>, std::int32_t> tags_; ///< Tag of the next message to each rank, and from it.

  std::mutex mutex_;
  std::deque<goss_request_t> pending_; ///< Requests of submitted calls, in their order.
  Status failure_;
  bool aborted_ = false;
  std::shared_ptr<GraphCalls> graphs_; ///< Null: no call was captured so far.
};

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_STREAM_ORDER_H_
