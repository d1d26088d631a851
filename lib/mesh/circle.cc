#include "mesh/circle.h"

#include <algorithm>
#include <bit>

namespace goss {

bool passNews(int one, int other, int size) {
  const auto forward = static_cast<unsigned>((other - one + size) % size);
  return std::has_single_bit(forward) || std::has_single_bit(static_cast<unsigned>(size) - forward);
}

std::vector<int> nextInCircle(int own, int size, const std::function<bool(int place)>& is_lost) {
  std::vector<int> found;
  for (const int step : {1, size - 1}) {
    int wanted = kWatched;
    for (int place = (own + step) % size; wanted > 0 && place != own; place = (place + step) % size) {
      if (is_lost(place)) continue;
      --wanted;
      if (std::find(found.begin(), found.end(), place) == found.end()) found.push_back(place);
    }
  }
  return found;
}

} // namespace goss
