#include "core/bootstrap.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/wire.h"
#include "core/bootstrap_pmix.h"
#include "core/bootstrap_unique_id.h"
#include "core/bootstrap_wire.h"
#include "platform/socket.h"

namespace goss::core {

namespace {

Status refuse(std::string text) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, std::move(text)); }

/// What launchers leave in the environment; a missing number is -1.
struct LauncherVariables {
  int rank = -1; ///< RANK, else mpirun's.
  int ranks = -1;
  int local_rank = -1;
  int mpirun_rank = -1;
  int mpirun_ranks = -1;
  int master_port = -1;
  std::string master_addr;
  std::string run_id;
  bool agent_store = false; ///< torchrun's agent listens on MASTER_PORT itself.
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// -1 when unset or empty. Errors: names the variable.
Status readNumber(const char* name, int least, int most, int& number) {
  const std::string text = variable(name);
  if (text.empty()) return Status::ok();
  int parsed = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || parsed < least || parsed > most)
    return refuse(fmt::format("{} is \"{}\"; it must be a whole number from {} to {}", name, text, least, most));
  number = parsed;
  return Status::ok();
}

Result<LauncherVariables> readVariables() {
  LauncherVariables found;
  int mpirun_local = -1;
  const struct {
    const char* name;
    int least;
    int most;
    int& number;
  } numbers[] = {
      {"RANK", 0, kMostRanks - 1, found.rank},
      {"WORLD_SIZE", 1, kMostRanks, found.ranks},
      {"LOCAL_RANK", 0, kMostRanks - 1, found.local_rank},
      {"OMPI_COMM_WORLD_RANK", 0, kMostRanks - 1, found.mpirun_rank},
      {"OMPI_COMM_WORLD_SIZE", 1, kMostRanks, found.mpirun_ranks},
      {"OMPI_COMM_WORLD_LOCAL_RANK", 0, kMostRanks - 1, mpirun_local},
      {"MASTER_PORT", 1, 65535, found.master_port},
  };
  for (const auto& entry : numbers) {
    Status read = readNumber(entry.name, entry.least, entry.most, entry.number);
    if (!read.isOk()) return read;
  }
  if (found.rank < 0 && found.ranks < 0) {
    found.rank = found.mpirun_rank;
    found.ranks = found.mpirun_ranks;
  }
  if (found.local_rank < 0) found.local_rank = mpirun_local;
  found.master_addr = variable("MASTER_ADDR");
  found.run_id = variable("TORCHELASTIC_RUN_ID");
  found.agent_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return found;
}

/// Rank and size: the caller's fields first, then the launcher's variables.
Status setPlace(const LauncherVariables& variables, const goss_config* fields, Launch& launch) {
  launch.rank = fields != nullptr && fields->rank >= 0 ? fields->rank : variables.rank;
  launch.ranks = fields != nullptr && fields->ranks > 0 ? fields->ranks : variables.ranks;
  launch.local_rank = variables.local_rank;
  if (launch.rank < 0 && launch.ranks == 1) launch.rank = 0;
  if (launch.rank < 0 || launch.ranks < 1)
    return refuse(fmt::format("{} is not known: set it in goss_config or by the launcher's variable {}",
                              launch.rank < 0 ? "this process's rank" : "the number of ranks",
                              launch.rank < 0 ? "RANK" : "WORLD_SIZE"));
  if (launch.ranks > kMostRanks || launch.rank >= launch.ranks)
    return refuse(fmt::format("rank {} of {} ranks: ranks go from 0 to one less than their number, which is at most {}",
                              launch.rank, launch.ranks, kMostRanks));
  return Status::ok();
}

/// Fills in where and how to meet by `bytes`; rank and ranks are set.
Status meetByUniqueId(const goss_unique_id& bytes, Launch& launch) {
  const auto id = decodeUniqueId(bytes);
  if (!id.isOk()) return id.status();
  const bool same_host = id.value().host == hostHash();
  std::vector<platform::SocketAddress> addresses;
  for (const std::string& raw : id.value().addresses) {
    const auto address = platform::SocketAddress::fromBytes(raw, id.value().port);
    // Another host's loopback is this host's own.
    if (address && (same_host || !address->loopback())) addresses.push_back(*address);
  }
  if (addresses.empty())
    return refuse(
        "the unique id names only loopback addresses of another host; make it with GOSS_INTERFACE set to a "
        "network that this host reaches");
  // On the maker's host nothing can be in loopback's way.
  std::stable_sort(addresses.begin(), addresses.end(),
                   [](const auto& a, const auto& b) { return a.loopback() && !b.loopback(); });
  launch.job = id.value().job;
  launch.host = addresses.front().host();
  launch.port = id.value().port;
  launch.listens_already = true;
  for (std::size_t i = 1; i < addresses.size(); ++i)
    launch.alternatives.push_back(addresses[i].host());
  if (launch.rank != 0) return Status::ok();
  auto listener = takeListener(id.value());
  if (!listener.isOk()) return listener.status();
  launch.listen_fd = listener.value().release();
  return Status::ok();
}

/// Tells jobs apart that meet at one address. It keeps strangers' mistakes out, not their malice: all of it can be
/// guessed.
std::array<std::byte, 16> identifyJob(const Launch& launch, const std::string& id) {
  base::WireWriter out;
  out.raw("gossamer job 1").text(id).text(launch.host).integer(launch.port);
  out.integer(static_cast<std::uint32_t>(launch.ranks));
  const std::string bytes = out.take();
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  std::array<std::byte, 16> job;
  base::storeLittleEndian(job.data(), hash.low64);
  base::storeLittleEndian(job.data() + 8, hash.high64);
  return job;
}

void meetAtMaster(const LauncherVariables& variables, const Config& config, Launch& launch) {
  launch.source = "environment";
  launch.host = variables.master_addr;
  if (config.bootstrap_port != 0)
    launch.port = config.bootstrap_port;
  else
    launch.port = static_cast<std::uint16_t>(variables.master_port + (variables.agent_store ? 1 : 0));
  launch.job = identifyJob(launch, config.job_id.empty() ? variables.run_id : config.job_id);
}

Result<Launch> meetThroughMpirun(const LauncherVariables& variables, const Config& config, Launch launch) {
  launch.source = "mpirun";
  if (launch.rank != variables.mpirun_rank || launch.ranks != variables.mpirun_ranks)
    return refuse(
        fmt::format("rank {} of {} was asked for, but mpirun started this process as rank {} of {}; leave rank "
                    "and ranks to the launcher, or pass a unique id",
                    launch.rank, launch.ranks, variables.mpirun_rank, variables.mpirun_ranks));
  const auto id = exchangeThroughPmix(launch.rank, [&] { return makeUniqueId(config); });
  if (!id.isOk()) return id.status();
  Status met = meetByUniqueId(id.value(), launch);
  if (!met.isOk()) return met;
  return launch;
}

} // namespace

Result<Launch> detectLaunch(const Config& config, const goss_config* fields) {
  const auto read = readVariables();
  if (!read.isOk()) return read.status();
  const LauncherVariables& variables = read.value();
  Launch launch;
  const bool asked = fields != nullptr && (fields->unique_id != nullptr || fields->rank >= 0 || fields->ranks > 0);
  if (!asked && variables.rank < 0 && variables.ranks < 0) return launch;
  Status placed = setPlace(variables, fields, launch);
  if (!placed.isOk()) return placed;
  if (fields != nullptr && fields->unique_id != nullptr) {
    launch.source = "unique id";
    Status met = meetByUniqueId(*fields->unique_id, launch);
    if (!met.isOk()) return met;
    return launch;
  }
  if (launch.ranks == 1) return launch;
  if (!variables.master_addr.empty()) {
    if (variables.master_port < 0 && config.bootstrap_port == 0)
      return refuse(fmt::format("MASTER_ADDR is \"{}\" but MASTER_PORT is not set; set it to a free port of that host",
                                variables.master_addr));
    if (variables.agent_store && variables.master_port == 65535 && config.bootstrap_port == 0)
      return refuse("MASTER_PORT is \"65535\", torchrun's own, and there is no port above it; set GOSS_BOOTSTRAP_PORT");
    meetAtMaster(variables, config, launch);
    return launch;
  }
  if (variables.mpirun_rank >= 0) return meetThroughMpirun(variables, config, launch);
  return refuse(
      fmt::format("rank {} of {} does not know where to meet the others: set MASTER_ADDR and MASTER_PORT, pass a "
                  "unique id, or start by mpirun",
                  launch.rank, launch.ranks));
}

} // namespace goss::core
