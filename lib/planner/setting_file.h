/// Files that settings name.
#ifndef GOSS_LIB_PLANNER_SETTING_FILE_H_
#define GOSS_LIB_PLANNER_SETTING_FILE_H_

#include <string>
#include <string_view>

#include "gossamer/status.h"
#include "planner/tuning.h"

namespace goss {

/// The contents of the ordinary file at `path`, which has at least one byte and at most 16 MiB; "" if `path` is "",
/// because `variable` is not set. Errors: invalidArgument, naming `variable` and the file.
Result<std::string> readSettingFile(std::string_view variable, const std::string& path);

/// The tuning in the contents of the file that GOSS_TUNING names; "": the built-in one. Errors: as Tuning::parse.
Result<Tuning> tuningOf(std::string_view contents);

} // namespace goss

#endif // GOSS_LIB_PLANNER_SETTING_FILE_H_
