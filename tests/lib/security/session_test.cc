// The session alone, in memory: what two ends say to each other, and what becomes of it on a hostile way.
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <fstream>

#include "base/hex.h"
#include "security/openssl/credentials.h"
#include "security/openssl/session.h"
#include "security/rank_set.h"
#include "tests/support/credential_files.h"
#include "tools/keys/key_files.h"

namespace goss::security {
namespace {

class Sessions : public ::testing::Test {
 protected:
  std::unique_ptr<Session> make(const Credentials& credentials, bool calls) {
    return Session::create(credentials.context(), records_.get(), calls).take();
  }

  /// Carries what `from` has to say; returns it.
  static std::string carry(Session& from, Session& to) {
    std::string bytes(from.outgoing().contents());
    from.outgoing().consume(bytes.size());
    to.incoming().append(bytes.data(), bytes.size());
    return bytes;
  }

  /// Returns all that the caller said.
  static std::string shakeHands(Session& caller, Session& callee) {
    std::string said;
    for (int turn = 0; turn < 3; ++turn) {
      caller.handshake();
      said += carry(caller, callee);
      callee.handshake();
      carry(callee, caller);
    }
    EXPECT_EQ(caller.handshake(), Session::Outcome::done) << caller.failure();
    EXPECT_EQ(callee.handshake(), Session::Outcome::done) << callee.failure();
    return said;
  }

  static std::string take(Session& session, std::size_t size) {
    std::string bytes(size, '\0');
    bytes.resize(session.decrypt(bytes).bytes);
    return bytes;
  }

  test::CredentialFiles files_;
  BioMethodPtr records_ = makeRecordMethod();
};

class SessionTest : public Sessions {
 protected:
  void SetUp() override {
    auto loaded = loadSharedKey(files_.path("swarm.key"));
    ASSERT_TRUE(loaded.isOk()) << loaded.status().text();
    credentials_ = loaded.take();
  }

  std::unique_ptr<Session> make(bool calls) { return Sessions::make(*credentials_, calls); }

  std::shared_ptr<const Credentials> credentials_;
};

TEST_F(SessionTest, CarriesBytesBothWaysAndBothEndsKnowOneSecret) {
  const auto caller = make(true);
  const auto callee = make(false);
  shakeHands(*caller, *callee);
  EXPECT_EQ(caller->exported("EXPORTER-test"), callee->exported("EXPORTER-test"));
  const std::string text(100000, 'x');
  ASSERT_EQ(caller->encrypt(text), Session::Outcome::done);
  EXPECT_EQ(carry(*caller, *callee).find("xxxx"), std::string::npos);
  EXPECT_EQ(take(*callee, 200000), text);
  ASSERT_EQ(callee->encrypt("back"), Session::Outcome::done);
  carry(*callee, *caller);
  EXPECT_EQ(take(*caller, 10), "back");
}

TEST_F(SessionTest, ChangesItsKeyAfterAsManyBytesAsAreAllowed) {
  const auto caller = make(true);
  const auto callee = make(false);
  shakeHands(*caller, *callee);
  caller->setKeyUpdateBytes(100000);
  const std::string text(30000, 'k');
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(caller->encrypt(text), Session::Outcome::done);
    carry(*caller, *callee);
    ASSERT_EQ(take(*callee, 40000), text);
  }
  EXPECT_EQ(caller->keyUpdates(), 10u);
}

TEST_F(SessionTest, AChangedByteEndsIt) {
  const auto caller = make(true);
  const auto callee = make(false);
  shakeHands(*caller, *callee);
  ASSERT_EQ(caller->encrypt("payload"), Session::Outcome::done);
  std::string bytes(caller->outgoing().contents());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  callee->incoming().append(bytes.data(), bytes.size());
  char room[16];
  EXPECT_EQ(callee->decrypt(room).outcome, Session::Outcome::failed);
  EXPECT_FALSE(callee->failure().empty());
}

TEST_F(SessionTest, RecordedBytesAreWorthNothingInAnotherSession) {
  const auto caller = make(true);
  const auto callee = make(false);
  std::string said = shakeHands(*caller, *callee);
  ASSERT_EQ(caller->encrypt("hello"), Session::Outcome::done);
  said += carry(*caller, *callee);
  const auto victim = make(false);
  victim->incoming().append(said.data(), said.size());
  while (victim->handshake() == Session::Outcome::done) {
  }
  EXPECT_FALSE(victim->failure().empty()) << "the recorded end of the handshake fits another key";
}

TEST_F(SessionTest, AProcessProvesItsOwnKeyInThisSessionAlone) {
  const auto other = loadSharedKey(files_.path("swarm.key")).take();
  const auto caller = make(true);
  const auto callee = make(false);
  shakeHands(*caller, *callee);
  const std::string proof = other->prove(*caller, true);
  const auto peer = credentials_->identify(*callee, false, proof);
  ASSERT_TRUE(peer.isOk()) << peer.status().text();
  EXPECT_EQ(peer.value().identity, other->identity());
  EXPECT_FALSE(credentials_->identify(*caller, true, proof).isOk()) << "reflected";
  EXPECT_FALSE(credentials_->identify(*callee, false, credentials_->prove(*caller, true)).isOk()) << "itself";
  const auto caller2 = make(true);
  const auto callee2 = make(false);
  shakeHands(*caller2, *callee2);
  EXPECT_FALSE(credentials_->identify(*callee2, false, proof).isOk()) << "of another session";
}

/// A process that calls and one that is called, with certificates.
class Resumption : public Sessions {
 protected:
  using Made = std::shared_ptr<const Credentials>;

  void SetUp() override {
    files_.issue("caller", "1");
    files_.issue("callee", "0");
  }

  Made load(const std::string& folder) {
    auto loaded = loadCertificates(files_.path(folder));
    EXPECT_TRUE(loaded.isOk()) << loaded.status().text();
    return loaded.take();
  }

  struct Met {
    bool resumed = false;
    Result<ProvenPeer> caller; ///< The identity that each end has proved to the other.
    Result<ProvenPeer> callee;
    std::string said; ///< Text that the calling end sent.
  };

  /// A connection between the two, from the first byte until each has read something of the other.
  Met meet(const Credentials& calls, const Credentials& called) {
    const auto caller = make(calls, true);
    const auto callee = make(called, false);
    calls.resume(*caller, called.identity());
    Met met{false, Status::ok(), Status::ok(), shakeHands(*caller, *callee)};
    EXPECT_EQ(caller->resumed(), callee->resumed());
    met.resumed = caller->resumed();
    met.caller = called.identify(*callee, false, {});
    met.callee = calls.identify(*caller, true, {});
    EXPECT_EQ(callee->encrypt("x"), Session::Outcome::done);
    carry(*callee, *caller);
    EXPECT_EQ(take(*caller, 1), "x"); // The ticket came before it.
    return met;
  }

  /// Puts the authority's list of revoked certificates into a context that is in use.
  void revokeIn(const Credentials& credentials) {
    std::ifstream file(files_.path("ca/crl.pem"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::unique_ptr<BIO, Freer<BIO_free>> bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    const std::unique_ptr<X509_CRL, Freer<X509_CRL_free>> list(
        PEM_read_bio_X509_CRL(bytes.get(), nullptr, nullptr, nullptr));
    ASSERT_TRUE(list);
    X509_STORE* store = SSL_CTX_get_cert_store(credentials.context());
    ASSERT_EQ(X509_STORE_add_crl(store, list.get()), 1);
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  }

  /// An authority in the folder "between" that the one in "ca" vouches for, which may do so then. Its certificate has a
  /// comment of so many bytes.
  void makeAuthorityBetween(std::size_t comment_bytes = 0) {
    ASSERT_TRUE(keys::makeAuthority(files_.path("between"), "authority between", 2).isOk());
    const KeyPtr key = keys::readPrivateKey(files_.path("ca/ca.key")).take();
    const CertificatePtr above = keys::readCertificate(files_.path("ca/ca.pem")).take();
    removeExtension(above.get(), NID_basic_constraints); // Its path length of 0 allows it to issue peers only.
    X509_EXTENSION* any = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
    ASSERT_EQ(X509_add_ext(above.get(), any, -1), 1);
    X509_EXTENSION_free(any);
    signAs(above.get(), key.get(), "ca");
    const CertificatePtr between = keys::readCertificate(files_.path("between/ca.pem")).take();
    removeExtension(between.get(), NID_authority_key_identifier); // It named the authority itself.
    ASSERT_EQ(X509_set_issuer_name(between.get(), X509_get_subject_name(above.get())), 1);
    if (comment_bytes > 0) {
      X509_EXTENSION* comment =
          X509V3_EXT_conf_nid(nullptr, nullptr, NID_netscape_comment, std::string(comment_bytes, 'x').c_str());
      ASSERT_EQ(X509_add_ext(between.get(), comment, -1), 1);
      X509_EXTENSION_free(comment);
    }
    signAs(between.get(), key.get(), "between");
  }

  static void removeExtension(X509* certificate, int nid) {
    const int at = X509_get_ext_by_NID(certificate, nid, -1);
    if (at >= 0) X509_EXTENSION_free(X509_delete_ext(certificate, at));
  }

  void signAs(X509* certificate, EVP_PKEY* key, const std::string& folder) {
    const EVP_MD* digest = EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
    ASSERT_GT(X509_sign(certificate, key, digest), 0);
    ASSERT_TRUE(keys::writeFile(files_.path(folder + "/ca.pem"), keys::pem(certificate), true).isOk());
  }

  /// Its peers have no list of revoked certificates. All trust the authority in "ca".
  void issueBetween(const std::string& name, const std::string& ranks, bool knows_between) {
    const Status issued = keys::issue(files_.path("between"), files_.path(name), {name, ranks, 1});
    ASSERT_TRUE(issued.isOk()) << issued.text();
    std::filesystem::remove(files_.path(name + "/crl.pem"));
    std::string trusted = keys::pem(keys::readCertificate(files_.path("ca/ca.pem")).take().get());
    if (knows_between) trusted += keys::pem(keys::readCertificate(files_.path("between/ca.pem")).take().get());
    ASSERT_TRUE(keys::writeFile(files_.path(name + "/ca.pem"), trusted, true).isOk());
  }

  /// Both ends know each other by the same names and ranks as in a whole handshake.
  static void expectProven(const Met& met, const Credentials& calls, const Credentials& called) {
    ASSERT_TRUE(met.caller.isOk() && met.callee.isOk()) << met.caller.status().text() << met.callee.status().text();
    EXPECT_EQ(met.caller.value().identity, calls.identity());
    EXPECT_EQ(met.callee.value().identity, called.identity());
    EXPECT_TRUE(met.caller.value().ranks.contains(1) && !met.caller.value().ranks.contains(0));
    EXPECT_TRUE(met.callee.value().ranks.contains(0) && !met.callee.value().ranks.contains(1));
  }
};

TEST_F(Resumption, TheSecondSessionIsShorterAndProvesTheSame) {
  const Made caller = load("caller");
  const Made callee = load("callee");
  const Met first = meet(*caller, *callee);
  EXPECT_FALSE(first.resumed);
  expectProven(first, *caller, *callee);
  const std::size_t whole = first.said.size();
  for (int again = 0; again < 3; ++again) { // Each gives the ticket for the next.
    const Met next = meet(*caller, *callee);
    EXPECT_TRUE(next.resumed);
    expectProven(next, *caller, *callee);
    EXPECT_LT(next.said.size(), whole);
  }
}

TEST_F(Resumption, ServesListsOfPeersToo) {
  std::string list;
  for (const auto& [name, ranks] : {std::pair("caller", "1"), std::pair("callee", "0")})
    list += base::toHex(load(name)->identity()) + ' ' + ranks + '\n';
  for (const char* name : {"caller", "callee"}) {
    std::filesystem::remove(files_.path(std::string(name) + "/crl.pem"));
    std::ofstream(files_.path(std::string(name) + "/peers")) << list;
  }
  const Made caller = load("caller");
  const Made callee = load("callee");
  EXPECT_FALSE(meet(*caller, *callee).resumed);
  const Met next = meet(*caller, *callee);
  EXPECT_TRUE(next.resumed);
  expectProven(next, *caller, *callee);
}

TEST_F(Resumption, TicketsEndWithTheFilesThatTheyWereMadeWith) {
  const Made caller = load("caller");
  const Made callee = load("callee");
  meet(*caller, *callee);
  EXPECT_FALSE(meet(*caller, *load("callee")).resumed) << "who is called has read its files anew";
  EXPECT_FALSE(meet(*load("caller"), *callee).resumed) << "who calls has";
}

TEST_F(Resumption, ATicketIsForTheEndThatGaveIt) {
  files_.issue("other", "0");
  const Made caller = load("caller");
  const Made callee = load("callee");
  const Made other = load("other");
  meet(*caller, *callee);
  const auto mine = make(*caller, true);
  const auto theirs = make(*other, false);
  caller->resume(*mine, callee->identity());
  shakeHands(*mine, *theirs);
  EXPECT_FALSE(mine->resumed());
  EXPECT_EQ(caller->identify(*mine, true, {}).value().identity, other->identity());
}

TEST_F(Resumption, WhatAWholeHandshakeRefusesIsRefused) {
  std::filesystem::remove(files_.path("callee/crl.pem")); // The list below would be no newer.
  const Made caller = load("caller");
  const Made callee = load("callee");
  meet(*caller, *callee);
  // A process that does not look at its files again knows the list of its authority by other means.
  ASSERT_TRUE(keys::revoke(files_.path("ca"), files_.path("caller/cert.pem")).isOk());
  revokeIn(*callee);
  const Met met = meet(*caller, *callee);
  EXPECT_TRUE(met.resumed);
  ASSERT_FALSE(met.caller.isOk());
  EXPECT_NE(met.caller.status().text().find("certificate revoked"), std::string::npos) << met.caller.status().text();
}

// An end sends the authorities that it knows with its certificate. Who knows but the uppermost needs them each time.
TEST_F(Resumption, WorksWhereOneEndAloneKnowsTheAuthorityBetween) {
  makeAuthorityBetween();
  for (const bool caller_knows : {true, false}) {
    const std::string of = caller_knows ? "1" : "2";
    issueBetween("caller" + of, "1", caller_knows);
    issueBetween("callee" + of, "0", !caller_knows);
    const Made caller = load("caller" + of);
    const Made callee = load("callee" + of);
    EXPECT_FALSE(meet(*caller, *callee).resumed);
    for (int again = 0; again < 3; ++again) {
      const Met next = meet(*caller, *callee);
      EXPECT_TRUE(next.resumed);
      expectProven(next, *caller, *callee);
    }
  }
}

TEST_F(Resumption, AChainThatIsTooLongForATicketIsShownAgainInAWholeHandshake) {
  makeAuthorityBetween(20000);
  issueBetween("caller1", "1", true);
  issueBetween("callee1", "0", false);
  const Made caller = load("caller1");
  const Made callee = load("callee1");
  for (int again = 0; again < 3; ++again) {
    const Met met = meet(*caller, *callee);
    EXPECT_FALSE(met.resumed);
    expectProven(met, *caller, *callee);
  }
}

TEST_F(Sessions, ACertificateOfANamesakeOfTheAuthorityIsCalledAnotherAuthoritys) {
  ASSERT_TRUE(keys::makeAuthority(files_.path("namesake"), "test authority", 2).isOk());
  ASSERT_TRUE(keys::issue(files_.path("namesake"), files_.path("impostor"), {"impostor", "any", 1}).isOk());
  const auto ours = loadCertificates(files_.path("peer")).take();
  const auto theirs = loadCertificates(files_.path("impostor")).take();
  const auto caller = make(*ours, true);
  const auto callee = make(*theirs, false);
  for (int turn = 0; turn < 2; ++turn) {
    caller->handshake();
    carry(*caller, *callee);
    callee->handshake();
    carry(*callee, *caller);
  }
  EXPECT_EQ(caller->failure(),
            "the other end's certificate is refused: another authority has signed it (certificate "
            "signature failure)");
}

TEST(RankSet, ReadsRanksAndRanges) {
  EXPECT_TRUE(RankSet::parse("any")->contains(123456));
  const auto some = RankSet::parse("0-3,7");
  ASSERT_TRUE(some);
  EXPECT_TRUE(some->contains(3) && some->contains(7));
  EXPECT_FALSE(some->contains(4) || some->contains(8) || some->contains(-1));
  for (const char* wrong : {"", "x", "3-", "-3", "3-1", "1,,2", "1 2", "99999999999"})
    EXPECT_FALSE(RankSet::parse(wrong)) << wrong;
  EXPECT_FALSE(RankSet().contains(0));
}

} // namespace
} // namespace goss::security
