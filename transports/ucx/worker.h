/// The UCX objects of one transport.
#ifndef GOSS_TRANSPORTS_UCX_WORKER_H_
#define GOSS_TRANSPORTS_UCX_WORKER_H_

#include <ucp/api/ucp.h>

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/status.h"
#include "transports/ucx/station.h"

namespace goss::transports::ucx {

/// GOSS_ERR_RESOURCE (or PEER_LOST for `peer` >= 0) with UCX's own text.
Status ucxError(int peer, std::string_view what, ucs_status_t status);

/// Most bytes of a part of a message, by transport; 0: messages do not go in parts.
struct Parts {
  std::size_t memory_bytes = 0;
  std::size_t tcp_bytes = 0; ///< For peers on the same host.
};

/// A context and its worker. One thread at a time.
class Worker {
 public:
  /// `ranks`: about how many endpoints will be made.
  static Result<Worker> create(int ranks);
  ~Worker();
  Worker(Worker&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)),
        worker_(std::exchange(other.worker_, nullptr)),
        parts_(other.parts_) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Worker& operator=(Worker&&) = delete;

  [[nodiscard]] Result<std::string> address() const;
  [[nodiscard]] Result<int> eventFd() const;
  Status setHandler(ucp_am_recv_callback_t handler, void* argument);
  Result<ucp_ep_h> connect(int peer, std::string_view address, ucp_err_handler_t on_error);

  /// How to send over this endpoint.
  [[nodiscard]] Route routeOf(ucp_ep_h endpoint, bool same_host) const;

  bool progress() { return ucp_worker_progress(worker_) != 0; }
  /// False: there is work to do.
  bool arm() { return ucp_worker_arm(worker_) == UCS_OK; }
  /// Progresses until `done`, at most for `limit`; returns done().
  bool progressUntil(const std::function<bool()>& done, std::chrono::milliseconds limit);
  /// Waits until `request`, of a call without callback, has completed, at most for `limit`, and frees it.
  bool finish(ucs_status_ptr_t request, std::chrono::milliseconds limit);
  /// As above for many requests, at most for `limit` in total.
  void finish(const std::vector<ucs_status_ptr_t>& requests, std::chrono::milliseconds limit);
  [[nodiscard]] ucp_worker_h get() const { return worker_; }

 private:
  Worker(ucp_context_h context, ucp_worker_h worker, const Parts& parts)
      : context_(context), worker_(worker), parts_(parts) {}

  ucp_context_h context_;
  ucp_worker_h worker_;
  Parts parts_;
};

/// The id of this transport's active messages.
inline constexpr unsigned kActiveMessageId = 7;

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_WORKER_H_
