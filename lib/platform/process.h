/// What this host's kernel says of other processes.
#ifndef GOSS_LIB_PLATFORM_PROCESS_H_
#define GOSS_LIB_PLATFORM_PROCESS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace goss::platform {

/// When that process started, in clock ticks since the boot; 0: there is none. Process ids are used again.
std::uint64_t processStartTime(std::int64_t pid);
/// "PID/START" of this process: equal only for one process of a host and process namespace.
std::string ownProcessName();
/// Whether the process of that name is seen to run here, be it busy, starved or asleep: it has not ended, and nobody
/// has stopped it. False for what is no such name.
bool isSeenToRun(std::string_view process_name);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_PROCESS_H_
