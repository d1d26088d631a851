#include "security/security.h"

namespace goss::security {

Result<std::unique_ptr<platform::StreamSecurity>> openSecurity(const Config&) {
  return Status::error(GOSS_ERR_UNSUPPORTED,
                       "GOSS_TLS is set, but this build of Gossamer has no OpenSSL (Debian's libssl-dev at build time "
                       "brings it); nothing is sent in clear instead");
}

} // namespace goss::security
