/// Contents of the C ABI's opaque handles, and how its calls report errors.
#ifndef GOSS_LIB_CAPI_HANDLES_H_
#define GOSS_LIB_CAPI_HANDLES_H_

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "communicator/communicator.h"
#include "gossamer/gossamer.h"

struct goss_comm {
  explicit goss_comm(std::unique_ptr<goss::Communicator> made);
  std::unique_ptr<goss::Communicator> communicator;
  std::vector<std::string> transport_names; ///< By rank; goss_comm_transport hands out pointers into it.
};

namespace goss::capi {

inline Operation* toOperation(goss_request_t request) { return reinterpret_cast<Operation*>(request); }
inline goss_request_t toRequest(Operation* operation) { return reinterpret_cast<goss_request_t>(operation); }

/// Keeps the text for this thread's goss_last_error() and returns the number.
goss_status report(const Status& status);
Status invalid(std::string text);
/// Copies the kind and the text of `kept` to a C caller's arguments; `status` and `text` may be null.
void tell(const Status& kept, goss_status* status, const char** text);

/// Whether calls may use `comm`: it is not NULL, and this process has made it.
inline bool isUsable(goss_comm_t comm) { return comm != nullptr && !comm->communicator->isInherited(); }
/// The error of a call with a handle that fork() has copied; `what` names it, such as "the communicator".
Status inherited(const char* function, const char* what);
/// Ok when `comm` is usable, else the error of a call with it.
Status checkComm(const char* function, goss_comm_t comm);
/// Ok when calls may use `request`: it is NULL, or this process has made it. Else the error of a call with it.
inline Status checkRequest(const char* function, goss_request_t request) {
  const bool usable = request == nullptr || !Communicator::of(*toOperation(request)).isInherited();
  return usable ? Status::ok() : inherited(function, "the request");
}

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

/// A copy for the caller, who frees it by goss_free; a zero follows the bytes. Null: out of memory.
void* copyForCaller(std::string_view bytes);

/// The started calls of this thread's open group, for which goss_group_end waits.
class Group {
 public:
  static Group& ofThisThread();
  [[nodiscard]] bool open() const { return depth_ > 0; }
  void begin() { ++depth_; }
  void add(Operation* operation) { started_.push_back(operation); }
  Status end();
  /// The communicator is about to be destroyed, and its operations with it: end() reports them as aborted.
  void forget(const Communicator& communicator);

 private:
  int depth_ = 0;
  Status failure_; ///< The first failure among forgotten operations.
  std::vector<Operation*> started_;
};

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_HANDLES_H_
