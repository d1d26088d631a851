#include "transports/tcp/relay/relay_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace goss::transports::tcp {

using platform::Deadline;
using std::chrono::milliseconds;

RelaySearch::RelaySearch(const TransportContext& context, platform::Poller& poller, std::uint64_t& next_token,
                         Directory directory, Handler handler)
    : context_(context),
      poller_(poller),
      next_token_(next_token),
      directory_(std::move(directory)),
      handler_(std::move(handler)) {}

void RelaySearch::want(int peer) {
  const auto [at, fresh] = searches_.try_emplace(peer);
  if (fresh) at->second.next = Deadline::after(milliseconds(0));
}

/// The ranks to be asked, the first one last: ranks that have a link to this one before others.
std::vector<int> RelaySearch::order(int peer) const {
  std::vector<int> linked;
  std::vector<int> others;
  for (int i = 0; i < context_.size; ++i) {
    const int rank = (context_.self + peer + i) % context_.size;
    if (rank == peer || rank == context_.self) continue;
    if (const auto candidate = directory_(rank)) (candidate->linked ? linked : others).push_back(rank);
  }
  linked.insert(linked.end(), others.begin(), others.end());
  std::reverse(linked.begin(), linked.end());
  return linked;
}

void RelaySearch::tick() {
  for (auto& [peer, search] : searches_) {
    for (auto& half : search.halves)
      if (half->dialer) half->dialer->tick();
    clean(peer);
    if (search.next.expired() && search.halves.size() < kMaxHalves) ask(peer, search);
  }
}

/// Calls the next rank of the round.
void RelaySearch::ask(int peer, Search& search) {
  if (search.left.empty()) search.left = order(peer);
  search.next = Deadline::after(milliseconds(search.left.size() <= 1 ? kPauseMs : kHeadStartMs));
  if (search.left.empty()) return;
  const int via = search.left.back();
  search.left.pop_back();
  const auto asked = [via](const auto& half) { return half->via == via; };
  auto candidate = directory_(via);
  if (!candidate || std::any_of(search.halves.begin(), search.halves.end(), asked)) return;
  Dialer::Target target = std::move(candidate->target);
  target.hello.purpose = Purpose::relay;
  target.hello.relayed_to = static_cast<std::uint32_t>(peer);
  target.once = true;
  // What the rank said last stays until it says something else.
  search.outcomes.try_emplace(via, "no answer");
  search.halves.push_back(std::make_unique<Half>());
  Half& half = *search.halves.back();
  half.via = via;
  half.dialer = std::make_unique<Dialer>(
      context_, poller_, next_token_, std::move(target),
      [this, &half, &search](Dialer::Made made) { startWaiting(half, std::move(made.stream), search); });
  half.called = Deadline::after(milliseconds(kCallMs));
  half.dialer->start();
}

void RelaySearch::startWaiting(Half& half, platform::Stream stream, Search& search) {
  search.outcomes[half.via] = "the other has not come there";
  half.stream = std::move(stream);
  half.token = next_token_++;
  half.over = !poller_.add(half.stream.fd(), true, false, half.token).isOk();
}

bool RelaySearch::handle(std::uint64_t token) {
  for (auto& [peer, search] : searches_) {
    for (auto& half : search.halves) {
      const bool waits = half->stream.isOpen() && half->token == token;
      if (!waits && (!half->dialer || !half->dialer->handle(token))) continue;
      const int whose = peer;
      if (waits) readAnswer(peer, search, *half);
      clean(whose);
      return true;
    }
  }
  return false;
}

void RelaySearch::readAnswer(int peer, Search& search, Half& half) {
  std::array<char, kAnswerBytes> bytes;
  // Reads not a byte more: the following bytes are from the other end.
  const platform::StreamResult got = half.stream.read(bytes.data(), bytes.size() - half.input.size());
  half.input.append(bytes.data(), got.bytes);
  if (half.input.size() < kAnswerBytes) {
    if (got.ended) search.outcomes[half.via] = half.stream.reason(got);
    half.over = got.ended;
    return;
  }
  half.over = true;
  const auto answer = decodeAnswer(half.input);
  if (!answer.isOk() || answer.value().answer != Answer::joined) {
    search.outcomes[half.via] = "it did not say joined";
    return;
  }
  search.outcomes[half.via] = "it relayed, but nothing came of it";
  // The other end is greeted now: another relay would be one too many.
  search.next = Deadline::after(milliseconds(kPauseMs));
  poller_.remove(half.stream.fd());
  handler_(peer, half.via, std::move(half.stream));
}

/// Removes calls that are over, and the search itself if it is.
void RelaySearch::clean(int peer) {
  const auto at = searches_.find(peer);
  if (at == searches_.end()) return;
  Search& search = at->second;
  for (auto& half : search.halves) {
    if (!half->dialer) continue;
    if (!half->dialer->error().isOk() || half->called.expired()) {
      search.outcomes[half->via] = half->dialer->trouble();
      half->over = true;
    }
    if (half->dialer->isDone()) half->dialer.reset();
  }
  std::erase_if(search.halves, [](const auto& half) { return half->over; });
}

std::string RelaySearch::trouble(int peer) const {
  const auto search = searches_.find(peer);
  if (search == searches_.end()) return "no rank was asked to relay";
  if (search->second.outcomes.empty()) return "there is no rank that could relay";
  std::string text = "nobody could relay (";
  for (const auto& [rank, outcome] : search->second.outcomes)
    text += fmt::format("{}rank {}: {}", text.back() == '(' ? "" : ", ", rank, outcome);
  return text + ")";
}

} // namespace goss::transports::tcp
