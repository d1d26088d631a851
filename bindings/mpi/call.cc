#include "bindings/mpi/call.h"

#include "bindings/mpi/errors.h"

namespace goss::interposer {

namespace {

int resultOf(const Found& found, const Outcome& outcome) {
  return outcome.status == GOSS_SUCCESS ? MPI_SUCCESS : raise(found.communicator->mpi(), outcome.status, outcome.text);
}

std::shared_ptr<Pending> pendingFor(const char* function, const Found& found, const Found& on,
                                    std::unique_ptr<Operation> operation) {
  auto pending = std::make_shared<Pending>();
  pending->function = function;
  pending->owner = found.communicator;
  pending->communicator = on.communicator;
  pending->operation = std::move(operation);
  return pending;
}

} // namespace

int runBlocking(const char* function, const Found& found, Operation& operation) {
  const Clock::time_point began = reportedTime();
  operation.prepare();
  Outcome outcome;
  {
    const BlockedCallGuard guard;
    outcome = operation.start(found.communicator->goss(), nullptr);
  }
  if (outcome.status == GOSS_SUCCESS) operation.finish();
  record(function, "", operation.bytes(), began);
  return resultOf(found, outcome);
}

int runNonBlocking(const char* function, const Found& found, std::unique_ptr<Operation> operation,
                   MPI_Request* request) {
  const auto pending = pendingFor(function, found, found, std::move(operation));
  const Outcome outcome = start(pending);
  if (outcome.status == GOSS_SUCCESS) *request = pending->active;
  return resultOf(found, outcome);
}

int keepPersistent(const char* function, const Found& found, const Found& duplicated,
                   std::unique_ptr<Operation> operation, MPI_Request* request) {
  const auto pending = pendingFor(function, found, duplicated, std::move(operation));
  const int failed = makePersistent(pending);
  if (failed == MPI_SUCCESS) *request = pending->persistent;
  return failed;
}

} // namespace goss::interposer
