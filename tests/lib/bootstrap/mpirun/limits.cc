// Meetings through PMIx that fail, at two ranks: "asleep", rank 1 comes after rank 0's deadline; "unpublished", PMIx
// takes nothing from rank 0. Each rank hears of it within its GOSS_BOOTSTRAP_TIMEOUT_MS.
#include <dlfcn.h>
#include <fmt/format.h>
#include <pmix.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "bootstrap/bootstrap.h"

namespace {

using Clock = std::chrono::steady_clock;

/// How much longer than its limit a meeting may take on a busy machine.
constexpr std::chrono::milliseconds kSlack(10000);
bool takes_nothing = false;

goss::Status meet(const goss::Config& config) {
  auto launch = goss::detectLaunch(config, nullptr);
  if (!launch.isOk()) return launch.status();
  return goss::rendezvous(launch.take(), "card", config).status();
}

/// Whether a meeting fails in time, and says `expected`.
bool hears(const goss::Config& config, const std::string& expected) {
  const auto begin = Clock::now();
  const goss::Status met = meet(config);
  const bool in_time = Clock::now() - begin < std::chrono::milliseconds(config.bootstrap_timeout_ms) + kSlack;
  if (!in_time) std::fprintf(stderr, "error: too late\n");
  const bool is_told = met.kind() == GOSS_ERR_BOOTSTRAP && met.text().find(expected) != std::string::npos;
  if (!is_told) std::fprintf(stderr, "error: '%s' instead of '%s'\n", met.text().c_str(), expected.c_str());
  return in_time && is_told;
}

bool runAsleep(const goss::Config& config, int rank) {
  const std::chrono::milliseconds limit(config.bootstrap_timeout_ms);
  if (rank == 0)
    return hears(config, fmt::format("not all processes of the job have come within {} ms (GOSS_BOOTSTRAP_TIMEOUT_MS)",
                                     limit.count())) &&
           hears(config, "an earlier meeting failed half way");
  std::this_thread::sleep_for(2 * limit);
  return hears(config, "");
}

bool runUnpublished(const goss::Config& config, int rank) {
  takes_nothing = true;
  return hears(config, rank == 0 ? std::string("PMIx_Put says")
                                 : fmt::format("rank 0 has published no unique id within {} ms "
                                               "(GOSS_BOOTSTRAP_TIMEOUT_MS)",
                                               config.bootstrap_timeout_ms));
}

} // namespace

/// Stands before the library's function of this name.
extern "C" pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t* value) {
  if (takes_nothing) return PMIX_ERR_OUT_OF_RESOURCE;
  const auto real = reinterpret_cast<decltype(&PMIx_Put)>(::dlsym(RTLD_NEXT, "PMIx_Put"));
  return real(scope, key, value);
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto config = goss::Config::fromEnvironment();
  const char* rank_text = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!config.isOk() || rank_text == nullptr) return 1;
  const int rank = std::atoi(rank_text);
  const bool is_right = mode == "asleep" ? runAsleep(config.value(), rank) : runUnpublished(config.value(), rank);
  if (is_right) std::printf("rank %d heard in time\n", rank);
  return is_right ? 0 : 1;
}
