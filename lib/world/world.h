/// All ranks that met at one rendezvous: links, engine, progress thread. Communicators share it.
#ifndef GOSS_LIB_WORLD_WORLD_H_
#define GOSS_LIB_WORLD_WORLD_H_

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/log.h"
#include "boards/board_channel.h"
#include "bootstrap/bootstrap.h"
#include "builtins/builtins.h"
#include "call/codec_pair.h"
#include "devices/devices.h"
#include "engine/engine.h"
#include "engine/progress_thread.h"
#include "gossamer/algorithm.h"
#include "gossamer/config.h"
#include "mesh/control.h"
#include "mesh/group.h"
#include "mesh/mesh.h"
#include "planner/processor_share.h"
#include "planner/round_trips.h"
#include "planner/tuning.h"
#include "platform/memory/shared_pages.h"
#include "platform/thread_safety.h"
#include "schedule/links.h"
#include "world/communicator_events.h"
#include "world/context_numbers.h"
#include "world/control_flush.h"
#include "world/link_report.h"

namespace goss {

/// What the world needs to answer messages to a communicator that this rank has destroyed.
struct ClosedCommunicator {
  bool goes_on = false; ///< The communicator was shrunk, and this rank goes on in the smaller one.
  std::optional<ControlMessage> last_decision; ///< As Shrink::lastDecision(), for ranks that still shrink it.
  std::optional<ControlMessage> failure;       ///< Its abort, if it had failed: not all others may have received it.
};

/// Thread-safe through its engine's lock. Lives until its last communicator is destroyed.
class World : public std::enable_shared_from_this<World> {
 public:
  /// Collective: meets the other ranks, exchanges addresses, connects. Blocks up to config.bootstrap_timeout_ms.
  static Result<std::shared_ptr<World>> create(const Config& config, Launch launch);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int rank() const { return mesh_->self(); }
  [[nodiscard]] int size() const { return mesh_->size(); }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const base::Log& log() const { return log_; }
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] Mesh& mesh() { return *mesh_; }
  [[nodiscard]] ControlChannel& control() { return *control_; }
  /// Link prices between `ranks` (world ranks), from GOSS_LINKS, or from the ranks' places and GOSS_TUNING.
  [[nodiscard]] schedule::Links linksBetween(const std::vector<int>& ranks) const;
  /// The algorithm that the planner prefers where prices hardly differ; "": none.
  [[nodiscard]] std::string_view preferredAmongEquals() const;
  /// Why plans among `ranks` (world ranks) are compared. trials: by what calls take, links: because links that were
  /// measured have changed. Else nothing: for both, ranks are 3 to 16, some of them wide apart, nobody has named links
  /// or an algorithm, all ranks allow it (GOSS_MEASURE), and none has devices. All ranks answer alike.
  [[nodiscard]] Measuring comparesPlans(const std::vector<int>& ranks) const;
  /// Whether the links between the hosts of all ranks are to be measured at the beginning (GOSS_MEASURE=links on all
  /// ranks): there are 3 to 16 hosts, some wide apart, and nobody has named links or an algorithm. All ranks answer
  /// alike.
  [[nodiscard]] bool measuresLinks() const;
  /// Whether more ranks than processors communicate through shared memory, which prices do not model.
  [[nodiscard]] bool takesTurns() const;
  /// Null unless all of `ranks` (world ranks; this one is `rank` among them) see each other's boards.
  [[nodiscard]] std::unique_ptr<BoardChannel> makeBoardChannel(std::uint32_t context, const std::vector<int>& ranks,
                                                               int rank) const;
  [[nodiscard]] const Catalogue& catalogue() const { return catalogue_; }
  [[nodiscard]] CodecRegistry& codecs() { return codecs_; }
  [[nodiscard]] Devices& devices() { return *devices_; }
  /// The interface by which `ranks` (world ranks, this one among them) may read each other's device memory: when the
  /// world was made the same GPU was current on all of them, and they are threads of one process, or each is its
  /// process's only rank, on this host. Null where they may not. All of them answer alike.
  [[nodiscard]] Lending* lendingAmong(const std::vector<int>& ranks) const;

  /// From now on the progress thread drives the operations that callers start, whether or not a caller waits.
  void driveUnattended();

  /// Memory that the peers of this host may read in place; ordinary memory where it cannot be shared. See
  /// goss_mem_alloc.
  Result<void*> allocate(std::size_t bytes);
  /// As goss_mem_alloc_device.
  Result<void*> allocateOnDevice(std::size_t bytes);
  Status free(void* memory);

  /// Whether this world rank is on this host.
  [[nodiscard]] bool isHere(int rank) const;

  // The following need the engine's lock.
  /// As ControlFlush::runOnLoop. To be called before operations are withdrawn, because a message that is withdrawn half
  /// sent ends the link that the control messages need.
  void flushControlOnLoop(int except) GOSS_ON_LOOP { flush_->runOnLoop(except); }
  /// Whether the process of `rank` is on this host, and the kernel shows it running, so that it is slow at most.
  [[nodiscard]] bool isSeenToRun(int rank) const GOSS_ON_LOOP;
  /// From now on `events` receives the losses and control messages of the communicator with this number and group. It
  /// receives an abort that has come before at once.
  void registerOnLoop(std::uint32_t context, const Group& group, CommunicatorEvents& events) GOSS_ON_LOOP;
  /// The communicator with this number is being destroyed: from now on the world answers messages to it by `closed`.
  void unregisterOnLoop(std::uint32_t context, ClosedCommunicator closed) GOSS_ON_LOOP;
  [[nodiscard]] ContextNumbers& contextsOnLoop() GOSS_ON_LOOP { return contexts_; }

 private:
  World(const Config& config, int rank);
  Status connect(Launch launch);
  /// Reads the files of prices, and notes what other ranks must have set alike.
  Status readPrices(int ranks);
  /// Ranks over processors of this host when all ranks are on it; else 1, because ranks of other hosts would plan by
  /// other numbers.
  [[nodiscard]] double ranksPerProcessor() const;
  Status waitForLinks(Rendezvous& meeting);
  /// This rank's report to the others when its links are made, or why (`linked`) they are not.
  [[nodiscard]] LinkReport reportOf(const Status& linked) const;
  /// Reads the reports of all ranks. Errors: a rank could not make its links, or has other settings than rank 0.
  Status learn(const std::vector<std::string>& reports);
  bool afterProgressOnLoop() GOSS_ON_LOOP;
  void handleControlOnLoop(int peer, const ControlMessage& message) GOSS_ON_LOOP;

  const Config config_;
  const base::Log log_;
  const Catalogue catalogue_;
  CodecRegistry codecs_;
  std::unique_ptr<Devices> devices_;
  std::vector<PeerCard> cards_;
  std::vector<Site> sites_;                    ///< By rank; the transports read it.
  ProcessorShare processors_;                  ///< The processors of this host; its ranks agree on them.
  RoundTrips round_trips_;                     ///< Equal on all ranks.
  Measuring measuring_ = Measuring::nothing;   ///< What all ranks have agreed to do about wide-area links.
  bool any_has_devices_ = false;               ///< The report of some rank says that it has devices.
  std::vector<std::string> device_of_rank_;    ///< LinkReport::device of each; empty in a world of one rank.
  std::optional<schedule::Links> given_links_; ///< The contents of GOSS_LINKS.
  Tuning tuning_ = Tuning::builtIn();          ///< The contents of GOSS_TUNING.
  LinkReport::CommonSettings settings_{};      ///< Those of this rank.
  ListenerRelay relay_;
  Engine engine_;
  std::atomic<bool> unattended_{false}; ///< driveUnattended() was called.
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<ControlChannel> control_;
  std::unique_ptr<ControlFlush> flush_;

  struct Registered {
    const Group* group;
    CommunicatorEvents* events;
  };
  std::map<std::uint32_t, Registered> communicators_ GOSS_GUARDED; ///< By context.
  ContextNumbers contexts_ GOSS_GUARDED;
  /// Aborts of communicators that this rank has not made yet, by context: the sender and its message.
  std::map<std::uint32_t, std::pair<int, ControlMessage>> early_aborts_ GOSS_GUARDED;
  std::map<std::uint32_t, ClosedCommunicator> closed_contexts_ GOSS_GUARDED; ///< By context.
  std::map<void*, platform::SharedPages> lent_ GOSS_GUARDED; ///< By address; an entry without mapping: ordinary pages.
  std::map<void*, std::unique_ptr<DeviceBlock>> lent_on_devices_; ///< By address.
  struct Loss {
    int peer;
    Status status;
    PeerLoss how;
  };
  std::deque<Loss> lost_ GOSS_GUARDED;        ///< Peers whose loss was not reported to the communicators yet.
  std::set<int> told_ended_ GOSS_GUARDED;     ///< World ranks of which other ranks have said that they ended.
  std::map<int, Status> absent_ GOSS_GUARDED; ///< PeerLoss::absent, by world rank: why.

  /// Declared last: it joins before anything it uses is destroyed.
  std::unique_ptr<ProgressThread> progress_thread_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_WORLD_WORLD_H_
