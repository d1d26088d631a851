#include "core/setting_file.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace goss::core {

Result<std::string> readSettingFile(std::string_view variable, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf(); // Fails where there is nothing, as in a folder.
  if (!file || !text) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("{}: cannot read '{}', or it is empty", variable, path));
  }
  return text.str();
}

Result<Tuning> tuningOf(const Config& config) {
  if (config.tuning_file.empty()) return Tuning::builtIn();
  const Result<std::string> text = readSettingFile("GOSS_TUNING", config.tuning_file);
  if (!text.isOk()) return text.status();
  return Tuning::parse(text.value());
}

} // namespace goss::core
