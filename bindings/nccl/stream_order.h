/// Runs one communicator's calls in the order of the program's streams. What a call sends is staged through pinned
/// memory; a thread of the communicator starts it when the stream has brought it in; and the stream waits at a gate
/// until the results are there. All of a call is put into the stream when it is made, in an order that is right even if
/// all streams were one queue: a gate waits for the host alone, and for copies that were enqueued before it.
///
/// After a failure the gates stay closed, until release() or GOSS_NCCL_HOLD_MS: then results are filled with bytes that
/// are no numbers, and the streams go on. So a program never takes an old value for a result.
#ifndef GOSS_BINDINGS_NCCL_STREAM_ORDER_H_
#define GOSS_BINDINGS_NCCL_STREAM_ORDER_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bindings/nccl/rings.h"

namespace goss::nccl {

/// Thread-safe. Calls are matched with those of the other ranks in the order of submit().
class StreamOrder {
 public:
  /// `comm` is lent until this is destroyed, and used by it alone.
  static Result<std::unique_ptr<StreamOrder>> make(Device& device, goss_comm_t comm, int rank, int ranks);
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;
  /// Waits for what was submitted; of a communicator that failed, releases it.
  ~StreamOrder();

  /// Puts `calls`, one or a group, into their streams and returns. Errors: the first failure; GOSS_ERR_UNSUPPORTED
  /// while a stream is captured; GOSS_ERR_RESOURCE.
  Status submit(const std::vector<std::shared_ptr<Call>>& calls);
  /// `task` runs in the communicator's thread behind what was submitted before.
  void run(std::function<void()> task);
  /// Waits until all that was submitted is done, or has failed.
  void drain();

  /// The first failure; success before.
  [[nodiscard]] Status failure() const;
  /// Ends all calls: those that are not done fail, here and on the other ranks.
  void fail(const Status& status);
  /// Opens the gates of failed calls.
  void release();

 private:
  StreamOrder(Device& device, goss_comm_t comm, int rank, int ranks)
      : device_(device), comm_(comm), rank_(rank), ranks_(ranks) {}

  struct Batch {
    std::vector<std::shared_ptr<Call>> calls; ///< Keeps them alive.
    std::vector<Gate> gates;
  };
  struct Task {
    std::shared_ptr<Batch> batch; ///< Null: `function`.
    std::function<void()> function;
  };

  // In the submitting thread, under submit_mutex_.
  Result<DeviceQueue*> queueOf(cudaStream_t stream);
  Status grow(std::size_t slot_bytes);
  Status enqueue(const std::vector<std::shared_ptr<Call>>& calls, const Batch& batch);
  Status join(const std::vector<DeviceQueue*>& queues);
  Status enqueueGates(DeviceQueue& queue, const std::vector<Gate>& gates);
  Status bringIn(DeviceQueue& queue, const Gate& gate);
  void push(Task task);

  // In the communicator's thread.
  void work();
  void runBatch(Batch& batch);
  bool startArrived(Batch& batch, std::size_t& started);
  bool finishNext(Gate& gate, bool wait);
  void endRequests(Batch& batch);
  void hold();
  void pause(int turn);

  Device& device_;
  const goss_comm_t comm_;
  const int rank_;
  const int ranks_;

  std::mutex submit_mutex_;
  std::unique_ptr<Rings> rings_;
  std::map<cudaStream_t, std::unique_ptr<DeviceQueue>> queues_;
  std::unique_ptr<DeviceEvent> end_;  ///< Behind the last batch.
  std::unique_ptr<DeviceEvent> fork_; ///< Of the other streams of a group.
  DeviceQueue* last_ = nullptr;
  std::uint32_t sequence_ = 0; ///< Of the last gate.

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::size_t unfinished_ = 0; ///< Tasks that are not done.
  Status failure_;
  bool released_ = false;
  bool ending_ = false;
  std::atomic<bool> failed_{false};

  std::unique_ptr<DeviceEvent> probe_; ///< Never recorded: asks the device whether it lives.
  std::thread thread_;
};

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_STREAM_ORDER_H_
