// The session alone, in memory: what two ends say to each other, and what becomes of it on a hostile way.
#include <gtest/gtest.h>

#include "security/openssl/credentials.h"
#include "security/openssl/session.h"
#include "security/rank_set.h"
#include "tests/support/credential_files.h"

namespace goss::security {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loaded = loadSharedKey(files_.path("swarm.key"));
    ASSERT_TRUE(loaded.isOk()) << loaded.status().text();
    credentials_ = loaded.take();
  }

  std::unique_ptr<Session> make(bool calls) {
    return Session::create(credentials_->context(), records_.get(), calls).take();
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
