#include "planner/setting_file.h"

#include <fmt/format.h>

#include "platform/file.h"

namespace goss {

namespace {

constexpr std::size_t kMaxBytes = 16u << 20; ///< Links between a thousand ranks, listed pair by pair, have 10 MiB.

} // namespace

Result<std::string> readSettingFile(std::string_view variable, const std::string& path) {
  if (path.empty()) return std::string();
  auto text = platform::readOrdinaryFile(path, kMaxBytes);
  if (text.isOk() && !text.value().empty()) return text;
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("{}: cannot read '{}': {}", variable, path,
                                                              text.isOk() ? "it is empty" : text.status().text()));
}

Result<Tuning> tuningOf(std::string_view contents) {
  return contents.empty() ? Tuning::builtIn() : Tuning::parse(contents);
}

} // namespace goss
