/// The last lookup of a thread for a handle of MPI, so that calls with the same handle look it up once.
#ifndef GOSS_BINDINGS_MPI_LAST_LOOKUP_H_
#define GOSS_BINDINGS_MPI_LAST_LOOKUP_H_

#include <atomic>
#include <cstdint>

namespace goss::interposer {

/// Counts the handles of one kind that MPI has freed. MPI gives the value of a freed handle to new objects, so that
/// what is known of any handle holds only while the count stays the same.
class FreedCounter {
 public:
  /// To be called when a handle is freed, before MPI can give its value to another object.
  void add() { count_.fetch_add(1, std::memory_order_release); }
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> count_{1};
};

/// The facts of the handle that a thread looked up last. They hold until any handle of the kind is freed.
template <class Handle, class Facts>
class LastLookup {
 public:
  /// The facts of set() for this handle; null if the last lookup was for another handle, or any handle was freed since.
  [[nodiscard]] const Facts* find(Handle handle, const FreedCounter& freed) const {
    return handle == handle_ && freed.count() == freed_ ? &facts_ : nullptr;
  }
  /// `freed` is FreedCounter::count() before the facts were looked up.
  void set(Handle handle, std::uint64_t freed, const Facts& facts) {
    freed_ = freed;
    handle_ = handle;
    facts_ = facts;
  }

 private:
  Handle handle_{};
  std::uint64_t freed_ = 0; ///< See set(); 0: nothing was looked up yet.
  Facts facts_{};
};

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_LAST_LOOKUP_H_
