#include "platform/memory/pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace goss::platform {
namespace {

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t kPages = 8;

class Pages : public ::testing::Test {
 protected:
  Pages()
      : memory_(static_cast<std::byte*>(
            ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::madvise(memory_, kPages * kPage, MADV_NOHUGEPAGE); // One huge page would be all of them.
  }
  ~Pages() override { ::munmap(memory_, kPages * kPage); }

  std::vector<int> resident() const {
    std::vector<unsigned char> found(kPages);
    EXPECT_EQ(::mincore(memory_, kPages * kPage, found.data()), 0);
    std::vector<int> are(kPages);
    std::transform(found.begin(), found.end(), are.begin(), [](unsigned char each) { return each & 1; });
    return are;
  }
  /// Linux before 5.14 refuses the advice also for no bytes.
  bool canTouch() const {
#ifdef MADV_POPULATE_WRITE
    return ::madvise(memory_, 0, MADV_POPULATE_WRITE) == 0 || errno != EINVAL;
#else
    return false;
#endif
  }

  std::byte* const memory_;
};

TEST_F(Pages, AreTouchedWhereTheyAreWhole) {
  touchPages(memory_ + 1, 4 * kPage, true);
  const int touched = canTouch() ? 1 : 0;
  EXPECT_EQ(resident(), (std::vector<int>{0, touched, touched, touched, 0, 0, 0, 0}));
}

TEST_F(Pages, KeepTheirBytes) {
  for (std::size_t i = 0; i < kPages * kPage; ++i)
    memory_[i] = static_cast<std::byte>(i % 251);
  for (const bool writes : {false, true}) {
    touchPages(memory_, kPages * kPage, writes);
    for (std::size_t i = 0; i < kPages * kPage; ++i)
      ASSERT_EQ(memory_[i], static_cast<std::byte>(i % 251));
  }
}

TEST_F(Pages, ShorterThanOneAreLeftAlone) {
  touchPages(memory_, kPage - 1, true);
  touchPages(memory_ + 1, kPage, true);
  touchPages(memory_ + 1, 2, true);
  touchPages(memory_, 0, true);
  EXPECT_EQ(resident(), std::vector<int>(kPages, 0));
}

} // namespace
} // namespace goss::platform
