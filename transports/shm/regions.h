/// Memory out of which messages may be sent, and into which replies may be received, without a copy.
#ifndef GOSS_TRANSPORTS_SHM_REGIONS_H_
#define GOSS_TRANSPORTS_SHM_REGIONS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "gossamer/shared_regions.h"
#include "platform/fd.h"
#include "platform/memory/shared_pages.h"

namespace goss::transports::shm {

/// The memory that this process lends. All links of a transport share it; one thread.
class LentRegions {
 public:
  struct Region {
    MemoryRegion memory;
    std::uint64_t id = 0;     ///< Never reused.
    int uses = 0;             ///< Messages that peers may be reading, and replies that they may be writing.
    bool is_replaced = false; ///< Its pages were replaced, and it is no longer lent.
  };

  void add(const MemoryRegion& memory);
  /// The region that begins at `data`; null: there is none.
  Region* find(const std::byte* data);
  void remove(const Region& region);
  /// The lent region that holds all of these bytes; null if none does. Valid until add() or remove().
  Region* holding(const void* data, std::size_t bytes);
  /// Counts a message that peers may be reading: use() when it begins, release() when it is complete.
  void use(std::uint64_t id);
  void release(std::uint64_t id);
  [[nodiscard]] bool empty() const { return regions_.empty(); }
  /// Replaces the pages of `buffer` in this process, so that what peers write to the old pages from now on does not
  /// reach it. The region is not lent again. False: there is no memory for new pages.
  bool replacePages(std::span<std::byte> buffer);

 private:
  std::vector<Region> regions_;
  std::uint64_t next_id_ = 1;
};

/// The memory that one peer has lent to this process, mapped for reading and for replies. A message that is being read
/// keeps its memory mapped.
class BorrowedRegions {
 public:
  using Pages = std::shared_ptr<const platform::SharedPages>;

  /// False: an id that was used before, too many regions, or a descriptor that must not be trusted.
  bool add(std::uint64_t id, std::uint64_t bytes, platform::UniqueFd fd);
  void forget(std::uint64_t id) { pages_.erase(id); }
  void clear() { pages_.clear(); }
  /// The pages of region `id`. Null: it is not lent.
  [[nodiscard]] Pages find(std::uint64_t id) const;
  [[nodiscard]] std::size_t count() const { return pages_.size(); }

 private:
  std::unordered_map<std::uint64_t, Pages> pages_;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_REGIONS_H_
