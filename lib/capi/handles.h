/// Contents of the C ABI's opaque handles, and what its calls have in common: checks of handles, options, groups.
#ifndef GOSS_LIB_CAPI_HANDLES_H_
#define GOSS_LIB_CAPI_HANDLES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capi/errors.h"
#include "communicator/communicator.h"
#include "devices/stream_ordered.h"
#include "gossamer/gossamer.h"

struct goss_comm {
  explicit goss_comm(std::unique_ptr<goss::Communicator> made);
  std::unique_ptr<goss::Communicator> communicator;
  std::vector<std::string> transport_names; ///< By rank; goss_comm_transport hands out pointers into it.
};

namespace goss::capi {

inline Operation* toOperation(goss_request_t request) { return reinterpret_cast<Operation*>(request); }
inline goss_request_t toRequest(Operation* operation) { return reinterpret_cast<goss_request_t>(operation); }

/// Whether calls may use `comm`: it is not NULL, and this process has made it.
inline bool isUsable(goss_comm_t comm) { return comm != nullptr && !comm->communicator->lifetime()->isInherited(); }
/// The error of a call with a handle that fork() has copied; `what` names it, such as "the communicator".
Status inherited(const char* function, const char* what);
/// Ok when `comm` is usable, else the error of a call with it.
Status checkComm(const char* function, goss_comm_t comm);
/// Ok when calls may use `request`: it is NULL, or this process has made it. Else the error of a call with it.
inline Status checkRequest(const char* function, goss_request_t request) {
  const bool usable = request == nullptr || !Communicator::of(*toOperation(request)).lifetime()->isInherited();
  return usable ? Status::ok() : inherited(function, "the request");
}

/// A copy for the caller, who frees it by goss_free; a zero follows the bytes. Null: out of memory.
void* copyForCaller(std::string_view bytes);

/// Per-call options after validation.
struct Options {
  bool persistent = false;
  bool on_host = false; ///< The buffers are known to be memory of the host.
  std::int64_t timeout_ms = 0;
  std::string algorithm;
  double scale = 1.0;
  std::string codec;
  std::string return_codec;
  std::uint64_t tensor = 0;
  void* stream = nullptr;
};
/// `takes_stream`: else a stream in the options is refused.
Result<Options> readOptions(const char* function, const goss_options* options, const goss_request_t* request,
                            bool takes_stream = false);

/// The started calls of this thread's open group, for which goss_group_end waits.
class Group {
 public:
  static Group& ofThisThread();
  [[nodiscard]] bool open() const { return depth_ > 0; }
  void begin() { ++depth_; }
  void add(Operation* operation) { started_.emplace_back(operation); }
  /// A call in its caller's stream: end() enqueues its gates.
  void addOrdered(Operation* call) { ordered_.emplace_back(call); }
  /// Ok unless `operation` is such a call, which cannot complete before goss_group_end: then the error for the caller
  /// of `function`, which would wait for it.
  [[nodiscard]] Status checkMayEnd(const char* function, const Operation& operation) const {
    return ordered_.empty() || !isOrdered(operation) ? Status::ok() : endsWithGroup(function);
  }
  /// Operations of a communicator that was destroyed meanwhile, by any thread, count as aborted.
  Status end();

 private:
  struct Member {
    explicit Member(Operation* started) : operation(started), lifetime(Communicator::of(*started).lifetime()) {}
    Operation* operation; ///< Exists while its communicator does.
    std::shared_ptr<Lifetime> lifetime;
  };

  [[nodiscard]] bool isOrdered(const Operation& operation) const;
  [[nodiscard]] static Status endsWithGroup(const char* function);

  int depth_ = 0;
  std::vector<Member> started_;
  std::vector<Member> ordered_;
};

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_HANDLES_H_
