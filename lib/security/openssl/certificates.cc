#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <map>
#include <sstream>

#include "base/hex.h"
#include "security/openssl/credentials.h"
#include "security/openssl/files.h"
#include "security/openssl/ticket_store.h"

namespace goss::security {

namespace {

constexpr std::string_view kRanksPrefix("gossamer:ranks=");
constexpr const char* kSuites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;
using CheckPtr = std::unique_ptr<X509_STORE_CTX, Freer<X509_STORE_CTX_free>>;
using CrlPtr = std::unique_ptr<X509_CRL, Freer<X509_CRL_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;

Status cannotUse(const std::string& path, std::string_view why) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("GOSS_TLS: cannot use {}: {}", path, why));
}

BioPtr over(const std::string& text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string commonName(X509* certificate) {
  char name[256] = {};
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                                             static_cast<int>(sizeof name));
  std::string text(name, size > 0 ? static_cast<std::size_t>(size) : 0);
  for (char& c : text)
    // The text goes to a log.
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return text;
}

bool isOver(X509* certificate) { return X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0; }

/// The ranks that an authority has written into the certificate; an empty set if there are none.
RankSet certifiedRanks(X509* certificate) {
  const NamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                                static_cast<std::size_t>(ASN1_STRING_length(uri)));
    if (!text.starts_with(kRanksPrefix)) continue;
    if (auto ranks = RankSet::parse(text.substr(kRanksPrefix.size()))) return *ranks;
  }
  return {};
}

/// The most bytes of a chain that a ticket holds. The calling end sends the ticket in its first message.
constexpr std::size_t kMaxChainBytes = 16 * 1024;

/// The certificates one after the other as DER, without the root, which the verifier has anyway.
std::string encodeChain(const STACK_OF(X509) * chain) {
  std::string all;
  for (int i = 0; chain != nullptr && i < sk_X509_num(chain); ++i) {
    X509* one = sk_X509_value(chain, i);
    if (X509_NAME_cmp(X509_get_subject_name(one), X509_get_issuer_name(one)) == 0) continue;
    unsigned char* bytes = nullptr;
    const int size = i2d_X509(one, &bytes);
    if (size > 0) all.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
  }
  return all;
}

ChainPtr decodeChain(std::string_view bytes) {
  ChainPtr chain(sk_X509_new_null());
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const unsigned char* const end = at + bytes.size();
  while (chain && at < end) {
    CertificatePtr one(d2i_X509(nullptr, &at, static_cast<long>(end - at)));
    if (!one || sk_X509_push(chain.get(), one.get()) == 0) break;
    static_cast<void>(one.release()); // The chain owns it now.
  }
  return chain;
}

class Certificates final : public Credentials {
 public:
  Status load(const std::string& folder) {
    Status made = makeContext(kSuites);
    if (!made.isOk()) return made;
    for (const auto step : {&Certificates::loadOwn, &Certificates::loadTrust}) {
      Status done = (this->*step)(folder);
      if (!done.isOk()) return done;
    }
    SSL_CTX_set_verify(context(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, limitTickets);
    useTickets();
    return Status::ok();
  }

  [[nodiscard]] Result<ProvenPeer> identify(const Session& session, bool calls, std::string_view) const override {
    const CertificatePtr certificate = session.peerCertificate();
    if (!certificate) return Status::error(GOSS_ERR_PROTOCOL, "the other end has no certificate");
    if (session.resumed()) {
      Status checked = checkAgain(session, certificate.get(), calls);
      if (!checked.isOk()) return checked;
    }
    ProvenPeer peer{fingerprint(certificate.get()), commonName(certificate.get()), {}};
    if (!listed_.empty()) {
      const auto found = listed_.find(peer.identity);
      if (found == listed_.end()) return Status::error(GOSS_ERR_PROTOCOL, "the other end's key is not in the list");
      peer.ranks = found->second;
    } else {
      peer.ranks = certifiedRanks(certificate.get());
    }
    return peer;
  }

  void resume(Session& session, std::string_view whom) const override {
    if (const SessionPtr earlier = tickets_.find(whom)) session.resume(earlier.get());
  }

 private:
  /// The accepting end gives the calling end a ticket: its own state of the session, encrypted with a key of this
  /// context. So a ticket becomes invalid with the context when the files change, and costs the accepting end no
  /// memory.
  void useTickets() {
    SSL_CTX_clear_options(context(), SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context(), 1);
    SSL_CTX_set_timeout(context(), kTicketSeconds);
    SSL_CTX_set_app_data(context(), this);
    SSL_CTX_set_session_cache_mode(context(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context(), keepTicket);
    SSL_CTX_set_session_ticket_cb(context(), packChain, nullptr, nullptr);
  }

  /// Called for each certificate of a chain that an authority vouches for. The accepting end gives no ticket to a
  /// caller whose chain is too long for one: without the chain the next session would be refused, and a whole handshake
  /// is not.
  static int limitTickets(int verified, X509_STORE_CTX* chain) {
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    const bool is_last = X509_STORE_CTX_get_error_depth(chain) == 0;
    if (is_last && encodeChain(X509_STORE_CTX_get0_untrusted(chain)).size() > kMaxChainBytes)
      SSL_set_num_tickets(ssl, 0);
    return verified;
  }

  /// Adds the caller's chain to a ticket of the accepting end, which otherwise holds the caller's certificate only, and
  /// could then not verify it again.
  static int packChain(SSL* ssl, void*) {
    if (SSL_session_reused(ssl) == 1) return 1; // A resumed session's ticket already holds the chain.
    const std::string chain = encodeChain(SSL_get_peer_cert_chain(ssl));
    if (!chain.empty() && chain.size() <= kMaxChainBytes)
      SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), chain.data(), chain.size());
    return 1;
  }

  static int keepTicket(SSL* ssl, SSL_SESSION* ticket) {
    SessionPtr taken(ticket);
    X509* shown = SSL_SESSION_get0_peer(ticket);
    auto* self = static_cast<Certificates*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    if (shown != nullptr) self->tickets_.keep(fingerprint(shown), std::move(taken));
    // Returning 1 takes the reference: if the ticket was not kept, the call above has freed it.
    return 1;
  }

  /// Repeats the checks of a full handshake, because a resumed one takes over the earlier results. `calls`: this end's
  /// role.
  Status checkAgain(const Session& session, X509* certificate, bool calls) const {
    if (!listed_.empty()) return isOver(certificate) ? refused(X509_V_ERR_CERT_HAS_EXPIRED) : Status::ok();
    const ChainPtr shown = calls ? session.peerChain() : decodeChain(session.ticketData());
    const CheckPtr check(X509_STORE_CTX_new());
    if (!check || X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context()), certificate, shown.get()) != 1 ||
        X509_STORE_CTX_set_default(check.get(), calls ? "ssl_server" : "ssl_client") != 1)
      return Status::error(GOSS_ERR_RESOURCE, fmt::format("a certificate cannot be checked: {}", takeError()));
    const bool fine = X509_verify_cert(check.get()) == 1;
    takeError();
    return fine ? Status::ok() : refused(X509_STORE_CTX_get_error(check.get()));
  }

  static Status refused(long verified) { return Status::error(GOSS_ERR_PROTOCOL, refusedCertificate(verified)); }

  Status loadOwn(const std::string& folder) {
    const std::string key_path = folder + "/key.pem";
    const std::string certificate_path = folder + "/cert.pem";
    const auto key_text = readSecretFile(key_path);
    if (!key_text.isOk()) return key_text.status();
    const auto certificate_text = readFile(certificate_path);
    if (!certificate_text.isOk()) return certificate_text.status();
    // An empty password, so that OpenSSL asks for none on a terminal.
    const KeyPtr key(
        PEM_read_bio_PrivateKey(over(key_text.value().get()).get(), nullptr, nullptr, const_cast<char*>("")));
    if (!key) return cannotUse(key_path, "it holds no private key (" + takeError() + ")");
    const CertificatePtr own(PEM_read_bio_X509(over(certificate_text.value()).get(), nullptr, nullptr, nullptr));
    if (!own) return cannotUse(certificate_path, "it holds no certificate (" + takeError() + ")");
    if (SSL_CTX_use_certificate(context(), own.get()) != 1 || SSL_CTX_use_PrivateKey(context(), key.get()) != 1)
      return cannotUse(certificate_path, "it does not belong to key.pem (" + takeError() + ")");
    identity_ = fingerprint(own.get());
    return Status::ok();
  }

  Status loadTrust(const std::string& folder) {
    if (fileExists(folder + "/peers")) {
      if (fileExists(folder + "/crl.pem"))
        return cannotUse(folder + "/crl.pem", "a list of peers does not use it; remove one of the two");
      return loadList(folder + "/peers");
    }
    const std::string path = folder + "/ca.pem";
    const auto text = readFile(path);
    if (!text.isOk()) return text.status();
    X509_STORE* store = SSL_CTX_get_cert_store(context());
    const BioPtr bio = over(text.value());
    int authorities = 0;
    while (const CertificatePtr one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)})
      authorities += X509_STORE_add_cert(store, one.get());
    takeError(); // OpenSSL reports the end of the file as an error.
    if (authorities == 0) return cannotUse(path, "it holds no certificate");
    return fileExists(folder + "/crl.pem") ? loadRevocations(store, folder + "/crl.pem") : Status::ok();
  }

  Status loadRevocations(X509_STORE* store, const std::string& path) {
    const auto text = readFile(path);
    if (!text.isOk()) return text.status();
    const CrlPtr list(PEM_read_bio_X509_CRL(over(text.value()).get(), nullptr, nullptr, nullptr));
    if (!list || X509_STORE_add_crl(store, list.get()) != 1)
      return cannotUse(path, "it holds no list of revoked certificates (" + takeError() + ")");
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
    has_revocations_ = true;
    return Status::ok();
  }

  /// Reads lines of fingerprint, ranks and, for people, a name.
  Status loadList(const std::string& path) {
    const auto text = readFile(path);
    if (!text.isOk()) return text.status();
    std::istringstream lines(text.value());
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (line.empty() || line.front() == '#') continue;
      std::istringstream fields(line);
      std::string key;
      std::string ranks;
      fields >> key >> ranks;
      if (key.starts_with("SHA256:")) key.erase(0, 7);
      const std::string hash = base::fromHex(key);
      const auto set = RankSet::parse(ranks);
      if (hash.size() != 32 || !set)
        return cannotUse(path, fmt::format("line {} is not a fingerprint of 64 digits and a list of ranks", number));
      listed_.insert_or_assign(hash, *set);
    }
    if (listed_.empty()) return cannotUse(path, "it lists nobody");
    has_list_ = true;
    SSL_CTX_set_cert_verify_callback(context(), verifyListed, this);
    return Status::ok();
  }

  /// Replaces the verification of a chain: the key must be in the list and the certificate must not have expired.
  static int verifyListed(X509_STORE_CTX* chain, void* self) {
    X509* shown = X509_STORE_CTX_get0_cert(chain);
    const auto& listed = static_cast<const Certificates*>(self)->listed_;
    int error = X509_V_OK;
    if (shown == nullptr || listed.find(fingerprint(shown)) == listed.end())
      error = X509_V_ERR_CERT_UNTRUSTED;
    else if (isOver(shown))
      error = X509_V_ERR_CERT_HAS_EXPIRED;
    X509_STORE_CTX_set_error(chain, error);
    return error == X509_V_OK ? 1 : 0;
  }

  static constexpr long kTicketSeconds = 24 * 60 * 60;

  TicketStore tickets_;
  std::map<std::string, RankSet> listed_; ///< By identity; empty: an authority vouches for peers.
};

} // namespace

Result<std::shared_ptr<const Credentials>> loadCertificates(const std::string& folder) {
  auto credentials = std::make_shared<Certificates>();
  Status loaded = credentials->load(folder);
  if (!loaded.isOk()) return loaded;
  return std::shared_ptr<const Credentials>(std::move(credentials));
}

std::string certificatesStamp(const std::string& folder) {
  std::string stamp;
  for (const char* file : {"/cert.pem", "/key.pem", "/ca.pem", "/crl.pem", "/peers"})
    stamp += fileStamp(folder + file) + ' ';
  return stamp;
}

} // namespace goss::security
