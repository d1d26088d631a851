#include "capi/call_options.h"

#include <fmt/format.h>

#include "capi/handles.h"
#include "capi/structs.h"

namespace goss::capi {

Result<Options> readOptions(const char* function, const goss_options* given, const goss_request_t* request) {
  Options result;
  if (given == nullptr) return result;
  const auto read = readStruct<goss_options>(fmt::format("{}: options", function), given, GOSS_OPTIONS_INIT);
  if (!read.isOk()) return read.status();
  const goss_options* options = &read.value();
  if ((options->flags & ~static_cast<std::uint32_t>(GOSS_PERSISTENT)) != 0) {
    return invalid(fmt::format("{}: unknown bits in options.flags {:#x}", function, options->flags));
  }
  if (options->stream != nullptr) {
    return Status::error(
        GOSS_ERR_UNSUPPORTED,
        fmt::format("{}: options.stream is set, but this build takes host buffers only; pass NULL", function));
  }
  if (options->timeout_ms < 0) {
    return invalid(
        fmt::format("{}: options.timeout_ms is {}; use 0 for the communicator's", function, options->timeout_ms));
  }
  result.persistent = (options->flags & GOSS_PERSISTENT) != 0;
  if (result.persistent && request == nullptr) {
    return invalid(fmt::format("{}: GOSS_PERSISTENT needs a request to return", function));
  }
  result.timeout_ms = options->timeout_ms;
  if (options->algorithm != nullptr) result.algorithm = options->algorithm;
  result.scale = options->scale;
  if (options->codec != nullptr) result.codec = options->codec;
  if (options->return_codec != nullptr) result.return_codec = options->return_codec;
  if (result.codec.empty() && !result.return_codec.empty()) {
    return invalid(fmt::format("{}: options.return_codec is set without options.codec; set both", function));
  }
  result.tensor = options->tensor;
  return result;
}

} // namespace goss::capi

extern "C" {

goss_status goss_options_init(goss_options* options, size_t size) {
  return goss::capi::initStruct<goss_options>("goss_options_init", GOSS_OPTIONS_INIT, options, size);
}

} // extern "C"
