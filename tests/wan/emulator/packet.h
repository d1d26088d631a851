/// IP packets and TCP super-frames as a TUN device hands them over.
#ifndef GOSS_TESTS_WAN_EMULATOR_PACKET_H_
#define GOSS_TESTS_WAN_EMULATOR_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/wan/emulator/text.h"

namespace goss::wanem {

// As in <linux/virtio_net.h>, which is not C++. It precedes every packet read from or written to a TUN device.
struct VnetHdr {
  uint8_t flags, gso_type;
  uint16_t hdr_len, gso_size, csum_start, csum_offset;
};
constexpr size_t kVnetBytes = sizeof(VnetHdr);

struct Packet {
  explicit Packet(size_t n) : data(new uint8_t[n]), len(n) {}
  std::unique_ptr<uint8_t[]> data;
  size_t len, segments = 0, wire = 0; // len: with the VnetHdr; wire: IP bytes of all segments
  int src = 0, dst = 0;
  bool arrived = false; // at the receiver's access link
};
struct Event {
  Ns t;
  uint64_t seq;
  Packet* p;
  bool operator<(const Event& e) const { return t != e.t ? t > e.t : seq > e.seq; } // top() is the earliest
};
// The fields of an IP packet that the switch reads; for a TSO frame, how to cut it into segments.
struct Frame {
  bool v6 = false, tcp = false, open = false; // open: a TCP SYN without ACK
  int dst = -1;
  size_t l4 = 0, hlen = 0, payload = 0, gso = 0, segments = 1; // hlen: IP + transport header
};

/// `count`: number of hosts; who is none of them is destination -1.
Frame parseFrame(const Packet& p, int count);
/// The frame made of segments [i, j) of a TSO frame.
Packet* sliceFrame(const Frame& f, const Packet& src, size_t i, size_t j);

} // namespace goss::wanem

#endif // GOSS_TESTS_WAN_EMULATOR_PACKET_H_
