/// Structs of the C ABI that may grow: their `size` says how many bytes they have in the caller's header.
#ifndef GOSS_LIB_CAPI_STRUCTS_H_
#define GOSS_LIB_CAPI_STRUCTS_H_

#include <cstddef>
#include <cstring>

#include "capi/errors.h"

namespace goss::capi {

/// Checks a struct's size. `what` names the struct in errors, such as "goss_barrier: options". `known` is the library's
/// sizeof.
Status checkSize(const std::string& what, std::size_t size, std::size_t known);

/// Returns `defaults`, overwritten with those fields of *given that the caller's header has.
template <typename T>
Result<T> readStruct(const std::string& what, const T* given, T defaults) {
  if (given == nullptr) return invalid(what + " is NULL");
  if (Status status = checkSize(what, given->size, sizeof(T)); !status.isOk()) return status;
  std::memcpy(&defaults, given, given->size);
  return defaults;
}

/// Writes to *to the fields that the caller's header has, which are the first `size` bytes, and sets its size to that.
template <typename T>
Status writeStruct(const std::string& what, T values, T* to, std::size_t size) {
  if (to == nullptr) return invalid(what + " is NULL");
  if (Status status = checkSize(what, size, sizeof(T)); !status.isOk()) return status;
  values.size = size;
  std::memcpy(to, &values, size);
  return Status::ok();
}

/// The body of every goss_..._init.
template <typename T>
goss_status initStruct(const char* function, const T& defaults, T* to, std::size_t size) {
  return guarded(function, [&] { return writeStruct(std::string(function) + ": the struct", defaults, to, size); });
}

/// As writeStruct(), with the size that the caller has set in *to.
template <typename T>
Status fillStruct(const std::string& what, const T& values, T* to) {
  return to == nullptr ? invalid(what + " is NULL") : writeStruct(what, values, to, to->size);
}

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_STRUCTS_H_
