/// Started operations.
#ifndef GOSSAMER_CPP_REQUEST_HPP_
#define GOSSAMER_CPP_REQUEST_HPP_

#include <algorithm>
#include <chrono>
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
/// The destructor of a pending request, and an assignment to it, wait until it is complete, up to its deadline; the
/// error is lost then. The library rejects that wait if the call is ordered in a stream and belongs to an open group of
/// this thread; then they first end the thread's groups, and the end() of those groups reports that no group is open.
/// Each wait() and test() reports the error, not only the first. A wait that the library rejects leaves the request
/// pending.
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
    const std::optional<Error> refused = finish();
    return Errors::outcome(refused ? refused : failure_, message_);
  }

  /// As wait(), for about `longest` at most: whether the operation is complete. If not, it goes on.
  Return<bool> waitFor(std::chrono::milliseconds longest) {
    const std::optional<Error> refused = ask(longest);
    if (!refused && is_pending_) return false;
    return Errors::outcome(refused ? refused : failure_, true);
  }

  /// Whether the operation is complete. Never blocks; the library makes progress in it.
  Return<bool> test() {
    const std::optional<Error> refused = ask();
    if (!refused && is_pending_) return false;
    return Errors::outcome(refused ? refused : failure_, true);
  }

  /// Whether wait() would return at once. As test(), but the error is kept for wait() and test().
  bool poll() noexcept { return ask().has_value() || !is_pending_; }

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
    std::optional<Error> first;
    for (BasicRequest& request : requests) {
      const std::optional<Error> refused = request.finish();
      if (!first) first = refused ? refused : request.failure_;
    }
    return Errors::outcome(first);
  }

  /// Waits for any of the pending requests and returns its index; requests.size() if none is pending.
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
      requests[index].complete(got, status == GOSS_SUCCESS ? std::nullopt : std::optional(Error::last(status)));
    }
    return Errors::finish(status, [&] { return index; });
  }

 protected:
  /// Waits for what is pending and frees what is persistent.
  void settle() noexcept {
    while (finish() && goss_group_end() == GOSS_SUCCESS) {
    }
    finish(); // The end of the outermost group may have reported the failure of a call.
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
  /// Waits for what is pending. Gives the error of a wait that the library refuses: the operation is as it was.
  std::optional<Error> finish() noexcept {
    if (!is_pending_) return std::nullopt;
    goss_message got{message_.source, message_.tag, message_.bytes};
    const goss_status status = goss_wait(&handle_, &got);
    return status == GOSS_SUCCESS ? complete(got, std::nullopt) : take(got, Error::last(status));
  }
  /// As finish(), but waits for `longest` at most, which is 0 or more.
  std::optional<Error> ask(std::chrono::milliseconds longest = {}) noexcept {
    if (!is_pending_) return std::nullopt;
    int done = 0;
    goss_message got{message_.source, message_.tag, message_.bytes};
    const std::int64_t limit_ms = std::max<std::int64_t>(longest.count(), 0);
    const goss_status status =
        limit_ms == 0 ? goss_test(&handle_, &done, &got) : goss_wait_for(&handle_, limit_ms, &done, &got);
    if (status != GOSS_SUCCESS) return take(got, Error::last(status));
    return done == 0 ? std::nullopt : complete(got, std::nullopt);
  }
  /// `error` is the operation's if that is over, else that of the call which the library has refused.
  std::optional<Error> take(const goss_message& got, const Error& error) {
    int done = handle_ == nullptr ? 1 : 0; // A persistent request keeps its handle.
    if (done == 0) goss_test(&handle_, &done, nullptr);
    return done != 0 ? complete(got, error) : error;
  }
  std::optional<Error> complete(const goss_message& got, std::optional<Error> failure) {
    is_pending_ = false;
    message_ = {got.source, got.tag, got.bytes};
    failure_ = std::move(failure);
    return std::nullopt;
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

/// A group of this thread's blocking calls. Until end(), collectives, sends and receives are only started, so that a
/// group of sends and receives cannot deadlock. Groups nest. The destructor calls end() if the program has not, and
/// loses the error.
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
