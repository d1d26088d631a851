/// Environment variables for the span of one test.
#ifndef GOSS_TESTS_SUPPORT_ENVIRONMENT_H_
#define GOSS_TESTS_SUPPORT_ENVIRONMENT_H_

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace goss::test {

/// Sets variables, and puts back what was there. Not for use beside threads that read the environment.
class ScopedEnvironment {
 public:
  /// Begins without any of the variables that launchers set, so that a test may itself run under one.
  ScopedEnvironment() {
    for (const char* name : {"RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "TORCHELASTIC_USE_AGENT_STORE",
                             "TORCHELASTIC_RUN_ID",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "PMI_FD",
                             "MPI_LOCALRANKID",
                             "PMIX_NAMESPACE",
                             "SLURM_PROCID",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_LOCALID",
                             "SLURM_JOB_ID",
                             "SLURM_STEP_ID",
                             "SLURM_STEP_NODELIST"})
      set(name, std::nullopt);
  }
  ~ScopedEnvironment() {
    for (const auto& [name, value] : before_)
      apply(name, value);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

  void set(const std::string& name, const std::optional<std::string>& value) {
    const char* old = std::getenv(name.c_str());
    before_.try_emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    apply(name, value);
  }

 private:
  static void apply(const std::string& name, const std::optional<std::string>& value) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_;
};

} // namespace goss::test

#endif // GOSS_TESTS_SUPPORT_ENVIRONMENT_H_
