/// What a process proves itself with, and what it asks of others.
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

/// OpenSSL lets a session begin from a key only in the context that the key belongs to.
inline constexpr unsigned char kSessionContext[] = {'g', 'o', 's', 's', 'a', 'm', 'e', 'r'};

/// Whom the other end has proved to be.
struct ProvenPeer {
  std::string identity; ///< SHA-256 of its public key.
  std::string name;
  RankSet ranks;
};

/// Once loaded it changes only what it remembers of other ends, and outlives the sessions made of context().
class Credentials {
 public:
  virtual ~Credentials() = default;
  Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  /// For both roles: TLS 1.3 alone, nothing sent early.
  [[nodiscard]] SSL_CTX* context() const { return context_.get(); }
  [[nodiscard]] const std::string& identity() const { return identity_; }

  /// Before the handshake of an end that calls: makes it shorter where an earlier session with the end `whom` allows.
  virtual void resume(Session&, std::string_view whom) const;
  /// Bytes that each end sends first inside the session, because the handshake itself does not say who it is.
  [[nodiscard]] virtual std::size_t proofBytes() const { return 0; }
  [[nodiscard]] virtual std::string prove(const Session&, bool calls) const;
  /// After the handshake; `proof` has proofBytes() bytes. `calls` tells this end's role. Errors: protocol, why it is
  /// refused.
  [[nodiscard]] virtual Result<ProvenPeer> identify(const Session& session, bool calls,
                                                    std::string_view proof) const = 0;

 protected:
  /// Without tickets. Errors: resource.
  Status makeContext(const char* suites);

  SslContextPtr context_;
  std::string identity_;
};

/// A key that all ranks of a run share: TLS 1.3 with an external pre-shared key and a fresh Diffie-Hellman exchange. It
/// proves membership alone; which member it is, each process proves by an Ed25519 key of its own that lives as long as
/// it does, whose signature covers a secret of the session. `path` names a file as goss-keys psk writes it.
Result<std::shared_ptr<const Credentials>> loadSharedKey(const std::string& path);

/// A folder with cert.pem and key.pem, and either ca.pem and perhaps crl.pem, or `peers`: the allowed keys.
Result<std::shared_ptr<const Credentials>> loadCertificates(const std::string& folder);
/// Changes when one of those files does.
std::string certificatesStamp(const std::string& folder);

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_CREDENTIALS_H_
