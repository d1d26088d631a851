/// Windows: memory of each rank that other ranks read and change without a call there.
#ifndef GOSSAMER_CPP_WINDOW_HPP_
#define GOSSAMER_CPP_WINDOW_HPP_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "gossamer/abi.h"
#include "gossamer/cpp/buffer.hpp"
#include "gossamer/cpp/calls.hpp"
#include "gossamer/cpp/comm.hpp"
#include "gossamer/cpp/error.hpp"
#include "gossamer/cpp/request.hpp"

namespace gossamer {

namespace detail {

/// A window's handle and this rank's part of it.
template <Element T>
struct WindowState {
  explicit WindowState(SharedComm it) : comm(std::move(it)) {}
  WindowState(const WindowState&) = delete;
  WindowState& operator=(const WindowState&) = delete;
  ~WindowState() {
    if (handle == nullptr) return;
    for (std::int32_t target = 0; target < comm->size; ++target) {
      goss_window_unlock(handle, target);
    }
    goss_window_free(&handle);
    if (handle != nullptr) (void)memory.release(); // A request is not over: other ranks may still write there.
  }

  SharedComm comm;
  goss_window_t handle = nullptr;
  std::unique_ptr<T[]> memory; // NOLINT(modernize-avoid-c-arrays): its elements keep their place
  std::size_t count = 0;
};

} // namespace detail

/// The accesses of a window in one mode, Blocking or Async. Local. `offset` is the first element of the target's part.
template <class Mode, Element T, class Errors>
class WindowCalls {
 public:
  using Started = typename Mode::template Started<Errors>;
  using Outcome = typename Errors::template Return<Started>;

  explicit WindowCalls(std::shared_ptr<detail::WindowState<T>> state) : state_(std::move(state)) {}

  /// Writes to the target. Complete when `data` may be used again.
  template <SendBuffer Data>
  requires std::same_as<std::remove_cv_t<detail::ElementOf<Data>>, T> Outcome put(Data&& data, std::int32_t target,
                                                                                  std::size_t offset = 0,
                                                                                  const Options& options = {}) {
    const std::span in(data);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      return goss_window_put(state_->handle, in.data(), in.size(), target, offset, chosen, request);
    });
  }
  /// Target's element = element `op` data's, for every element exactly once.
  template <SendBuffer Data>
  requires std::same_as<std::remove_cv_t<detail::ElementOf<Data>>, T> Outcome accumulate(Data&& data, Op op,
                                                                                         std::int32_t target,
                                                                                         std::size_t offset = 0,
                                                                                         const Options& options = {}) {
    const std::span in(data);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      return goss_window_accumulate(state_->handle, in.data(), in.size(), raw(op), target, offset, chosen, request);
    });
  }
  /// Reads from the target.
  template <ReceiveBuffer Data>
  requires std::same_as<detail::ElementOf<Data>, T> Outcome get(Data&& data, std::int32_t target,
                                                                std::size_t offset = 0, const Options& options = {}) {
    const std::span out(data);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      return goss_window_get(state_->handle, out.data(), out.size(), target, offset, chosen, request);
    });
  }
  /// `count` elements of this rank and of `partner` become their mean; `shadow`, where given, is read during the call.
  Outcome pairAverage(std::int32_t partner, std::size_t count, std::size_t offset = 0,
                      const goss_shadow* shadow = nullptr, const Options& options = {}) {
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      return goss_pair_average(state_->handle, partner, count, offset, shadow, chosen, request);
    });
  }

 protected:
  std::shared_ptr<detail::WindowState<T>> state_;

 private:
  template <class Start>
  Outcome launch(const Options& options, Start&& start) {
    return detail::launch<Mode, Errors>(state_->comm, options, std::forward<Start>(start));
  }
};

/// A window of `count` elements on each rank. It has the accesses of WindowCalls in their blocking form. The destructor
/// is collective: it releases this rank's locks and calls free(), whose error is lost. Wait for all requests before.
template <Element T, class Errors = Throwing>
class BasicWindow : public WindowCalls<Blocking, T, Errors> {
 public:
  template <class R>
  using Return = typename Errors::template Return<R>;

  /// Collective. The window owns its memory, of zero bits.
  static Return<BasicWindow> create(const BasicComm<Errors>& comm, std::size_t count, const Options& options = {}) {
    auto state = std::make_shared<detail::WindowState<T>>(comm.state());
    goss_status status = detail::expectFits<T>("goss_window_create", count);
    if (status == GOSS_SUCCESS) {
      state->memory = std::make_unique<T[]>(count); // NOLINT(modernize-avoid-c-arrays): as above
      state->count = count;
      const goss_options given = options.raw(0);
      status = goss_window_create(comm.handle(), state->memory.get(), count, Dtype<T>::value, &given, &state->handle);
    }
    return Errors::finish(status, [&] { return BasicWindow(std::move(state)); });
  }
  BasicWindow(BasicWindow&&) noexcept = default;
  BasicWindow& operator=(BasicWindow&&) noexcept = default;
  BasicWindow(const BasicWindow&) = delete;
  BasicWindow& operator=(const BasicWindow&) = delete;
  ~BasicWindow() = default;

  /// The same accesses, which hand out a request and return at once.
  WindowCalls<Async, T, Errors> async() const { return WindowCalls<Async, T, Errors>(this->state_); }
  /// This rank's part. gossamer/window.h says when its owner may touch it.
  std::span<T> span() const { return {this->state_->memory.get(), this->state_->count}; }
  /// For C calls; owned by this object.
  goss_window_t handle() const { return this->state_->handle; }

  /// Collective: waits until all that any rank has asked is done. Only the destructor may follow a free that succeeded.
  Return<void> free() { return Errors::finish(goss_window_free(&this->state_->handle)); }
  /// Blocks until the target, or every rank for GOSS_ALL_TARGETS, has done all that this rank has asked.
  Return<void> flush(std::int32_t target = GOSS_ALL_TARGETS, const Options& options = {}) {
    const goss_options given = options.raw(0);
    return Errors::finish(goss_window_flush(handle(), target, &given));
  }
  /// How many changes of `origin` are done in this rank's part.
  Return<std::uint64_t> version(std::int32_t origin) const {
    std::uint64_t version = 0;
    const goss_status status = goss_window_version(handle(), origin, &version);
    return Errors::finish(status, [&] { return version; });
  }
  /// Blocks until this rank has the target's lock.
  Return<void> lock(std::int32_t target, const Options& options = {}) {
    const goss_options given = options.raw(0);
    return Errors::finish(goss_window_lock(handle(), target, &given));
  }
  Return<void> unlock(std::int32_t target) { return Errors::finish(goss_window_unlock(handle(), target)); }

 private:
  explicit BasicWindow(std::shared_ptr<detail::WindowState<T>> state)
      : WindowCalls<Blocking, T, Errors>(std::move(state)) {}
};

} // namespace gossamer

#endif // GOSSAMER_CPP_WINDOW_HPP_
