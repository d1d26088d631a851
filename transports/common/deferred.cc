#include "transports/common/deferred.h"

namespace goss::transports {

void Deferred::cancel(SendOperation& operation) {
  std::erase_if(sends_, [&](const auto& entry) { return entry.first == &operation; });
}

void Deferred::cancel(RecvOperation& operation) {
  std::erase_if(recvs_, [&](const auto& entry) { return entry.first == &operation; });
}

bool Deferred::drain() {
  // Entries that callbacks add wait for the next call, so that a caller that posts again on each failure cannot keep
  // this loop running for ever; each entry is removed before its callback, so that cancel() inside it finds nothing.
  bool any = false;
  for (std::size_t left = sends_.size(); left > 0 && !sends_.empty(); --left) {
    auto [operation, status] = std::move(sends_.front());
    sends_.erase(sends_.begin());
    operation->onSent(status);
    any = true;
  }
  for (std::size_t left = recvs_.size(); left > 0 && !recvs_.empty(); --left) {
    auto [operation, status] = std::move(recvs_.front());
    recvs_.erase(recvs_.begin());
    operation->onReceived(status);
    any = true;
  }
  return any;
}

} // namespace goss::transports
