#include "mesh/control.h"

#include <algorithm>
#include <utility>

#include "base/wire.h"

namespace goss {

std::string ControlMessage::encode() const {
  base::WireWriter writer;
  writer.integer(static_cast<std::uint8_t>(type)).integer(context).integer(operation);
  writer.raw({reinterpret_cast<const char*>(signature.data()), signature.size()});
  writer.integer(error_kind).integer(culprit);
  writer.text(std::string_view(text).substr(0, kMaxTextBytes));
  return writer.take();
}

Result<ControlMessage> ControlMessage::decode(std::string_view bytes) {
  base::WireReader reader(bytes);
  ControlMessage message;
  message.type = static_cast<Type>(reader.integer<std::uint8_t>());
  message.context = reader.integer<std::uint32_t>();
  message.operation = reader.integer<std::uint64_t>();
  const std::string_view signature = reader.raw(sizeof(Envelope));
  std::copy(signature.begin(), signature.end(), reinterpret_cast<char*>(message.signature.data()));
  message.error_kind = reader.integer<std::int32_t>();
  message.culprit = reader.integer<std::int32_t>();
  message.text = reader.text(kMaxBytes);
  const bool known = message.type >= Type::abort && message.type <= Type::ended;
  const bool failure = message.error_kind <= 0 && message.error_kind >= GOSS_ERR_DEVICE;
  if (!reader.complete() || !known || !failure) {
    return Status::error(GOSS_ERR_PROTOCOL, "malformed control message");
  }
  return message;
}

/// The receive of one peer's next control message. Holds no buffer while nothing arrives, because a world has a receive
/// for each peer.
class ControlChannel::Receive final : public RecvOperation {
 public:
  Receive(ControlChannel& channel, int from) : channel_(channel) {
    peer = from;
    tag = kControlTag;
    consumes = true;
    capacity = ControlMessage::kMaxBytes;
  }

  Status onMatched(const Envelope& received_envelope, std::size_t bytes) override {
    (void)received_envelope;
    if (bytes > capacity) return Status::error(GOSS_ERR_PROTOCOL, "oversized control message");
    bytes_.clear();
    return Status::ok();
  }

  void onData(std::size_t offset, std::span<const std::byte> bytes) override {
    (void)offset; // The bytes come in order.
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  void onReceived(const Status& status) GOSS_ON_LOOP override {
    posted = false;
    failed = !status.isOk();
    const std::string bytes = std::exchange(bytes_, std::string());
    channel_.to_repost_.push_back(this);
    if (failed) return;
    if (auto message = ControlMessage::decode(bytes); message.isOk())
      channel_.arrived_.emplace_back(peer, message.take());
  }

  bool posted = false;
  bool failed = false; ///< The last time that it was posted.

 private:
  ControlChannel& channel_;
  std::string bytes_;
};

ControlChannel::ControlChannel(Mesh& mesh, Handler handler) : mesh_(mesh), handler_(std::move(handler)) {}

ControlChannel::~ControlChannel() {
  for (const auto& receive : receives_) {
    if (receive != nullptr && receive->posted) mesh_.transport(receive->peer)->cancel(*receive);
  }
}

void ControlChannel::start() {
  for (int peer = 0; peer < mesh_.size(); ++peer) {
    Transport* transport = mesh_.transport(peer);
    receives_.push_back(transport != nullptr ? std::make_unique<Receive>(*this, peer) : nullptr);
    if (transport == nullptr) continue;
    receives_.back()->posted = true;
    transport->recv(*receives_.back());
  }
}

void ControlChannel::sendOnLoop(int peer, const ControlMessage& message) {
  Signature signature;
  signature.kind = Signature::Kind::control;
  const std::string text = message.encode();
  const std::span bytes = std::as_bytes(std::span(text));
  // Flushes do not wait for a probe: it is useless once its sender has ended the operation, or has left.
  const bool is_flushed = message.type != ControlMessage::Type::probe;
  mesh_.postOnLoop({peer, kControlTag, signature.encode(), {bytes.begin(), bytes.end()}, is_flushed});
}

void ControlChannel::tellOfEndOnLoop(int peer) {
  ControlMessage ended;
  ended.type = ControlMessage::Type::ended;
  ended.culprit = peer;
  for (const int target : mesh_.newsTargets())
    sendOnLoop(target, ended);
}

void ControlChannel::probeOnLoop(int peer) {
  ControlMessage probe;
  probe.context = ControlMessage::kNoCommunicator;
  sendOnLoop(peer, probe);
}

void ControlChannel::noteLossOnLoop(int peer, PeerLoss how) {
  if (watch_due_ == Clock::time_point{}) watch_due_ = Clock::now() + kWatchDelay;
  // Among many ranks, most of those between this rank and the next one that lives may have ended.
  if (probed_.erase(peer) > 0 && how == PeerLoss::absent) watch_due_ = Clock::now();
}

void ControlChannel::watchNeighboursOnLoop() {
  if (Clock::now() < watch_due_) return;
  watch_due_ = Clock::time_point{};
  for (const int peer : mesh_.neighbours()) {
    // A message from the peer shows that it has the link, over which it would say goodbye.
    if (mesh_.transport(peer)->statistics(peer).messages_received > 0) continue;
    probed_.insert(peer);
    probeOnLoop(peer);
  }
}

bool ControlChannel::drainOnLoop() {
  if (watch_due_ != Clock::time_point{}) watchNeighboursOnLoop();
  if (to_repost_.empty()) return false;
  for (Receive* receive : std::exchange(to_repost_, {})) {
    // The transport has kept what else the peer sent before its link ended; behind that a receive fails.
    if (receive->failed && !mesh_.linkStatus(receive->peer).isOk()) continue;
    receive->posted = true;
    mesh_.transport(receive->peer)->recv(*receive);
  }
  while (!arrived_.empty()) {
    const auto [peer, message] = std::move(arrived_.front());
    arrived_.pop_front();
    handler_(peer, message);
  }
  return true;
}

void ControlChannel::receiveRestOnLoop(int peer) {
  const bool is_known = peer >= 0 && static_cast<std::size_t>(peer) < receives_.size();
  if (!is_known || receives_[static_cast<std::size_t>(peer)] == nullptr) return;
  const Receive& receive = *receives_[static_cast<std::size_t>(peer)];
  for (bool any = true; any && !mesh_.linkStatus(peer).isOk();) {
    drainOnLoop();
    if (!receive.posted) return;
    mesh_.progressOnLoop();
    any = !receive.posted;
  }
}

} // namespace goss
