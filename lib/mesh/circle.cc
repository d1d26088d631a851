#include "mesh/circle.h"

#include <algorithm>

namespace goss {

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

std::vector<int> newsInCircle(int own, int size, const std::function<bool(int place)>& is_lost) {
  std::vector<int> found = nextInCircle(own, size, is_lost);
  for (int distance = 1; distance < size; distance *= 2)
    for (const int place : {(own + distance) % size, (own + size - distance) % size})
      if (!is_lost(place) && std::find(found.begin(), found.end(), place) == found.end()) found.push_back(place);
  return found;
}

} // namespace goss
