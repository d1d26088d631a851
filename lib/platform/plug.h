/// Loads parts of the library that lie in shared objects of their own, because not every user wants their dependencies.
#ifndef GOSS_LIB_PLATFORM_PLUG_H_
#define GOSS_LIB_PLATFORM_PLUG_H_

#include <string>

#include "gossamer/status.h"

namespace goss::platform {

/// Loads `file` (a name without path) from the folder of this library, or else from where the system searches, and
/// returns the address of its `symbol`. The object stays loaded until the process ends. Thread-safe. Errors:
/// unsupported, with the loader's own text.
Result<void*> loadPlug(const std::string& file, const char* symbol);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_PLUG_H_
