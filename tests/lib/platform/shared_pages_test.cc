#include "platform/memory/shared_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "platform/memory/streaming_copy.h"

namespace goss::platform {
namespace {

UniqueFd duplicate(int fd) { return UniqueFd(::dup(fd)); }

TEST(SharedPages, ShowTheOtherMappingWhatIsWritten) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100000}, std::size_t{5} << 20}) {
    const SharedPages mine = SharedPages::create(bytes).take();
    EXPECT_GE(mine.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mine.data()) % 4096, 0u);
    EXPECT_EQ(mine.data()[mine.bytes() - 1], std::byte{0});
    const SharedPages theirs = SharedPages::attach(duplicate(mine.fd()), mine.bytes()).take();
    std::memset(mine.data(), 5, mine.bytes());
    EXPECT_EQ(std::memcmp(mine.data(), theirs.data(), mine.bytes()), 0);
  }
}

TEST(SharedPages, CannotBeCutByOthers) {
  const SharedPages mine = SharedPages::create(1 << 16).take();
  EXPECT_NE(::ftruncate(mine.fd(), 0), 0);
  EXPECT_NE(::ftruncate(mine.fd(), 1 << 20), 0);
}

TEST(SharedPages, AreNotReachedByOthersOnceTheyAreReplaced) {
  const SharedPages mine = SharedPages::create(1 << 16).take();
  const SharedPages theirs = SharedPages::attach(duplicate(mine.fd()), mine.bytes()).take();
  std::memset(mine.data(), 1, mine.bytes());
  ASSERT_TRUE(replacePages({mine.data() + 5000, 4096})); // Replaces the second and the third page.
  EXPECT_EQ(std::memcmp(mine.data(), theirs.data(), mine.bytes()), 0) << "they hold what they held";
  std::memset(theirs.data(), 2, theirs.bytes());
  for (std::size_t at = 0; at < mine.bytes(); ++at)
    ASSERT_EQ(std::to_integer<int>(mine.data()[at]), at / 4096 == 1 || at / 4096 == 2 ? 1 : 2) << at;
}

TEST(SharedPages, RefuseDescriptorsThatCouldKillTheReader) {
  UniqueFd open_ended(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open_ended.get(), 1 << 16), 0);
  EXPECT_EQ(SharedPages::attach(std::move(open_ended), 1 << 16).status().kind(), GOSS_ERR_PROTOCOL);
  const SharedPages mine = SharedPages::create(1 << 16).take();
  EXPECT_EQ(SharedPages::attach(duplicate(mine.fd()), (1 << 16) + 1).status().kind(), GOSS_ERR_PROTOCOL);
  EXPECT_EQ(SharedPages::attach(duplicate(mine.fd()), 0).status().kind(), GOSS_ERR_PROTOCOL);
  EXPECT_EQ(SharedPages::attach(UniqueFd(), 4096).status().kind(), GOSS_ERR_PROTOCOL);
}

TEST(SharedPages, RefuseImpossibleSizes) {
  EXPECT_EQ(SharedPages::create(std::size_t{1} << 60).status().kind(), GOSS_ERR_RESOURCE);
}

TEST(StreamingCopy, CopiesEveryLengthAtEveryOffset) {
  std::vector<unsigned char> source(1000), expected(1000), got(1000);
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<unsigned char>(i * 7 + i / 256);
  for (std::size_t length : {0u, 1u, 63u, 64u, 65u, 200u, 700u}) {
    for (std::size_t to = 0; to < 70; to += 3) {
      for (std::size_t from = 0; from < 70; from += 5) {
        std::fill(expected.begin(), expected.end(), 0);
        std::fill(got.begin(), got.end(), 0);
        std::memcpy(expected.data() + to, source.data() + from, length);
        copyStreaming(got.data() + to, source.data() + from, length);
        ASSERT_EQ(got, expected) << length << " bytes from " << from << " to " << to;
      }
    }
  }
}

} // namespace
} // namespace goss::platform
