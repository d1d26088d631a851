/// Facts about other processes of this host, as its kernel reports them.
#ifndef GOSS_LIB_PLATFORM_PROCESS_H_
#define GOSS_LIB_PLATFORM_PROCESS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace goss::platform {

/// When the process started, in clock ticks since the boot; 0: there is no such process. Process ids are reused.
std::uint64_t processStartTime(std::int64_t pid);
/// "PID/START" of this process: unique among the processes of a host and process namespace.
std::string ownProcessName();
/// Whether the process of this name is known to run on this host, be it busy, starved or asleep: it has not ended, and
/// is not stopped. False if the text is no such name.
bool isSeenToRun(std::string_view process_name);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_PROCESS_H_
