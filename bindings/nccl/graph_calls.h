/// Calls of one communicator that CUDA graphs replay. A captured call becomes nodes of the graph: they copy its data
/// into pinned memory, write the call's number to a word there, wait until the host sets a second word, reset that word
/// and copy the results out. A thread of the host waits for the first word, runs the call and sets the second word.
/// Replays have a communicator of their own, so that they take no sequence numbers among the other calls of the
/// program. A capture exchanges nothing with other ranks.
///
/// All replays use the same words and memory, one after the other: calls of one graph are ordered within it, and graphs
/// by an event, as they are launched. So all ranks launch a communicator's graphs in one order, as for NCCL.
///
/// A call that fails leaves its graph waiting until release(), or until GOSS_DEVICE_HOLD_MS after the first failure;
/// its results are NaN then, and those of all replays after it.
#ifndef GOSS_BINDINGS_NCCL_GRAPH_CALLS_H_
#define GOSS_BINDINGS_NCCL_GRAPH_CALLS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/nccl/call.h"
#include "devices/cuda/device.h"
#include "devices/cuda/graph.h"
#include "devices/device_watch.h"

namespace goss::nccl {

/// Thread-safe but for capture(), which one thread calls at a time. The thread that serves the replays owns it too,
/// until end() was called and the last graph is gone. That thread asks the driver nothing before: while a thread of the
/// program frees memory the driver answers nobody until the graphs have run, which wait for this one.
class GraphCalls {
 public:
  using Capture = devices::cuda::Capture;
  using Calls = std::vector<std::shared_ptr<Call>>;

  /// Replays run on `comm`, which is lent until end().
  static Result<std::shared_ptr<GraphCalls>> make(devices::cuda::CudaDevice& device, goss_comm_t comm);
  GraphCalls(const GraphCalls&) = delete;
  GraphCalls& operator=(const GraphCalls&) = delete;

  /// Makes `calls`, one or a group, a part of the graph into which the stream of `queue` is being captured. After a
  /// failure no graph may come out of the capture. Errors: the first failure; the device's; GOSS_ERR_RESOURCE.
  Status capture(const Capture& capture, DeviceQueue& queue, const Calls& calls);

  /// What replays did. Complete after end().
  struct Replayed {
    std::uint64_t calls = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
  };
  [[nodiscard]] Replayed replayed();

  /// The first failure of a replay; success before.
  [[nodiscard]] Status failure();
  /// Whether all launches of graphs are done.
  [[nodiscard]] bool isIdle();
  /// Ends the replay that is under way, here and on the other ranks, and all that follow, with `failure`.
  void abort(const Status& failure);
  /// Graphs wait no more for calls that have failed.
  void release();
  /// Called before the communicator is destroyed: from now on replays of the remaining graphs fail at once. Returns
  /// when no replay uses the communicator.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  /// One or a group of calls, on pinned memory.
  struct Batch {
    std::vector<Call> calls;
    std::vector<CopyJob> in;
    std::vector<CopyJob> out;
    std::byte* results = nullptr; ///< What is copied out lies from here to `results_end`.
    std::byte* results_end = nullptr;
  };
  struct Graph {
    std::vector<std::uint32_t> numbers;          ///< The numbers of the graph's batches.
    std::unique_ptr<DeviceEvent> last_call_done; ///< The capture recorded it behind the last call so far.
  };

  GraphCalls(devices::cuda::CudaDevice& device, goss_comm_t comm, int rank, int ranks, std::chrono::milliseconds hold)
      : device_(device), rank_(rank), ranks_(ranks), hold_(hold), comm_(comm) {}
  Status prepare();

  // Only capture() calls these.
  Result<DeviceEvent*> enter(const Capture& capture, DeviceQueue& queue);
  /// One of a graph that is gone, if there is any.
  Result<std::unique_ptr<DeviceEvent>> event();
  Result<std::shared_ptr<const Batch>> place(const Calls& calls);
  Result<std::byte*> memory(std::size_t bytes);
  Status enqueue(DeviceQueue& queue, const Batch& batch, std::uint32_t number);

  /// The graph of `capture` is gone. Called by a thread of the driver, which must wait for nothing that calls the
  /// driver.
  void graphGone(std::uint64_t capture);
  /// The caller holds mutex_.
  void forget(std::uint64_t capture);

  // Only the thread of run() calls these.
  void run();
  void forgetGone();
  bool mayEnd();
  void pause();
  void serve(std::uint32_t number);
  static Status replay(goss_comm_t comm, const Batch& batch);
  void awaitRelease();

  void fail(const Status& status);

  devices::cuda::CudaDevice& device_;
  const int rank_;
  const int ranks_;
  const std::chrono::milliseconds hold_;
  std::unique_ptr<DeviceBlock> words_;
  Flag begun_ = nullptr;  ///< The number of the call that the graph has come to; the host lowers it to 0.
  Flag opened_ = nullptr; ///< 1: the call is over; the graph lowers it to 0.
  std::unique_ptr<DeviceQueue> queue_;
  std::unique_ptr<DeviceEvent> launched_;            ///< Each launch records it behind every call.
  std::vector<std::unique_ptr<DeviceBlock>> memory_; ///< The last one is the largest; graphs use all.
  std::uint32_t last_number_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, std::shared_ptr<const Batch>> batches_; ///< By number.
  std::map<std::uint64_t, Graph> graphs_;                         ///< By capture.
  std::vector<std::unique_ptr<DeviceEvent>> idle_events_;         ///< Of graphs that are gone, for later ones.
  goss_comm_t comm_;                                              ///< Null after end().
  Replayed replayed_;
  Status failure_;
  Clock::time_point hold_end_{}; ///< Graphs wait no longer for calls that have failed; set with failure_.
  bool released_ = false;
  bool ending_ = false;
  bool ended_ = false;

  std::mutex gone_mutex_;
  std::vector<std::uint64_t> gone_; ///< Captures whose graphs the thread forgets.

  // Only the thread of run() uses these.
  Clock::time_point served_ = Clock::now();

  std::unique_ptr<DeviceWatch> watch_; ///< Until end(). The last member: its thread uses others.
};

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_GRAPH_CALLS_H_
