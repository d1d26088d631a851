#include "tests/wan/emulator/packet.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace goss::wanem {

namespace {

uint32_t sum16(const uint8_t* p, size_t n) { return n < 2 ? 0 : uint32_t(p[0] << 8 | p[1]) + sum16(p + 2, n - 2); }
void put16(uint8_t* p, size_t v) { p[0] = uint8_t(v >> 8), p[1] = uint8_t(v); }
uint16_t fold(uint32_t s) {
  while (s >> 16)
    s = (s & 0xffff) + (s >> 16);
  return uint16_t(s);
}

} // namespace
Frame parseFrame(const Packet& p, int count) {
  static const uint8_t net4[3] = {10, 77, 0}, net6[15] = {0xfd, 0x77};
  Frame f;
  const uint8_t* ip = &p.data[kVnetBytes];
  const size_t n = p.len - kVnetBytes;
  f.v6 = ip[0] >> 4 == 6;
  f.l4 = f.v6 ? 40 : size_t(ip[0] & 15) * 4;
  if (f.l4 < 20 || f.l4 > n) return f;
  if (f.v6 ? !memcmp(ip + 24, net6, 15) : !memcmp(ip + 16, net4, 3)) f.dst = ip[f.v6 ? 39 : 19] - 1;
  if (f.dst >= count) f.dst = -1;
  f.hlen = std::min(n, f.l4 + 8);
  f.tcp = ip[f.v6 ? 6 : 9] == IPPROTO_TCP && n >= f.l4 + 20;
  if (f.tcp) f.hlen = std::min(n, f.l4 + size_t(ip[f.l4 + 12] >> 4) * 4), f.open = (ip[f.l4 + 13] & 0x12) == 0x02;
  f.payload = n - f.hlen;
  auto* vh = reinterpret_cast<const VnetHdr*>(&p.data[0]);
  f.gso = vh->gso_type && f.tcp && vh->gso_size ? vh->gso_size : std::max<size_t>(1, f.payload);
  f.segments = std::max<size_t>(1, (f.payload + f.gso - 1) / f.gso);
  return f;
}

Packet* sliceFrame(const Frame& f, const Packet& src, size_t i, size_t j) {
  const size_t off = i * f.gso, end = std::min(j * f.gso, f.payload), n = end - off;
  Packet* p = new Packet(kVnetBytes + f.hlen + n);
  p->src = src.src, p->dst = src.dst;
  memcpy(&p->data[0], &src.data[0], kVnetBytes + f.hlen);
  memcpy(&p->data[kVnetBytes + f.hlen], &src.data[kVnetBytes + f.hlen + off], n);
  auto* vh = reinterpret_cast<VnetHdr*>(&p->data[0]);
  vh->hdr_len = uint16_t(f.hlen);
  if (n <= f.gso) vh->gso_type = 0, vh->gso_size = 0;
  uint8_t *ip = &p->data[kVnetBytes], *tcp = ip + f.l4;
  const size_t at =
      (size_t(tcp[4]) << 24 | size_t(tcp[5]) << 16 | size_t(tcp[6]) << 8 | tcp[7]) + off; // sequence number
  put16(tcp + 4, at >> 16), put16(tcp + 6, at);
  if (end < f.payload) tcp[13] &= 0xf6; // FIN and PSH belong to the last segment
  if (i > 0) tcp[13] &= 0x7f;           // CWR to the first
  uint32_t pseudo = uint32_t(IPPROTO_TCP + f.hlen - f.l4 + n);
  if (f.v6) {
    put16(ip + 4, f.hlen - 40 + n);
    pseudo += sum16(ip + 8, 32);
  } else {
    put16(ip + 2, f.hlen + n);
    put16(ip + 4, size_t(ip[4] << 8 | ip[5]) + i);
    put16(ip + 10, 0), put16(ip + 10, uint16_t(~fold(sum16(ip, f.l4))));
    pseudo += sum16(ip + 12, 8);
  }
  put16(tcp + 16, fold(pseudo)); // a TSO frame has VIRTIO_NET_HDR_F_NEEDS_CSUM: the receiver adds the rest
  return p;
}

} // namespace goss::wanem
