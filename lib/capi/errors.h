/// How calls of the C ABI report errors.
#ifndef GOSS_LIB_CAPI_ERRORS_H_
#define GOSS_LIB_CAPI_ERRORS_H_

#include <new>
#include <string>
#include <system_error>

#include "base/invalid.h"
#include "gossamer/gossamer.h"
#include "gossamer/status.h"

namespace goss::capi {

/// Keeps the text for this thread's goss_last_error() and returns the number.
goss_status report(const Status& status);
/// The world rank that the status of this thread's last report() blames, or -1.
int lastCulpritOfThisThread();
using base::invalid;
/// Copies the kind and the text of `kept` to a C caller's arguments; `status` and `text` may be null.
void tell(const Status& kept, goss_status* status, const char** text);

/// Runs the body of a C function; turns exceptions into statuses, because none may cross the ABI.
template <typename Body>
goss_status guarded(const char* function, Body body) {
  try {
    const Status status = body();
    return status.isOk() ? GOSS_SUCCESS : report(status);
  } catch (const std::bad_alloc&) {
    return report(Status::error(GOSS_ERR_RESOURCE, std::string(function) + ": out of memory"));
  } catch (const std::system_error& error) { // Mostly because threads ran out.
    return report(Status::error(GOSS_ERR_RESOURCE, std::string(function) + ": " + error.what()));
  } catch (const std::exception& exception) {
    return report(Status::error(GOSS_ERR_INTERNAL, std::string(function) + ": " + exception.what()));
  }
}

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_ERRORS_H_
