/// What an ncclComm_t points to.
#ifndef GOSS_BINDINGS_NCCL_COMMUNICATOR_H_
#define GOSS_BINDINGS_NCCL_COMMUNICATOR_H_

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bindings/nccl/call.h"
#include "bindings/nccl/nccl_api.h"
#include "bindings/nccl/stream_order.h"
#include "bindings/nccl/turn.h"
#include "gossamer/device.h"

/// Thread-safe. Made in state ncclInProgress; a thread of its own, or the call that made it, then starts it.
struct ncclComm {
  ncclComm(goss::Device& device, int own_rank, int rank_count, const ncclConfig_t& config);
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;
  ~ncclComm();

  /// A reduction that the program made.
  struct UserOp {
    ncclDataType_t type;
    double scale;
    const std::byte* device_scalar; ///< Not null: in place of `scale`.
  };

  /// Ends the start: takes the communicator over, or sets the state to the result of its error.
  void started(const goss::Result<goss_comm_t>& comm);
  /// The result of the start, even if the communicator has failed since; ncclInProgress until the start has ended.
  [[nodiscard]] ncclResult_t start() const { return static_cast<ncclResult_t>(state_.load()); }
  /// ncclSuccess, or the error that ncclCommGetAsyncError and all calls return.
  [[nodiscard]] ncclResult_t state() const;
  /// Whether calls may be made: ncclSuccess, or refused with a text.
  [[nodiscard]] ncclResult_t ready(const char* call) const;
  [[nodiscard]] std::string text() const;

  void count(const goss::nccl::Call& call);
  void abort(const std::string& reason);
  /// Writes to standard error which calls the communicator ran, including the calls that CUDA graphs replayed.
  void sayWhatRan(const goss::nccl::GraphCalls::Replayed& replayed) const;

  goss::Device& device;
  const bool blocking;
  const std::string name;
  std::atomic<int> rank;
  std::atomic<int> ranks;

  goss_comm_t comm = nullptr; ///< Both are set by started().
  std::unique_ptr<goss::nccl::StreamOrder> order;
  std::thread starter;
  /// Orders the collectives that create other communicators from this one (split, shrink, grow). Calls on this
  /// communicator wait until these collectives have ended.
  const std::shared_ptr<goss::nccl::Turns> turns = std::make_shared<goss::nccl::Turns>();
  std::atomic<bool> finalized{false};
  std::atomic<bool> revoked{false};
  std::atomic<bool> shrunk{false}; ///< With NCCL_SHRINK_ABORT.
  std::atomic<bool> aborted{false};
  std::atomic<bool> suspended{false};

  std::mutex mutex; ///< Guards `ops`.
  std::map<int, UserOp> ops;

 private:
  std::atomic<int> state_{ncclInProgress};
  mutable std::mutex text_mutex_;
  std::string text_;
  std::array<std::atomic<std::uint64_t>, goss::nccl::kKinds> calls_{};
  std::array<std::atomic<std::uint64_t>, goss::nccl::kKinds> bytes_{};
};

namespace goss::nccl {

/// The devices of this process, and the calling thread's. Errors: GOSS_ERR_UNSUPPORTED without a driver.
Result<DeviceProvider*> devices();

/// Keeps a communicator alive while its handle is valid.
ncclComm_t enroll(std::shared_ptr<ncclComm> comm);
/// nullptr for a handle that is not valid; then refuse() has been called.
std::shared_ptr<ncclComm> find(ncclComm_t handle, const char* call);
void forget(ncclComm_t handle);

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_COMMUNICATOR_H_
