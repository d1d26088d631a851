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

/// Errors of all: invalidArgument naming the file.
/// Makes a folder that its owner alone may enter; one that exists stays as it is.
Status makeFolder(const std::string& path);
/// Writes a file with mode 0600. Unless `replaces`, there must be none of that name; else the new one takes the old
/// one's place at once, never half written.
Status writeFile(const std::string& path, std::string_view contents, bool replaces = false);

std::string pem(X509* certificate);
std::string pem(EVP_PKEY* private_key);
std::string pem(X509_CRL* list);
Result<security::CertificatePtr> readCertificate(const std::string& path);
Result<security::KeyPtr> readPrivateKey(const std::string& path);
Result<CrlPtr> readRevocations(const std::string& path);

} // namespace goss::keys

#endif // GOSS_TOOLS_KEYS_KEY_FILES_H_
