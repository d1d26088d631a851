/// Files that settings name.
#ifndef GOSS_LIB_PLANNER_SETTING_FILE_H_
#define GOSS_LIB_PLANNER_SETTING_FILE_H_

#include <string>
#include <string_view>

#include "gossamer/config.h"
#include "gossamer/status.h"
#include "planner/tuning.h"

namespace goss {

/// The contents of the ordinary file at `path`, which has at least one byte and at most 16 MiB. Errors:
/// invalidArgument, naming `variable` and the file.
Result<std::string> readSettingFile(std::string_view variable, const std::string& path);

/// The tuning in the file that GOSS_TUNING names, else the built-in one. Errors: as readSettingFile and Tuning::parse.
Result<Tuning> tuningOf(const Config& config);

} // namespace goss

#endif // GOSS_LIB_PLANNER_SETTING_FILE_H_
