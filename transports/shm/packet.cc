#include "transports/shm/packet.h"

#include <errno.h>

#include <span>
#include <utility>

#include "transports/shm/descriptors.h"

namespace goss::transports::shm {

namespace {

constexpr std::uint32_t kRegion = 0x47535231;
constexpr std::uint32_t kForget = 0x47535232;

/// Both ends are on one host, so integers are in its byte order. A wake-up is a packet of one byte.
struct Note {
  std::uint32_t kind;
  std::uint32_t unused;
  std::uint64_t id;
  std::uint64_t bytes;
};

bool sendNote(int socket, Note note, std::span<const int> fds) {
  return sendWithDescriptors(socket, {reinterpret_cast<const char*>(&note), sizeof note}, fds);
}

} // namespace

Packet readPacket(int socket) {
  Packet packet;
  Note note{};
  ReceivedPacket received = recvWithDescriptors(socket, {reinterpret_cast<char*>(&note), sizeof note});
  const ssize_t got = received.bytes;
  if (got <= 0) {
    packet.kind = got < 0 && errno == EAGAIN ? Packet::Kind::again : Packet::Kind::ended;
    return packet;
  }
  packet.fd = std::move(received.fds[0]);
  packet.id = note.id;
  packet.bytes = note.bytes;
  const bool whole = got == static_cast<ssize_t>(sizeof note) && !received.cut;
  if (got == 1) {
    packet.kind = packet.fd.valid() ? Packet::Kind::welcome : Packet::Kind::bell;
  } else if (whole && note.kind == kRegion && packet.fd.valid()) {
    packet.kind = Packet::Kind::region;
  } else {
    packet.kind = whole && note.kind == kForget ? Packet::Kind::forget : Packet::Kind::corrupt;
  }
  return packet;
}

bool sendRegion(int socket, std::uint64_t id, std::uint64_t bytes, int fd) {
  return sendNote(socket, {kRegion, 0, id, bytes}, {&fd, 1});
}

bool sendForget(int socket, std::uint64_t id) { return sendNote(socket, {kForget, 0, id, 0}, {}); }

} // namespace goss::transports::shm
