/// Ranks in a circle: which of them watch each other, and which tell each other news that are for all.
#ifndef GOSS_LIB_MESH_CIRCLE_H_
#define GOSS_LIB_MESH_CIRCLE_H_

#include <functional>
#include <vector>

namespace goss {

/// Each rank watches so many others on either side.
inline constexpr int kWatched = 2;

/// Whether, of `size` ranks in a circle, those at the places `one` and `other` send each other news: their distance,
/// one way or the other, is a power of 2.
bool passNews(int one, int other, int size);
/// The kWatched next places on either side of the place `own`, in a circle of `size`, of which `is_lost` is false.
std::vector<int> nextInCircle(int own, int size, const std::function<bool(int place)>& is_lost);

} // namespace goss

#endif // GOSS_LIB_MESH_CIRCLE_H_
