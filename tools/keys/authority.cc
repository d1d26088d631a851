#include "tools/keys/authority.h"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/hex.h"
#include "base/invalid.h"
#include "security/rank_set.h"
#include "tools/keys/key_files.h"

namespace goss::keys {

namespace {

using security::CertificatePtr;
using security::KeyPtr;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, security::Freer<X509_EXTENSION_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, security::Freer<GENERAL_NAMES_free>>;
using RevokedPtr = std::unique_ptr<X509_REVOKED, security::Freer<X509_REVOKED_free>>;

constexpr long kSecondsPerDay = 24 * 60 * 60;
/// Certificates are valid from an hour ago, because clocks of other hosts may be behind.
constexpr long kEarly_s = -3600;

Status opensslFailed(std::string_view what) {
  return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot make {}: {}", what, security::takeError()));
}

using base::invalid;

KeyPtr makeKey() { return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")); }

bool extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Adds the ranks as a URI among the certificate's names. The function builds the extension itself, because a comma
/// would end the URI in OpenSSL's notation for extensions.
bool addRanks(X509* certificate, const std::string& ranks) {
  const std::string text = "gossamer:ranks=" + ranks;
  const NamesPtr names(GENERAL_NAMES_new());
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* uri = ASN1_IA5STRING_new();
  if (!names || name == nullptr || uri == nullptr ||
      ASN1_STRING_set(uri, text.data(), static_cast<int>(text.size())) != 1)
    return false;
  GENERAL_NAME_set0_value(name, GEN_URI, uri);
  return sk_GENERAL_NAME_push(names.get(), name) > 0 &&
         X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

/// Sets a random serial number, so that no counter must be kept; positive and short enough for every reader.
bool setSerial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);
  ASN1_INTEGER* serial = X509_get_serialNumber(certificate);
  return ASN1_STRING_set(serial, bytes, sizeof bytes) == 1;
}

/// A certificate without extensions and signature.
CertificatePtr draft(const std::string& name, EVP_PKEY* key, std::int64_t days) {
  CertificatePtr certificate(X509_new());
  X509* made = certificate.get();
  const long begin_s = days < 0 ? 2 * kSecondsPerDay * days : kEarly_s;
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  if (made == nullptr || X509_set_version(made, X509_VERSION_3) != 1 || !setSerial(made) ||
      X509_gmtime_adj(X509_getm_notBefore(made), begin_s) == nullptr ||
      X509_gmtime_adj(X509_getm_notAfter(made), kSecondsPerDay * days) == nullptr || X509_set_pubkey(made, key) != 1 ||
      X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8, text, -1, -1, 0) != 1)
    return nullptr;
  return certificate;
}

/// Completes a peer's certificate. `issuer` is the certificate itself where it is self-signed.
bool finishPeer(X509* certificate, X509* issuer, EVP_PKEY* issuer_key, const std::string& ranks) {
  return X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
         extend(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         extend(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
         extend(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth") && addRanks(certificate, ranks) &&
         X509_sign(certificate, issuer_key, nullptr) > 0;
}

Status checkRequest(const PeerRequest& request) {
  if (request.name.empty() || request.name.size() > 64)
    return invalid(fmt::format("the name \"{}\" must have 1 to 64 characters", request.name));
  if (!security::RankSet::parse(request.ranks))
    return invalid(fmt::format("the ranks \"{}\" are neither \"any\" nor a list such as 0-7,12", request.ranks));
  return Status::ok();
}

Status writeRevocations(const std::string& path, X509_CRL* list, X509* issuer, EVP_PKEY* key, bool replaces) {
  const auto now = std::unique_ptr<ASN1_TIME, security::Freer<ASN1_TIME_free>>(X509_gmtime_adj(nullptr, kEarly_s));
  if (!now || X509_CRL_set_version(list, X509_CRL_VERSION_2) != 1 ||
      X509_CRL_set_issuer_name(list, X509_get_subject_name(issuer)) != 1 ||
      X509_CRL_set1_lastUpdate(list, now.get()) != 1 ||
      // The list is valid as long as its authority: a list that nobody renewed must not end a run that nobody attacks.
      X509_CRL_set1_nextUpdate(list, X509_get0_notAfter(issuer)) != 1 || X509_CRL_sort(list) != 1 ||
      X509_CRL_sign(list, key, nullptr) <= 0)
    return opensslFailed("the list of revoked certificates");
  return writeFile(path, pem(list), replaces);
}

} // namespace

Status makeAuthority(const std::string& folder, const std::string& name, int days) {
  Status made = makeFolder(folder);
  if (!made.isOk()) return made;
  const KeyPtr key = makeKey();
  const CertificatePtr own = key ? draft(name, key.get(), days) : nullptr;
  if (!own || X509_set_issuer_name(own.get(), X509_get_subject_name(own.get())) != 1 ||
      !extend(own.get(), own.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !extend(own.get(), own.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !extend(own.get(), own.get(), NID_subject_key_identifier, "hash") ||
      X509_sign(own.get(), key.get(), nullptr) <= 0)
    return opensslFailed("the authority's certificate");
  Status written = writeFile(folder + "/ca.key", pem(key.get()));
  if (written.isOk()) written = writeFile(folder + "/ca.pem", pem(own.get()));
  const CrlPtr list(X509_CRL_new());
  if (written.isOk()) written = writeRevocations(folder + "/crl.pem", list.get(), own.get(), key.get(), false);
  return written;
}

Status issue(const std::string& authority, const std::string& out, const PeerRequest& request) {
  Status good = checkRequest(request);
  if (!good.isOk()) return good;
  const auto issuer = readCertificate(authority + "/ca.pem");
  if (!issuer.isOk()) return issuer.status();
  const auto issuer_key = readPrivateKey(authority + "/ca.key");
  if (!issuer_key.isOk()) return issuer_key.status();
  const auto revoked = readRevocations(authority + "/crl.pem");
  if (!revoked.isOk()) return revoked.status();
  const KeyPtr key = makeKey();
  const CertificatePtr certificate = key ? draft(request.name, key.get(), request.days) : nullptr;
  if (!certificate || !finishPeer(certificate.get(), issuer.value().get(), issuer_key.value().get(), request.ranks))
    return opensslFailed("a peer's certificate");
  Status written = makeFolder(out);
  if (written.isOk()) written = writeFile(out + "/key.pem", pem(key.get()));
  if (written.isOk()) written = writeFile(out + "/cert.pem", pem(certificate.get()));
  if (written.isOk()) written = writeFile(out + "/ca.pem", pem(issuer.value().get()));
  if (written.isOk()) written = writeFile(out + "/crl.pem", pem(revoked.value().get()));
  return written;
}

Status issueSelfSigned(const std::string& out, const PeerRequest& request) {
  Status good = checkRequest(request);
  if (!good.isOk()) return good;
  const KeyPtr key = makeKey();
  const CertificatePtr certificate = key ? draft(request.name, key.get(), request.days) : nullptr;
  if (!certificate || !finishPeer(certificate.get(), certificate.get(), key.get(), request.ranks))
    return opensslFailed("a peer's certificate");
  Status written = makeFolder(out);
  if (written.isOk()) written = writeFile(out + "/key.pem", pem(key.get()));
  if (written.isOk()) written = writeFile(out + "/cert.pem", pem(certificate.get()));
  return written;
}

Status revoke(const std::string& authority, const std::string& certificate) {
  const auto issuer = readCertificate(authority + "/ca.pem");
  if (!issuer.isOk()) return issuer.status();
  const auto issuer_key = readPrivateKey(authority + "/ca.key");
  if (!issuer_key.isOk()) return issuer_key.status();
  const auto list = readRevocations(authority + "/crl.pem");
  if (!list.isOk()) return list.status();
  const auto gone = readCertificate(certificate);
  if (!gone.isOk()) return gone.status();
  if (X509_verify(gone.value().get(), X509_get0_pubkey(issuer.value().get())) != 1) {
    security::takeError();
    return invalid(fmt::format("{}: it was not issued by the authority in {}", certificate, authority));
  }
  X509_REVOKED* known = nullptr;
  if (X509_CRL_get0_by_cert(list.value().get(), &known, gone.value().get()) == 1) return Status::ok();
  RevokedPtr entry(X509_REVOKED_new());
  const auto now = std::unique_ptr<ASN1_TIME, security::Freer<ASN1_TIME_free>>(X509_gmtime_adj(nullptr, 0));
  if (!entry || !now || X509_REVOKED_set_serialNumber(entry.get(), X509_get_serialNumber(gone.value().get())) != 1 ||
      X509_REVOKED_set_revocationDate(entry.get(), now.get()) != 1 ||
      X509_CRL_add0_revoked(list.value().get(), entry.get()) != 1)
    return opensslFailed("an entry of the list");
  [[maybe_unused]] const X509_REVOKED* owned_by_list = entry.release();
  return writeRevocations(authority + "/crl.pem", list.value().get(), issuer.value().get(), issuer_key.value().get(),
                          true);
}

Result<std::string> fingerprintOf(const std::string& certificate) {
  const auto read = readCertificate(certificate);
  if (!read.isOk()) return read.status();
  return "SHA256:" + base::toHex(security::fingerprint(read.value().get()));
}

Status makeSharedKey(const std::string& file) {
  std::string key(32, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), static_cast<int>(key.size())) != 1)
    return opensslFailed("a swarm key");
  std::string text = "gossamer-psk-1 " + base::toHex(key) + "\n";
  Status written = writeFile(file, text);
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(text.data(), text.size());
  return written;
}

} // namespace goss::keys
