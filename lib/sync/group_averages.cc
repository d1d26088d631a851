#include "sync/group_averages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

namespace goss::sync {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kHead = 3; ///< Numbers of a board before its members: meeting, whether it is open, members.
/// Numbers of a list before its members: the rank that has the board, the board, the meeting.
constexpr std::size_t kListHead = 3;
constexpr int kListTag = 1, kPartTag = 2, kResultTag = 3;
constexpr double kFallbackRate = 1e9; ///< Bytes per second, until a rank has measured.
/// How long a list may take that was sent before the group's first rank left.
constexpr std::chrono::duration<double> kOnItsWay(1);

/// The ratio that makes the largest (1 + (G - 2) w) / rate least when the fastest `active` ranks have a share.
double ratioOf(std::span<const double> fastest_first, std::size_t active) {
  const double sum =
      std::accumulate(fastest_first.begin(), fastest_first.begin() + static_cast<std::ptrdiff_t>(active), 0.0);
  return (static_cast<double>(fastest_first.size() - 2) + static_cast<double>(active)) / sum;
}

std::vector<double> sharesOf(std::span<const double> rates) {
  const std::size_t ranks = rates.size();
  if (ranks <= 2) { // whoever averages, both send and receive as much
    return std::vector<double>(ranks, 1.0 / static_cast<double>(std::max<std::size_t>(1, ranks)));
  }
  std::vector<double> fastest_first(rates.begin(), rates.end());
  std::sort(fastest_first.begin(), fastest_first.end(), std::greater<>());
  std::size_t active = ranks; // ranks so slow that passing on their own vector takes them longest average nothing
  while (active > 1 && ratioOf(fastest_first, active) * fastest_first[active - 1] < 1) {
    --active;
  }
  const double ratio = ratioOf(fastest_first, active);
  std::vector<double> shares;
  for (const double rate : rates) {
    shares.push_back(std::max(0.0, (ratio * rate - 1) / static_cast<double>(ranks - 2)));
  }
  return shares;
}

/// `rank` holds or has sent something that no rank of this version writes.
Status malformed(int rank, const std::string& what) {
  return Status::error(
      GOSS_ERR_PROTOCOL,
      fmt::format("an average with rank {}: {}; do all ranks run the same version of Gossamer, and does "
                  "nothing else write to their memory?",
                  rank, what),
      ErrorScope::operation, rank);
}

} // namespace

std::vector<std::size_t> shardsByRate(std::span<const double> rates, std::size_t elements) {
  const std::vector<double> shares = sharesOf(rates);
  std::vector<std::size_t> shards;
  std::size_t left = elements;
  for (const double share : shares) {
    shards.push_back(std::min(left, static_cast<std::size_t>(share * static_cast<double>(elements))));
    left -= shards.back();
  }
  for (; left > 0; --left) { // less than one for each rank
    std::size_t most = 0;
    const auto claim = [&](std::size_t rank) { return shares[rank] / static_cast<double>(shards[rank] + 1); };
    for (std::size_t rank = 1; rank < shards.size(); ++rank) {
      most = claim(rank) > claim(most) ? rank : most;
    }
    ++shards[most];
  }
  return shards;
}

Status GroupAverages::open(std::size_t boards, std::size_t ranks) {
  ranks_ = ranks;
  boards_.assign(boards * (kHead + 2 * ranks), 0);
  return channel_.openWindow(std::span<std::int64_t>(boards_), &window_);
}

std::string GroupAverages::faultOf(const Members& members, const Meeting& meeting) const {
  std::vector<std::int64_t> ranks;
  for (const Member& member : members) {
    if (member.rate < 1) {
      return fmt::format("rank {} with a rate of {}", member.rank, member.rate);
    }
    if (!std::binary_search(meeting.group.begin(), meeting.group.end(), member.rank)) {
      return fmt::format("rank {}, which is not of the group", member.rank);
    }
    ranks.push_back(member.rank);
  }
  std::sort(ranks.begin(), ranks.end());
  if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) {
    return "a rank twice";
  }
  const bool has_own = std::binary_search(ranks.begin(), ranks.end(), channel_.rank());
  return has_own ? std::string() : fmt::format("no rank {}, which takes part", channel_.rank());
}

Result<std::vector<std::int64_t>> GroupAverages::readNumbers(int owner, std::size_t board) {
  std::vector<std::int64_t> numbers(kHead + 2 * ranks_);
  Status status =
      called(goss_window_get(window_, numbers.data(), numbers.size(), owner, board * numbers.size(), nullptr, nullptr));
  return status.isOk() ? Result<std::vector<std::int64_t>>(std::move(numbers))
                       : Result<std::vector<std::int64_t>>(status);
}

/// Any rank may write to a board, so no number of it is taken for granted.
Result<GroupAverages::Board> GroupAverages::read(const Meeting& meeting) {
  const Result<std::vector<std::int64_t>> found_numbers = readNumbers(meeting.group.front(), meeting.board);
  if (!found_numbers.isOk()) {
    return found_numbers.status();
  }
  const std::vector<std::int64_t>& numbers = found_numbers.value();
  const std::int64_t count = numbers[2];
  if (numbers[0] < 0 || numbers[0] == std::numeric_limits<std::int64_t>::max() || count < 0 ||
      count > static_cast<std::int64_t>(meeting.group.size())) {
    return malformed(meeting.group.front(), fmt::format("its board is of meeting {} with {} members of a group of {}",
                                                        numbers[0], count, meeting.group.size()));
  }
  Board found{numbers[0], numbers[1] != 0, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    found.members.push_back({numbers[kHead + 2 * i], numbers[kHead + 2 * i + 1]});
  }
  return found;
}

Status GroupAverages::write(const Meeting& meeting, const Board& what) {
  std::vector<std::int64_t> numbers = {what.number, what.is_open ? 1 : 0,
                                       static_cast<std::int64_t>(what.members.size())};
  for (const Member& member : what.members) {
    numbers.push_back(member.rank);
    numbers.push_back(member.rate);
  }
  return called(goss_window_put(window_, numbers.data(), numbers.size(), meeting.group.front(),
                                meeting.board * (kHead + 2 * ranks_), nullptr, nullptr));
}

/// Takes part in a meeting; returns its members, whom the rank that closes the meeting tells to all others.
Result<GroupAverages::Members> GroupAverages::attend(const Meeting& meeting) {
  const int owner = meeting.group.front();
  const double rate = meeting.rate > 0 ? meeting.rate : rate_ > 0 ? rate_ : kFallbackRate;
  const Member self = {channel_.rank(), std::max<std::int64_t>(1, static_cast<std::int64_t>(rate))};
  Board board;
  const Status status = underLock(owner, [&] {
    const Result<Board> found = read(meeting);
    if (!found.isOk()) {
      return found.status();
    }
    board = found.value();
    if (!board.is_open) {
      board = {board.number + 1, true, {}};
    }
    board.members.push_back(self);
    board.is_open = board.members.size() < meeting.group.size();
    const std::string fault = faultOf(board.members, meeting);
    return fault.empty() ? write(meeting, board) : malformed(owner, "its board lists " + fault);
  });
  const Result<bool> has_left = hasLeft(status);
  if (!has_left.isOk()) {
    return has_left.status();
  }
  if (has_left.value()) { // the board is gone, and ranks that wait there do not know of this one
    return Members{self};
  }
  if (board.is_open) {
    return awaitOthers(meeting, board.number, self);
  }
  const Status told = tell(meeting, board.number, board.members);
  return told.isOk() ? Result<Members>(board.members) : Result<Members>(told);
}

/// Waits for the other members. The first rank whose patience ends closes the meeting, unless the last rank of the
/// group arrives before and closes it. So no rank waits longer than its own patience.
Result<GroupAverages::Members> GroupAverages::awaitOthers(const Meeting& meeting, std::int64_t number,
                                                          const Member& self) {
  const int owner = meeting.group.front();
  Result<std::optional<Members>> told = hearWithin(meeting, number, meeting.patience);
  if (!told.isOk()) {
    return told.status();
  }
  if (told.value()) {
    return *told.take();
  }
  Board board;
  bool is_mine = false;
  Status status = underLock(owner, [&] {
    const Result<Board> found = read(meeting);
    if (!found.isOk()) {
      return found.status();
    }
    board = found.value();
    is_mine = board.number == number && board.is_open;
    if (!is_mine) {
      return Status::ok();
    }
    board.is_open = false;
    const std::string fault = faultOf(board.members, meeting);
    return fault.empty() ? write(meeting, board) : malformed(owner, "its board lists " + fault);
  });
  const Result<bool> has_left = hasLeft(status);
  if (!has_left.isOk()) {
    return has_left.status();
  }
  if (has_left.value()) { // a rank that closed the meeting has sent the list already
    const Result<std::optional<Members>> late = hearWithin(meeting, number, kOnItsWay);
    return late.isOk() ? Result<Members>(late.value().value_or(Members{self})) : Result<Members>(late.status());
  }
  if (!is_mine) {
    do {
      told = hear(meeting, number);
    } while (told.isOk() && !told.value());
    return told.isOk() ? Result<Members>(*told.take()) : Result<Members>(told.status());
  }
  status = tell(meeting, number, board.members);
  return status.isOk() ? Result<Members>(board.members) : Result<Members>(status);
}

Status GroupAverages::underLock(int owner, const std::function<Status()>& access) {
  if (Status status = called(goss_window_lock(window_, owner, nullptr)); !status.isOk()) {
    return status;
  }
  Status status = access();
  const Status unlocked = called(goss_window_unlock(window_, owner));
  return status.isOk() ? unlocked : status;
}

/// The loss of a rank fails the whole communicator, and with it each access to a window. A rank cannot have left
/// itself: if its own board fails, too, the communicator has failed, and the rank must not train on alone.
Result<bool> GroupAverages::hasLeft(const Status& status) {
  if (status.isOk()) {
    return false;
  }
  if (status.kind() != GOSS_ERR_PEER_LOST) {
    return status;
  }
  const Status own = underLock(channel_.rank(), [&] { return readNumbers(channel_.rank(), 0).status(); });
  return own.isOk() ? Result<bool>(true) : Result<bool>(own);
}

Result<std::optional<GroupAverages::Members>> GroupAverages::hearWithin(const Meeting& meeting, std::int64_t number,
                                                                        std::chrono::duration<double> time) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  while (Clock::now() < end) {
    const Result<bool> has_come = channel_.mailbox().hasMessage(kListTag);
    if (!has_come.isOk()) {
      return has_come.status();
    }
    if (!has_come.value()) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      continue;
    }
    Result<std::optional<Members>> heard = hear(meeting, number);
    if (!heard.isOk() || heard.value()) {
      return heard;
    }
  }
  return std::optional<Members>();
}

Status GroupAverages::tell(const Meeting& meeting, std::int64_t number, const Members& members) {
  std::vector<std::int64_t> list = {meeting.group.front(), static_cast<std::int64_t>(meeting.board), number};
  for (const Member& member : members) {
    list.push_back(member.rank);
    list.push_back(member.rate);
  }
  for (const Member& member : members) {
    if (member.rank != channel_.rank()) {
      Status status = channel_.mailbox().send(std::as_bytes(std::span<const std::int64_t>(list)),
                                              static_cast<int>(member.rank), kListTag);
      if (!status.isOk()) {
        return status;
      }
    }
  }
  return Status::ok();
}

Result<std::optional<GroupAverages::Members>> GroupAverages::hear(const Meeting& meeting, std::int64_t number) {
  std::vector<std::int64_t> list(kListHead + 2 * ranks_);
  const Result<goss_message> came =
      channel_.mailbox().receiveAny(std::as_writable_bytes(std::span<std::int64_t>(list)), kListTag);
  if (!came.isOk()) {
    return came.status();
  }
  const std::size_t count = came.value().bytes / sizeof(std::int64_t);
  if (count < kListHead || (count - kListHead) % 2 != 0) {
    return malformed(came.value().source, fmt::format("it has sent a list of {} numbers", count));
  }
  if (list[0] != meeting.group.front() || list[1] != static_cast<std::int64_t>(meeting.board) || list[2] != number) {
    return std::optional<Members>();
  }
  Members members;
  for (std::size_t at = kListHead; at < count; at += 2) {
    members.push_back({list[at], list[at + 1]});
  }
  const std::string fault = faultOf(members, meeting);
  return fault.empty()
             ? Result<std::optional<Members>>(std::move(members))
             : Result<std::optional<Members>>(malformed(came.value().source, "it has sent a list with " + fault));
}

/// Each member gets all others' parts of its shard, adds them in the order of ranks, and hands the mean out.
Status GroupAverages::exchange(const Members& members, std::span<float> values) {
  const std::size_t count = members.size();
  std::vector<double> rates;
  std::size_t own = 0;
  for (std::size_t i = 0; i < count; ++i) {
    rates.push_back(static_cast<double>(members[i].rate));
    own = members[i].rank == channel_.rank() ? i : own;
  }
  const std::vector<std::size_t> shards = shardsByRate(rates, values.size());
  std::vector<std::span<float>> parts;
  for (std::size_t i = 0, first = 0; i < count; first += shards[i++]) {
    parts.push_back(values.subspan(first, shards[i]));
  }
  received_.assign(count, std::vector<float>(shards[own]));
  std::vector<goss_request_t> sends(count), receives(count);
  const auto peer = [&](std::size_t i) { return static_cast<int>(members[i].rank); };
  const Clock::time_point start = Clock::now();
  std::size_t sent_bytes = 0;
  Status status;
  for (std::size_t i = 0; status.isOk() && i < count; ++i) {
    if (i == own) {
      continue;
    }
    status = channel_.mailbox().startReceive(received_[i], peer(i), kPartTag, &receives[i]);
    if (status.isOk()) {
      status = channel_.mailbox().startSend(parts[i], peer(i), kPartTag, &sends[i]);
    }
    sent_bytes += parts[i].size_bytes();
  }
  status = status.isOk() ? Mailbox::waitAll(sends) : status;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (sent_bytes > 0 && seconds > 0) {
    constexpr double kNew = 0.25; // weight of the newest measurement
    const double rate = static_cast<double>(sent_bytes) / seconds;
    rate_ = rate_ > 0 ? (1 - kNew) * rate_ + kNew * rate : rate;
  }
  status = status.isOk() ? Mailbox::waitAll(receives) : status;
  if (!status.isOk()) {
    return status;
  }
  received_[own].assign(parts[own].begin(), parts[own].end());
  for (std::size_t k = 0; k < parts[own].size(); ++k) {
    float sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum += received_[i][k];
    }
    parts[own][k] = sum / static_cast<float>(count);
  }
  for (std::size_t i = 0; status.isOk() && i < count; ++i) {
    if (i == own) {
      continue;
    }
    status = channel_.mailbox().startReceive(parts[i], peer(i), kResultTag, &receives[i]);
    if (status.isOk()) {
      status = channel_.mailbox().startSend(parts[own], peer(i), kResultTag, &sends[i]);
    }
  }
  status = status.isOk() ? Mailbox::waitAll(receives) : status;
  status = status.isOk() ? Mailbox::waitAll(sends) : status;
  channel_.countExchange(values.size_bytes());
  return status;
}

Result<std::size_t> GroupAverages::average(const Meeting& meeting, std::span<float> values) {
  Result<Members> there = attend(meeting);
  if (!there.isOk()) {
    return there.status();
  }
  Members members = there.take();
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.rank < b.rank; });
  const Status status = members.size() > 1 ? exchange(members, values) : Status::ok();
  return status.isOk() ? Result<std::size_t>(members.size()) : Result<std::size_t>(status);
}

} // namespace goss::sync
