#include "transports/tcp/link/link.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/socket.h"
#include "platform/stream.h"
#include "transports/common/errors.h"

namespace goss::transports::tcp {

namespace {

/// Bytes that fill a path of this round trip at this rate are sent before the first grant comes back.
constexpr double kFastWay_bytes_per_s = 1.25e9;

std::size_t eagerBytes(int fd) {
  const double fills = platform::roundTrip_s(fd) * kFastWay_bytes_per_s;
  return std::clamp(static_cast<std::size_t>(fills), FrameWriter::kMinEagerBytes, FrameWriter::kMaxEagerBytes);
}

std::string closedReason(const ConnectionSet& connections, const std::string& reason) {
  if (connections.via() < 0)
    return fmt::format("its process at {} died or was cut off ({})", connections.address(), reason);
  return fmt::format("the connection to it is relayed by rank {}, and either of them died or was cut off ({})",
                     connections.via(), reason);
}

/// The reason of a lost connection: corrupted bytes, if there were any, else `otherwise`.
std::string lossReason(const ConnectionSet& connections, std::string otherwise) {
  const std::string* changed = connections.reasonOfChange();
  if (changed == nullptr) return otherwise;
  return fmt::format("the connection to it at {} is of no use ({})", connections.address(), *changed);
}

} // namespace

LinkState Link::state() const {
  if (!refused_.isOk() || matcher_.hasFailed()) return LinkState::failed;
  if (wanted_ && writer_) return LinkState::ready;
  return on_demand_ && !begun_ && !connections_.isBegun() ? LinkState::idle : LinkState::connecting;
}

Status Link::adopt(platform::Stream stream, const Hello& hello, platform::Poller& poller,
                   const std::optional<platform::SocketAddress>& remote, int via) {
  if (matcher_.hasFailed())
    return Status::error(GOSS_ERR_PROTOCOL, fmt::format("the link to rank {} has ended", peer()));
  Status adopted = connections_.adopt(std::move(stream), hello, poller, remote, via);
  if (!adopted.isOk() || !connections_.isComplete()) return adopted;
  std::vector<Connection>& all = connections_.all();
  writer_ = std::make_unique<FrameWriter>(all, eagerBytes(all[0].fd()));
  reader_ = std::make_unique<FrameReader>(all, matcher_, *writer_, room_);
  all[0].watchReads(true);
  urgent_ = true; // The peer is to be told of the room; and connections that were made first may be lost again.
  while (SendOperation* operation = kept_.popFront())
    writer_->add(*operation);
  return Status::ok();
}

void Link::refuse(const Status& why, PeerLoss how) {
  if (on_demand_ && refused_.isOk() && !matcher_.hasFailed()) {
    loss_ = how;
    unexplained_ = how == PeerLoss::silent && !given_up_;
    urgent_ = refusal_is_news_ = true;
  }
  given_up_ = false;
  refused_ = why;
  writer_.reset();
  reader_.reset();
  connections_.all().clear();
  while (SendOperation* operation = kept_.popFront())
    deferred_.add(*operation, why);
  matcher_.fail(why);
}

bool Link::keep(SendOperation& operation) {
  if (writer_ || !refused_.isOk()) return false;
  operation.hook = {};
  matcher_.statistics().countSent(operation.bytes);
  kept_.pushBack(operation);
  return true;
}

void Link::cancel(SendOperation& operation) {
  if (writer_) {
    if (!writer_->cancel(operation)) given_up_ = true;
  } else if (kept_.contains(operation)) {
    kept_.remove(operation);
  }
}

bool Link::run(bool broken) {
  const bool drained = matcher_.drain();
  urgent_ = false;
  if (ended_ || left_) return drained;
  // Resumable connections find out by reading that they are lost.
  if (connections_.areResumable()) broken = false;
  if (!reader_ && on_demand_ && given_up_) {
    refuse(why_given_up_);
    return true;
  }
  if (!reader_) {
    // The lost connection waits for the others; its socket must not go on reporting the loss.
    if (connections_.haveRecords())
      for (Connection& connection : connections_.all())
        connection.flush();
    broken = broken || connections_.any<&Connection::isMalformed>();
    if (broken) refuse(peerLostError(peer(), "a connection broke while the others were still being made"));
    return drained || broken;
  }
  if (connections_.haveRecords()) broken = connections_.any<&Connection::isOver>();
  // Bytes that have arrived count, whatever became of the connection since.
  if (broken) reader_->readAll();
  const std::uint64_t before = connections_.carried();
  const bool read = reader_->run();
  const bool written = writer_->flush();
  heard_ = heard_ || read;
  // Bytes that this end keeps since long ago count when they leave: a slow link takes long for a window of them.
  if (read || written || connections_.carried() != before) {
    ++matcher_.statistics().movements;
    for (Connection& connection : connections_.all())
      connection.updatePace();
  }
  if (connections_.haveRecords()) broken = connections_.any<&Connection::isOver>();
  judgeEnd(broken, read);
  // Bytes that have arrived are read first; then no socket reports the rest.
  urgent_ = urgent_ || (connections_.haveRecords() && broken && !ended_);
  return drained || read || written || ended_;
}

void Link::judgeEnd(bool broken, bool read) {
  switch (reader_->end()) {
    case FrameReader::End::none:
      if (connections_.any<&Connection::isMalformed>()) {
        why_ = protocolError(peer(), "bytes that are no record of the TCP protocol");
      } else if (given_up_ && !why_given_up_.isOk()) {
        why_ = why_given_up_;
      } else if (given_up_) {
        why_ =
            peerLostError(peer(), fmt::format("a message to it at {} was cancelled half way", connections_.address()));
      } else if (broken && !read) {
        why_ = peerLostError(
            peer(), lossReason(connections_, fmt::format("the connection to {} broke", connections_.address())));
        unexplained_ = !connections_.areResumable() && connections_.via() < 0;
      } else {
        return;
      }
      break;
    case FrameReader::End::goodbye:
      loss_ = PeerLoss::departed;
      why_ = peerDepartedError(peer());
      break;
    case FrameReader::End::closed:
      unexplained_ = !connections_.areResumable() && connections_.via() < 0;
      why_ = peerLostError(peer(), lossReason(connections_, closedReason(connections_, reader_->endReason())));
      break;
    case FrameReader::End::malformed:
      why_ = protocolError(peer(), reader_->endReason());
      break;
    case FrameReader::End::exhausted:
      why_ = systemError(peer(), reader_->endReason(), ENOMEM);
      break;
  }
  ended_ = true;
}

Status Link::end() {
  for (Connection& connection : connections_.all()) {
    // A link that fails here must fail at the peer too, whatever is still on its way.
    if (!departed() && connection.isOpen()) platform::resetOnClose(connection.fd());
    // A peer that leaves waits for this acknowledgement, because its goodbye may be lost with the connection.
    if (departed()) connection.acknowledge();
    connection.close();
  }
  matcher_.fail(why_);
  writer_->fail(why_);
  return why_;
}

void Link::giveUp(const Status& why) {
  if (!reader_ && !on_demand_) return refuse(why);
  if (!refused_.isOk()) return;
  why_given_up_ = why;
  given_up_ = true;
}

bool Link::hasWork() const {
  return matcher_.hasWork() || given_up_ || urgent_ ||
         (reader_ && !ended_ && (reader_->hasWork() || writer_->hasWork()));
}

bool Link::leave() {
  if (ended_ || left_ || !connections_.haveRecords() || state() != LinkState::ready) return true;
  writer_->goodbye();
  // A rank that leaves does not complete the messages that are being sent; it does send what is owed to the peer for a
  // break.
  if (!writer_->saysGoodbye()) return !owesResumption();
  left_ = writer_->hasSaidGoodbye() && !connections_.any<&Connection::hasUnacknowledged>();
  if (!left_) return false;
  for (Connection& connection : connections_.all())
    connection.close();
  return true;
}

void Link::beginClose() {
  if (state() != LinkState::ready || left_) return;
  writer_->goodbye();
  for (Connection& connection : connections_.all())
    if (!connection.hasOutput()) platform::endWriting(connection.fd());
}

bool Link::isDrained() {
  bool drained = true;
  for (Connection& connection : connections_.all()) {
    if (!connection.isOpen()) continue;
    if (connection.hasOutput()) {
      connection.flush();
      // While the security filter held bytes back there was no space for the goodbye.
      if (!connection.hasOutput() && &connection == &connections_.all()[0] && writer_) writer_->goodbye();
      if (!connection.hasOutput()) platform::endWriting(connection.fd());
    }
    if (connection.dropInput() || (!connection.hasOutput() && platform::unacknowledgedBytes(connection.fd()) == 0))
      connection.close();
    else
      drained = false;
  }
  return drained;
}

Status Link::judge(const Hello& hello) const {
  const auto refused = [](const char* why) { return Status::error(GOSS_ERR_PROTOCOL, why); };
  const bool over = ended_ || left_ || matcher_.hasFailed() || !refused_.isOk();
  // Nothing of the link has come yet: its first "go" was lost with its connection.
  if (connections_.all().empty() && !over)
    return hello.purpose == Purpose::resume ? Status::ok() : refused("there is no such link");
  // A rank that has lost a connection which is not resumed asks whether this process lives.
  if (hello.purpose == Purpose::recall && !connections_.areResumable())
    return Status::error(GOSS_ERR_PEER_LOST, "the link that it means does not survive its connections");
  // The answer is the same in all cases: a caller that does not know the token learns nothing about the link.
  if (!connections_.areMeantBy(hello) || !connections_.areResumable())
    return refused("it does not know the secret of the link that it means");
  // A caller that knows the token may not have heard yet that a rank has left.
  if (over) return Status::error(GOSS_ERR_PEER_LOST, "the link that it means has ended");
  if (connections_.areCalledFromHere() != (hello.purpose == Purpose::recall))
    return refused("it is not its part to call");
  const std::uint32_t epoch = connections_.all()[hello.connection].epoch();
  if (hello.purpose == Purpose::resume && hello.epoch <= epoch)
    return refused("the connection that it means has been made anew since");
  return Status::ok();
}

Status Link::resume(platform::Stream stream, const Hello& hello, platform::Poller& poller,
                    const std::optional<platform::SocketAddress>& remote) {
  if (Status judged = connections_.areCalledFromHere() ? Status::ok() : judge(hello); !judged.isOk()) return judged;
  if (connections_.all().empty() || !connections_.all()[hello.connection].wasOpened())
    return adopt(std::move(stream), hello, poller, remote);
  platform::tuneForMessages(stream.fd());
  urgent_ = true;
  return connections_.all()[hello.connection].resume(std::move(stream), hello.epoch);
}

void Link::recall(const Hello& hello) {
  // A connection that was resumed since the peer said this is another one.
  if (!judge(hello).isOk() || hello.epoch != connections_.all()[hello.connection].epoch()) return;
  connections_.all()[hello.connection].lose("it broke at the other end");
  urgent_ = true;
}

std::vector<std::size_t> Link::lostConnections() const {
  if (ended_ || left_ || state() != LinkState::ready) return {};
  return connections_.lost();
}

void Link::resumptionFailed(const std::string& why, PeerLoss how) {
  const std::vector<std::size_t> lost = connections_.lost();
  if (lost.empty()) return;
  const std::string reasons = fmt::format("{}; {}", connections_.all()[lost.front()].lostReason(), why);
  loss_ = how;
  for (Connection& connection : connections_.all())
    connection.giveUp(reasons);
  urgent_ = true;
}

bool Link::owesResumption() const {
  if (ended_ || left_ || state() != LinkState::ready) return false;
  return connections_.all()[0].isResuming() || connections_.any<&Connection::owesBytes>();
}

bool Link::hasUndelivered() const {
  if (owesResumption()) return true;
  if (ended_ || left_ || !connections_.haveRecords() || state() != LinkState::ready) return false;
  const std::vector<Connection>& all = connections_.all();
  return std::any_of(all.begin(), all.end(), [](const auto& one) {
    return one.isOpen() && (one.hasOutput() || platform::unacknowledgedBytes(one.fd()) > 0);
  });
}

} // namespace goss::transports::tcp
