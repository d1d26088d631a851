#include "execution/shared_memory.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/wire.h"

namespace goss {

namespace {

/// How a message names a place: the Space in the upper bits, the offset in its allocation below.
constexpr int kSpaceShift = 56;
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kSpaceShift) - 1;

std::size_t indexOf(Space space) { return static_cast<std::size_t>(space); }

} // namespace

void SharedOffer::encode(std::span<std::byte, kBytes> to) const {
  std::fill(to.begin(), to.end(), std::byte{0});
  std::memcpy(to.data(), device.data(), std::min(device.size(), kIdentityBytes));
  std::byte* at = to.data() + kIdentityBytes;
  for (const PeerAllocation& one : allocations) {
    base::storeLittleEndian(at, one.id);
    base::storeLittleEndian(at + 8, one.base);
    base::storeLittleEndian(at + 16, one.bytes);
    std::memcpy(at + 24, one.handle.data(), sizeof one.handle);
    at += kAllocationBytes;
  }
  base::storeLittleEndian(at, mapped);
}

SharedOffer SharedOffer::decode(std::span<const std::byte, kBytes> from) {
  SharedOffer offer;
  const std::span<const std::byte> identity = from.first(kIdentityBytes);
  if (std::any_of(identity.begin(), identity.end(), [](std::byte byte) { return byte != std::byte{0}; }))
    offer.device.assign(reinterpret_cast<const char*>(identity.data()), identity.size());
  const std::byte* at = from.data() + kIdentityBytes;
  for (PeerAllocation& one : offer.allocations) {
    one.id = base::loadLittleEndian<std::uint64_t>(at);
    one.base = base::loadLittleEndian<std::uint64_t>(at + 8);
    one.bytes = base::loadLittleEndian<std::uint64_t>(at + 16);
    std::memcpy(one.handle.data(), at + 24, sizeof one.handle);
    at += kAllocationBytes;
  }
  offer.mapped = base::loadLittleEndian<std::uint64_t>(at);
  return offer;
}

SharedMemory::SharedMemory(const Group& group, bool in_process)
    : group_(group),
      in_process_(in_process),
      told_(static_cast<std::size_t>(group.size()) * SharedOffer::kBytes),
      places_(static_cast<std::size_t>(group.size())) {}

Status SharedMemory::prepare(Devices& devices, DeviceStation& station, const Call& call, DevicePiece scratch) {
  const DevicePiece wanted[SharedOffer::kSpaces] = {
      {static_cast<std::byte*>(const_cast<void*>(call.device.input ? call.input : nullptr)), 0}, // Only read.
      {static_cast<std::byte*>(call.device.output ? call.output : nullptr), 0},
      scratch};
  for (std::size_t i = 0; i < SharedOffer::kSpaces; ++i) {
    PeerAllocation& lent = own_.allocations[i];
    if (wanted[i].data == nullptr) {
      lent = {};
      continue;
    }
    if (in_process_) { // All that has an address.
      lent.bytes = kOffsetMask;
      continue;
    }
    const Result<MemoryInfo> info = devices.classify(wanted[i].data);
    if (!info.isOk()) return info.status();
    if (info.value().kind != MemoryKind::device || info.value().device != station.device.ordinal())
      return Status::error(GOSS_ERR_UNSUPPORTED, "a buffer lies elsewhere");
    const bool is_known = lent.bytes > 0 && lent.id == info.value().allocation;
    lent.id = info.value().allocation;
    lent.base = reinterpret_cast<std::uintptr_t>(info.value().base);
    lent.bytes = info.value().bytes;
    if (is_known) continue;
    const Result<MemoryHandle> handle = station.device.exportMemory(info.value().base);
    if (!handle.isOk()) {
      lent = {};
      return handle.status();
    }
    lent.handle = handle.value();
  }
  own_.device = station.device.identity();
  return Status::ok();
}

SharedOffer SharedMemory::offerOf(int rank) const {
  const std::size_t at = static_cast<std::size_t>(rank) * SharedOffer::kBytes;
  return SharedOffer::decode(std::span(told_).subspan(at).first<SharedOffer::kBytes>());
}

bool SharedMemory::isOnOneDevice() const {
  const std::string first = offerOf(0).device;
  for (int rank = 0; rank < group_.size(); ++rank)
    if (first.empty() || offerOf(rank).device != first) return false;
  return true;
}

std::uint64_t SharedMemory::hash() const {
  std::uint64_t mixed = 0;
  for (std::size_t at = 0; at < told_.size(); at += SharedOffer::kBytes)
    mixed = XXH64(told_.data() + at, SharedOffer::kOfferBytes, mixed);
  return mixed == 0 ? 1 : mixed;
}

bool SharedMemory::areMapped() const {
  const std::uint64_t all = hash();
  for (int rank = 0; rank < group_.size(); ++rank)
    if (offerOf(rank).mapped != all) return false;
  return true;
}

Status SharedMemory::map(DeviceStation& station) {
  if (!blocks_.empty() && mapped_hash_ == hash()) return Status::ok();
  release();
  mapped_.clear();
  mapped_hash_ = 0;
  for (int rank = 0; rank < group_.size(); ++rank) {
    SharedOffer offer = offerOf(rank);
    for (std::size_t i = 0; i < SharedOffer::kSpaces; ++i) {
      PeerAllocation& one = offer.allocations[i];
      DevicePiece& place = places_[static_cast<std::size_t>(rank)][i];
      place = {reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(one.base)),
               static_cast<std::size_t>(one.bytes)};
      if (in_process_ || rank == group_.rank() || one.bytes == 0) continue;
      one.rank = group_.worldRank(rank);
      Result<PeerMemory::Block> block = station.peers.map(one);
      if (!block.isOk()) return block.status();
      place.data = block.value()->data();
      mapped_.push_back(block.value());
      blocks_.push_back(block.take());
    }
  }
  mapped_hash_ = hash();
  return Status::ok();
}

std::uint64_t SharedMemory::keepMapped() {
  if (mapped_hash_ == 0 || mapped_.empty()) return 0;
  blocks_.clear();
  for (const std::weak_ptr<DeviceBlock>& block : mapped_) {
    blocks_.push_back(block.lock());
    if (blocks_.back() != nullptr) continue;
    release();
    return mapped_hash_ = 0;
  }
  return mapped_hash_;
}

bool SharedMemory::release() { return !std::exchange(blocks_, {}).empty(); }

void SharedMemory::write(Space space, DevicePiece piece, std::span<std::byte, kPieceBytes> to) const {
  const std::uint64_t base = own_.allocations[indexOf(space)].base;
  const std::uint64_t offset = piece.bytes == 0 ? 0 : reinterpret_cast<std::uintptr_t>(piece.data) - base;
  base::storeLittleEndian(to.data(), static_cast<std::uint64_t>(space) << kSpaceShift | (offset & kOffsetMask));
  base::storeLittleEndian(to.data() + 8, std::uint64_t{piece.bytes});
}

std::optional<DevicePiece> SharedMemory::read(int rank, std::span<const std::byte, kPieceBytes> from) const {
  const auto at = base::loadLittleEndian<std::uint64_t>(from.data());
  const auto bytes = base::loadLittleEndian<std::uint64_t>(from.data() + 8);
  const std::uint64_t offset = at & kOffsetMask;
  if (at >> kSpaceShift >= SharedOffer::kSpaces) return std::nullopt;
  const DevicePiece& place = places_[static_cast<std::size_t>(rank)][at >> kSpaceShift];
  if (offset > place.bytes || bytes > place.bytes - offset) return std::nullopt;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(place.data) + offset;
  return DevicePiece{reinterpret_cast<std::byte*>(address), static_cast<std::size_t>(bytes)};
}

} // namespace goss
