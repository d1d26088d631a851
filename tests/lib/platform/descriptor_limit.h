/// Tests in which a process runs out of descriptors.
#ifndef GOSS_TESTS_LIB_PLATFORM_DESCRIPTOR_LIMIT_H_
#define GOSS_TESTS_LIB_PLATFORM_DESCRIPTOR_LIMIT_H_

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace goss::test {

/// While it lives, this process can open `free` more descriptors (and what lies in gaps between those that are open).
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int free) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = ::dup(0);
    EXPECT_GE(next, 0);
    ::close(next);
    rlimit low = before_;
    low.rlim_cur = static_cast<rlim_t>(next) + static_cast<rlim_t>(free);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

} // namespace goss::test

#endif // GOSS_TESTS_LIB_PLATFORM_DESCRIPTOR_LIMIT_H_
