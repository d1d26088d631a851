#include "capi/errors.h"

#include <utility>

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

Status invalid(std::string text) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, std::move(text)); }

} // namespace goss::capi

extern "C" {

const char* goss_last_error(void) { return goss::capi::lastErrorOfThisThread().c_str(); }

goss_status goss_set_last_error(goss_status status, const char* text) {
  goss::capi::lastErrorOfThisThread() = text != nullptr ? text : "";
  return status;
}

} // extern "C"
