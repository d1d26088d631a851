#include "mesh/outbox.h"

#include <algorithm>
#include <utility>

namespace goss {

class Outbox::Send final : public SendOperation {
 public:
  Send(Transport& over, Letter letter)
      : transport(over),
        is_flushed(letter.is_flushed),
        bytes_(std::move(letter.bytes)),
        piece_{bytes_.data(), bytes_.size()} {
    peer = letter.peer;
    tag = letter.tag;
    envelope = letter.envelope;
    bytes = bytes_.size();
    if (bytes > 0) pieces = std::span(&piece_, 1);
  }
  void onSent(const Status& status) override {
    (void)status; // The mesh reports a lost peer.
    done = true;
  }

  Transport& transport;
  const bool is_flushed;
  bool done = false;

 private:
  std::vector<std::byte> bytes_;
  iovec piece_;
};

Outbox::Outbox() = default;

Outbox::~Outbox() {
  for (const auto& send : sends_) {
    if (!send->done) send->transport.cancel(*send);
  }
}

void Outbox::sendOnLoop(Transport& transport, Letter letter) {
  auto send = std::make_unique<Send>(transport, std::move(letter));
  if (!transport.send(*send)) sends_.push_back(std::move(send));
}

void Outbox::sweepOnLoop() {
  if (!sends_.empty()) std::erase_if(sends_, [](const auto& send) { return send->done; });
}

std::set<int> Outbox::unsentOnLoop(Tag tag) {
  sweepOnLoop();
  std::set<int> peers;
  for (const auto& send : sends_)
    if (send->tag == tag && send->is_flushed) peers.insert(send->peer);
  return peers;
}

std::set<int> Outbox::peersWithoutLinkOnLoop() const {
  std::set<int> peers;
  for (const auto& send : sends_)
    if (!send->done && send->transport.link(send->peer) != LinkState::ready) peers.insert(send->peer);
  return peers;
}

} // namespace goss
