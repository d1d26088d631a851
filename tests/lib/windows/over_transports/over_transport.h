/// Tests of windows over every transport.
#ifndef GOSS_TESTS_LIB_WINDOWS_OVER_TRANSPORTS_OVER_TRANSPORT_H_
#define GOSS_TESTS_LIB_WINDOWS_OVER_TRANSPORTS_OVER_TRANSPORT_H_

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "gossamer/window.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/thread_ranks.h"
#ifdef GOSS_TEST_TLS
#include "tests/support/credential_files.h"
#endif

namespace goss::test {

class OverTransport : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
#ifdef GOSS_TEST_TLS
    if (std::string(GetParam()) == "tls") environment_.set("GOSS_TLS", files_.sharedKey());
#endif
  }
  void run(int ranks, const std::function<void(goss_comm_t comm, int rank)>& body) {
    runRanks(over(GetParam(), ranks), body);
  }

 private:
#ifdef GOSS_TEST_TLS
  CredentialFiles files_;
#endif
  ScopedEnvironment environment_;
};

inline const std::vector<const char*>& everyTransport() {
  static const std::vector<const char*> kTransports = {
      "loopback", "shm", "tcp",
#ifdef GOSS_TEST_TLS
      "tls",
#endif
#ifdef GOSS_HAVE_UCX
      "ucx",
#endif
  };
  return kTransports;
}

/// A window of one rank over memory of its own. The destructor is collective.
template <typename T>
class OwnWindow {
 public:
  OwnWindow(goss_comm_t comm, std::vector<T> values, goss_dtype dtype) : memory(std::move(values)) {
    EXPECT_OK(goss_window_create(comm, memory.data(), memory.size(), dtype, nullptr, &handle));
  }
  ~OwnWindow() { EXPECT_OK(goss_window_free(&handle)); }
  OwnWindow(const OwnWindow&) = delete;
  OwnWindow& operator=(const OwnWindow&) = delete;
  [[nodiscard]] std::vector<T> get(int target) const {
    std::vector<T> values(memory.size());
    EXPECT_OK(goss_window_get(handle, values.data(), values.size(), target, 0, nullptr, nullptr));
    return values;
  }

  std::vector<T> memory;
  goss_window_t handle = nullptr;
};

} // namespace goss::test

#endif // GOSS_TESTS_LIB_WINDOWS_OVER_TRANSPORTS_OVER_TRANSPORT_H_
