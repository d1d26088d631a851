#include "platform/host.h"

#include <errno.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "platform/fd.h"

namespace goss::platform {

std::string HostIdentity::text() const { return fmt::format("{}/{:x}/{}", boot_id, network_namespace, host_name); }

HostIdentity hostIdentity() {
  HostIdentity identity;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, identity.boot_id);
  struct stat file {};
  if (::stat("/proc/self/ns/net", &file) == 0) identity.network_namespace = file.st_ino;
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) identity.host_name = name;
  return identity;
}

std::int64_t processId() { return ::getpid(); }

int processorCount() {
  cpu_set_t set;
  const int count = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  return count > 0 ? count : 1;
}

int onlineProcessorCount() { return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))); }

Status fillRandom(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno != EINTR)
      return Status::error(GOSS_ERR_RESOURCE, fmt::format("the kernel gives no random bytes: {}", errnoText(errno)));
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return Status::ok();
}

bool equalInConstantTime(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return false;
  // volatile: the compiler may not leave the loop at the first difference.
  volatile unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = difference | std::to_integer<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

} // namespace goss::platform
