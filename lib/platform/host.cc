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

std::string usableProcessors() {
  constexpr std::size_t kMax = 8192; // The kernel's own limit.
  std::string processors;
  const auto add = [&](std::size_t processor) {
    processors.resize(std::max(processors.size(), processor / 8 + 1), '\0');
    processors[processor / 8] = static_cast<char>(processors[processor / 8] | 1 << processor % 8);
  };
  cpu_set_t* set = CPU_ALLOC(kMax);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMax);
  if (set != nullptr && ::sched_getaffinity(0, bytes, set) == 0) {
    for (std::size_t processor = 0; processor < kMax; ++processor) {
      if (CPU_ISSET_S(processor, bytes, set)) add(processor);
    }
  }
  CPU_FREE(set);
  if (!processors.empty()) return processors;
  const auto online = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  for (std::size_t processor = 0; processor < online; ++processor)
    add(processor);
  return processors;
}

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
