#include "transports/ucx/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/host.h"
#include "transports/common/errors.h"
#include "transports/common/process_identity.h"
#include "transports/ucx/worker.h"

namespace goss::transports::ucx {

namespace {

// Time in which a notice that the link is broken may leave before the endpoint is closed by force.
constexpr std::chrono::milliseconds kNoticeSpan(20);

} // namespace

Link::Link(int peer, Station& station)
    : station_(station),
      matcher_(peer, *station.deferred),
      recvs_(matcher_, kFarWindowBytes),
      outbox_(station, peer, recvs_.owed()),
      inbox_(station, matcher_, recvs_) {}

LinkState Link::state() const {
  if (!error().isOk()) return LinkState::failed;
  return endpoint_ != nullptr && greeted_ ? LinkState::ready : LinkState::connecting;
}

const Status& Link::error() const {
  if (!refused_.isOk()) return refused_;
  return matcher_.hasFailed() ? matcher_.failure() : why_;
}

Status Link::connect(const Address& address) {
  Result<ucp_ep_h> endpoint = station_.worker->connect(peer(), address.worker, {onEndpointError, this});
  if (!endpoint.isOk()) {
    refused_ = endpoint.status();
    return refused_;
  }
  endpoint_ = endpoint.take();
  same_process_ = address.process == station_.process;
  death_fd_ = watchProcess(address.process);
  outbox_.open(endpoint_, address.key, station_.worker->routeOf(endpoint_, same_process_ || deathFd() >= 0));
  Header hello;
  hello.kind = Header::Kind::hello;
  std::copy(station_.job.begin(), station_.job.end(), hello.envelope.begin());
  outbox_.sendControl(hello);
  return Status::ok();
}

void Link::onEndpointError(void* link, ucp_ep_h endpoint, ucs_status_t status) {
  (void)endpoint;
  auto& self = *static_cast<Link*>(link);
  // A peer that has said goodbye may close; its earlier messages wait to be read.
  if (!self.goodbye_came_) self.endWith(ucxError(self.peer(), "it died or its connection broke", status));
}

void Link::endWith(const Status& why) {
  if (why_.isOk() && !inbox_.departed()) why_ = why;
}

ucs_status_t Link::arrive(const Header& header, Incoming incoming) {
  ++matcher_.statistics().movements;
  if (header.returned > 0) outbox_.onReturned(header.tag, header.returned);
  if (isNumbered(header.kind)) {
    if (header.kind == Header::Kind::goodbye) goodbye_came_ = true;
    if (header.padded && !incoming.strip()) {
      endWith(protocolError(peer(), "a part of a message without its padding"));
      return UCS_OK;
    }
    const ucs_status_t kept = inbox_.arrive(header, incoming);
    station_.has_arrivals = station_.has_arrivals || inbox_.hasArrivals();
    return kept;
  }
  arriveControl(header);
  return UCS_OK;
}

void Link::arriveControl(const Header& header) {
  if (header.kind == Header::Kind::hello) {
    const std::span<const std::byte> shown(header.envelope.data(), station_.job.size());
    if (platform::equalInConstantTime(shown, station_.job)) {
      greeted_ = true;
    } else {
      endWith(protocolError(peer(), "the secret of another world"));
    }
  } else if (header.kind == Header::Kind::goodbyeRead) {
    goodbye_read_ = true;
  } else if (header.kind == Header::Kind::revoke) {
    inbox_.revoke(header.number);
  } else if (header.kind == Header::Kind::grant || header.kind == Header::Kind::skip) {
    outbox_.onAnswer(header.kind, header.extra);
  } else if (header.kind == Header::Kind::broken) {
    inbox_.distrust();
    endWith(peerLostError(peer(), "it has given up the link to this rank"));
  }
}

void Link::cancel(SendOperation& operation) {
  if (outbox_.cancel(operation)) return;
  breakOff(peerLostError(peer(), "a message to it was withdrawn half way"));
  outbox_.forget(operation);
}

void Link::cancel(RecvOperation& operation) {
  if (inbox_.writesTo(operation)) {
    constexpr std::chrono::milliseconds kFetchSpan(200);
    if (!station_.worker->progressUntil([&] { return !inbox_.writesTo(operation); }, kFetchSpan))
      breakOff(peerLostError(peer(), "the receive of a message from it was withdrawn half way"));
    // The peer lives but does not react, and UCX would still write its bytes there.
    if (inbox_.writesTo(operation)) station_.poisoned = true;
  }
  matcher_.cancel(operation);
}

void Link::abandon(const Status& why) {
  if (!hasEnded() && state() != LinkState::failed) breakOff(why);
}

void Link::breakOff(const Status& why) {
  endWith(why);
  if (endpoint_ == nullptr) return;
  tell(Header::Kind::broken);
  // Waits for a chance that the notice leaves, which may never happen.
  station_.worker->progressUntil([] { return false; }, kNoticeSpan);
  closeByForce();
}

ucs_status_ptr_t Link::flush() {
  if (state() != LinkState::ready || goodbye_came_) return nullptr;
  ucp_request_param_t param{};
  return ucp_ep_flush_nbx(endpoint_, &param);
}

void Link::closeByForce() {
  outbox_.close();
  if (endpoint_ == nullptr) {
    inbox_.release();
    return;
  }
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  station_.worker->finish(ucp_ep_close_nbx(std::exchange(endpoint_, nullptr), &param), kForcedCloseSpan);
  station_.worker->progressUntil([this] { return outbox_.isIdle() && inbox_.isIdle(); }, kForcedCloseSpan);
  inbox_.release();
}

bool Link::run() {
  if (hasEnded()) return true;
  bool any = inbox_.run();
  tellPeer();
  if (outbox_.run()) {
    ++matcher_.statistics().movements;
    any = true;
  }
  if (!outbox_.trouble().isOk()) endWith(outbox_.trouble());
  if (!inbox_.trouble().isOk()) endWith(inbox_.trouble());
  return any;
}

void Link::tell(Header::Kind kind) {
  Header header;
  header.kind = kind;
  outbox_.sendControl(header);
}

void Link::tellPeer() {
  for (const MultipartRecvs::Answer& answer : recvs_.takeAnswers()) {
    Header header;
    header.kind = answer.wanted ? Header::Kind::grant : Header::Kind::skip;
    header.extra = answer.number;
    outbox_.sendControl(header);
  }
  if (!owesCredit()) return;
  for (const auto& [tag, bytes] : recvs_.owed().takeAll()) {
    Header credit;
    credit.kind = Header::Kind::credit;
    credit.tag = tag;
    credit.returned = bytes;
    outbox_.sendControl(credit);
  }
}

bool Link::hasEnded() const { return !matcher_.hasFailed() && (!why_.isOk() || inbox_.departed()); }

bool Link::hasWork() const {
  // A part that UCX could not send completes nothing: run() must notice the error.
  const bool has_trouble = !matcher_.hasFailed() && !outbox_.trouble().isOk();
  return hasEnded() || has_trouble || inbox_.hasWork() || outbox_.hasWork();
}

Status Link::end() {
  Status why = departed() ? peerDepartedError(peer()) : why_;
  if (departed() && endpoint_ != nullptr) {
    tell(Header::Kind::goodbyeRead);
    station_.worker->progressUntil([this] { return outbox_.isIdle(); }, kNoticeSpan);
  }
  // Messages that have come whole are delivered; those that UCX still fetches are not.
  inbox_.finish();
  closeByForce();
  death_fd_.reset();
  matcher_.fail(why);
  outbox_.fail(why);
  return why;
}

void Link::beginClose() {
  if (state() == LinkState::ready && why_.isOk()) tell(Header::Kind::goodbye);
}

bool Link::isClosed() const {
  if (state() != LinkState::ready || !why_.isOk()) return true;
  return outbox_.isIdle() && (goodbye_read_ || goodbye_came_ || same_process_);
}

} // namespace goss::transports::ucx
