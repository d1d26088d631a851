/// Ranks in a circle: which of them watch each other, and which tell each other news that are for all.
#ifndef GOSS_LIB_MESH_CIRCLE_H_
#define GOSS_LIB_MESH_CIRCLE_H_

#include <functional>
#include <vector>

namespace goss {

/// Each rank watches so many others on either side.
inline constexpr int kWatched = 2;

/// The kWatched next places on either side of the place `own`, in a circle of `size`, of which `is_lost` is false.
std::vector<int> nextInCircle(int own, int size, const std::function<bool(int place)>& is_lost);
/// The places to which the rank at the place `own` sends news that are for all: nextInCircle(), and those at the
/// distances 1, 2, 4 and so on, both ways, of which `is_lost` is false.
std::vector<int> newsInCircle(int own, int size, const std::function<bool(int place)>& is_lost);

} // namespace goss

#endif // GOSS_LIB_MESH_CIRCLE_H_
