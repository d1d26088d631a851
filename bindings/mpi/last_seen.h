/// What a thread found out about the handle that it used last, so that equal calls in a row look nothing up.
#ifndef GOSS_BINDINGS_MPI_LAST_SEEN_H_
#define GOSS_BINDINGS_MPI_LAST_SEEN_H_

#include <atomic>
#include <cstdint>

namespace goss::interposer {

/// Handles of one kind that MPI has freed, or may free. MPI gives a freed handle's value to new objects.
class Freed {
 public:
  /// Called by whoever hears that a handle is freed, before MPI can give its value to another object.
  void add() { count_.fetch_add(1, std::memory_order_release); }
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> count_{1};
};

/// Each thread has its own. What it keeps is true until any handle of the kind is freed.
template <class Handle, class Facts>
class LastSeen {
 public:
  /// Returns what set() kept for the handle; null if that was another handle, or if one was freed since.
  [[nodiscard]] const Facts* find(Handle handle, const Freed& freed) const {
    return handle == handle_ && freed.count() == freed_ ? &facts_ : nullptr;
  }
  /// `freed`: Freed::count() before the facts were asked for.
  void set(Handle handle, std::uint64_t freed, const Facts& facts) {
    freed_ = freed;
    handle_ = handle;
    facts_ = facts;
  }

 private:
  Handle handle_{};
  std::uint64_t freed_ = 0; ///< Freed::count() at that time; 0: nothing is known.
  Facts facts_{};
};

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_LAST_SEEN_H_
