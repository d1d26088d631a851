/// Caches the last blocking calls of one function in a thread, so that equal calls are not planned anew.
#ifndef GOSS_BINDINGS_MPI_CACHED_CALLS_H_
#define GOSS_BINDINGS_MPI_CACHED_CALLS_H_

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>

#include "bindings/mpi/communicator.h"
#include "bindings/mpi/operation.h"
#include "bindings/mpi/types.h"

namespace goss::interposer {

/// Keeps the operations of calls that use the program's buffers directly. A cached operation is valid until the program
/// frees a type or a communicator, or changes a list to which an argument points (Operation::holdList).
template <class... Arguments>
class CachedCalls {
 public:
  CachedCalls() = default;
  ~CachedCalls() { is_destroyed_ = true; }
  CachedCalls(const CachedCalls&) = delete;
  CachedCalls& operator=(const CachedCalls&) = delete;

  /// Whether the thread's objects of this class have been destroyed: destructors of static objects may still call MPI.
  [[nodiscard]] static bool isDestroyed() { return is_destroyed_; }
  /// The operation of an equal call; null: none is cached that is still valid.
  [[nodiscard]] Operation* find(const Communicator* on, const Arguments&... arguments) const {
    for (const Call& each : calls_) {
      const bool is_same = each.on == on && each.arguments == std::tie(arguments...) && each.freed == freedHandles();
      if (is_same && each.operation->isCurrent()) return each.operation.get();
    }
    return nullptr;
  }
  /// Caches the operation if it can be started again. `freed` is freedHandles() before the operation was planned.
  void add(std::uint64_t freed, const Communicator* on, std::unique_ptr<Operation> operation,
           const Arguments&... arguments) {
    if (!operation->isRepeatable()) return;
    calls_[next_++ % calls_.size()] = {freed, on, {arguments...}, std::move(operation)};
  }
  [[nodiscard]] static std::uint64_t freedHandles() { return freedTypes().count() + freedCommunicators().count(); }

 private:
  struct Call {
    std::uint64_t freed = 0;
    const Communicator* on = nullptr;
    std::tuple<Arguments...> arguments{};
    std::unique_ptr<Operation> operation;
  };
  /// Static, because a member would be destroyed with the object.
  static constinit inline thread_local bool is_destroyed_ = false;
  std::array<Call, 4> calls_;
  std::size_t next_ = 0;
};

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_CACHED_CALLS_H_
