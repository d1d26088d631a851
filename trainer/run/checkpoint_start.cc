#include "trainer/run/checkpoint_start.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/files/checkpoint_parts.h"
#include "trainer/files/file_io.h"
#include "trainer/files/pretrained.h"

namespace goss::trainer {

namespace {

void moveText(Group& group, std::string& text, int peer, Group::Direction direction) {
  std::uint64_t bytes = text.size();
  group.move(&bytes, sizeof bytes, peer, direction);
  text.resize(bytes);
  group.move(text.data(), bytes, peer, direction);
}

void moveRank(Group& group, RankState& rank, int peer, Group::Direction direction) {
  moveText(group, rank.sync, peer, direction);
  moveText(group, rank.activations, peer, direction);
}

std::string_view methodOf(std::string_view spec) { return spec.substr(0, spec.find(':')); }

/// Called by rank 0 and rank `peer`: moves a copy's vectors, which have their final sizes on both ends.
void moveVectors(Group& group, ReplicaState& replica, int peer, Group::Direction direction) {
  for (const auto vector : kPieceVectors)
    group.move((replica.*vector).data(), (replica.*vector).size() * sizeof(float), peer, direction);
}

/// Collective: `exchange(peer)` is called by rank 0 for every other rank in turn, and by each of these for itself.
template <typename Exchange>
void withRankZero(Group& group, const Exchange& exchange) {
  if (group.rank() != 0) return exchange(group.rank());
  for (int peer = 1; peer < group.size(); ++peer)
    exchange(peer);
}

/// Collective: whether all ranks hold the same bits of a vector. They exchange its hash alone.
bool areEqual(Group& group, const std::vector<float>& vector) {
  return group.allEqual(XXH3_64bits(vector.data(), vector.size() * sizeof(float)));
}

/// Calls `visit` for every copy of the model.
template <typename Visit>
void forCopies(TrainingState& state, const Visit& visit) {
  visit(static_cast<ReplicaState&>(state));
  std::ranges::for_each(state.others, visit);
}

/// Clears the activations of all ranks. Returns whether there were any.
bool forgetActivations(TrainingState& state) {
  bool has_any = false;
  forCopies(state, [&](ReplicaState& copy) {
    for (RankState& rank : copy.ranks) {
      has_any = has_any || !rank.activations.empty();
      rank.activations.clear();
    }
  });
  return has_any;
}

} // namespace

std::string broadcastText(Group& group, std::string text) {
  std::uint64_t bytes = text.size();
  group.broadcast(&bytes, sizeof bytes);
  text.resize(bytes);
  group.broadcast(text.data(), bytes);
  return text;
}

CheckpointLoader::CheckpointLoader(const TrainOptions& options, const ParameterTable& table, Group& group,
                                   Report& report, CheckpointStore* store)
    : options_(options), table_(table), group_(group), report_(report), store_(store) {}

/// On rank 0 the parameters of --init, if it is given; else those of the seed. Ranks that have others get rank 0's.
TrainingState CheckpointLoader::newState() const {
  TrainingState state;
  state.first_moments.resize(table_.count());
  state.second_moments.resize(table_.count());
  state.parameters = options_.init.empty() || group_.rank() != 0
                         ? table_.initialValues(options_.seed)
                         : readPretrainedWeights(options_.init, options_.model, table_);
  return state;
}

CheckpointStart CheckpointLoader::load(const CheckpointSetting& setting) {
  setting_ = setting;
  const bool searches = group_.rank() == 0 && store_ != nullptr && options_.resume;
  if (searches) names_ = store_->candidates(damaged_);
  for (;;) {
    FoundCheckpoint candidate;
    if (searches) candidate = next();
    group_.broadcast(&candidate.kind, sizeof candidate.kind);
    if (candidate.kind == Kind::own) {
      if (std::optional<CheckpointStart> mine = startOwn(candidate)) return *std::move(mine);
      continue;
    }
    if (candidate.kind == Kind::none || group_.rank() != 0) return startWhole(newState());
    store_->use(candidate.name);
    noteUse(candidate.state.step, candidate.state.settings);
    return startWhole(std::move(candidate.state));
  }
}

/// The newest checkpoint that was not tried and of which rank 0 finds nothing missing or damaged.
CheckpointLoader::FoundCheckpoint CheckpointLoader::next() {
  while (!names_.empty()) {
    const std::string name = names_.front();
    names_.erase(names_.begin());
    try {
      return read(name);
    } catch (const IncompatibleCheckpoint&) {
      throw;
    } catch (const Error& error) {
      damaged_.emplace_back(error.what());
    }
  }
  if (!damaged_.empty()) fail("{}; there is no earlier checkpoint that is whole", damaged_.front());
  report_.note(fmt::format("no checkpoint in {} yet: starting from step 0", options_.checkpoint));
  return {};
}

CheckpointLoader::FoundCheckpoint CheckpointLoader::read(const std::string& name) const {
  FoundCheckpoint candidate;
  candidate.name = name;
  candidate.kind = Kind::whole;
  const std::string folder = store_->folder(name);
  if (isVersion3(folder)) {
    candidate.state = readVersion3(folder, options_.model, table_);
    return candidate;
  }
  const CheckpointIndex index = readIndex(folder);
  checkConfig(folder, options_.model);
  const bool is_own = index.ranks.size() == static_cast<std::size_t>(group_.size()) && index.sync == setting_.sync &&
                      index.grid == setting_.grid;
  if (is_own) {
    candidate.kind = Kind::own;
    candidate.index = readText(indexPath(folder));
  } else {
    candidate.state = readWhole(folder, index, table_);
  }
  return candidate;
}

/// `settings` are the checkpoint's.
void CheckpointLoader::noteUse(std::size_t step, const std::string& settings) {
  for (const std::string& text : damaged_)
    report_.note(fmt::format("note: {}; going back to an earlier checkpoint", text));
  report_.note(fmt::format("resumed from step {} of {}", step, options_.checkpoint));
  if (settings != setting_.settings)
    report_.note(fmt::format("note: the checkpoint was written with other settings: {}", settings));
}

void CheckpointLoader::noteForgotten(const std::string& of) {
  report_.note(
      fmt::format("note: the checkpoint is {}: its activations are of no use here, and every sample's next "
                  "visit is sent whole",
                  of));
}

/// Collective: returns the error of the lowest rank that has one, with its number, on rank 0; on other ranks only some
/// text where there is an error. Empty: no rank has one.
std::string CheckpointLoader::firstError(std::string error) {
  double failed = error.empty() ? 0 : 1;
  group_.sum({&failed, 1});
  if (failed == 0) return "";
  std::string first = error.empty() ? "" : "rank 0: " + error;
  withRankZero(group_, [&](int peer) {
    moveText(group_, error, peer, Group::Direction::toRoot);
    if (first.empty() && !error.empty()) first = fmt::format("rank {}: {}", peer, error);
  });
  return group_.rank() == 0 ? first : "another rank's";
}

/// Local: reads what this rank had. A vector that another rank wrote may be missing, or another checkpoint's.
CheckpointLoader::OwnPart CheckpointLoader::readOwn(const std::string& name, const CheckpointIndex& index,
                                                    bool with_activations) {
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::string folder = store_ != nullptr ? store_->folder(name) : "";
  OwnPart part;
  part.start.step = index.step;
  part.start.model = newState();
  try {
    for (std::size_t piece = 0; piece < kVectors; ++piece) {
      try {
        if (store_ == nullptr) fail("this rank has a state of its own: give it --checkpoint DIR, as rank 0 has");
        readVector(folder, index.ranks[rank], piece, table_, part.start.model.*kPieceVectors[piece]);
      } catch (const Error&) {
        if (index.writes(rank, piece)) throw;
        part.is_missing[piece] = true;
      }
    }
    std::string sync = readRankText(folder, index.ranks[rank], kSyncPiece);
    if (!sync.empty()) part.start.sync.states = {std::move(sync)};
    if (with_activations) part.start.activations = readRankText(folder, index.ranks[rank], kActivationsPiece);
  } catch (const Error& error) {
    part.error = error.what();
  }
  return part;
}

/// Collective: nothing when a rank cannot read its state. Rank 0 has then added the reason to damaged_.
std::optional<CheckpointStart> CheckpointLoader::startOwn(const FoundCheckpoint& candidate) {
  const std::string name = broadcastText(group_, candidate.name);
  const CheckpointIndex index = parseIndex(broadcastText(group_, candidate.index), name);
  const bool has_equal_samples = haveEqualSamples(index.settings, setting_.settings);
  OwnPart part = readOwn(name, index, has_equal_samples);
  std::string error = firstError(part.error);
  if (!error.empty()) {
    damaged_.push_back(std::move(error));
    return std::nullopt;
  }
  for (std::size_t piece = 0; piece < kVectors; ++piece)
    sendMissing(index, piece, part);
  if (index.writes(static_cast<std::size_t>(group_.rank()))) store_->use(name);
  if (group_.rank() == 0) {
    noteUse(index.step, index.settings);
    const bool has_activations = std::ranges::any_of(
        index.ranks, [](const CheckpointIndex::Rank& rank) { return !rank.pieces[kActivationsPiece].file.empty(); });
    if (has_activations && !has_equal_samples) noteForgotten("with other samples");
  }
  return std::move(part.start);
}

/// Collective: ranks that miss another rank's vector get it from that rank, through rank 0.
void CheckpointLoader::sendMissing(const CheckpointIndex& index, std::size_t piece, OwnPart& part) {
  std::vector<float>& vector = part.start.model.*kPieceVectors[piece];
  const std::size_t bytes = vector.size() * sizeof(float);
  const double own = part.is_missing[piece] ? 1 : 0;
  const std::vector<double> misses = group_.gather({&own, 1});
  if (std::ranges::all_of(misses, [](double one) { return one == 0; })) return;
  if (index.isShared(piece)) return group_.broadcast(vector.data(), bytes);
  std::vector<float> passed_on;
  for (std::size_t peer = 1; peer < misses.size(); ++peer) {
    if (misses[peer] == 0) continue;
    const int to = static_cast<int>(peer), from = static_cast<int>(index.writerOf(peer, piece));
    float* values = vector.data();
    if (group_.rank() == 0 && from != 0) {
      passed_on.resize(vector.size());
      values = passed_on.data();
    }
    if (from != 0 && (group_.rank() == 0 || group_.rank() == from))
      group_.move(values, bytes, from, Group::Direction::toRoot);
    if (group_.rank() == 0 || group_.rank() == to) group_.move(values, bytes, to, Group::Direction::fromRoot);
  }
}

/// Collective: gives all ranks the state that rank 0 has. That of other ranks has vectors of the same sizes.
CheckpointStart CheckpointLoader::startWhole(TrainingState state) {
  const bool has_all = state.ranks.size() * (state.others.size() + 1) == static_cast<std::size_t>(group_.size());
  const bool is_own = has_all && state.sync == setting_.sync && state.grid == setting_.grid;
  if (is_own && !haveEqualSamples(state.settings, setting_.settings) && forgetActivations(state))
    noteForgotten("with other samples");
  std::vector<std::string> inherited;
  if (!is_own && !(state.ranks.empty() && state.others.empty())) inherited = mergeCopies(state);
  std::uint64_t head[] = {state.step, is_own ? 1u : 0u, inherited.size()};
  group_.broadcast(head, sizeof head);
  inherited.resize(head[2]);
  for (std::string& text : inherited)
    text = broadcastText(group_, std::move(text));
  CheckpointStart mine;
  mine.step = head[0];
  mine.sync = {std::move(inherited), false};
  distributeCopies(state);
  if (head[1] != 0) {
    RankState own = distributeRanks(state);
    mine.activations = std::move(own.activations);
    mine.sync.is_own = true;
    if (!own.sync.empty()) mine.sync.states = {std::move(own.sync)};
  }
  state.ranks.clear();
  mine.model = std::move(state);
  return mine;
}

/// Collective: every rank gets the vectors of its copy.
void CheckpointLoader::distributeCopies(TrainingState& state) {
  std::uint64_t differ = state.others.empty() ? 0 : 1;
  group_.broadcast(&differ, sizeof differ);
  if (differ != 0) {
    withRankZero(group_, [&](int peer) {
      const std::size_t copy = group_.rank() != 0 ? 0 : static_cast<std::size_t>(peer) / state.ranks.size();
      moveVectors(group_, copy == 0 ? state : state.others[copy - 1], peer, Group::Direction::fromRoot);
    });
    return;
  }
  // In a new run all ranks have made the same parameters of the seed, and moments of zero.
  for (const auto vector : kPieceVectors) {
    std::vector<float>& values = state.*vector;
    if (!areEqual(group_, values)) group_.broadcast(values.data(), values.size() * sizeof(float));
  }
}

/// Collective: returns this rank's texts. Rank 0 has those of all ranks in `state`, as many for each copy.
RankState CheckpointLoader::distributeRanks(TrainingState& state) {
  RankState own;
  withRankZero(group_, [&](int peer) {
    if (group_.rank() != 0) return moveRank(group_, own, peer, Group::Direction::fromRoot);
    const auto rank = static_cast<std::size_t>(peer);
    const std::size_t ranks = state.ranks.size();
    ReplicaState& copy = rank < ranks ? state : state.others[rank / ranks - 1];
    moveRank(group_, copy.ranks[rank % ranks], peer, Group::Direction::fromRoot);
  });
  if (group_.rank() == 0) own = std::move(state.ranks.front());
  return own;
}

/// On rank 0: turns a state in which copies differ into one that all ranks share. Returns what the synchronizers of all
/// ranks kept, or nothing where this run's method is another.
std::vector<std::string> CheckpointLoader::mergeCopies(TrainingState& state) {
  std::vector<std::string> kept;
  if (forgetActivations(state)) noteForgotten("of " + state.grid);
  forCopies(state, [&](ReplicaState& copy) {
    for (RankState& rank : copy.ranks)
      if (!rank.sync.empty()) kept.push_back(std::move(rank.sync));
    copy.ranks.clear();
  });
  if (!kept.empty()) {
    const bool is_kin = methodOf(state.sync) == methodOf(setting_.sync);
    report_.note(
        fmt::format("note: the checkpoint is of {} with '{}': all ranks go on from the mean of their "
                    "parameters and moments; what its synchronizer kept is {}",
                    state.grid, state.sync, is_kin ? "cut anew" : "reset"));
    if (!is_kin) kept.clear();
  }
  for (const auto vector : kPieceVectors) {
    std::vector<float>& mean = state.*vector;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      double sum = mean[i]; // exact for equal values, and so is the mean
      for (const ReplicaState& other : state.others)
        sum += (other.*vector)[i];
      mean[i] = static_cast<float>(sum / static_cast<double>(state.others.size() + 1));
    }
  }
  state.others.clear();
  return kept;
}

} // namespace goss::trainer
