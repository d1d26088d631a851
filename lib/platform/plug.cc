#include "platform/plug.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace goss::platform {

namespace {

/// The folder of this library, with the last slash; empty when the loader does not tell.
std::string ownFolder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&ownFolder), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

} // namespace

Result<void*> loadPlug(const std::string& file, const char* symbol) {
  std::string why;
  for (const std::string& path : {ownFolder() + file, file}) {
    // RTLD_LOCAL: the plug's dependencies must not replace the program's own symbols.
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* said = ::dlerror();
      if (why.empty() && said != nullptr) why = said;
      continue;
    }
    void* address = ::dlsym(library, symbol);
    if (address != nullptr) return address;
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("'{}' has no symbol '{}'", path, symbol));
  }
  return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("cannot load '{}': {}", file, why));
}

} // namespace goss::platform
