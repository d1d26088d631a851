#include "trainer/run/run_checkpoints.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/files/checkpoint_files.h"

namespace goss::trainer {

namespace {

/// Bytes of the vectors that `rank` writes: none where a rank of a lower number has the same share of the same copy.
/// States of synchronizers come on top.
std::size_t bytesWrittenBy(int rank, const std::function<RankShare(int)>& share_of) {
  const RankShare mine = share_of(rank);
  for (int other = 0; other < rank; ++other) {
    const RankShare theirs = share_of(other);
    if (theirs.copy == mine.copy &&
        std::ranges::equal(theirs.tensors, mine.tensors, {}, &Parameter::name, &Parameter::name))
      return 0;
  }
  std::size_t count = 0;
  for (const Parameter& tensor : mine.tensors)
    count += tensor.count;
  return kVectors * count * sizeof(float);
}

/// Collective: the sum of `bytes` over the ranks with the same `disk`.
std::size_t sumOfDisk(Group& group, std::uint64_t disk, std::size_t bytes) {
  const std::array<double, 2> own = {static_cast<double>(disk), static_cast<double>(bytes)};
  const std::vector<double> all = group.gather(own);
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); i += 2)
    if (all[i] == own[0]) sum += all[i + 1];
  return static_cast<std::size_t>(sum);
}

/// Collective: the hashes of all ranks. They cross as doubles, each of which holds half of a hash exactly.
std::vector<PieceHashes> gatherHashes(Group& group, const PieceHashes& mine) {
  std::array<double, 2 * kPieces> own{};
  for (std::size_t i = 0; i < kPieces; ++i) {
    own[2 * i] = static_cast<double>(mine[i] >> 32);
    own[2 * i + 1] = static_cast<double>(mine[i] & 0xffffffffu);
  }
  const std::vector<double> halves = group.gather(own);
  std::vector<PieceHashes> all(static_cast<std::size_t>(group.size()));
  for (std::size_t i = 0; i < all.size() * kPieces; ++i) {
    all[i / kPieces][i % kPieces] =
        static_cast<std::uint64_t>(halves[2 * i]) << 32 | static_cast<std::uint64_t>(halves[2 * i + 1]);
  }
  return all;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

} // namespace

RunCheckpoints::RunCheckpoints(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report)
    : options_(options), table_(table), group_(group), report_(report) {
  if (!options.checkpoint.empty())
    store_.emplace(options.checkpoint, options.keep, static_cast<std::size_t>(group.rank()));
}

CheckpointStart RunCheckpoints::start(const CheckpointSetting& setting, Holdings holdings) {
  holdings_ = std::move(holdings);
  std::uint64_t saves = store_ ? 1 : 0;
  group_.broadcast(&saves, sizeof saves);
  saves_ = saves != 0;
  const bool writes = saves_ && (group_.rank() == 0 || holdings_.differ);
  if (writes && !store_)
    fail("rank {} has a state of its own to save: give it --checkpoint DIR, as rank 0 has", group_.rank());
  if (writes && !options_.resume) store_->requireNone();
  if (saves_) {
    const std::size_t bytes = writes ? bytesWrittenBy(group_.rank(), holdings_.share_of) : 0;
    const std::size_t needed = sumOfDisk(group_, writes ? store_->disk() : 0, bytes);
    if (writes) store_->prepare(needed);
  }
  CheckpointStart start =
      CheckpointLoader(options_, table_, group_, report_, store_ ? &*store_ : nullptr).load(setting);
  saved_step_ = start.step;
  return start;
}

void RunCheckpoints::save(const Snapshot& snapshot) {
  finish();
  saved_step_ = snapshot.step;
  if (group_.rank() != 0 && !holdings_.differ) return; // what it holds is neither copied from its device nor hashed
  std::string text;                                    // the new folder's name, and those of all folders
  if (group_.rank() == 0) {
    text = store_->begin(snapshot.step);
    text += fmt::format("\n{}", fmt::join(store_->names(), "\n"));
  }
  if (holdings_.differ) text = broadcastText(group_, std::move(text));
  std::vector<std::string> names = linesOf(text);
  ReplicaState own = snapshot.own();
  CheckpointIndex index;
  index.step = snapshot.step;
  index.settings = snapshot.setting.settings;
  index.sync = snapshot.setting.sync;
  index.grid = snapshot.setting.grid;
  index.texts["config.json"] = configText(options_.model);
  index.assignWriters(hashesOfAll(holdings_.share_of(group_.rank()), own), holdings_.share_of);
  const std::string name = names.front();
  names.erase(names.begin());
  if (group_.rank() == 0 || index.writes(static_cast<std::size_t>(group_.rank())))
    write(name, std::move(names), std::move(index), std::move(own));
}

/// Collective where ranks differ; else on rank 0 alone.
std::vector<PieceHashes> RunCheckpoints::hashesOfAll(const RankShare& share, const ReplicaState& own) {
  const PieceHashes mine = hashesOf(share.tensors, own);
  if (holdings_.differ) return gatherHashes(group_, mine);
  return std::vector<PieceHashes>(static_cast<std::size_t>(group_.size()), mine);
}

void RunCheckpoints::write(std::string name, std::vector<std::string> names, CheckpointIndex index, ReplicaState own) {
  awaited_.clear();
  for (int peer = 1; group_.rank() == 0 && peer < group_.size(); ++peer)
    if (index.writes(static_cast<std::size_t>(peer))) awaited_.insert(peer);
  // If no other rank writes a part, rank 0 waits for none: one job writes its part and commits.
  const bool is_alone = group_.rank() == 0 && awaited_.empty();
  phase_ = is_alone ? Phase::committing : Phase::writing;
  const auto shared_index = std::make_shared<const CheckpointIndex>(std::move(index));
  commit_ = [this, name, shared_index] { store_->commit(name, *shared_index); };
  writer_.start([this, name = std::move(name), names = std::move(names), shared_index,
                 tensors = holdings_.share_of(group_.rank()).tensors, own = std::move(own),
                 commit = is_alone ? commit_ : nullptr] {
    store_->writePart(name, *shared_index, tensors, own, names);
    if (commit) commit();
  });
}

void RunCheckpoints::advance(bool waits) {
  if (phase_ == Phase::writing || phase_ == Phase::committing) {
    const Phase written = std::exchange(phase_, Phase::idle); // idle stays when writing has failed
    try {
      if (!(waits ? writer_.finish() : writer_.poll())) {
        phase_ = written;
        return;
      }
    } catch (const std::exception& error) {
      if (group_.rank() != 0) group_.sendText(error.what());
      throw;
    }
    if (written == Phase::committing) return report_.checkpoint(saved_step_);
    if (group_.rank() != 0) return group_.sendText("");
    phase_ = Phase::waiting;
  }
  if (phase_ != Phase::waiting) return;
  std::erase_if(awaited_, [this](int peer) {
    const std::optional<std::string> error = group_.takeText(peer);
    if (error && !error->empty()) fail("{}", *error);
    return error.has_value();
  });
  if (!awaited_.empty()) return;
  phase_ = Phase::committing;
  writer_.start(commit_);
}

void RunCheckpoints::finish() {
  constexpr auto kPause = std::chrono::milliseconds(1);
  while (phase_ != Phase::idle) {
    advance(true);
    if (phase_ == Phase::waiting) std::this_thread::sleep_for(kPause); // for other ranks' disks
  }
}

} // namespace goss::trainer
