/// Ownership of OpenSSL's objects, and its errors as texts.
#ifndef GOSS_LIB_SECURITY_OPENSSL_HANDLES_H_
#define GOSS_LIB_SECURITY_OPENSSL_HANDLES_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace goss::security {

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using SslPtr = std::unique_ptr<SSL, Freer<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using SessionPtr = std::unique_ptr<SSL_SESSION, Freer<SSL_SESSION_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;
using CertificatePtr = std::unique_ptr<X509, Freer<X509_free>>;
struct ChainFreer {
  void operator()(STACK_OF(X509) * chain) const { sk_X509_pop_free(chain, X509_free); }
};
using ChainPtr = std::unique_ptr<STACK_OF(X509), ChainFreer>;
using BioMethodPtr = std::unique_ptr<BIO_METHOD, Freer<BIO_meth_free>>;

/// The reason of the oldest error that OpenSSL has recorded in this thread, whose list is cleared; "no reason given"
/// without one. Reasons contain no secrets.
std::string takeError();

/// SHA-256, 32 bytes.
std::string sha256(std::string_view bytes);

/// SHA-256 of a public key's DER form (SubjectPublicKeyInfo), 32 bytes; "" when it has none.
std::string fingerprint(EVP_PKEY* key);
std::string fingerprint(X509* certificate);

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_HANDLES_H_
