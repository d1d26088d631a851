/// The meeting over TLS, as a whole world of threads sees it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/bootstrap.h"
#include "platform/socket.h"
#include "tests/support/credential_files.h"

namespace goss::core {
namespace {

using ::testing::HasSubstr;
using Cards = Result<std::vector<std::string>>;

/// `tls` by rank, "" for in clear; what every rank got.
std::vector<Cards> meet(const std::vector<std::string>& tls, std::int64_t timeout_ms = 20000) {
  auto listener = platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {});
  const std::uint16_t port = platform::localAddress(listener.value().get())->port();
  const int listen_fd = listener.value().release();
  std::vector<Cards> all(tls.size(), Cards(Status::error(GOSS_ERR_INTERNAL, "did not run")));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < tls.size(); ++rank)
    threads.emplace_back([&, rank] {
      Launch launch;
      launch.rank = static_cast<int>(rank);
      launch.ranks = static_cast<int>(tls.size());
      launch.host = "127.0.0.1";
      launch.port = port;
      launch.job.fill(std::byte{42});
      if (rank == 0) launch.listen_fd = listen_fd;
      Config config;
      config.tls = tls[rank];
      config.bootstrap_timeout_ms = timeout_ms;
      all[rank] = rendezvous(launch, std::to_string(rank), config);
    });
  for (std::thread& thread : threads)
    thread.join();
  return all;
}

TEST(SecuredRendezvous, RanksWithOneKeyOrOneAuthorityMeet) {
  const test::CredentialFiles files;
  for (const std::string& tls : {files.sharedKey(), files.certificates()})
    for (const Cards& cards : meet({tls, tls, tls, tls})) {
      ASSERT_TRUE(cards.isOk()) << cards.status().text();
      EXPECT_THAT(cards.value(), ::testing::ElementsAre("0", "1", "2", "3"));
    }
}

TEST(SecuredRendezvous, ARankThatItsCertificateDoesNotAllowIsRefused) {
  const test::CredentialFiles files;
  files.issue("site", "0-1");
  const std::string site = files.certificates("site");
  const auto cards = meet({site, site, site}, 3000);
  ASSERT_FALSE(cards[2].isOk());
  EXPECT_THAT(cards[2].status().text(), HasSubstr("rank 2"));
  EXPECT_FALSE(cards[0].isOk());
  EXPECT_THAT(cards[0].status().text(), HasSubstr("2"));
}

TEST(SecuredRendezvous, AnotherKeyIsRefusedLongBeforeTheDeadline) {
  const test::CredentialFiles files;
  const test::CredentialFiles others;
  const auto cards = meet({files.sharedKey(), others.sharedKey()}, 3000);
  ASSERT_FALSE(cards[1].isOk());
  EXPECT_EQ(cards[1].status().kind(), GOSS_ERR_BOOTSTRAP) << cards[1].status().text();
}

TEST(SecuredRendezvous, ARankInClearIsToldThatTlsIsSpoken) {
  const test::CredentialFiles files;
  const auto cards = meet({files.sharedKey(), ""}, 3000);
  ASSERT_FALSE(cards[1].isOk());
  EXPECT_THAT(cards[1].status().text(), HasSubstr("GOSS_TLS"));
}

TEST(SecuredRendezvous, ASecuredRankIsToldThatRankZeroIsInClear) {
  const test::CredentialFiles files;
  const auto cards = meet({"", files.sharedKey()}, 3000);
  ASSERT_FALSE(cards[1].isOk());
  ASSERT_FALSE(cards[0].isOk());
  EXPECT_THAT(cards[0].status().text(), HasSubstr("1"));
}

} // namespace
} // namespace goss::core
