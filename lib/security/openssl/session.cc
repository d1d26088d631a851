#include "security/openssl/session.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include <algorithm>

namespace goss::security {

namespace {

/// Turns a short reason, from the other end or from OpenSSL here, into a sentence that tells the user what to check.
std::string explain(std::string_view reason, long verified) {
  // OpenSSL's first error may come from deep inside of the verification: a certificate signed by another authority of
  // the same name fails with "EVP lib".
  // UNSPECIFIED: verification has not begun.
  const bool judged = verified != X509_V_OK && verified != X509_V_ERR_UNSPECIFIED;
  if (judged || reason == "certificate verify failed") return refusedCertificate(verified);
  if (reason == "wrong version number" || reason == "http request" || reason == "packet length too long" ||
      reason == "unexpected message")
    return fmt::format("the other end does not speak TLS ({}); is GOSS_TLS set alike on all ranks?", reason);
  if (reason == "peer did not return a certificate") return "the other end has no certificate";
  if (reason == "no suitable signature algorithm" || reason == "no shared cipher" ||
      reason == "no suitable key share" || reason == "bad psk" || reason == "psk no client cb")
    return fmt::format("the other end has another swarm key or another kind of credentials ({})", reason);
  if (reason == "unsupported protocol" || reason == "no protocols available")
    return "the other end does not offer TLS 1.3";
  if (reason.find("alert") != std::string_view::npos)
    return fmt::format("the other end refuses these credentials ({})", reason);
  return fmt::format("TLS failed ({})", reason);
}

} // namespace

std::string refusedCertificate(long verified) {
  if (verified == X509_V_ERR_CERT_SIGNATURE_FAILURE || verified == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
      verified == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN || verified == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT)
    return fmt::format("the other end's certificate is refused: another authority has signed it ({})",
                       X509_verify_cert_error_string(verified));
  return fmt::format("the other end's certificate is refused: {}", X509_verify_cert_error_string(verified));
}

BioMethodPtr makeRecordMethod() {
  BioMethodPtr method(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gossamer records"));
  if (!method || BIO_meth_set_read_ex(method.get(), Session::readRecords) != 1 ||
      BIO_meth_set_write_ex(method.get(), Session::writeRecords) != 1 ||
      BIO_meth_set_ctrl(method.get(), Session::control) != 1)
    return nullptr;
  return method;
}

int Session::readRecords(BIO* bio, char* to, std::size_t size, std::size_t* read) {
  RecordBuffer& incoming = static_cast<Buffers*>(BIO_get_data(bio))->incoming;
  BIO_clear_retry_flags(bio);
  *read = std::min(size, incoming.contents().size());
  if (*read == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(to, incoming.contents().data(), *read);
  incoming.consume(*read);
  return 1;
}

int Session::writeRecords(BIO* bio, const char* from, std::size_t size, std::size_t* written) {
  BIO_clear_retry_flags(bio);
  static_cast<Buffers*>(BIO_get_data(bio))->outgoing.append(from, size);
  *written = size;
  return 1;
}

long Session::control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

Result<std::unique_ptr<Session>> Session::create(SSL_CTX* context, const BIO_METHOD* records, bool calls) {
  std::unique_ptr<Session> session(new Session);
  session->ssl_.reset(SSL_new(context));
  BIO* bio = session->ssl_ ? BIO_new(records) : nullptr;
  if (bio == nullptr) return Status::error(GOSS_ERR_RESOURCE, fmt::format("no TLS session: {}", takeError()));
  BIO_set_data(bio, &session->buffers_);
  BIO_set_init(bio, 1);
  SSL_set_bio(session->ssl_.get(), bio, bio); // Takes one reference for both directions.
  if (calls)
    SSL_set_connect_state(session->ssl_.get());
  else
    SSL_set_accept_state(session->ssl_.get());
  return session;
}

Session::~Session() {
  // OpenSSL does not resume a session that was never shut down; but a session whose connection broke is the one to be
  // resumed. OpenSSL has invalidated a session that failed before.
  if (ssl_) SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN);
}

Session::Outcome Session::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  return result == 1 ? Outcome::done : judge(result, true);
}

Session::Outcome Session::judge(int result, bool handshaking) {
  if (!failure_.empty()) return Outcome::failed;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: // Cannot happen: memory takes everything.
      return Outcome::needsInput;
    case SSL_ERROR_ZERO_RETURN:
      return Outcome::closed;
    default:
      failure_ = explain(takeError(), handshaking ? SSL_get_verify_result(ssl_.get()) : X509_V_OK);
      return Outcome::failed;
  }
}

Session::Outcome Session::encrypt(std::string_view from) {
  updateKeyWhenDue(from.size());
  ERR_clear_error();
  std::size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), from.data(), from.size(), &written);
  if (result == 1 && written == from.size()) return Outcome::done;
  if (judge(result, false) != Outcome::failed) failure_ = "TLS took only part of what was to be sent";
  return Outcome::failed;
}

Session::Moved Session::decrypt(std::span<char> to) {
  Moved moved;
  while (moved.bytes < to.size()) {
    ERR_clear_error();
    std::size_t read = 0;
    const int result = SSL_read_ex(ssl_.get(), to.data() + moved.bytes, to.size() - moved.bytes, &read);
    moved.bytes += read;
    if (result == 1) continue;
    const Outcome outcome = judge(result, false);
    // Bytes that came before count first; the next call returns the same outcome again.
    if (moved.bytes == 0) moved.outcome = outcome;
    break;
  }
  return moved;
}

void Session::updateKeyWhenDue(std::size_t bytes) {
  bytes_ += bytes;
  ++writes_;
  if (bytes_ < key_update_bytes_ && writes_ < kKeyUpdateWrites) return;
  bytes_ = writes_ = 0;
  // The other end need not update its key: it counts its own bytes, and answers to many requests would pile up.
  if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1) ++key_updates_;
}

std::string Session::exported(std::string_view label) const {
  std::string secret(32, '\0');
  const int exported = SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(secret.data()),
                                                  secret.size(), label.data(), label.size(), nullptr, 0, 0);
  return exported == 1 ? secret : std::string();
}

} // namespace goss::security
