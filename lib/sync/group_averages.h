/// A rank's part in averages of groups, over the ranks that arrive in time.
#ifndef GOSS_LIB_SYNC_GROUP_AVERAGES_H_
#define GOSS_LIB_SYNC_GROUP_AVERAGES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gossamer/window.h"
#include "sync/channel.h"

namespace goss::sync {

/// How many of `elements` each of the ranks averages for the others, by the bytes per second that each can send: DeDLOC
/// (Diskin et al., "Distributed Deep Learning in Open Collaborations", NeurIPS 2021). The shares w, which sum to 1,
/// make the slowest soonest: min over w of max over i of (1 + (G - 2) w_i) / rate_i for G ranks; then they are rounded
/// as Hagenbach and Bischoff do. `rates` are above 0.
std::vector<std::size_t> shardsByRate(std::span<const double> rates, std::size_t elements);

/// The ranks of a group meet at a board in the memory of its first rank, which need not be in a call: the first rank
/// that comes opens a meeting. The first rank whose patience ends closes it, or the last rank of the group when it
/// comes. The members average among themselves, each member one shard of the vector for all. A rank that comes later
/// opens another meeting. So no rank waits for one that computes longer than the patience. One thread.
class GroupAverages {
 public:
  /// The channel outlives its use, but not this object.
  explicit GroupAverages(Channel& channel) : channel_(channel) {}

  /// Collective, once, before all other calls. `boards`: the number of groups of which a rank may be the first;
  /// `ranks`: the most ranks of a group.
  Status open(std::size_t boards, std::size_t ranks);

  struct Meeting {
    std::span<const int> group; ///< Ascending; this rank is one of them.
    std::size_t board = 0;      ///< At the first of the group; the same on all of them.
    std::chrono::duration<double> patience{};
    double rate = 0; ///< Bytes per second that this rank can send; 0: as measured in its averages so far.
  };
  /// Local: values = the mean over the ranks of the group that are there now, the same bits on all of them. Returns
  /// their number. If the group's first rank has left, each other rank is alone; if a rank is lost, all fail. After an
  /// error there is no other average, and `values` stay lent until the channel ends.
  Result<std::size_t> average(const Meeting& meeting, std::span<float> values);

 private:
  /// A rank that has come to a meeting, with its rate. Members are in the order in which they came.
  struct Member {
    std::int64_t rank = -1;
    std::int64_t rate = 0;
  };
  struct Board {
    std::int64_t number = 0; ///< Number of the meeting.
    bool is_open = false;
    std::vector<Member> members;
  };

  using Members = std::vector<Member>;

  /// Says what is wrong with a list of members, which another rank may have written; returns "" if nothing is.
  [[nodiscard]] std::string faultOf(const Members& members, const Meeting& meeting) const;
  /// All numbers of a board.
  Result<std::vector<std::int64_t>> readNumbers(int owner, std::size_t board);
  Result<Board> read(const Meeting& meeting);
  Status write(const Meeting& meeting, const Board& what);
  Result<Members> attend(const Meeting& meeting);
  Result<Members> awaitOthers(const Meeting& meeting, std::int64_t number, const Member& self);
  /// Runs `access` while no other rank reads or changes the owner's boards.
  Status underLock(int owner, const std::function<Status()>& access);
  /// Whether an access to a board failed because the rank that owns it has destroyed its channel; false: it did not
  /// fail. The error where this rank cannot access its own board either, or where the access failed otherwise.
  Result<bool> hasLeft(const Status& status);
  /// Gives the members of meeting `number` their list.
  Status tell(const Meeting& meeting, std::int64_t number, const Members& members);
  /// Waits for a list. nullopt: it was of an earlier meeting, which this rank no longer waits for.
  Result<std::optional<Members>> hear(const Meeting& meeting, std::int64_t number);
  /// The list of members of meeting `number`; nullopt: it has not arrived within `time`.
  Result<std::optional<Members>> hearWithin(const Meeting& meeting, std::int64_t number,
                                            std::chrono::duration<double> time);
  Status exchange(const Members& members, std::span<float> values);

  Channel& channel_;
  std::size_t ranks_ = 0;            ///< At most in a group.
  std::vector<std::int64_t> boards_; ///< This rank's, behind each other.
  goss_window_t window_ = nullptr;
  /// The others' parts of this rank's shard, by member. After an error they stay lent until the channel ends.
  std::vector<std::vector<float>> received_;
  double rate_ = 0; ///< Measured; 0: not yet.
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GROUP_AVERAGES_H_
