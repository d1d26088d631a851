/// The proof of identity of this process, and the verification of others'.
#ifndef GOSS_LIB_SECURITY_OPENSSL_CREDENTIALS_H_
#define GOSS_LIB_SECURITY_OPENSSL_CREDENTIALS_H_

#include <memory>
#include <string>
#include <string_view>

#include "gossamer/status.h"
#include "security/openssl/handles.h"
#include "security/openssl/session.h"
#include "security/rank_set.h"

namespace goss::security {

/// OpenSSL resumes a session only in a context with the session's id context.
inline constexpr unsigned char kSessionContext[] = {'g', 'o', 's', 's', 'a', 'm', 'e', 'r'};

/// The identity that the other end has proved.
struct ProvenPeer {
  std::string identity; ///< SHA-256 of its public key.
  std::string name;
  RankSet ranks;
};

/// Loads once; afterwards changes only what it remembers of other ends. Outlives the sessions made of context().
class Credentials {
 public:
  virtual ~Credentials() = default;
  Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  /// OpenSSL's context for both roles: TLS 1.3 only, without early data.
  [[nodiscard]] SSL_CTX* context() const { return context_.get(); }
  [[nodiscard]] const std::string& identity() const { return identity_; }
  /// The file by which these credentials refuse others, and which `newer` was loaded without; "": there is none.
  [[nodiscard]] std::string_view restrictionMissingIn(const Credentials& newer) const;

  /// Called before the handshake of a calling end: shortens it where an earlier session with the end `whom` allows.
  virtual void resume(Session&, std::string_view whom) const;
  /// Bytes that each end sends first inside the session where the handshake itself does not prove identities.
  [[nodiscard]] virtual std::size_t proofBytes() const { return 0; }
  [[nodiscard]] virtual std::string prove(const Session&, bool calls) const;
  /// Called after the handshake; `proof` has proofBytes() bytes. `calls`: this end's role. Errors: protocol, with the
  /// reason for refusing the peer.
  [[nodiscard]] virtual Result<ProvenPeer> identify(const Session& session, bool calls,
                                                    std::string_view proof) const = 0;

 protected:
  /// Makes a context without tickets. Errors: resource.
  Status makeContext(const char* suites);

  SslContextPtr context_;
  std::string identity_;
  bool has_list_ = false;        ///< `peers` names those that may call.
  bool has_revocations_ = false; ///< crl.pem names those that may not.
};

/// A key that all ranks of a run share: TLS 1.3 with an external pre-shared key and a fresh Diffie-Hellman exchange.
/// The shared key only proves membership. Each process proves its identity by an Ed25519 key of its own, which lives as
/// long as the process, and whose signature covers a secret of the session. `path` names a file as goss-keys psk writes
/// it.
Result<std::shared_ptr<const Credentials>> loadSharedKey(const std::string& path);

/// Loads a folder with cert.pem and key.pem, and either ca.pem and perhaps crl.pem, or `peers`: the allowed keys.
Result<std::shared_ptr<const Credentials>> loadCertificates(const std::string& folder);
/// A text that changes when one of the folder's files does.
std::string certificatesStamp(const std::string& folder);

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_CREDENTIALS_H_
