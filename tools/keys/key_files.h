/// Keys and certificates as files.
#ifndef GOSS_TOOLS_KEYS_KEY_FILES_H_
#define GOSS_TOOLS_KEYS_KEY_FILES_H_

#include <openssl/x509.h>

#include <string>
#include <string_view>

#include "gossamer/status.h"
#include "security/openssl/handles.h"

namespace goss::keys {

using CrlPtr = std::unique_ptr<X509_CRL, security::Freer<X509_CRL_free>>;

/// Makes a folder that only its owner may enter; one that exists stays as it is. Errors, here and below:
/// invalidArgument naming the file.
Status makeFolder(const std::string& path);
/// Writes a file with mode 0600. Without `replaces` the file must not exist. With it the new file replaces the old one
/// atomically.
Status writeFile(const std::string& path, std::string_view contents, bool replaces = false);

std::string pem(X509* certificate);
std::string pem(EVP_PKEY* private_key);
std::string pem(X509_CRL* list);
Result<security::CertificatePtr> readCertificate(const std::string& path);
Result<security::KeyPtr> readPrivateKey(const std::string& path);
Result<CrlPtr> readRevocations(const std::string& path);

} // namespace goss::keys

#endif // GOSS_TOOLS_KEYS_KEY_FILES_H_
