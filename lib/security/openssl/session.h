/// One end of a TLS 1.3 connection, in memory: the caller puts encrypted bytes into incoming() and takes them out of
/// outgoing().
#ifndef GOSS_LIB_SECURITY_OPENSSL_SESSION_H_
#define GOSS_LIB_SECURITY_OPENSSL_SESSION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/status.h"
#include "security/openssl/handles.h"
#include "security/openssl/record_buffer.h"

namespace goss::security {

/// How OpenSSL reads and writes the buffers of a session; shared by all sessions of a process's security.
BioMethodPtr makeRecordMethod();

/// Why a certificate is refused, as text for people, from OpenSSL's result (X509_V_ERR_...).
std::string refusedCertificate(long verified);

/// Never waits and has no socket: a filter over any stream of bytes. OpenSSL writes into memory, which always succeeds,
/// so that no call ever has to write before it can continue. One thread.
class Session {
 public:
  enum class Outcome {
    done,       ///< The handshake is complete; or at least one byte was moved, and as many as possible.
    needsInput, ///< The call can continue only with more bytes in incoming().
    closed,     ///< The other end has shut its sending direction down.
    failed,     ///< See failure(); the session is over.
  };
  struct Moved {
    Outcome outcome = Outcome::done;
    std::size_t bytes = 0;
  };

  /// After so many bytes, or records, this end changes its encryption key: long before the bound for AES-GCM (2^24.5
  /// records of 16 KiB, RFC 8446, section 5.5). OpenSSL does not do it by itself.
  static constexpr std::uint64_t kKeyUpdateBytes = std::uint64_t{64} << 30;
  static constexpr std::uint64_t kKeyUpdateWrites = std::uint64_t{1} << 22;

  /// `calls`: this end dialled. Errors: resource.
  static Result<std::unique_ptr<Session>> create(SSL_CTX* context, const BIO_METHOD* records, bool calls);

  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Outcome handshake();
  /// Encrypts all of `from`. Outcome: done or failed.
  Outcome encrypt(std::string_view from);
  Moved decrypt(std::span<char> to);

  RecordBuffer& incoming() { return buffers_.incoming; }
  RecordBuffer& outgoing() { return buffers_.outgoing; }
  [[nodiscard]] const RecordBuffer& incoming() const { return buffers_.incoming; }
  [[nodiscard]] const RecordBuffer& outgoing() const { return buffers_.outgoing; }
  /// Whether decrypted bytes wait inside OpenSSL.
  [[nodiscard]] bool hasPending() const { return SSL_pending(ssl_.get()) > 0; }

  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// After the handshake: 32 bytes that only the two ends of this session know. Empty when OpenSSL fails.
  [[nodiscard]] std::string exported(std::string_view label) const;
  /// Before the handshake of a calling end: offers to resume an earlier session. If the other end refuses, the
  /// handshake is a full one.
  void resume(SSL_SESSION* earlier) { SSL_set_session(ssl_.get(), earlier); }
  /// After the handshake: whether the session was resumed; then OpenSSL has not repeated the checks of the earlier
  /// session.
  [[nodiscard]] bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  [[nodiscard]] CertificatePtr peerCertificate() const { return CertificatePtr(SSL_get1_peer_certificate(ssl_.get())); }
  /// The chain that the other end sent with its certificate in a full handshake. A calling end has it in resumed
  /// sessions too, an accepting end does not.
  [[nodiscard]] ChainPtr peerChain() const {
    const STACK_OF(X509)* shown = SSL_get_peer_cert_chain(ssl_.get());
    return ChainPtr(shown != nullptr ? X509_chain_up_ref(const_cast<STACK_OF(X509)*>(shown)) : nullptr);
  }
  /// The data that the accepting end has put into its ticket: see Certificates.
  [[nodiscard]] std::string_view ticketData() const {
    void* data = nullptr;
    std::size_t bytes = 0;
    SSL_SESSION* session = SSL_get_session(ssl_.get());
    if (session == nullptr || SSL_SESSION_get0_ticket_appdata(session, &data, &bytes) != 1) return {};
    return {static_cast<const char*>(data), bytes};
  }
  [[nodiscard]] std::uint64_t keyUpdates() const { return key_updates_; }
  void setKeyUpdateBytes(std::uint64_t bytes) { key_update_bytes_ = bytes; }

 private:
  friend BioMethodPtr makeRecordMethod();
  struct Buffers {
    RecordBuffer incoming;
    RecordBuffer outgoing;
  };
  static int readRecords(BIO* bio, char* to, std::size_t size, std::size_t* read);
  static int writeRecords(BIO* bio, const char* from, std::size_t size, std::size_t* written);
  static long control(BIO* bio, int command, long number, void* pointer);

  Session() = default;
  Outcome judge(int result, bool handshaking);
  void updateKeyWhenDue(std::size_t bytes);

  Buffers buffers_; ///< Declared before ssl_, whose BIO points to it.
  SslPtr ssl_;
  std::string failure_;
  std::uint64_t key_update_bytes_ = kKeyUpdateBytes;
  std::uint64_t bytes_ = 0; ///< Since the last change of key; so is the next.
  std::uint64_t writes_ = 0;
  std::uint64_t key_updates_ = 0;
};

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_SESSION_H_
