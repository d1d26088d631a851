#include "bootstrap/launcher_variables.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/invalid.h"
#include "bootstrap/wire.h"

namespace goss {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Reads a number; leaves `number` unchanged when the variable is unset or empty. Errors: names the variable.
Status readNumber(const char* name, int least, int most, int& number) {
  const std::string text = variable(name);
  if (text.empty()) return Status::ok();
  int parsed = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || parsed < least || parsed > most)
    return base::invalid(fmt::format("{} is \"{}\"; it must be a whole number from {} to {}", name, text, least, most));
  number = parsed;
  return Status::ok();
}

Status readRank(const char* rank, const char* ranks, const char* local_rank, LauncherRank& to) {
  if (Status read = readNumber(rank, 0, kMaxRanks - 1, to.rank); !read.isOk()) return read;
  if (Status read = readNumber(ranks, 1, kMaxRanks, to.ranks); !read.isOk()) return read;
  return readNumber(local_rank, 0, kMaxRanks - 1, to.local_rank);
}

} // namespace

const LauncherRank& LauncherVariables::given() const {
  for (const LauncherRank* one : {&torchrun, &mpirun, &pmi})
    if (one->known()) return *one;
  return slurm;
}

Result<LauncherVariables> LauncherVariables::read() {
  LauncherVariables found;
  const struct {
    const char* rank;
    const char* ranks;
    const char* local_rank;
    LauncherRank& to;
  } launchers[] = {
      {"RANK", "WORLD_SIZE", "LOCAL_RANK", found.torchrun},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", found.mpirun},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", found.pmi},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", found.slurm},
  };
  for (const auto& one : launchers) {
    Status read = readRank(one.rank, one.ranks, one.local_rank, one.to);
    if (!read.isOk()) return read;
  }
  if (found.slurm.ranks < 0) found.slurm = {}; // A batch script also has a SLURM_PROCID, but no step.
  if (found.torchrun.local_rank < 0) found.torchrun.local_rank = found.mpirun.local_rank;
  Status port = readNumber("MASTER_PORT", 1, 65535, found.master_port);
  if (!port.isOk()) return port;
  Status pmi = readNumber("PMI_FD", 0, std::numeric_limits<int>::max(), found.pmi_fd);
  if (!pmi.isOk()) return pmi;
  found.master_addr = variable("MASTER_ADDR");
  found.run_id = variable("TORCHELASTIC_RUN_ID");
  found.agent_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  found.pmix = !variable("PMIX_NAMESPACE").empty();
  if (found.slurm.known()) found.slurm_job = variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID");
  found.slurm_nodes = variable("SLURM_STEP_NODELIST");
  return found;
}

Status launcherError(std::string_view interface, std::string_view why) {
  return Status::error(GOSS_ERR_BOOTSTRAP,
                       fmt::format("cannot meet through the launcher's {}: {}; name a meeting point instead: set "
                                   "MASTER_ADDR=<host of rank 0> and MASTER_PORT=<a free port there> for all ranks "
                                   "(Open MPI: mpirun -x MASTER_ADDR=... -x MASTER_PORT=...)",
                                   interface, why),
                       ErrorScope::communicator);
}

std::optional<std::string> firstSlurmHost(std::string_view nodes) {
  const std::size_t end = nodes.find_first_of(",[");
  std::string host(nodes.substr(0, end));
  if (end != std::string_view::npos && nodes[end] == '[') {
    const std::string_view numbers = nodes.substr(end + 1);
    const std::size_t first_end = numbers.find_first_of("-,]");
    const std::size_t closed = numbers.find(']');
    if (first_end == 0 || closed == std::string_view::npos) return std::nullopt;
    host += numbers.substr(0, first_end);
    const std::string_view rest = numbers.substr(closed + 1);
    host += rest.substr(0, rest.find(',')); // continues after the brackets, as in "n[1-2]-ib"
  }
  if (host.empty() || host.find_first_of("[] \t") != std::string::npos) return std::nullopt;
  return host;
}

} // namespace goss
