/// Started operations.
#ifndef GOSSAMER_CPP_REQUEST_HPP_
#define GOSSAMER_CPP_REQUEST_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gossamer/abi.h"
#include "gossamer/cpp/buffer.hpp"
#include "gossamer/cpp/error.hpp"

namespace gossamer {

namespace detail {

/// A communicator's handle; everything that was made of the communicator shares it.
struct CommState {
  explicit CommState(goss_comm_t it) : handle(it) {
    goss_comm_rank(it, &rank);
    goss_comm_size(it, &size);
  }
  CommState(const CommState&) = delete;
  CommState& operator=(const CommState&) = delete;
  ~CommState() { goss_comm_destroy(handle); }

  goss_comm_t handle;
  std::int32_t rank = 0;
  std::int32_t size = 0;
};
using SharedComm = std::shared_ptr<const CommState>;

} // namespace detail

/// An operation that was started, or has completed. Its buffers belong to the library until it is complete.
///
/// The destructor, and an assignment to it, of a pending one wait until it is complete, up to its deadline; the error
/// is lost then. An error is reported by each wait() and test(), not by the first alone.
template <class Errors = Throwing>
class BasicRequest {
 public:
  template <class T>
  using Return = typename Errors::template Return<T>;

  BasicRequest() = default;
  BasicRequest(detail::SharedComm comm, goss_request_t handle) : comm_(std::move(comm)), handle_(handle) {}
  BasicRequest(BasicRequest&& other) noexcept { *this = std::move(other); }
  BasicRequest& operator=(BasicRequest&& other) noexcept {
    if (this == &other) return *this;
    settle();
    comm_ = std::move(other.comm_);
    handle_ = std::exchange(other.handle_, nullptr);
    is_pending_ = std::exchange(other.is_pending_, false);
    message_ = other.message_;
    failure_ = std::move(other.failure_);
    return *this;
  }
  ~BasicRequest() { settle(); }

  /// Blocks until the operation is complete; gives what a receive got.
  Return<Message> wait() {
    if (is_pending_) {
      goss_message got{message_.source, message_.tag, message_.bytes};
      complete(goss_wait(&handle_, &got), got);
    }
    return Errors::outcome(failure_, message_);
  }

  /// Whether the operation is complete. Never blocks; the library makes progress in it.
  Return<bool> test() {
    if (!poll()) return false;
    return Errors::outcome(failure_, true);
  }

  /// As test(), but the error is kept for wait() and test().
  bool poll() noexcept {
    if (!is_pending_) return true;
    int done = 0;
    goss_message got{message_.source, message_.tag, message_.bytes};
    const goss_status status = goss_test(&handle_, &done, &got);
    if (done != 0 || status != GOSS_SUCCESS) complete(status, got);
    return !is_pending_;
  }

  /// The operation's error as far as it is known; nothing while it is pending. Completes nothing.
  std::optional<Error> error() const {
    if (!is_pending_) return failure_;
    goss_status status = GOSS_SUCCESS;
    const char* text = "";
    if (goss_request_error(handle_, &status, &text) != GOSS_SUCCESS || status == GOSS_SUCCESS) return std::nullopt;
    return Error(status, text);
  }

  /// What a receive that is complete got.
  const Message& message() const { return message_; }
  goss_request_t handle() const { return handle_; }

  /// Waits for all of them; reports the first failure in their order.
  static Return<void> waitAll(std::span<BasicRequest> requests) {
    for (BasicRequest& request : requests) {
      request.settleKeeping();
    }
    for (BasicRequest& request : requests) {
      if (request.failure_)
        return Errors::finish(goss_set_last_error(request.failure_->status(), request.failure_->what()));
    }
    return Errors::finish(GOSS_SUCCESS);
  }

  /// Waits for any of those that are pending and gives its place; their number when none is.
  static Return<std::size_t> waitAny(std::span<BasicRequest> requests) {
    std::vector<goss_request_t> handles(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      handles[i] = requests[i].is_pending_ ? requests[i].handle_ : nullptr;
    }
    std::size_t index = requests.size();
    goss_message got{kAnySource, kAnyTag, 0};
    const goss_status status = goss_wait_any(handles.data(), handles.size(), &index, &got);
    if (index < requests.size()) {
      requests[index].handle_ = handles[index];
      requests[index].complete(status, got);
    }
    return Errors::finish(status, [&] { return index; });
  }

 protected:
  /// Waits for what is pending and frees what is persistent.
  void settle() noexcept {
    settleKeeping();
    if (handle_ != nullptr) goss_request_free(&handle_);
    handle_ = nullptr;
    failure_.reset();
  }
  detail::SharedComm comm_;
  goss_request_t handle_ = nullptr; // NULL once an operation that is not persistent is complete
  bool is_pending_ = handle_ != nullptr;
  Message message_;
  std::optional<Error> failure_;

 private:
  void settleKeeping() noexcept {
    if (!is_pending_) return;
    goss_message got{message_.source, message_.tag, message_.bytes};
    complete(goss_wait(&handle_, &got), got);
  }
  void complete(goss_status status, const goss_message& got) {
    is_pending_ = false;
    message_ = {got.source, got.tag, got.bytes};
    if (status != GOSS_SUCCESS) failure_ = Error::last(status);
  }
};

/// An operation that is planned once and run any number of times: start(), then wait(). Its buffers belong to the
/// library from start() to completion, and their addresses for as long as it lives.
template <class Errors = Throwing>
class BasicPersistentRequest : public BasicRequest<Errors> {
 public:
  BasicPersistentRequest() = default;
  BasicPersistentRequest(detail::SharedComm comm, goss_request_t handle)
      : BasicRequest<Errors>(std::move(comm), handle) {
    this->is_pending_ = false;
  }

  /// Starts it; only when it is not pending.
  typename Errors::template Return<void> start() {
    return Errors::finish(goss_start(this->handle_), [this] {
      this->failure_.reset();
      this->message_ = {};
      this->is_pending_ = true;
    });
  }
};

/// Until it ends, this thread's blocking calls of collectives, sends and receives are only started: so a group of sends
/// and receives cannot deadlock. Groups nest. The destructor of one that was not ended waits too, and loses the error.
template <class Errors = Throwing>
class BasicGroup {
 public:
  BasicGroup() { goss_group_begin(); }
  BasicGroup(const BasicGroup&) = delete;
  BasicGroup& operator=(const BasicGroup&) = delete;
  ~BasicGroup() {
    if (is_open_) goss_group_end();
  }
  /// Waits for all calls of the group; reports the first failure. By the thread that made the group, once.
  typename Errors::template Return<void> end() {
    is_open_ = false;
    return Errors::finish(goss_group_end());
  }

 private:
  bool is_open_ = true;
};

} // namespace gossamer

#endif // GOSSAMER_CPP_REQUEST_HPP_
