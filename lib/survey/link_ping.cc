#include "survey/link_ping.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "communicator/wait.h"

namespace goss {

namespace {

constexpr std::int32_t kPingTag = 1;
constexpr double kMin_s = 1e-9; ///< A result is recognised by not being zero.

} // namespace

LinkPing::~LinkPing() {
  const bool pending = std::any_of(partners_.begin(), partners_.end(), [](const Partner& partner) {
    return partner.send != nullptr || partner.receive != nullptr;
  });
  if (pending) communicator_.abort("measuring round trips failed");
}

Result<std::vector<RoundTrip>> LinkPing::run(const std::vector<int>& peers, int count) {
  Result<std::vector<RoundTrip>> round_trips = exchange(peers, count);
  if (!round_trips.isOk()) communicator_.abort(fmt::format("measuring round trips: {}", round_trips.status().text()));
  return round_trips;
}

Result<std::vector<RoundTrip>> LinkPing::exchange(const std::vector<int>& peers, int count) {
  for (const int peer : peers) {
    Partner& partner = partners_.emplace_back();
    partner.rank = peer;
    Status status = asks(partner) ? ask(partner) : listen(partner);
    if (!status.isOk()) return status;
  }
  for (;;) {
    std::vector<Operation*> receives;
    for (const Partner& partner : partners_)
      receives.push_back(partner.receive);
    std::size_t found = 0;
    Status status = waitAny(receives, found, nullptr);
    if (found == receives.size()) {
      if (status.isOk()) break;
      return status;
    }
    Partner& partner = partners_[found];
    partner.receive = nullptr;
    if (status.isOk()) status = heard(partner, count);
    if (!status.isOk()) return status;
  }
  std::vector<RoundTrip> round_trips;
  for (Partner& partner : partners_) {
    if (Status status = finish(partner.send); !status.isOk()) return status;
    round_trips.push_back({partner.best_s, std::max(0.0, partner.worst_s - partner.best_s) / partner.best_s});
  }
  return round_trips;
}

Status LinkPing::heard(Partner& partner, int count) {
  if (!asks(partner)) {
    partner.best_s = partner.heard_s;
    if (partner.heard_s > 0) return Status::ok();
    if (Status status = say(partner, 0); !status.isOk()) return status;
    return listen(partner);
  }
  const double took_s = std::max(kMin_s, std::chrono::duration<double>(Clock::now() - partner.asked_at).count());
  partner.best_s = partner.best_s > 0 ? std::min(partner.best_s, took_s) : took_s;
  if (partner.asked > 1) partner.worst_s = std::max(partner.worst_s, took_s);
  return partner.asked < count ? ask(partner) : say(partner, partner.best_s);
}

Status LinkPing::ask(Partner& partner) {
  ++partner.asked;
  if (Status status = listen(partner); !status.isOk()) return status;
  partner.asked_at = Clock::now();
  return say(partner, 0);
}

Status LinkPing::say(Partner& partner, double word_s) {
  // The answer to the last message has arrived, so this does not wait.
  Status status = finish(partner.send);
  if (!status.isOk()) return status;
  partner.word_s = word_s;
  Operation* started = communicator_.messages().start(
      {true, &partner.word_s, sizeof partner.word_s, GOSS_UINT8, partner.rank, kPingTag, timeout_ms_}, false, status);
  if (started != nullptr) partner.send = started;
  return status;
}

Status LinkPing::listen(Partner& partner) {
  Status status;
  Operation* started = communicator_.messages().start(
      {false, &partner.heard_s, sizeof partner.heard_s, GOSS_UINT8, partner.rank, kPingTag, timeout_ms_}, false,
      status);
  if (started != nullptr) partner.receive = started;
  return status;
}

Status LinkPing::finish(Operation*& operation) {
  if (operation == nullptr) return Status::ok();
  return communicator_.requests().finish(*std::exchange(operation, nullptr), nullptr);
}

} // namespace goss
