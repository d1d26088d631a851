#include "capi/handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

goss_comm::goss_comm(std::unique_ptr<goss::Communicator> made) : communicator(std::move(made)) {
  for (int rank = 0; rank < communicator->size(); ++rank)
    transport_names.push_back(communicator->transportName(rank));
}

namespace goss::capi {

namespace {

/// The C ABI promises the text per thread, as errno does; there is no other place to keep it.
std::string& lastErrorOfThisThread() {
  thread_local std::string text;
  return text;
}

} // namespace

goss_status report(const Status& status) {
  if (!status.isOk()) lastErrorOfThisThread() = status.text();
  return status.kind();
}

void tell(const Status& kept, goss_status* status, const char** text) {
  if (status != nullptr) *status = kept.kind();
  if (text != nullptr) *text = kept.cText();
}

void* copyForCaller(std::string_view bytes) {
  auto* copy = static_cast<char*>(std::malloc(bytes.size() + 1)); // goss_free is free()
  if (copy == nullptr) return nullptr;
  std::copy(bytes.begin(), bytes.end(), copy);
  copy[bytes.size()] = '\0';
  return copy;
}

Status invalid(std::string text) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, std::move(text)); }

Status inherited(const char* function, const char* what) {
  return invalid(
      fmt::format("{}: {} was made before fork(), by a process that goes on using it; make a communicator of "
                  "this process's own",
                  function, what));
}

Status checkComm(const char* function, goss_comm_t comm) {
  if (isUsable(comm)) return Status::ok();
  if (comm == nullptr) return invalid(fmt::format("{}: the communicator is NULL", function));
  return inherited(function, "the communicator");
}

Group& Group::ofThisThread() {
  thread_local Group group;
  return group;
}

Status Group::end() {
  if (depth_ == 0) return invalid("goss_group_end: no group is open in this thread; call goss_group_begin first");
  if (--depth_ > 0) return Status::ok();
  Status first = std::exchange(failure_, Status::ok());
  for (Operation* operation : started_) {
    Status status = checkRequest("goss_group_end", toRequest(operation));
    if (status.isOk()) status = Communicator::of(*operation).finish(operation, nullptr);
    if (first.isOk()) first = status;
  }
  started_.clear();
  return first;
}

void Group::forget(const Communicator& communicator) {
  const auto forgotten = std::erase_if(
      started_, [&](const Operation* operation) { return &Communicator::of(*operation) == &communicator; });
  if (forgotten > 0 && failure_.isOk()) {
    failure_ = Status::error(GOSS_ERR_ABORTED, "goss_group_end: a communicator of the group was destroyed inside it");
  }
}

} // namespace goss::capi

extern "C" {

const char* goss_last_error(void) { return goss::capi::lastErrorOfThisThread().c_str(); }

goss_status goss_set_last_error(goss_status status, const char* text) {
  goss::capi::lastErrorOfThisThread() = text != nullptr ? text : "";
  return status;
}

} // extern "C"
