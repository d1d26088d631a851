#include "transports/shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "transports/common/errors.h"

namespace goss::transports::shm {

namespace {

// The largest pages of known architectures have 64 KiB; the control page is one of those, and rings are whole multiples
// of it.
constexpr std::size_t kControlBytes = 64 * 1024;
constexpr std::size_t kMinRingBytes = 64 * 1024;
constexpr std::size_t kMaxRingBytes = std::size_t{1} << 30;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

static_assert(sizeof(SegmentControl) <= kControlBytes - Segment::kTrialBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

std::size_t fileBytes(std::size_t ring_bytes) { return kControlBytes + 2 * ring_bytes; }
std::size_t mappedBytes(std::size_t ring_bytes) { return kControlBytes + 4 * ring_bytes; }

} // namespace

std::size_t Segment::ringBytesFor(std::size_t wanted_bytes) {
  return std::bit_ceil(std::clamp(wanted_bytes, kMinRingBytes, kMaxRingBytes));
}

Result<Segment> Segment::create(std::size_t ring_bytes) {
  Segment segment;
  segment.ring_bytes_ = ringBytesFor(ring_bytes);
  segment.fd_.reset(::memfd_create("gossamer-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.fd_.valid()) return systemError(-1, "cannot make shared memory", errno);
  if (::ftruncate(segment.fd_.get(), static_cast<off_t>(fileBytes(segment.ring_bytes_))) != 0 ||
      ::fcntl(segment.fd_.get(), F_ADD_SEALS, kSeals) != 0) {
    return systemError(-1, "cannot size shared memory", errno);
  }
  Status mapped = segment.map();
  if (!mapped.isOk()) return mapped;
  return segment;
}

Result<Segment> Segment::attach(platform::UniqueFd fd, std::uint64_t ring_bytes, int peer) {
  if (ring_bytes < kMinRingBytes || ring_bytes > kMaxRingBytes || !std::has_single_bit(ring_bytes)) {
    return protocolError(peer, "a shared ring of a size that is not allowed");
  }
  Segment segment;
  segment.side_ = 1;
  segment.ring_bytes_ = static_cast<std::size_t>(ring_bytes);
  segment.fd_ = std::move(fd);
  struct stat file {};
  int seals = ::fcntl(segment.fd_.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(segment.fd_.get(), &file) != 0 ||
      static_cast<std::uint64_t>(file.st_size) != fileBytes(segment.ring_bytes_)) {
    return protocolError(peer, "a descriptor that is not a shared ring");
  }
  Status mapped = segment.map();
  if (!mapped.isOk()) return mapped;
  segment.closeFd();
  return segment;
}

Status Segment::map() {
  void* all = ::mmap(nullptr, mappedBytes(ring_bytes_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return systemError(-1, "cannot reserve address space for shared memory", errno);
  base_ = static_cast<std::byte*>(all);
  auto place = [&](std::byte* at, std::size_t bytes, std::size_t offset) {
    return ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_.get(), static_cast<off_t>(offset)) !=
           MAP_FAILED;
  };
  bool placed = place(base_, kControlBytes, 0);
  for (int side = 0; side < 2; ++side) {
    std::size_t offset = kControlBytes + static_cast<std::size_t>(side) * ring_bytes_;
    placed = placed && place(ringBase(side), ring_bytes_, offset);
    placed = placed && place(ringBase(side) + ring_bytes_, ring_bytes_, offset);
  }
  if (!placed) return systemError(-1, "cannot map shared memory", errno);
  mySide().segment_at.store(reinterpret_cast<std::uintptr_t>(base_), std::memory_order_release);
  return Status::ok();
}

std::byte* Segment::ringBase(int side) const {
  return base_ + kControlBytes + static_cast<std::size_t>(side) * 2 * ring_bytes_;
}

Segment::~Segment() {
  if (base_) ::munmap(base_, mappedBytes(ring_bytes_));
}

Segment::Segment(Segment&& other) noexcept
    : fd_(std::move(other.fd_)),
      base_(std::exchange(other.base_, nullptr)),
      ring_bytes_(other.ring_bytes_),
      side_(other.side_) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(ring_bytes_, other.ring_bytes_);
  std::swap(side_, other.side_);
  return *this;
}

} // namespace goss::transports::shm
