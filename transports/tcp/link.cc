#include "transports/tcp/link.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "platform/socket.h"
#include "platform/stream.h"
#include "transports/common/errors.h"

namespace goss::transports::tcp {

LinkState Link::state() const {
  if (!refused_.isOk() || matcher_.hasFailed()) return LinkState::failed;
  return wanted_ && outflow_ ? LinkState::ready : LinkState::connecting;
}

Status Link::adopt(platform::Stream stream, std::size_t index, std::size_t count, platform::Poller& poller, int via) {
  if (connections_.empty()) connections_.resize(count);
  if (connections_.size() != count || connections_[index].isOpen() || matcher_.hasFailed())
    return Status::error(GOSS_ERR_PROTOCOL, fmt::format("connection {} of rank {} exists already", index, peer()));
  platform::tuneForMessages(stream.fd());
  if (index == 0) {
    const auto remote = platform::remoteAddress(stream.fd());
    address_ = remote ? remote->text() : "an unknown address";
    if (via >= 0) address_ += fmt::format(", relayed by rank {},", via);
    via_ = via;
  }
  // Payload connections are watched only while it is their turn: what they have early is not wanted yet.
  Status opened = connections_[index].open(std::move(stream), poller, static_cast<std::uint64_t>(peer()), false);
  if (!opened.isOk()) return opened;
  if (++adopted_ < count) return Status::ok();
  outflow_ = std::make_unique<Outflow>(connections_);
  intake_ = std::make_unique<Intake>(connections_, matcher_);
  connections_[0].watchReads(true);
  return Status::ok();
}

void Link::refuse(const Status& why) {
  refused_ = why;
  connections_.clear();
  matcher_.fail(why);
}

void Link::cancel(SendOperation& operation) {
  if (outflow_ && !outflow_->cancel(operation)) doomed_ = true;
}

bool Link::run(bool broken) {
  const bool drained = matcher_.drain();
  if (ended_) return drained;
  if (!intake_) {
    if (broken) refuse(peerLostError(peer(), "a connection broke while the others were still being made"));
    return drained || broken;
  }
  // Bytes that are there already count, whatever became of the connection since.
  if (broken) intake_->hurry();
  if (broken && intake_->isStalled() && intake_->salvage()) broken = false;
  const bool read = intake_->run();
  const bool written = outflow_->flush();
  if (read || written) ++matcher_.statistics().movements;
  judgeEnd(broken, read);
  return drained || read || written || ended_;
}

void Link::judgeEnd(bool broken, bool read) {
  switch (intake_->end()) {
    case Intake::End::none:
      if (doomed_ && !doom_.isOk()) {
        why_ = doom_;
      } else if (doomed_) {
        why_ = peerLostError(peer(), fmt::format("a message to it at {} was cancelled half way", address_));
      } else if (broken && !read) {
        why_ = peerLostError(peer(), fmt::format("the connection to {} broke", address_));
      } else {
        return;
      }
      break;
    case Intake::End::goodbye:
      departed_ = true;
      why_ = peerDepartedError(peer());
      break;
    case Intake::End::closed:
      why_ = peerLostError(
          peer(), via_ < 0
                      ? fmt::format("its process at {} died or was cut off ({})", address_, intake_->endReason())
                      : fmt::format("the connection to it is relayed by rank {}, and either of them died or was cut "
                                    "off ({})",
                                    via_, intake_->endReason()));
      break;
    case Intake::End::malformed:
      why_ = protocolError(peer(), intake_->endReason());
      break;
  }
  ended_ = true;
}

Status Link::end() {
  for (Connection& connection : connections_) {
    // A link that fails here must fail there too, whatever is still on its way.
    if (!departed_ && connection.isOpen()) platform::resetOnClose(connection.fd());
    connection.close();
  }
  matcher_.fail(why_);
  outflow_->fail(why_);
  return why_;
}

void Link::giveUp(const Status& why) {
  if (!intake_) return refuse(why);
  doom_ = why;
  doomed_ = true;
}

void Link::probe() {
  if (!outflow_->probe()) doomed_ = true;
}

bool Link::hasWork() const { return matcher_.hasWork() || doomed_ || (intake_ && !ended_ && intake_->hasWork()); }

void Link::beginClose() {
  if (state() != LinkState::ready) return;
  outflow_->goodbye();
  for (Connection& connection : connections_)
    if (!connection.hasOutput()) platform::endWriting(connection.fd());
}

bool Link::isDrained() {
  std::array<char, 16384> rest;
  bool drained = true;
  for (Connection& connection : connections_) {
    if (!connection.isOpen()) continue;
    if (connection.hasOutput()) {
      connection.flush();
      // While a filter held bytes back there was no room for it.
      if (!connection.hasOutput() && &connection == &connections_[0] && outflow_) outflow_->goodbye();
      if (!connection.hasOutput()) platform::endWriting(connection.fd());
    }
    platform::StreamResult got;
    do {
      got = platform::readSome(connection.fd(), rest.data(), rest.size());
    } while (got.bytes > 0);
    if (got.ended || (!connection.hasOutput() && platform::unacknowledgedBytes(connection.fd()) == 0))
      connection.close();
    else
      drained = false;
  }
  return drained;
}

} // namespace goss::transports::tcp
