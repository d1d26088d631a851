#include "transports/tcp/link/connection_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/host.h"

namespace goss::transports::tcp {

Status ConnectionSet::adopt(platform::Stream stream, const Hello& hello, platform::Poller& poller,
                            const std::optional<platform::SocketAddress>& remote, int via) {
  const std::size_t index = hello.connection;
  if (all_.empty()) {
    all_.resize(hello.connections);
    remotes_.resize(hello.connections);
    resumable_ = hello.purpose != Purpose::plain;
    checked_ = hello.checked;
    token_ = hello.token;
    called_from_here_ = hello.from != static_cast<std::uint32_t>(peer_);
  }
  if (all_.size() != hello.connections || all_[index].wasOpened() ||
      !platform::equalInConstantTime(token_, hello.token) || checked_ != hello.checked)
    return Status::error(GOSS_ERR_PROTOCOL, fmt::format("connection {} of rank {} exists already", index, peer_));
  platform::tuneForMessages(stream.fd());
  remotes_[index] = remote;
  if (index == 0) {
    address_ = remote ? remote->text() : "an unknown address";
    if (via >= 0) address_ += fmt::format(", relayed by rank {},", via);
    via_ = via;
  }
  const auto token = static_cast<std::uint64_t>(peer_);
  // Payload connections are watched only while it is their turn: bytes that they deliver early are not read yet.
  Status opened = haveRecords()
                      ? all_[index].openRecords(std::move(stream), poller, token, {checked_, resumable_, hello.epoch})
                      : all_[index].open(std::move(stream), poller, token, false);
  if (opened.isOk()) ++adopted_;
  return opened;
}

Hello ConnectionSet::greeting(std::size_t index, Purpose purpose) const {
  Hello hello;
  hello.connection = static_cast<std::uint16_t>(index);
  hello.connections = static_cast<std::uint16_t>(all_.size());
  hello.purpose = purpose;
  hello.checked = checked_;
  hello.epoch = all_[index].epoch() + (purpose == Purpose::resume ? 1 : 0);
  hello.token = token_;
  return hello;
}

bool ConnectionSet::areMeantBy(const Hello& hello) const {
  return platform::equalInConstantTime(token_, hello.token) && hello.checked == checked_ &&
         hello.connections == all_.size();
}

std::vector<std::size_t> ConnectionSet::lost() const {
  std::vector<std::size_t> lost;
  for (std::size_t index = 0; index < all_.size(); ++index)
    if (all_[index].isLost()) lost.push_back(index);
  return lost;
}

const std::string* ConnectionSet::reasonOfChange() const {
  const auto changed = std::find_if(all_.begin(), all_.end(), [](const auto& one) { return one.wasCorrupted(); });
  return changed == all_.end() ? nullptr : &changed->lostReason();
}

std::uint64_t ConnectionSet::acknowledged() const {
  std::uint64_t sum = 0;
  for (const Connection& connection : all_)
    sum += connection.acknowledged();
  return sum;
}

std::uint64_t ConnectionSet::underway() const {
  std::uint64_t sum = 0;
  for (const Connection& connection : all_)
    if (haveRecords() && connection.isOpen()) sum += platform::unacknowledgedBytes(connection.fd());
  return sum;
}

} // namespace goss::transports::tcp
