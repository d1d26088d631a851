/// Makes the credentials that GOSS_TLS names: what goss-keys does, as functions.
#ifndef GOSS_TOOLS_KEYS_AUTHORITY_H_
#define GOSS_TOOLS_KEYS_AUTHORITY_H_

#include <string>

#include "gossamer/status.h"

namespace goss::keys {

/// Errors of all: invalidArgument naming the file or value, resource. Existing files are not overwritten, and what was
/// written before an error stays.

/// A private authority in `folder`: ca.key, ca.pem, and an empty crl.pem.
Status makeAuthority(const std::string& folder, const std::string& name, int days);

struct PeerRequest {
  std::string name;        ///< For people; in logs.
  std::string ranks;       ///< As RankSet::parse: what its owner may be.
  std::int64_t days = 365; ///< From now; negative: it has expired already.
};

/// A peer's folder `out`, ready for GOSS_TLS=certs:OUT: key.pem, cert.pem, ca.pem and crl.pem.
Status issue(const std::string& authority, const std::string& out, const PeerRequest& request);

/// A peer's folder without an authority: key.pem and cert.pem. Its owner adds `peers`, the keys that it trusts.
Status issueSelfSigned(const std::string& out, const PeerRequest& request);

/// Adds the certificate in the file `certificate` to the authority's crl.pem.
Status revoke(const std::string& authority, const std::string& certificate);

/// "SHA256:" and 64 digits: of the public key, so that it stays when the certificate is renewed.
Result<std::string> fingerprintOf(const std::string& certificate);

/// A swarm key for GOSS_TLS=psk:FILE.
Status makeSharedKey(const std::string& file);

} // namespace goss::keys

#endif // GOSS_TOOLS_KEYS_AUTHORITY_H_
