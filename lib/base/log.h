/// Diagnostics for people. A decision or an error is logged once, where it is made; nothing is logged on the data path.
#ifndef GOSS_LIB_BASE_LOG_H_
#define GOSS_LIB_BASE_LOG_H_

#include <memory>
#include <string_view>

namespace goss::base {

enum class LogLevel { trace, debug, info, warn, error, off };

/// Writes lines to standard error, prefixed with the rank. Thread-safe. Copies share one sink.
class Log {
 public:
  /// `level` as in GOSS_LOG; an unknown word counts as warn. `rank` < 0: no rank is known yet.
  explicit Log(std::string_view level = "warn", int rank = -1);
  ~Log();
  Log(const Log&) = default;
  Log& operator=(const Log&) = default;

  void write(LogLevel level, std::string_view text) const;
  void debug(std::string_view text) const { write(LogLevel::debug, text); }
  void info(std::string_view text) const { write(LogLevel::info, text); }
  void warn(std::string_view text) const { write(LogLevel::warn, text); }
  void error(std::string_view text) const { write(LogLevel::error, text); }

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

} // namespace goss::base

#endif // GOSS_LIB_BASE_LOG_H_
