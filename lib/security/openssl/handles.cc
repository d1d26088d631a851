#include "security/openssl/handles.h"

#include <openssl/err.h>

namespace goss::security {

namespace {

/// Hash of DER bytes that OpenSSL allocated, which it frees.
std::string hashOf(unsigned char* der, int size) {
  if (size <= 0) return {};
  std::string hash = sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return hash;
}

} // namespace

std::string takeError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

std::string sha256(std::string_view bytes) {
  std::string hash(32, '\0');
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(hash.data()), &size, EVP_sha256(),
                 nullptr) != 1)
    return {};
  return hash;
}

std::string fingerprint(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = key == nullptr ? 0 : i2d_PUBKEY(key, &der);
  return hashOf(der, size);
}

std::string fingerprint(X509* certificate) {
  return certificate == nullptr ? std::string() : fingerprint(X509_get0_pubkey(certificate));
}

} // namespace goss::security
