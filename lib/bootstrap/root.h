/// Rank 0's end of a Rendezvous.
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

/// Answers callers and collects their cards in one poll loop. With Config::tls nothing that a caller says is looked at
/// before it has proved who it is, and it is only the rank that its credentials allow. A caller that has not shown a
/// good hello costs at most one of kMaxStrangers slots for kStrangerMs and 48 bytes; when the slots are full the
/// oldest goes, which is never one that has just called. A caller that has shown a good hello takes the place of its
/// rank; when it has sent no card after kCardMs, another process may take that place.
class BootstrapRoot final : public Rendezvous {
 public:
  static Result<std::unique_ptr<Rendezvous>> listen(const Launch& launch, const Config& config);
  /// Says to those who still wait that rank 0 has gone, by closing.
  ~BootstrapRoot() override = default;

  Result<std::vector<std::string>> allGather(const std::string& card, std::int64_t timeout_ms) override;
  Status check() override;

 private:
  struct Member {
    platform::Stream stream; ///< Not open: not here (yet, or any more).
    std::uint64_t caller = 0;
    std::string input;
    bool has_card = false;
    std::string card;
    platform::Deadline card_due; ///< From then on another process with this rank may replace one that has sent no card.
  };
  /// A member whose connection ended in the first round.
  struct Leaver {
    std::string why;
    platform::Deadline deadline; ///< Until then the rank may call again.
  };
  /// A caller before its hello, or one that was refused and is given time to read why.
  struct Stranger {
    platform::Stream stream;
    std::string from;
    std::string input;
    bool greeted = false;
    bool refused = false;
    platform::Deadline deadline;
  };

  BootstrapRoot(const Launch& launch, const Config& config, std::unique_ptr<platform::StreamSecurity> security,
                platform::Poller poller);
  Status waitForCards(platform::Deadline deadline, std::int64_t timeout_ms);
  /// Waits until something comes, and takes it.
  Status takeEvents(platform::Deadline until);
  Status publish(const std::vector<std::string>& cards, platform::Deadline deadline);
  /// Tells every member and closes; returns `status`.
  Status fail(const Status& status);

  void acceptAll();
  void dropOldestStranger(std::string_view why);
  Result<platform::Stream> secure(platform::UniqueFd fd);
  void readStranger(std::uint64_t token);
  /// False: not yet, or never.
  bool greet(std::uint64_t token, Stranger& stranger);
  void admit(std::uint64_t token, const Hello& hello);
  void refuse(std::uint64_t token, const std::string& reason);
  void dropStranger(std::uint64_t token);
  void dropExpiredStrangers();
  /// Error: the member left or sent what makes no sense.
  Status readMember(int rank);
  Status takeFrames(int rank);
  /// The connection to `rank` has ended. Error: the rank cannot come back.
  Status lose(int rank, const std::string& why);
  /// When the first of leavers_ is given up; never() without any.
  [[nodiscard]] platform::Deadline firstLeaver() const;
  [[nodiscard]] Status findLeaver() const;
  [[nodiscard]] Status missing(std::int64_t timeout_ms) const;
  void logOnce(const std::string& from, std::string_view reason);

  static constexpr std::size_t kMaxStrangers = 128;
  static constexpr int kMaxAtOnce = 256; ///< Callers that acceptAll() accepts before it returns to the poll loop.
  static constexpr std::int64_t kStrangerMs = 5000;
  static constexpr std::int64_t kCardMs = 5000;
  static constexpr std::uint64_t kListenerToken = 0;
  static constexpr std::uint64_t kFirstStrangerToken = kMaxRanks; ///< Below: the rank of a member.

  const Launch launch_;
  const Config config_;
  const base::Log log_;
  std::unique_ptr<platform::StreamSecurity> security_; ///< Null: in clear. Before all that holds its filters.
  platform::Poller poller_;
  std::optional<platform::ListeningSocket> listener_; ///< Set by listen().
  platform::Deadline first_deadline_;
  platform::Deadline members_deadline_; ///< The first of the callers to give up; the meeting fails then, with names.
  std::vector<Member> members_;
  std::map<int, Leaver> leavers_;               ///< By rank; few, if any.
  std::map<std::uint64_t, Stranger> strangers_; ///< By poll token; the first is the oldest.
  std::uint64_t next_token_ = kFirstStrangerToken;
  std::set<std::string> logged_;
  std::uint32_t round_ = 0;
  int cards_missing_ = 0; ///< Of this round.
  Status over_;           ///< Set by the first error.
};

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_ROOT_H_
