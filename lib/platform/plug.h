/// Parts of the library that lie in a shared object of their own, because not every user wants what they link.
#ifndef GOSS_LIB_PLATFORM_PLUG_H_
#define GOSS_LIB_PLATFORM_PLUG_H_

#include <string>

#include "gossamer/status.h"

namespace goss::platform {

/// Loads `file` (no path) from where this library lies, or else from wherever the system looks, and returns the address
/// of its `symbol`. It stays loaded until the process ends. Thread-safe. Errors: unsupported, with the loader's own
/// text.
Result<void*> loadPlug(const std::string& file, const char* symbol);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_PLUG_H_
