/// Identities of processes, and facts about other processes of this host, as its kernel reports them.
#ifndef GOSS_LIB_PLATFORM_PROCESS_H_
#define GOSS_LIB_PLATFORM_PROCESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "gossamer/status.h"

namespace goss::platform {

/// When the process started, in clock ticks since the boot; 0: there is no such process. Process ids are reused.
std::uint64_t processStartTime(std::int64_t pid);
/// 16 random bytes, which this process draws at the first call, and each child of fork() anew. Containers may give two
/// processes the same host identity, id and start time, but not the same token. Errors: resource.
Result<std::string> processToken();
/// "HOST/NAMESPACE/PID/START/TOKEN" of this process; no other process has the same. Errors: as processToken().
Result<std::string> ownProcessName();
/// The id of the process with this name; 0: it has ended, runs on another host or in another process namespace, or the
/// text is no such name.
std::int64_t findProcess(std::string_view process_name);
/// Whether the process of this name is known to run on this host, be it busy, starved or asleep: it has not ended, and
/// is not stopped. False if the text is no such name.
bool isSeenToRun(std::string_view process_name);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_PROCESS_H_
