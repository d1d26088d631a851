/// What a caller asks of one call beside its arguments: goss_options.
#ifndef GOSS_LIB_CAPI_CALL_OPTIONS_H_
#define GOSS_LIB_CAPI_CALL_OPTIONS_H_

#include <cstdint>
#include <string>

#include "gossamer/gossamer.h"
#include "gossamer/status.h"

namespace goss::capi {

/// goss_options after validation.
struct Options {
  bool persistent = false;
  std::int64_t timeout_ms = 0;
  std::string algorithm;
  double scale = 1.0;
  std::string codec;
  std::string return_codec;
  std::uint64_t tensor = 0;
};
Result<Options> readOptions(const char* function, const goss_options* options, const goss_request_t* request);

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_CALL_OPTIONS_H_
