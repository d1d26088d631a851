// Random programs against a sequential reference. Every failure says the seed, and the command that runs it again:
//
//   random_test [--seed S] [--programs N] [--seconds N] [--say] [--gtest_filter='*/TRANSPORT']
//
// runs the programs of the seeds from S on, N of them or for so many seconds over each transport; --say prints each
// seed before its program runs, for one that kills the process.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tests/random/generate.h"
#include "tests/random/run.h"
#include "tests/support/quick.h"
#ifdef GOSS_TEST_TLS
#include "tests/support/credential_files.h"
#endif

namespace goss::test {
namespace {

/// The options of the command line.
struct Options {
  std::uint64_t seed = 1;
  std::uint64_t programs = 0; ///< 0: as many as continuous integration runs.
  double seconds = 0;         ///< 0: no matter how long they take.
  bool say = false;
};
Options options; // NOLINT: set by main alone

class Random : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
#ifdef GOSS_TEST_TLS
    if (GetParam() != "tls") return;
    credentials_.emplace();
    ::setenv("GOSS_TLS", credentials_->sharedKey().c_str(), 1);
#endif
  }
  void TearDown() override { ::unsetenv("GOSS_TLS"); }

  /// Calls check(seed), which returns what is wrong, for as many seeds as there is time for, up to the first failure.
  void forEachSeed(std::uint64_t usual, const std::function<std::string(std::uint64_t)>& check) {
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    usual = fullOr(usual, (usual + 2) / 3);
    const std::uint64_t programs = options.programs > 0 ? options.programs : usual;
    std::uint64_t ran = 0;
    for (; options.seconds > 0 ? seconds() < options.seconds : ran < programs; ++ran) {
      const std::uint64_t seed = options.seed + ran;
      if (options.say) {
        std::printf("seed %llu over %s\n", static_cast<unsigned long long>(seed), GetParam().c_str());
        std::fflush(stdout);
      }
      const std::string failure = check(seed);
      const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
      ASSERT_TRUE(failure.empty() && !HasFailure())
          << failure << "\nagain: random_test --gtest_filter='" << test->test_suite_name() << "." << test->name()
          << "' --programs 1 --seed " << seed;
    }
    RecordProperty("programs", static_cast<int>(ran));
    std::printf("%llu programs over %s\n", static_cast<unsigned long long>(ran), GetParam().c_str());
  }

#ifdef GOSS_TEST_TLS
 private:
  std::optional<CredentialFiles> credentials_;
#endif
};

TEST_P(Random, ProgramsComputeWhatTheReferenceDoes) {
  forEachSeed(6, [](std::uint64_t seed) {
    const Program program = generate(seed);
    const std::string failure = run(program, GetParam());
    return failure.empty() ? "" : failure + "\n" + program.describe();
  });
}

class RandomMismatches : public Random {};

TEST_P(RandomMismatches, AreReportedAndNobodyGetsWrongResults) {
  forEachSeed(12, [](std::uint64_t seed) {
    const Mismatch mismatch = generateMismatch(seed);
    const std::string failure = runMismatch(mismatch, GetParam());
    return failure.empty() ? "" : mismatch.alteration.describe() + ":" + failure + "\n" + mismatch.program.describe();
  });
}

std::string nameOf(const ::testing::TestParamInfo<std::string>& test) { return test.param; }

INSTANTIATE_TEST_SUITE_P(All, Random, ::testing::Values("loopback", "shm", "tcp", "sim"), nameOf);
INSTANTIATE_TEST_SUITE_P(All, RandomMismatches, ::testing::Values("loopback", "shm", "tcp", "sim"), nameOf);
#ifdef GOSS_TEST_TLS
INSTANTIATE_TEST_SUITE_P(Tls, Random, ::testing::Values("tls"), nameOf);
INSTANTIATE_TEST_SUITE_P(Tls, RandomMismatches, ::testing::Values("tls"), nameOf);
#endif
#ifdef GOSS_HAVE_UCX
INSTANTIATE_TEST_SUITE_P(Ucx, Random, ::testing::Values("ucx"), nameOf);
INSTANTIATE_TEST_SUITE_P(Ucx, RandomMismatches, ::testing::Values("ucx"), nameOf);
#endif

/// Takes what is ours; false: something is neither ours nor GoogleTest's.
bool readOptions(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--say") {
      options.say = true;
      continue;
    }
    if (value == nullptr) return false;
    if (word == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (word == "--programs") {
      options.programs = std::strtoull(value, nullptr, 10);
    } else if (word == "--seconds") {
      options.seconds = std::strtod(value, nullptr);
    } else {
      return false;
    }
    ++i;
  }
  return true;
}

} // namespace
} // namespace goss::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!goss::test::readOptions(argc, argv)) {
    std::fprintf(stderr, "random_test [--seed S] [--programs N] [--seconds N] [--say]\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}
