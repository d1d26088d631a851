#include "bootstrap/unique_id.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/invalid.h"
#include "base/wire.h"
#include "platform/advertisement.h"
#include "platform/host.h"
#include "platform/socket.h"

namespace goss {

namespace {

constexpr std::string_view kMagic("GOSSUID\0", 8);
constexpr std::uint16_t kVersion = 3;
constexpr std::size_t kHashedBytes = sizeof(goss_unique_id) - sizeof(std::uint64_t);
constexpr std::size_t kAddressBytes = 72;

using base::invalid;

/// The listening sockets of ids that this process has made, by job, until rank 0 takes them. Thread-safe.
class Listeners {
 public:
  using Job = std::array<std::byte, 16>;

  void add(const Job& job, platform::UniqueFd listener) {
    const std::lock_guard lock(mutex_);
    listeners_.emplace(job, std::move(listener));
  }
  /// Invalid: somebody has taken it, or this process has not made the id.
  platform::UniqueFd take(const Job& job) {
    const std::lock_guard lock(mutex_);
    auto found = listeners_.extract(job);
    return found.empty() ? platform::UniqueFd() : std::move(found.mapped());
  }

 private:
  std::mutex mutex_;
  std::map<Job, platform::UniqueFd> listeners_;
};

/// An id goes through the program's hands between two calls, so what belongs to it is static. It is never destroyed,
/// because static objects of the program may use ids at the very end.
Listeners& untakenListeners() {
  static auto& listeners = *new Listeners();
  return listeners;
}

} // namespace

goss_unique_id encodeUniqueId(const UniqueId& id) {
  base::WireWriter list;
  std::size_t used = 0;
  std::uint8_t count = 0;
  for (const platform::SocketAddress& address : id.addresses) {
    const std::string raw = address.bytes();
    const std::size_t size = 1 + raw.size() + sizeof(std::uint16_t);
    if (used + size > kAddressBytes) continue;
    list.integer(static_cast<std::uint8_t>(raw.size())).raw(raw).integer(address.port());
    used += size;
    ++count;
  }
  list.raw(std::string(kAddressBytes - used, '\0'));

  base::WireWriter out;
  out.raw(kMagic).integer(kVersion).integer(id.port).integer(id.process).integer(std::uint32_t{0});
  out.integer(count).integer(std::uint8_t{0}).integer(std::uint16_t{0});
  out.raw({reinterpret_cast<const char*>(id.job.data()), id.job.size()}).integer(id.host).raw(list.take());
  std::string bytes = out.take();
  const std::uint64_t checksum = XXH3_64bits(bytes.data(), kHashedBytes);
  goss_unique_id encoded;
  std::memcpy(encoded.bytes, bytes.data(), kHashedBytes);
  base::storeLittleEndian(encoded.bytes + kHashedBytes, checksum);
  return encoded;
}

Result<UniqueId> decodeUniqueId(const goss_unique_id& bytes) {
  base::WireReader in({bytes.bytes, sizeof bytes.bytes});
  if (in.raw(kMagic.size()) != kMagic)
    return invalid("the unique id was not made by goss_unique_id_create: its first bytes are wrong");
  const auto version = in.integer<std::uint16_t>();
  if (version != kVersion)
    return invalid(
        fmt::format("the unique id has version {}, this library reads version {}; use one version of Gossamer "
                    "on all ranks",
                    version, kVersion));
  if (XXH3_64bits(bytes.bytes, kHashedBytes) != base::loadLittleEndian<std::uint64_t>(bytes.bytes + kHashedBytes))
    return invalid("the unique id is damaged: its checksum does not fit; pass all 128 bytes on unchanged");
  UniqueId id;
  id.port = in.integer<std::uint16_t>();
  id.process = in.integer<std::uint32_t>();
  in.raw(4);
  const auto count = in.integer<std::uint8_t>();
  in.raw(3);
  const std::string_view job = in.raw(id.job.size());
  std::memcpy(id.job.data(), job.data(), job.size());
  id.host = in.integer<std::uint64_t>();
  base::WireReader list(in.raw(kAddressBytes));
  for (int i = 0; i < count; ++i) {
    const std::string_view raw = list.raw(list.integer<std::uint8_t>());
    const auto address = platform::SocketAddress::fromBytes(raw, list.integer<std::uint16_t>());
    if (!list.ok() || !address || address->port() == 0) return invalid("the unique id is malformed: its addresses are");
    id.addresses.push_back(*address);
  }
  if (id.addresses.empty() || id.port == 0) return invalid("the unique id is malformed: it names no address");
  return id;
}

std::uint64_t hostHash() {
  const std::string identity = platform::hostIdentity().text();
  return XXH3_64bits(identity.data(), identity.size());
}

Result<goss_unique_id> makeUniqueId(const Config& config) {
  auto addresses = platform::interfaceAddresses(config.interface);
  if (!addresses.isOk()) return addresses.status();
  const auto advertised = platform::Advertisement::parse(config.advertise, {config.port_min, config.port_max});
  if (!advertised.isOk()) return advertised.status();
  const platform::PortRange ports = advertised.value().listening();
  // With a chosen interface there is one listening socket, so only the best address can be called.
  if (!config.interface.empty()) addresses.value().resize(1);
  auto listener =
      config.interface.empty() ? platform::listenOnAll(ports) : platform::listenOn(addresses.value().front(), ports);
  if (!listener.isOk()) return listener.status();
  const auto at = platform::localAddress(listener.value().get());
  if (!at) return Status::error(GOSS_ERR_RESOURCE, "the listening socket of the unique id has no address");

  UniqueId id;
  Status random = platform::fillRandom(id.job);
  if (!random.isOk()) return random;
  id.port = at->port();
  id.process = static_cast<std::uint32_t>(platform::processId());
  id.host = hostHash();
  auto outside = advertised.value().addresses(id.port);
  if (!outside.isOk()) return outside.status();
  id.addresses = outside.take();
  for (platform::SocketAddress& address : addresses.value()) {
    address.setPort(id.port);
    id.addresses.push_back(address);
  }
  untakenListeners().add(id.job, listener.take());
  return encodeUniqueId(id);
}

Result<platform::UniqueFd> takeListener(const UniqueId& id) {
  if (id.process != static_cast<std::uint32_t>(platform::processId()) || id.host != hostHash())
    return invalid(
        fmt::format("rank 0 must be the process that made the unique id (process {} of its host), which alone can use "
                    "or destroy it; this is process {}",
                    id.process, platform::processId()));
  platform::UniqueFd listener = untakenListeners().take(id.job);
  if (!listener.valid())
    return invalid("the unique id has been used already: its listening socket is gone; make a new id for every world");
  return listener;
}

Status destroyUniqueId(const goss_unique_id& bytes) {
  const Result<UniqueId> id = decodeUniqueId(bytes);
  return id.isOk() ? takeListener(id.value()).status() : id.status(); // The returned descriptor closes itself.
}

} // namespace goss
