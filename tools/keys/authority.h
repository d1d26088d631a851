/// Makes the credentials that GOSS_TLS names: the functions behind goss-keys.
#ifndef GOSS_TOOLS_KEYS_AUTHORITY_H_
#define GOSS_TOOLS_KEYS_AUTHORITY_H_

#include <string>

#include "gossamer/status.h"

namespace goss::keys {

/// Errors of all functions: invalidArgument naming the file or value, resource. They overwrite no existing file, and
/// what was written before an error stays.

/// Makes a private authority in `folder`: ca.key, ca.pem, and an empty crl.pem.
Status makeAuthority(const std::string& folder, const std::string& name, int days);

struct PeerRequest {
  std::string name;        ///< A name for people, which logs show.
  std::string ranks;       ///< The ranks that its owner may have, as RankSet::parse reads them.
  std::int64_t days = 365; ///< Days from now; negative: the certificate has expired already.
};

/// Makes a peer's folder `out`, ready for GOSS_TLS=certs:OUT: key.pem, cert.pem, ca.pem and crl.pem.
Status issue(const std::string& authority, const std::string& out, const PeerRequest& request);

/// Makes a peer's folder without an authority: key.pem and cert.pem. Its owner adds `peers`, the keys that it trusts.
Status issueSelfSigned(const std::string& out, const PeerRequest& request);

/// Adds the certificate in the file `certificate` to the authority's crl.pem.
Status revoke(const std::string& authority, const std::string& certificate);

/// "SHA256:" and 64 hexadecimal digits: the hash of the public key, so that it stays the same when the certificate is
/// renewed.
Result<std::string> fingerprintOf(const std::string& certificate);

/// Makes a shared key for GOSS_TLS=psk:FILE.
Status makeSharedKey(const std::string& file);

} // namespace goss::keys

#endif // GOSS_TOOLS_KEYS_AUTHORITY_H_
