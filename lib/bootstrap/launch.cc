#include "bootstrap/launch.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/invalid.h"
#include "base/wire.h"
#include "bootstrap/launcher_variables.h"
#include "bootstrap/pmi.h"
#include "bootstrap/pmix.h"
#include "bootstrap/unique_id.h"
#include "bootstrap/wire.h"
#include "platform/socket.h"

namespace goss {

namespace {

using base::invalid;

/// Sets rank and size: the caller's fields first, then the launcher's variables.
Status setRank(const LauncherRank& given, const goss_config* fields, Launch& launch) {
  launch.rank = fields != nullptr && fields->rank >= 0 ? fields->rank : given.rank;
  launch.ranks = fields != nullptr && fields->ranks > 0 ? fields->ranks : given.ranks;
  launch.local_rank = given.local_rank;
  if (launch.rank < 0 && launch.ranks == 1) launch.rank = 0;
  if (launch.rank < 0 || launch.ranks < 1)
    return invalid(fmt::format("{} is not known: set it in goss_config or by the launcher's variable {}",
                               launch.rank < 0 ? "this process's rank" : "the number of ranks",
                               launch.rank < 0 ? "RANK" : "WORLD_SIZE"));
  if (launch.ranks > kMaxRanks || launch.rank >= launch.ranks)
    return invalid(
        fmt::format("rank {} of {} ranks: ranks go from 0 to one less than their number, which is at most {}",
                    launch.rank, launch.ranks, kMaxRanks));
  return Status::ok();
}

/// Fills in the meeting point from `bytes`; rank and ranks are set.
Status meetByUniqueId(const goss_unique_id& bytes, Launch& launch) {
  const auto id = decodeUniqueId(bytes);
  if (!id.isOk()) return id.status();
  const bool same_host = id.value().host == hostHash();
  std::vector<platform::SocketAddress> addresses;
  for (const platform::SocketAddress& address : id.value().addresses) {
    // Loopback addresses of another host mean this host here, so they are left out.
    if (same_host || !address.loopback()) addresses.push_back(address);
  }
  if (addresses.empty())
    return invalid(
        "the unique id names only loopback addresses of another host; make it with GOSS_INTERFACE set to a "
        "network that this host reaches");
  // On the maker's host nothing can block loopback.
  std::stable_sort(addresses.begin(), addresses.end(),
                   [](const auto& a, const auto& b) { return a.loopback() && !b.loopback(); });
  launch.job = id.value().job;
  launch.host = addresses.front().host();
  launch.port = addresses.front().port();
  launch.listens_already = true;
  launch.alternatives.assign(addresses.begin() + 1, addresses.end());
  if (launch.rank != 0) return Status::ok();
  auto listener = takeListener(id.value());
  if (!listener.isOk()) return listener.status();
  launch.listener = listener.take();
  return Status::ok();
}

/// Distinguishes jobs that meet at one address. The id protects against mistakes, not against attackers, who can guess
/// all of it. Where the user names the job, the name alone counts, because behind a router rank 0 has another address
/// and port than those at which it is called from outside.
std::array<std::byte, 16> identifyJob(const Launch& launch, const Config& config, const std::string& run_id) {
  base::WireWriter out;
  if (config.job_id.empty())
    out.raw("gossamer job 1").text(run_id).text(launch.host).integer(launch.port);
  else
    out.raw("gossamer job 2").text(config.job_id);
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
  launch.job = identifyJob(launch, config, variables.run_id);
}

/// A launcher's own exchange connects the processes that it started, in its numbering.
Status requireOwnRank(std::string_view launcher, const LauncherRank& given, const Launch& launch) {
  if (launch.rank == given.rank && launch.ranks == given.ranks) return Status::ok();
  return invalid(
      fmt::format("rank {} of {} was asked for, but {} started this process as rank {} of {}; leave rank and ranks to "
                  "the launcher, or pass a unique id",
                  launch.rank, launch.ranks, launcher, given.rank, given.ranks));
}

/// The task's node list names rank 0's host, and job and step give a port that all ranks compute alike.
Status meetOnFirstNode(const LauncherVariables& variables, const Config& config, Launch& launch) {
  constexpr unsigned kFirstPort = 16384; // Below the ports that systems give to outgoing connections.
  constexpr unsigned kPorts = 16384;
  const auto host = firstSlurmHost(variables.slurm_nodes);
  if (!host)
    return invalid(
        fmt::format("Slurm says that this is rank {} of {}, but SLURM_STEP_NODELIST is \"{}\"; set "
                    "MASTER_ADDR and MASTER_PORT for all ranks",
                    launch.rank, launch.ranks, variables.slurm_nodes));
  launch.source = "slurm";
  launch.host = *host;
  const std::string& job = variables.slurm_job;
  launch.port = static_cast<std::uint16_t>(kFirstPort + XXH3_64bits(job.data(), job.size()) % kPorts);
  if (variables.master_port >= 0) launch.port = static_cast<std::uint16_t>(variables.master_port);
  if (config.bootstrap_port != 0) launch.port = config.bootstrap_port;
  launch.job = identifyJob(launch, config, job);
  return Status::ok();
}

/// Where the user has named no meeting point, the launcher that started this process distributes rank 0's unique id.
Status meetThroughLauncher(const LauncherVariables& variables, const Config& config, Launch& launch) {
  std::optional<goss_unique_id> own_id;
  const auto make = [&] {
    auto id = makeUniqueId(config);
    if (id.isOk()) own_id = id.value();
    return id;
  };
  const auto meet = [&](const char* source, const LauncherRank& given, const auto& exchange) {
    launch.source = source;
    Status own = requireOwnRank(source, given, launch);
    if (!own.isOk()) return own;
    const Result<goss_unique_id> id = exchange();
    Status met = id.isOk() ? meetByUniqueId(id.value(), launch) : id.status();
    if (!met.isOk() && own_id) (void)destroyUniqueId(*own_id); // Nobody else knows that its socket listens.
    return met;
  };
  const auto pmix = [&] { return exchangeThroughPmix(launch.rank, config.bootstrap_timeout_ms, make); };
  const auto pmi = [&] { return exchangeThroughPmi(variables.pmi_fd, launch.rank, config.bootstrap_timeout_ms, make); };
  if (variables.mpirun.known()) return meet("mpirun", variables.mpirun, pmix);
  if (variables.pmi.known() && variables.pmi_fd >= 0) return meet("mpiexec", variables.pmi, pmi);
  if (variables.slurm.known() && variables.pmix) return meet("srun", variables.slurm, pmix);
  if (variables.slurm.known()) {
    Status own = requireOwnRank("srun", variables.slurm, launch);
    return own.isOk() ? meetOnFirstNode(variables, config, launch) : own;
  }
  return invalid(
      fmt::format("rank {} of {} does not know where to meet the others: set MASTER_ADDR and MASTER_PORT, pass a "
                  "unique id, or start by mpirun, mpiexec or srun",
                  launch.rank, launch.ranks));
}

} // namespace

Result<Launch> detectLaunch(const Config& config, const goss_config* fields) {
  const auto read = LauncherVariables::read();
  if (!read.isOk()) return read.status();
  const LauncherVariables& variables = read.value();
  Launch launch;
  const bool asked = fields != nullptr && (fields->unique_id != nullptr || fields->rank >= 0 || fields->ranks > 0);
  if (!asked && !variables.given().known()) return launch;
  Status placed = setRank(variables.given(), fields, launch);
  if (!placed.isOk()) return placed;
  if (fields != nullptr && fields->unique_id != nullptr) {
    launch.source = "unique id";
    Status met = meetByUniqueId(*fields->unique_id, launch);
    if (!met.isOk()) return met;
    return launch;
  }
  if (launch.ranks == 1) return launch;
  if (variables.master_addr.empty()) {
    Status met = meetThroughLauncher(variables, config, launch);
    if (!met.isOk()) return met;
    return launch;
  }
  if (variables.master_port < 0 && config.bootstrap_port == 0)
    return invalid(fmt::format("MASTER_ADDR is \"{}\" but MASTER_PORT is not set; set it to a free port of that host",
                               variables.master_addr));
  if (variables.agent_store && variables.master_port == 65535 && config.bootstrap_port == 0)
    return invalid("MASTER_PORT is \"65535\", torchrun's own, and there is no port above it; set GOSS_BOOTSTRAP_PORT");
  meetAtMaster(variables, config, launch);
  return launch;
}

} // namespace goss
