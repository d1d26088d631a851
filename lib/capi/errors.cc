#include "capi/errors.h"

#include <utility>

namespace goss::capi {

namespace {

struct LastError {
  std::string text;
  int culprit = -1; ///< World rank.
};

/// The last error is thread-local, because the C ABI promises it per thread, as errno is.
LastError& lastErrorOfThisThread() {
  thread_local LastError last;
  return last;
}

} // namespace

goss_status report(const Status& status) {
  if (!status.isOk()) lastErrorOfThisThread() = {status.text(), status.peer()};
  return status.kind();
}

int lastCulpritOfThisThread() { return lastErrorOfThisThread().culprit; }

void tell(const Status& kept, goss_status* status, const char** text) {
  if (status != nullptr) *status = kept.kind();
  if (text != nullptr) *text = kept.cText();
}

} // namespace goss::capi

extern "C" {

const char* goss_last_error(void) { return goss::capi::lastErrorOfThisThread().text.c_str(); }

goss_status goss_set_last_error(goss_status status, const char* text) {
  goss::capi::lastErrorOfThisThread() = {text != nullptr ? text : "", -1};
  return status;
}

} // extern "C"
