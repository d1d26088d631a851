#include <fmt/format.h>
#include <openssl/crypto.h>

#include <array>
#include <cstring>

#include "base/hex.h"
#include "security/openssl/credentials.h"
#include "security/openssl/files.h"

namespace goss::security {

namespace {

constexpr std::string_view kFileMark("gossamer-psk-1 ");
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kPublicBytes = 32;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::string_view kLabel("EXPORTER-gossamer-process-key");
constexpr unsigned char kSuite[2] = {0x13, 0x01}; // TLS_AES_128_GCM_SHA256

class SharedKey final : public Credentials {
 public:
  ~SharedKey() override { OPENSSL_cleanse(key_.data(), key_.size()); }

  Status load(const std::string& path) {
    Status read = readKey(path);
    if (!read.isOk()) return read;
    Status made = makeContext("TLS_AES_128_GCM_SHA256");
    if (!made.isOk()) return made;
    SSL_CTX_set_app_data(context(), this);
    SSL_CTX_set_psk_use_session_callback(context(), offer);
    SSL_CTX_set_psk_find_session_callback(context(), find);
    // An accepting end that shows a certificate instead of the key is not trusted: there is no authority that could
    // vouch for it.
    SSL_CTX_set_verify(context(), SSL_VERIFY_PEER, nullptr);
    process_key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    identity_ = fingerprint(process_key_.get());
    if (identity_.empty())
      return Status::error(GOSS_ERR_RESOURCE, fmt::format("no key for this process: {}", takeError()));
    return Status::ok();
  }

  [[nodiscard]] std::size_t proofBytes() const override { return kPublicBytes + kSignatureBytes; }

  [[nodiscard]] std::string prove(const Session& session, bool calls) const override {
    const std::string text = claim(session, calls);
    std::string proof(proofBytes(), '\0');
    auto* bytes = reinterpret_cast<unsigned char*>(proof.data());
    std::size_t public_bytes = kPublicBytes;
    std::size_t signature_bytes = kSignatureBytes;
    const DigestContextPtr signer(EVP_MD_CTX_new());
    if (text.empty() || EVP_PKEY_get_raw_public_key(process_key_.get(), bytes, &public_bytes) != 1 ||
        EVP_DigestSignInit(signer.get(), nullptr, nullptr, nullptr, process_key_.get()) != 1 ||
        EVP_DigestSign(signer.get(), bytes + kPublicBytes, &signature_bytes,
                       reinterpret_cast<const unsigned char*>(text.data()), text.size()) != 1)
      return {};
    return proof;
  }

  [[nodiscard]] Result<ProvenPeer> identify(const Session& session, bool calls, std::string_view proof) const override {
    const std::string text = claim(session, !calls);
    const auto* bytes = reinterpret_cast<const unsigned char*>(proof.data());
    const KeyPtr key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes, kPublicBytes));
    const DigestContextPtr verifier(EVP_MD_CTX_new());
    if (text.empty() || !key || EVP_DigestVerifyInit(verifier.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
        EVP_DigestVerify(verifier.get(), bytes + kPublicBytes, kSignatureBytes,
                         reinterpret_cast<const unsigned char*>(text.data()), text.size()) != 1) {
      takeError();
      return Status::error(GOSS_ERR_PROTOCOL, "the other end does not own the key that it names");
    }
    ProvenPeer peer{fingerprint(key.get()), {}, RankSet::any()};
    // A peer that reflects this end's messages proves nothing: it echoes this process's identity.
    if (peer.identity == identity()) return Status::error(GOSS_ERR_PROTOCOL, "the other end is this process itself");
    return peer;
  }

 private:
  Status readKey(const std::string& path) {
    const auto file = readSecretFile(path);
    if (!file.isOk()) return file.status();
    std::string_view text = file.value().get();
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
      text.remove_suffix(1);
    const bool marked = text.starts_with(kFileMark);
    SecretText key(marked ? base::fromHex(text.substr(kFileMark.size())) : std::string());
    if (key.get().size() != kKeyBytes)
      return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                           fmt::format("GOSS_TLS: {} is no swarm key; goss-keys psk makes one", path));
    std::memcpy(key_.data(), key.get().data(), kKeyBytes);
    // The name is sent unencrypted, so it is a hash, which reveals neither a name that a user chose nor the key.
    key_name_ = sha256("gossamer key name 1" + key.get()).substr(0, 16);
    return Status::ok();
  }

  /// The text that the calling end, or the accepting end, signs: only the two ends of this session can know it.
  static std::string claim(const Session& session, bool by_caller) {
    const std::string secret = session.exported(kLabel);
    return secret.empty() ? secret
                          : fmt::format("gossamer process key 1 {} ", by_caller ? "caller" : "callee") + secret;
  }

  [[nodiscard]] SSL_SESSION* sessionFor(SSL* ssl) const {
    SessionPtr session(SSL_SESSION_new());
    const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kSuite);
    if (!session || cipher == nullptr || SSL_SESSION_set1_master_key(session.get(), key_.data(), key_.size()) != 1 ||
        SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1 ||
        SSL_SESSION_set1_id_context(session.get(), kSessionContext, sizeof kSessionContext) != 1)
      return nullptr;
    return session.release();
  }

  static const SharedKey* of(const SSL* ssl) {
    return static_cast<const SharedKey*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  }

  static int offer(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* bytes, SSL_SESSION** session) {
    const SharedKey* self = of(ssl);
    *name = reinterpret_cast<const unsigned char*>(self->key_name_.data());
    *bytes = self->key_name_.size();
    *session = self->sessionFor(ssl);
    return *session != nullptr ? 1 : 0;
  }

  /// Returning 0 ends the handshake at once: an unknown key costs as little as possible.
  static int find(SSL* ssl, const unsigned char* name, std::size_t bytes, SSL_SESSION** session) {
    const SharedKey* self = of(ssl);
    *session = nullptr;
    if (bytes != self->key_name_.size() || CRYPTO_memcmp(name, self->key_name_.data(), bytes) != 0) return 0;
    *session = self->sessionFor(ssl);
    return *session != nullptr ? 1 : 0;
  }

  std::array<unsigned char, kKeyBytes> key_{};
  std::string key_name_;
  KeyPtr process_key_;
};

} // namespace

Result<std::shared_ptr<const Credentials>> loadSharedKey(const std::string& path) {
  auto credentials = std::make_shared<SharedKey>();
  Status loaded = credentials->load(path);
  if (!loaded.isOk()) return loaded;
  return std::shared_ptr<const Credentials>(std::move(credentials));
}

} // namespace goss::security
