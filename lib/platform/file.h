/// Files that users name.
#ifndef GOSS_LIB_PLATFORM_FILE_H_
#define GOSS_LIB_PLATFORM_FILE_H_

#include <cstddef>
#include <string>

#include "gossamer/status.h"

namespace goss::platform {

enum class FileSecrecy {
  none,
  secret, ///< Refused unless only its owner may read and write it.
};

/// The contents of an ordinary file of at most `most_bytes`. A device or a pipe could have no end, so it is refused;
/// the function never waits for one. Errors: invalidArgument, saying what is wrong but not with which file.
Result<std::string> readOrdinaryFile(const std::string& path, std::size_t most_bytes,
                                     FileSecrecy secrecy = FileSecrecy::none);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_FILE_H_
