#include "windows/pairing.h"

#include <algorithm>

namespace goss {

void Pairing::startOnLoop(std::uint32_t serial) {
  own_.push_back(serial);
  resumeOnLoop();
}

bool Pairing::withdrawOnLoop(std::uint32_t serial) {
  const bool is_first = waits_ && own_.front() == serial;
  const bool had_offer = is_first && offered_;
  if (is_first) waits_ = offered_ = false;
  std::erase(own_, serial);
  return had_offer;
}

void Pairing::offeredOnLoop(std::uint32_t serial) {
  if (!waits_ || own_.front() != serial) return;
  offered_ = true;
  resumeOnLoop();
}

void Pairing::requestedOnLoop(const Request& request) {
  // A rank wants one average at a time, so it has withdrawn an older request that is still here.
  std::erase_if(requests_, [&](const Request& older) { return older.rank == request.rank; });
  requests_.push_back(request);
  resumeOnLoop();
}

void Pairing::endedOnLoop() {
  engaged_.reset();
  resumeOnLoop();
}

void Pairing::leftOnLoop(int rank) {
  std::erase_if(requests_, [&](const Request& request) { return request.rank == rank; });
  if (engaged_ && engaged_->rank == rank) endedOnLoop();
}

void Pairing::settleOnLoop() {
  const std::uint32_t serial = own_.front();
  own_.pop_front();
  waits_ = offered_ = false;
  own_turn_ = false;
  host_.settleOnLoop(serial);
}

/// Makes an offer for the first request that may have one.
bool Pairing::engageOnLoop() {
  const auto found = std::find_if(requests_.begin(), requests_.end(),
                                  [&](const Request& request) GOSS_ON_LOOP { return !waits_ || request.rank > self_; });
  if (found == requests_.end()) return false;
  engaged_ = *found;
  requests_.erase(found);
  own_turn_ = true;
  host_.offerOnLoop(*engaged_);
  return true;
}

void Pairing::resumeOnLoop() {
  while (!engaged_) {
    if (offered_) {
      settleOnLoop();
      continue;
    }
    const bool may_begin = !waits_ && !own_.empty();
    if (may_begin && own_turn_) {
      waits_ = true;
      host_.requestOnLoop(own_.front());
      continue;
    }
    if (engageOnLoop()) return;
    if (!may_begin) return;
    own_turn_ = true;
  }
}

} // namespace goss
