/// The bodies of MPI's collectives: each plans the call, and runs the plan's operation or, if it has none, MPI's own
/// function.
///
/// A builder makes the plan: Plan builder(const Communicator&, arguments...), with the arguments of MPI's blocking
/// function but the communicator, which comes last there (in other forms before info and request).
#ifndef GOSS_BINDINGS_MPI_CALL_H_
#define GOSS_BINDINGS_MPI_CALL_H_

#include <mpi.h>

// The persistent collectives of Open MPI 4. It wants mpi.h before it.
#include <mpi-ext.h>

#include "bindings/mpi/cached_calls.h"
#include "bindings/mpi/communicator.h"
#include "bindings/mpi/operation.h"
#include "bindings/mpi/real.h"
#include "bindings/mpi/report.h"
#include "bindings/mpi/requests.h"

namespace goss::interposer {

/// Runs the operation and returns the result for MPI's function.
int runBlocking(const char* function, const Found& found, Operation& operation);
int runNonBlocking(const char* function, const Found& found, std::unique_ptr<Operation> operation,
                   MPI_Request* request);
/// `duplicated` is the communicator of this persistent operation alone.
int keepPersistent(const char* function, const Found& found, const Found& duplicated,
                   std::unique_ptr<Operation> operation, MPI_Request* request);

template <auto kBuilder, class... Arguments>
Plan planOf(const Found& found, Arguments... arguments) {
  return found.communicator == nullptr ? refused(found.reason.c_str()) : kBuilder(*found.communicator, arguments...);
}

template <class Function, class... Arguments>
int callMpi(const Real<Function>& real, const Plan& plan, Arguments... arguments) {
  const Clock::time_point start = reportedTime();
  const int result = real(arguments...);
  record(real.name(), plan.reason, plan.bytes, start);
  return result;
}

template <auto kBuilder, class Function, class... Arguments>
int planAndRun(const Real<Function>& real, const Found& found, MPI_Comm comm, Arguments... arguments) {
  const Plan plan = planOf<kBuilder>(found, arguments...);
  if (plan.operation == nullptr) return callMpi(real, plan, arguments..., comm);
  return runBlocking(real.name(), found, *plan.operation);
}

template <auto kBuilder, class Function, class... Arguments>
int blocking(const Real<Function>& real, MPI_Comm comm, Arguments... arguments) {
  const Found found = find(comm, true);
  if (found.error != MPI_SUCCESS) return found.error;
  if (CachedCalls<Arguments...>::isDestroyed()) return planAndRun<kBuilder>(real, found, comm, arguments...);
  thread_local CachedCalls<Arguments...> cached;
  if (Operation* same = cached.find(found.communicator.get(), arguments...); same != nullptr)
    return runBlocking(real.name(), found, *same);
  const std::uint64_t freed = cached.freedHandles();
  Plan plan = planOf<kBuilder>(found, arguments...);
  if (plan.operation == nullptr) return callMpi(real, plan, arguments..., comm);
  const int result = runBlocking(real.name(), found, *plan.operation);
  cached.add(freed, found.communicator.get(), std::move(plan.operation), arguments...);
  return result;
}

template <auto kBuilder, class Function, class... Arguments>
int nonBlocking(const Real<Function>& real, MPI_Comm comm, MPI_Request* request, Arguments... arguments) {
  const Found found = find(comm, false);
  Plan plan = planOf<kBuilder>(found, arguments...);
  if (plan.operation == nullptr) return callMpi(real, plan, arguments..., comm, request);
  return runNonBlocking(real.name(), found, std::move(plan.operation), request);
}

/// May wait for other ranks, as MPI allows.
template <auto kBuilder, class Function, class... Arguments>
int persistent(const Real<Function>& real, MPI_Comm comm, MPI_Info info, MPI_Request* request, Arguments... arguments) {
  const Found found = find(comm, true);
  if (found.error != MPI_SUCCESS) return found.error;
  Plan plan = planOf<kBuilder>(found, arguments...);
  // Persistent operations may be started in another order than that in which they were made.
  Found own;
  if (plan.operation != nullptr) {
    own = duplicate(found.communicator);
    if (own.error != MPI_SUCCESS) return own.error;
    if (own.communicator == nullptr) plan = refused(own.reason.c_str(), plan.operation->bytes());
  }
  if (plan.operation == nullptr) return callMpi(real, plan, arguments..., comm, info, request);
  return keepPersistent(real.name(), found, own, std::move(plan.operation), request);
}

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_CALL_H_
