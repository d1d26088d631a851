/// Which process of which machine this is, for addresses that are only good inside of it.
#ifndef GOSS_TRANSPORTS_COMMON_PROCESS_IDENTITY_H_
#define GOSS_TRANSPORTS_COMMON_PROCESS_IDENTITY_H_

#include <string>

namespace goss::transports {

/// Equal texts mean the same process: host, process id and the process's start time, because ids are used again.
std::string processIdentity();

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_PROCESS_IDENTITY_H_
