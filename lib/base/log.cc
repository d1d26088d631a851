#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <string>

namespace goss::base {

struct Log::Impl {
  explicit Impl(std::string name) : logger(std::move(name), std::make_shared<spdlog::sinks::stderr_sink_mt>()) {}
  spdlog::logger logger;
};

namespace {

spdlog::level::level_enum toSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::warn;
}

spdlog::level::level_enum parse(std::string_view level) {
  if (level == "off") return spdlog::level::off;
  const auto parsed = spdlog::level::from_str(std::string(level));
  return parsed == spdlog::level::off ? spdlog::level::warn : parsed;
}

} // namespace

Log::Log(std::string_view level, int rank) {
  impl_ = std::make_shared<Impl>(rank < 0 ? std::string("gossamer") : "gossamer rank " + std::to_string(rank));
  impl_->logger.set_level(parse(level));
  impl_->logger.set_pattern("%H:%M:%S.%e %n %l: %v");
}

Log::~Log() = default;

void Log::write(LogLevel level, std::string_view text) const {
  impl_->logger.log(toSpdlog(level), spdlog::string_view_t(text.data(), text.size()));
}

} // namespace goss::base
