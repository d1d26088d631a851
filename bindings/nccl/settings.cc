#include "bindings/nccl/settings.h"

#include <cstdlib>
#include <cstring>

#include "gossamer/gossamer.h"

namespace goss::nccl {

namespace {

// Ranks of a training job may come to a collective half an hour apart, as when one of them saves a checkpoint.
constexpr std::int64_t kTimeoutMs = 30 * 60 * 1000;

std::string text(const char* variable) {
  const char* found = std::getenv(variable);
  return found == nullptr ? "" : found;
}

std::int64_t number(const char* variable, std::int64_t standard) {
  const std::string found = text(variable);
  return found.empty() ? standard : std::strtoll(found.c_str(), nullptr, 10);
}

Settings read() {
  Settings read;
  read.codec = text("GOSS_NCCL_CODEC");
  read.algorithm = text("GOSS_NCCL_ALGORITHM");
  read.report = number("GOSS_NCCL_REPORT", 0) != 0;
  read.version = static_cast<int>(number("GOSS_NCCL_VERSION", read.version));
  const std::string debug = text("NCCL_DEBUG");
  read.log = !debug.empty() && debug != "VERSION" && debug != "0";
  read.has_timeout = !text("GOSS_TIMEOUT_MS").empty();
  return read;
}

} // namespace

const Settings& settings() {
  static const Settings once = read();
  return once;
}

std::int64_t timeoutMs() {
  goss_config config;
  const bool read = settings().has_timeout && goss_config_init(&config) == GOSS_SUCCESS;
  return read ? config.timeout_ms : kTimeoutMs;
}

} // namespace goss::nccl
