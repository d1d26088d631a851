/// The blocking calls of one function that a thread has made last, so that it does not plan equal ones anew.
#ifndef GOSS_BINDINGS_MPI_REPEATED_H_
#define GOSS_BINDINGS_MPI_REPEATED_H_

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

/// Keeps operations that use the program's buffers as they are. What it keeps is true until the program frees a type
/// or a communicator, or changes a list to which an argument points (Operation::holdList).
template <class... Arguments>
class Repeated {
 public:
  Repeated() = default;
  ~Repeated() { is_over_ = true; }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  /// Whether the thread's objects of this class are destroyed: destructors of static objects may still call MPI.
  [[nodiscard]] static bool isOver() { return is_over_; }
  /// Null: there was no such call, or it is forgotten.
  [[nodiscard]] Operation* find(const Communicator* on, const Arguments&... arguments) const {
    for (const Call& each : calls_) {
      const bool is_same = each.on == on && each.arguments == std::tie(arguments...) && each.age == age();
      if (is_same && each.operation->isCurrent()) return each.operation.get();
    }
    return nullptr;
  }
  /// `age`: age() before the operation was planned.
  void keep(std::uint64_t age, const Communicator* on, std::unique_ptr<Operation> operation,
            const Arguments&... arguments) {
    if (!operation->isPlain()) return;
    calls_[next_++ % calls_.size()] = {age, on, {arguments...}, std::move(operation)};
  }
  [[nodiscard]] static std::uint64_t age() { return freedTypes().count() + freedCommunicators().count(); }

 private:
  struct Call {
    std::uint64_t age = 0;
    const Communicator* on = nullptr;
    std::tuple<Arguments...> arguments{};
    std::unique_ptr<Operation> operation;
  };
  static constinit inline thread_local bool is_over_ = false; // no member, which would be destroyed with the object
  std::array<Call, 4> calls_;
  std::size_t next_ = 0;
};

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_REPEATED_H_
