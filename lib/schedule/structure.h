/// Properties of a schedule that must hold before it runs: legal slots, protected buffers, and an order for every
/// hazard.
#ifndef GOSS_LIB_SCHEDULE_STRUCTURE_H_
#define GOSS_LIB_SCHEDULE_STRUCTURE_H_

#include <cstdint>
#include <string>

#include "gossamer/schedule.h"
#include "gossamer/status.h"

namespace goss::schedule {

/// The number of cells of a schedule with more chunks could overflow, and no plan has as many.
inline constexpr std::uint32_t kMaxCheckedChunks = 1U << 16;

/// Numbers a schedule's slots, so that slots that may share memory share a number. Data slots have none.
class CellMap {
 public:
  /// `in_place`: input c and output c are one cell.
  CellMap(const Schedule& schedule, bool in_place)
      : chunks_(schedule.chunk_count),
        scratch_(static_cast<std::uint32_t>(schedule.scratch_like.size())),
        in_place_(in_place) {}
  [[nodiscard]] std::uint32_t of(Slot slot) const {
    switch (slot.space) {
      case Space::input:
        return slot.index;
      case Space::output:
        return in_place_ ? slot.index : chunks_ + slot.index;
      case Space::payload:
        return 2 * chunks_ + scratch_ + slot.index;
      default:
        return 2 * chunks_ + slot.index;
    }
  }
  [[nodiscard]] std::size_t count(const Schedule& schedule) const {
    return 2u * chunks_ + schedule.scratch_like.size() + schedule.payload_like.size();
  }

 private:
  std::uint32_t chunks_;
  std::uint32_t scratch_;
  bool in_place_;
};

/// A slot as text, such as "output 3".
std::string describe(Slot slot);

/// Checks one rank's schedule, whatever it holds. Errors (internal), naming rank, step and slot: a frame that
/// contradicts itself (rank, root, number of chunks), a range outside of its pool, a slot that does not exist, a write
/// to the caller's input or to an output chunk that the collective does not deliver, a wrong number of targets or
/// sources, a dependency on a later step, and a hazard that no chain of dependencies orders (also when run in place).
Status checkStructure(const Schedule& schedule);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_STRUCTURE_H_
