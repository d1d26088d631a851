/// TLS 1.3 over the connections of a run, and which processes may take part in it. docs/security.md is the user's
/// description.
#ifndef GOSS_LIB_SECURITY_SECURITY_H_
#define GOSS_LIB_SECURITY_SECURITY_H_

#include <memory>

#include "gossamer/config.h"
#include "gossamer/status.h"
#include "platform/stream_filter.h"

namespace goss::security {

/// Loads the credentials that Config::tls names: "psk:FILE" or "certs:DIR". Files with secrets must be readable by
/// their owner only. Certificate files are checked for changes at every connection, and reloaded. Errors:
/// invalidArgument naming GOSS_TLS and the file; resource; unsupported in a build without OpenSSL.
Result<std::unique_ptr<platform::StreamSecurity>> openSecurity(const Config& config);

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_SECURITY_H_
