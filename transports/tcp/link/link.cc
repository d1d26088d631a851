#include "transports/tcp/link/link.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/host.h"
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

} // namespace

LinkState Link::state() const {
  if (!refused_.isOk() || matcher_.hasFailed()) return LinkState::failed;
  return wanted_ && outflow_ ? LinkState::ready : LinkState::connecting;
}

Status Link::adopt(platform::Stream stream, const Hello& hello, platform::Poller& poller, int via) {
  const std::size_t index = hello.connection;
  if (connections_.empty()) {
    connections_.resize(hello.connections);
    remotes_.resize(hello.connections);
    resumable_ = hello.purpose != Purpose::plain;
    checked_ = hello.checked;
    token_ = hello.token;
    calls_ = hello.from != static_cast<std::uint32_t>(peer());
  }
  if (connections_.size() != hello.connections || connections_[index].wasOpened() || matcher_.hasFailed() ||
      !platform::equalInConstantTime(token_, hello.token) || checked_ != hello.checked)
    return Status::error(GOSS_ERR_PROTOCOL, fmt::format("connection {} of rank {} exists already", index, peer()));
  platform::tuneForMessages(stream.fd());
  remotes_[index] = platform::remoteAddress(stream.fd());
  if (index == 0) {
    address_ = remotes_[0] ? remotes_[0]->text() : "an unknown address";
    if (via >= 0) address_ += fmt::format(", relayed by rank {},", via);
    via_ = via;
  }
  const auto token = static_cast<std::uint64_t>(peer());
  // Payload connections are watched only while it is their turn: bytes that they deliver early are not read yet.
  Status opened = hasRecords() ? connections_[index].openRecords(std::move(stream), poller, token,
                                                                 {checked_, resumable_, hello.epoch})
                               : connections_[index].open(std::move(stream), poller, token, false);
  if (!opened.isOk()) return opened;
  if (++adopted_ < hello.connections) return Status::ok();
  outflow_ = std::make_unique<FrameWriter>(connections_, eagerBytes(connections_[0].fd()));
  intake_ = std::make_unique<FrameReader>(connections_, matcher_, *outflow_, room_);
  connections_[0].watchReads(true);
  urgent_ = true; // The peer is to be told of the room; and connections that were made first may be lost again.
  return Status::ok();
}

void Link::refuse(const Status& why) {
  refused_ = why;
  outflow_.reset();
  intake_.reset();
  connections_.clear();
  matcher_.fail(why);
}

void Link::cancel(SendOperation& operation) {
  if (outflow_ && !outflow_->cancel(operation)) doomed_ = true;
}

bool Link::run(bool broken) {
  const bool drained = matcher_.drain();
  urgent_ = false;
  if (ended_ || left_) return drained;
  // Resumable connections find out by reading that they are lost.
  if (resumable_) broken = false;
  if (!intake_) {
    // The lost connection waits for the others; its socket must not go on reporting the loss.
    if (hasRecords())
      for (Connection& connection : connections_)
        connection.flush();
    broken = broken || isMalformed();
    if (broken) refuse(peerLostError(peer(), "a connection broke while the others were still being made"));
    return drained || broken;
  }
  if (hasRecords()) broken = isOver();
  // Bytes that have arrived count, whatever became of the connection since.
  if (broken) intake_->hurry();
  const std::uint64_t before = carried();
  const bool read = intake_->run();
  const bool written = outflow_->flush();
  // Bytes that this end keeps since long ago count when they leave: a slow link takes long for a window of them.
  if (read || written || carried() != before) {
    ++matcher_.statistics().movements;
    for (Connection& connection : connections_)
      connection.mindPace();
  }
  if (hasRecords()) broken = isOver();
  judgeEnd(broken, read);
  // Bytes that have arrived are read first; then no socket reports the rest.
  urgent_ = urgent_ || (hasRecords() && broken && !ended_);
  return drained || read || written || ended_;
}

bool Link::isMalformed() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& one) { return one.isMalformed(); });
}

bool Link::isOver() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& one) { return one.isOver(); });
}

void Link::judgeEnd(bool broken, bool read) {
  switch (intake_->end()) {
    case FrameReader::End::none:
      if (isMalformed()) {
        why_ = protocolError(peer(), "bytes that are no record of the TCP protocol");
      } else if (doomed_ && !doom_.isOk()) {
        why_ = doom_;
      } else if (doomed_) {
        why_ = peerLostError(peer(), fmt::format("a message to it at {} was cancelled half way", address_));
      } else if (broken && !read) {
        why_ = peerLostError(peer(), lossReason(fmt::format("the connection to {} broke", address_)));
        unexplained_ = !resumable_ && via_ < 0;
      } else {
        return;
      }
      break;
    case FrameReader::End::goodbye:
      loss_ = PeerLoss::departed;
      why_ = peerDepartedError(peer());
      break;
    case FrameReader::End::closed:
      unexplained_ = !resumable_ && via_ < 0;
      why_ = peerLostError(
          peer(),
          lossReason(via_ < 0
                         ? fmt::format("its process at {} died or was cut off ({})", address_, intake_->endReason())
                         : fmt::format("the connection to it is relayed by rank {}, and either of them died or was cut "
                                       "off ({})",
                                       via_, intake_->endReason())));
      break;
    case FrameReader::End::malformed:
      why_ = protocolError(peer(), intake_->endReason());
      break;
    case FrameReader::End::exhausted:
      why_ = systemError(peer(), intake_->endReason(), ENOMEM);
      break;
  }
  ended_ = true;
}

bool Link::wasChanged() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& one) { return one.wasChanged(); });
}

/// Corrupted bytes explain more than the end that they led to.
std::string Link::lossReason(std::string otherwise) const {
  const auto changed =
      std::find_if(connections_.begin(), connections_.end(), [](const auto& one) { return one.wasChanged(); });
  if (changed == connections_.end()) return otherwise;
  return fmt::format("the connection to it at {} is of no use ({})", address_, changed->lostReason());
}

Status Link::end() {
  for (Connection& connection : connections_) {
    // A link that fails here must fail at the peer too, whatever is still on its way.
    if (!departed() && connection.isOpen()) platform::resetOnClose(connection.fd());
    // A peer that leaves waits for this acknowledgement, because its goodbye may be lost with the connection.
    if (departed()) connection.acknowledge();
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

bool Link::hasWork() const {
  return matcher_.hasWork() || doomed_ || urgent_ ||
         (intake_ && !ended_ && (intake_->hasWork() || outflow_->hasWork()));
}

bool Link::leave() {
  if (ended_ || left_ || !hasRecords() || state() != LinkState::ready) return true;
  outflow_->goodbye();
  // A rank that leaves does not complete the messages that are being sent; it does send what is owed to the peer for a
  // break.
  if (!outflow_->saysGoodbye()) return !owesResumption();
  left_ = outflow_->hasSaidGoodbye() && std::none_of(connections_.begin(), connections_.end(),
                                                     [](const auto& one) { return one.hasUnacknowledged(); });
  if (!left_) return false;
  for (Connection& connection : connections_)
    connection.close();
  return true;
}

void Link::beginClose() {
  if (state() != LinkState::ready || left_) return;
  outflow_->goodbye();
  for (Connection& connection : connections_)
    if (!connection.hasOutput()) platform::endWriting(connection.fd());
}

bool Link::isDrained() {
  bool drained = true;
  for (Connection& connection : connections_) {
    if (!connection.isOpen()) continue;
    if (connection.hasOutput()) {
      connection.flush();
      // While the security filter held bytes back there was no space for the goodbye.
      if (!connection.hasOutput() && &connection == &connections_[0] && outflow_) outflow_->goodbye();
      if (!connection.hasOutput()) platform::endWriting(connection.fd());
    }
    if (connection.forgetInput() || (!connection.hasOutput() && platform::unacknowledgedBytes(connection.fd()) == 0))
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
  if (connections_.empty() && !over)
    return hello.purpose == Purpose::resume ? Status::ok() : refused("there is no such link");
  // A rank that has lost a connection which is not resumed asks whether this process lives.
  if (hello.purpose == Purpose::recall && !resumable_)
    return Status::error(GOSS_ERR_PEER_LOST, "the link that it means does not survive its connections");
  // The answer is the same in all cases: a caller that does not know the token learns nothing about the link.
  if (!platform::equalInConstantTime(token_, hello.token) || !resumable_ || hello.checked != checked_ ||
      hello.connections != connections_.size())
    return refused("it does not know the secret of the link that it means");
  // A caller that knows the token may not have heard yet that a rank has left.
  if (over) return Status::error(GOSS_ERR_PEER_LOST, "the link that it means has ended");
  if (calls_ != (hello.purpose == Purpose::recall)) return refused("it is not its part to call");
  const std::uint32_t epoch = connections_[hello.connection].epoch();
  if (hello.purpose == Purpose::resume && hello.epoch <= epoch)
    return refused("the connection that it means has been made anew since");
  return Status::ok();
}

Status Link::resume(platform::Stream stream, const Hello& hello, platform::Poller& poller) {
  if (Status judged = calls_ ? Status::ok() : judge(hello); !judged.isOk()) return judged;
  if (connections_.empty() || !connections_[hello.connection].wasOpened())
    return adopt(std::move(stream), hello, poller);
  platform::tuneForMessages(stream.fd());
  urgent_ = true;
  return connections_[hello.connection].resume(std::move(stream), hello.epoch);
}

void Link::recall(const Hello& hello) {
  // A connection that was resumed since the peer said this is another one.
  if (!judge(hello).isOk() || hello.epoch != connections_[hello.connection].epoch()) return;
  connections_[hello.connection].lose("it broke at the other end");
  urgent_ = true;
}

std::vector<std::size_t> Link::lostConnections() const {
  std::vector<std::size_t> lost;
  if (ended_ || left_ || state() != LinkState::ready) return lost;
  for (std::size_t index = 0; index < connections_.size(); ++index)
    if (connections_[index].isLost()) lost.push_back(index);
  return lost;
}

Hello Link::greeting(std::size_t index, Purpose purpose) const {
  Hello hello;
  hello.connection = static_cast<std::uint16_t>(index);
  hello.connections = static_cast<std::uint16_t>(connections_.size());
  hello.purpose = purpose;
  hello.checked = checked_;
  hello.epoch = connections_[index].epoch() + (purpose == Purpose::resume ? 1 : 0);
  hello.token = token_;
  return hello;
}

void Link::resumptionFailed(const std::string& why, PeerLoss how) {
  const auto lost =
      std::find_if(connections_.begin(), connections_.end(), [](const auto& one) { return one.isLost(); });
  if (lost == connections_.end()) return;
  const std::string reasons = fmt::format("{}; {}", lost->lostReason(), why);
  loss_ = how;
  for (Connection& connection : connections_)
    connection.giveUp(reasons);
  urgent_ = true;
}

bool Link::owesResumption() const {
  if (ended_ || left_ || state() != LinkState::ready) return false;
  return connections_[0].isResuming() ||
         std::any_of(connections_.begin(), connections_.end(), [](const auto& one) { return one.owesBytes(); });
}

bool Link::hasUndelivered() const {
  if (owesResumption()) return true;
  if (ended_ || left_ || !hasRecords() || state() != LinkState::ready) return false;
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& one) {
    return one.isOpen() && (one.hasOutput() || platform::unacknowledgedBytes(one.fd()) > 0);
  });
}

std::uint64_t Link::acknowledged() const {
  std::uint64_t sum = 0;
  for (const Connection& connection : connections_)
    sum += connection.acknowledged();
  return sum;
}

std::uint64_t Link::carried() const {
  if (!hasRecords()) return 0; // Called in every run.
  std::uint64_t sum = 0;
  for (const Connection& connection : connections_)
    sum += connection.acknowledged() + connection.sent();
  return sum;
}

std::uint64_t Link::underway() const {
  std::uint64_t sum = 0;
  for (const Connection& connection : connections_)
    if (hasRecords() && connection.isOpen()) sum += platform::unacknowledgedBytes(connection.fd());
  return sum;
}

} // namespace goss::transports::tcp
