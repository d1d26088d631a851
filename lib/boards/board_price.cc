#include "boards/board_price.h"

namespace goss {

namespace {

// Measured on two cores of one processor: a line crosses in 60 ns, several at once at the bandwidth below.
constexpr double kCall_s = 0.15e-6;
constexpr double kLine_s = 0.06e-6;
constexpr double kWrite_bytes_per_s = 20e9;
constexpr double kRead_bytes_per_s = 8e9;
// Bandwidth of wide lanes.
constexpr double kWideWrite_bytes_per_s = 40e9;
constexpr double kWideRead_bytes_per_s = 26e9;

} // namespace

std::uint64_t bytesWritten(Collective collective, int size, bool is_root, std::uint64_t bytes) {
  switch (collective) {
    case Collective::broadcast:
      return is_root ? bytes : 0;
    case Collective::scatter:
      return is_root ? bytes * static_cast<std::uint64_t>(size) : 0;
    case Collective::reduceScatter:
    case Collective::allToAll:
      return bytes * static_cast<std::uint64_t>(size);
    case Collective::allReduce:
    case Collective::reduce:
    case Collective::allGather:
    case Collective::gather:
    case Collective::scan:
    case Collective::exscan:
      return bytes;
    case Collective::barrier:
    case Collective::neighborAllReduce:
    case Collective::neighborAllGather:
    case Collective::neighborAllToAll:
      break;
  }
  return 0;
}

std::uint64_t maxBytesWritten(Collective collective, int size, std::uint64_t bytes) {
  return bytesWritten(collective, size, true, bytes);
}

double flatPrice_s(Collective collective, int size, std::uint64_t bytes, std::uint64_t board_bytes) {
  const bool wide = board_bytes >= kWideBoardBytes;
  const bool from_one = collective == Collective::broadcast || collective == Collective::scatter;
  const double reads = from_one ? 1 : size - 1;
  const double write_s = static_cast<double>(maxBytesWritten(collective, size, bytes)) /
                         (wide ? kWideWrite_bytes_per_s : kWrite_bytes_per_s);
  const double read_s = kLine_s + static_cast<double>(bytes) / (wide ? kWideRead_bytes_per_s : kRead_bytes_per_s);
  return kCall_s + write_s + reads * read_s;
}

} // namespace goss
