/// A Rendezvous on rank 0.
#ifndef GOSS_LIB_BOOTSTRAP_ROOT_H_
#define GOSS_LIB_BOOTSTRAP_ROOT_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "bootstrap/launch.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/wire.h"
#include "platform/clock.h"
#include "platform/fd.h"
#include "platform/filtered_stream.h"
#include "platform/listening_socket.h"
#include "platform/poller.h"
#include "platform/socket.h"

namespace goss {

/// Answers callers and collects their cards in one poll loop. With Config::tls rank 0 reads nothing from a caller
/// before the caller has proved its identity, and accepts it only as a rank that its credentials allow. A caller that
/// has not shown a good hello costs at most one of kMaxStrangers slots (and as many more as ranks are missing) for
/// kStrangerMs and 48 bytes; when the slots are full the oldest goes, which is never one that has just called. A caller
/// that has shown a good hello takes the place of its rank; when it has sent no card after kCardMs, another process may
/// take that place.
class BootstrapRoot final : public Rendezvous {
 public:
  static Result<std::unique_ptr<Rendezvous>> listen(Launch launch, const Config& config);
  /// Closes the connections, which tells waiting members that rank 0 has gone.
  ~BootstrapRoot() override = default;

  Result<std::vector<std::string>> allGather(const std::string& card, std::int64_t timeout_ms) override;
  Status check() override;

 private:
  struct Member {
    platform::Stream stream; ///< Not open: the member has not come, or has left.
    std::uint64_t caller = 0;
    std::string input;
    bool has_card = false;
    std::string card;
    platform::Deadline deadline; ///< The member's own, which came with its card.
    platform::Deadline card_due; ///< After this another process with this rank may replace one that has sent no card.
  };
  /// A member whose connection ended in the first round.
  struct Leaver {
    std::string why;
    platform::Deadline deadline; ///< Until then the rank may call again.
  };
  /// A caller before its hello, or one that was refused and is given time to read the reason.
  struct Stranger {
    platform::Stream stream;
    std::string from;
    std::string input;
    bool greeted = false;
    bool refused = false;
    platform::Deadline deadline;
  };

  BootstrapRoot(Launch launch, const Config& config, std::unique_ptr<platform::StreamSecurity> security,
                platform::Poller poller);
  Status waitForCards(platform::Deadline deadline, std::int64_t timeout_ms);
  /// Waits for events and handles them.
  Status takeEvents(platform::Deadline until);
  Status publish(const std::vector<std::string>& cards, platform::Deadline deadline);
  /// Sends the error to every member and closes; returns `status`.
  Status fail(const Status& status);

  void acceptAll();
  void dropOldestStranger(std::string_view why);
  Result<platform::Stream> secure(platform::UniqueFd fd);
  void readStranger(std::uint64_t token);
  /// False: the greeting is not complete, or has failed.
  bool greet(std::uint64_t token, Stranger& stranger);
  void admit(std::uint64_t token, const Hello& hello);
  void refuse(std::uint64_t token, const std::string& reason);
  void dropStranger(std::uint64_t token);
  void dropExpiredStrangers();
  /// Error: the member left or broke the protocol.
  Status readMember(int rank);
  Status takeFrames(int rank);
  /// Empties the place of `rank`: its card and its deadline no longer count.
  void vacate(int rank);
  /// The connection to `rank` has ended. Error: the rank cannot come back.
  Status lose(int rank, const std::string& why);
  /// Time when the first of leavers_ is given up; never() without any.
  [[nodiscard]] platform::Deadline firstLeaver() const;
  [[nodiscard]] Status findLeaver() const;
  [[nodiscard]] Status missing(std::int64_t timeout_ms) const;
  void logOnce(const std::string& from, std::string_view reason);

  static constexpr std::size_t kMaxStrangers = 128;
  static constexpr int kMaxAtOnce = 256; ///< Callers that acceptAll() accepts before it returns to the poll loop.
  static constexpr std::int64_t kStrangerMs = 5000;
  static constexpr std::int64_t kCardMs = 5000;
  static constexpr std::uint64_t kListenerToken = 0;
  static constexpr std::uint64_t kFirstStrangerToken = kMaxRanks; ///< Smaller tokens are the ranks of members.

  const Launch launch_;
  const Config config_;
  const base::Log log_;
  /// Null: no encryption. Declared before all members that hold its filters.
  std::unique_ptr<platform::StreamSecurity> security_;
  platform::Poller poller_;
  std::optional<platform::ListeningSocket> listener_; ///< Set by listen().
  platform::Deadline first_deadline_;
  /// The earliest Member::deadline; the meeting fails then, naming the missing ranks.
  platform::Deadline members_deadline_;
  std::vector<Member> members_;
  std::map<int, Leaver> leavers_;               ///< By rank; few, if any.
  std::map<std::uint64_t, Stranger> strangers_; ///< By poll token; the first is the oldest.
  std::uint64_t next_token_ = kFirstStrangerToken;
  std::set<std::string> logged_;
  std::uint32_t round_ = 0;
  int cards_missing_ = 0; ///< Cards of this round that have not come.
  Status over_;           ///< Set by the first error.
};

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_ROOT_H_
