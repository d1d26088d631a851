#include "transports/common/process_identity.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/wire.h"
#include "platform/host.h"

namespace goss::transports {

namespace {

// Field 22 of /proc/self/stat, counted from behind the program's name, which may hold blanks and parentheses.
std::uint64_t processStartTime() {
  std::ifstream file("/proc/self/stat");
  std::string line{std::istreambuf_iterator<char>(file), {}};
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field)
    at = line.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at, nullptr, 10);
}

} // namespace

std::string processIdentity() {
  base::WireWriter writer;
  writer.text(platform::hostIdentity().text()).integer(platform::processId()).integer(processStartTime());
  return writer.take();
}

} // namespace goss::transports
