/// Coroutines that await requests.
///
///   gossamer::Task<> train(Comm& comm, std::vector<float>& x) {
///     auto request = comm.async().allReduce(x, x);
///     ...                       // other work, other requests
///     co_await request;         // as request.wait(), but the thread runs other tasks meanwhile
///   }
///   gossamer::EventLoop loop(comm);
///   loop.run(train(comm, x));
///
/// **The thread that is in EventLoop::run() resumes every coroutine**, always outside of library calls and locks; no
/// other thread ever does. It sleeps on the communicator's event descriptor, and looks every millisecond at requests
/// that the descriptor does not tell of: those that were started before the loop was made, or on other communicators.
#ifndef GOSSAMER_CPP_COROUTINE_HPP_
#define GOSSAMER_CPP_COROUTINE_HPP_

#include <poll.h>

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gossamer/abi.h"
#include "gossamer/cpp/comm.hpp"
#include "gossamer/cpp/error.hpp"
#include "gossamer/cpp/request.hpp"

namespace gossamer {

template <class T>
class Task;

/// Resumes coroutines whose requests are complete. Used by one thread at a time.
class EventLoop {
 public:
  /// Throws Error when there is no descriptor left.
  template <class Errors>
  explicit EventLoop(const BasicComm<Errors>& comm) : comm_(comm.state()) {
    int fd = -1;
    Throwing::finish(goss_comm_event_fd(comm.handle(), &fd));
    descriptor_ = {fd, POLLIN, 0};
  }
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// A coroutine that waits for a request, and the function that tests the request.
  class Waiting {
   public:
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    virtual bool poll() noexcept = 0;
    // NOLINTNEXTLINE(readability-identifier-naming): the language's name
    void await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      loop_.waiting_.push_back(this);
    }

   protected:
    explicit Waiting(EventLoop& loop) : loop_(loop) {}
    virtual ~Waiting() { std::erase(loop_.waiting_, this); } // a coroutine may be destroyed while it waits

   private:
    friend class EventLoop;
    EventLoop& loop_;
    std::coroutine_handle<> coroutine_;
  };

  /// What `co_await` of a request gives in a Task; in coroutines of other kinds `co_await loop.completion(request)`.
  template <class Errors>
  class Completion final : public Waiting {
   public:
    Completion(EventLoop& loop, BasicRequest<Errors>& request) : Waiting(loop), request_(request) {}
    bool poll() noexcept override { return request_.poll(); }
    bool await_ready() noexcept { return poll(); }  // NOLINT(readability-identifier-naming)
    auto await_resume() { return request_.wait(); } // NOLINT(readability-identifier-naming)

   private:
    BasicRequest<Errors>& request_;
  };
  template <class Errors>
  Completion<Errors> completion(BasicRequest<Errors>& request) {
    return {*this, request};
  }

  /// Runs a task to its end, and all that it awaits. Throws what the task throws.
  template <class T>
  T run(Task<T> task) {
    task.start(*this);
    while (!task.isDone()) {
      turn();
    }
    return task.take();
  }

  /// Runs tasks at the same time, each to its end; then throws what the first in their order has thrown.
  void run(std::vector<Task<void>> tasks);

  /// Resumes the coroutines whose requests are complete; sleeps up to a millisecond if there are none.
  void turn() {
    bool any = false;
    for (std::size_t i = 0; i < waiting_.size();) {
      Waiting* one = waiting_[i];
      if (!one->poll()) {
        ++i;
        continue;
      }
      any = true;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      one->coroutine_.resume(); // it may add to waiting_ and take from it
    }
    const bool was_told = std::exchange(is_told_, false);
    if (any) return;
    if (was_told) { // and yet nothing of ours is complete: another thread has not collected its request
      ::poll(nullptr, 0, kPause_ms);
    } else {
      is_told_ = ::poll(&descriptor_, 1, kPause_ms) > 0;
    }
  }

 private:
  static constexpr int kPause_ms = 1; // NOLINT(readability-identifier-naming): units come last
  detail::SharedComm comm_;           // owns the descriptor
  pollfd descriptor_{};
  std::vector<Waiting*> waiting_;
  bool is_told_ = false; // the descriptor was readable at the end of the last turn
};

namespace detail {

template <class T>
class Promise;

/// What promises of all types do.
class PromiseBase {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the language's names
  std::suspend_always initial_suspend() noexcept { return {}; }
  /// Goes on with whoever awaits this task.
  struct Final {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> ended) noexcept {
      return ended.promise().awaiter_ ? ended.promise().awaiter_ : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() { failure_ = std::current_exception(); }

  template <class Errors>
  auto await_transform(BasicRequest<Errors>& request) {
    return loop_->completion(request);
  }
  template <class Errors>
  auto await_transform(BasicPersistentRequest<Errors>& request) {
    return loop_->completion(static_cast<BasicRequest<Errors>&>(request));
  }
  template <class T>
  auto await_transform(Task<T> task) {
    return Nested<T>{std::move(task), loop_};
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  template <class T>
  struct Nested {
    Task<T> task;
    EventLoop* loop;
    // NOLINTBEGIN(readability-identifier-naming)
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
      return task.enter(*loop, awaiter);
    }
    T await_resume() { return task.take(); }
    // NOLINTEND(readability-identifier-naming)
  };
  template <class T>
  friend class gossamer::Task;
  EventLoop* loop_ = nullptr;
  std::coroutine_handle<> awaiter_;
  std::exception_ptr failure_;
};

template <class T>
class Promise : public PromiseBase {
 public:
  Task<T> get_return_object();                                     // NOLINT(readability-identifier-naming)
  void return_value(T value) { value_.emplace(std::move(value)); } // NOLINT(readability-identifier-naming)
  T value() { return std::move(*value_); }

 private:
  std::optional<T> value_;
};
template <>
class Promise<void> : public PromiseBase {
 public:
  Task<void> get_return_object(); // NOLINT(readability-identifier-naming)
  void return_void() {}           // NOLINT(readability-identifier-naming)
  void value() {}
};

} // namespace detail

/// A coroutine that awaits requests and other tasks. It starts when EventLoop::run() or another task's co_await runs
/// it.
template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>; // NOLINT(readability-identifier-naming): the language's name
  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

 private:
  friend class EventLoop;
  friend class detail::PromiseBase;
  bool isDone() const { return coroutine_.done(); }
  std::coroutine_handle<> enter(EventLoop& loop, std::coroutine_handle<> awaiter) noexcept {
    coroutine_.promise().loop_ = &loop;
    coroutine_.promise().awaiter_ = awaiter;
    return coroutine_;
  }
  void start(EventLoop& loop) { enter(loop, nullptr).resume(); }
  T take() {
    if (coroutine_.promise().failure_) std::rethrow_exception(coroutine_.promise().failure_);
    return coroutine_.promise().value();
  }
  std::coroutine_handle<promise_type> coroutine_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

inline void EventLoop::run(std::vector<Task<void>> tasks) {
  for (Task<void>& task : tasks) {
    task.start(*this);
  }
  while (!std::all_of(tasks.begin(), tasks.end(), [](const Task<void>& task) { return task.isDone(); })) {
    turn();
  }
  for (Task<void>& task : tasks) {
    task.take();
  }
}

} // namespace gossamer

#endif // GOSSAMER_CPP_COROUTINE_HPP_
