#include "transports/shm/regions.h"

#include <algorithm>

namespace goss::transports::shm {

namespace {

// A peer that lends more regions than this is broken: each takes a mapping, of which a process has some ten thousand.
constexpr std::size_t kMaxBorrowed = 4096;

} // namespace

void LentRegions::add(const MemoryRegion& memory) { regions_.push_back({memory, next_id_++, 0}); }

LentRegions::Region* LentRegions::find(const std::byte* data) {
  const auto at =
      std::find_if(regions_.begin(), regions_.end(), [&](const Region& region) { return region.memory.data == data; });
  return at == regions_.end() ? nullptr : &*at;
}

void LentRegions::remove(const Region& region) {
  const std::uint64_t id = region.id;
  std::erase_if(regions_, [&](const Region& other) { return other.id == id; });
}

LentRegions::Region* LentRegions::holding(const void* data, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(data);
  for (Region& region : regions_) {
    const std::byte* begin = region.memory.data;
    if (first < begin || first >= begin + region.memory.bytes) continue;
    const bool whole = bytes <= static_cast<std::size_t>(begin + region.memory.bytes - first);
    return whole && !region.is_replaced ? &region : nullptr;
  }
  return nullptr;
}

void LentRegions::use(std::uint64_t id) {
  for (Region& region : regions_) {
    if (region.id == id) ++region.uses;
  }
}

void LentRegions::release(std::uint64_t id) {
  for (Region& region : regions_) {
    if (region.id == id) --region.uses;
  }
}

bool LentRegions::replacePages(std::span<std::byte> buffer) {
  if (!platform::replacePages(buffer)) return false;
  if (Region* region = holding(buffer.data(), buffer.size()))
    region->is_replaced = true; // Otherwise they were replaced before.
  return true;
}

bool BorrowedRegions::add(std::uint64_t id, std::uint64_t bytes, platform::UniqueFd fd) {
  if (pages_.size() >= kMaxBorrowed || pages_.contains(id)) return false;
  Result<platform::SharedPages> attached = platform::SharedPages::attach(std::move(fd), bytes);
  if (!attached.isOk()) return false;
  pages_.emplace(id, std::make_shared<const platform::SharedPages>(attached.take()));
  return true;
}

BorrowedRegions::Pages BorrowedRegions::find(std::uint64_t id) const {
  const auto at = pages_.find(id);
  return at == pages_.end() ? nullptr : at->second;
}

} // namespace goss::transports::shm
