/// How work is split over ranks, and layers over stages.
#ifndef GOSS_TRAINER_BASE_SHARE_H_
#define GOSS_TRAINER_BASE_SHARE_H_

#include <cstddef>

namespace goss::trainer {

/// Part `index` of `total` things split over `parts`, as [first, last): sizes differ by one at most, the larger come
/// first.
struct Share {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t count() const { return last - first; }
};

inline Share shareOf(std::size_t total, std::size_t parts, std::size_t index) {
  const std::size_t small = total / parts;
  const std::size_t larger = total % parts;
  const std::size_t first = index * small + (index < larger ? index : larger);
  return {first, first + small + (index < larger ? 1 : 0)};
}

} // namespace goss::trainer

#endif // GOSS_TRAINER_BASE_SHARE_H_
