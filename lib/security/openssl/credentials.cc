#include "security/openssl/credentials.h"

#include <fmt/format.h>

namespace goss::security {

void Credentials::resume(Session&, std::string_view) const {}

std::string Credentials::prove(const Session&, bool) const { return {}; }

std::string_view Credentials::restrictionMissingIn(const Credentials& newer) const {
  if (newer.has_list_) return ""; // A list alone says who is trusted.
  if (has_list_) return "peers";
  return has_revocations_ && !newer.has_revocations_ ? "crl.pem" : "";
}

Status Credentials::makeContext(const char* suites) {
  context_.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* context = context_.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 || SSL_CTX_set_ciphersuites(context, suites) != 1 ||
      SSL_CTX_set_session_id_context(context, kSessionContext, sizeof kSessionContext) != 1)
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("OpenSSL offers no TLS 1.3: {}", takeError()));
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // Idle sessions keep no buffers, which also measured faster.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return Status::ok();
}

} // namespace goss::security
