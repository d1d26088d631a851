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
  for (std::vector<float>* vector : {&replica.parameters, &replica.first_moments, &replica.second_moments})
    group.move(vector->data(), vector->size() * sizeof(float), peer, direction);
}

} // namespace

bool areEqual(Group& group, const std::vector<float>& vector) {
  return group.allEqual(XXH3_64bits(vector.data(), vector.size() * sizeof(float)));
}

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

/// Takes --init's parameters or makes the seed's. The other ranks get rank 0's where theirs differ.
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
  const bool is_root = group_.rank() == 0;
  if (is_root && store_ != nullptr && options_.resume) names_ = store_->candidates(damaged_);
  for (;;) {
    Candidate candidate;
    if (is_root && store_ != nullptr && options_.resume) candidate = next(setting);
    group_.broadcast(&candidate.kind, sizeof candidate.kind);
    if (candidate.kind == Kind::none) return startWhole(newState(), setting);
    if (candidate.kind == Kind::whole) {
      if (is_root) {
        store_->use(candidate.name);
        noteUse(candidate.state.step, candidate.state.settings, setting.settings);
      }
      return startWhole(is_root ? std::move(candidate.state) : newState(), setting);
    }
    CheckpointStart mine;
    if (startOwn(candidate, setting, mine)) return mine;
  }
}

/// The newest checkpoint that was not tried and, as far as rank 0 can tell, is whole.
CheckpointLoader::Candidate CheckpointLoader::next(const CheckpointSetting& setting) {
  while (!names_.empty()) {
    const std::string name = names_.front();
    names_.erase(names_.begin());
    try {
      return read(name, setting);
    } catch (const Refusal&) {
      throw;
    } catch (const Error& error) {
      damaged_.emplace_back(error.what());
    }
  }
  if (!damaged_.empty()) fail("{}; there is no earlier checkpoint that is whole", damaged_.front());
  report_.note(fmt::format("no checkpoint in {} yet: starting from step 0", options_.checkpoint));
  return {};
}

CheckpointLoader::Candidate CheckpointLoader::read(const std::string& name, const CheckpointSetting& setting) const {
  Candidate candidate;
  candidate.name = name;
  candidate.kind = Kind::whole;
  const std::string folder = store_->folder(name);
  if (isVersion3(folder)) {
    candidate.state = readVersion3(folder, options_.model, table_);
    return candidate;
  }
  const CheckpointIndex index = readIndex(folder);
  checkConfig(folder, options_.model);
  const bool is_own = index.ranks.size() == static_cast<std::size_t>(group_.size()) && index.sync == setting.sync &&
                      index.grid == setting.grid;
  if (is_own) {
    candidate.kind = Kind::own;
    candidate.index = readText(indexPath(folder));
  } else {
    candidate.state = readWhole(folder, index, table_);
  }
  return candidate;
}

void CheckpointLoader::noteUse(std::size_t step, const std::string& its_settings, const std::string& settings) {
  for (const std::string& text : damaged_)
    report_.note(fmt::format("note: {}; going back to an earlier checkpoint", text));
  report_.note(fmt::format("resumed from step {} of {}", step, options_.checkpoint));
  if (its_settings != settings)
    report_.note(fmt::format("note: the checkpoint was written with other settings: {}", its_settings));
}

void CheckpointLoader::noteForgotten(const std::string& of) {
  report_.note(
      fmt::format("note: the checkpoint is {}: its activations are of no use here, and every sample's next "
                  "visit is sent whole",
                  of));
}

/// Collective: the first rank's error that is not empty, with the rank's number; on ranks but 0 in the place of the
/// text of another rank only whether there is one.
std::string CheckpointLoader::firstError(std::string error) {
  double failed = error.empty() ? 0 : 1;
  group_.sum({&failed, 1});
  if (failed == 0) return "";
  if (group_.rank() != 0) {
    moveText(group_, error, group_.rank(), Group::Direction::toRoot);
    return "another rank's";
  }
  if (!error.empty()) error = "rank 0: " + error;
  for (int peer = 1; peer < group_.size(); ++peer) {
    std::string theirs;
    moveText(group_, theirs, peer, Group::Direction::toRoot);
    if (error.empty() && !theirs.empty()) error = fmt::format("rank {}: {}", peer, theirs);
  }
  return error;
}

/// Local: reads what this rank had. Returns an error, or "", and leaves in misses_ which vectors another rank wrote to
/// a file that is not there, or not this checkpoint's.
std::string CheckpointLoader::readOwn(const std::string& name, const CheckpointIndex& index, bool with_activations,
                                      CheckpointStart& mine) {
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::string folder = store_ != nullptr ? store_->folder(name) : "";
  try {
    for (std::size_t piece = 0; piece < kVectors; ++piece) {
      try {
        if (store_ == nullptr) fail("this rank has a state of its own: give it --checkpoint DIR, as rank 0 has");
        readVector(folder, index, rank, piece, table_, mine.model.*kPieceVectors[piece]);
      } catch (const Error&) {
        if (index.writes(rank, piece)) throw;
        misses_[piece] = true;
      }
    }
    std::string sync = readRankText(folder, index, rank, kSyncPiece);
    if (!sync.empty()) mine.sync.states = {std::move(sync)};
    if (with_activations) mine.activations = readRankText(folder, index, rank, kActivationsPiece);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Collective: false when a rank cannot read its state; then rank 0 has added the reason to damaged_.
bool CheckpointLoader::startOwn(const Candidate& candidate, const CheckpointSetting& setting, CheckpointStart& mine) {
  const std::string name = broadcastText(group_, candidate.name);
  const CheckpointIndex index = parseIndex(broadcastText(group_, candidate.index), name);
  const bool has_equal_samples = haveEqualSamples(index.settings, setting.settings);
  mine.step = index.step;
  mine.model = newState();
  misses_ = {};
  std::string error = firstError(readOwn(name, index, has_equal_samples, mine));
  if (!error.empty()) {
    damaged_.push_back(std::move(error));
    return false;
  }
  for (std::size_t piece = 0; piece < kVectors; ++piece)
    sendMissing(index, piece, mine.model.*kPieceVectors[piece]);
  if (index.writes(static_cast<std::size_t>(group_.rank()))) store_->use(name);
  if (group_.rank() != 0) return true;
  noteUse(index.step, index.settings, setting.settings);
  const bool has_activations = std::ranges::any_of(
      index.ranks, [](const CheckpointIndex::Rank& rank) { return !rank.pieces[kActivationsPiece].file.empty(); });
  if (has_activations && !has_equal_samples) noteForgotten("with other samples");
  return true;
}

/// Collective: ranks that could not read another rank's file get its vector from that rank, by way of rank 0.
void CheckpointLoader::sendMissing(const CheckpointIndex& index, std::size_t piece, std::vector<float>& vector) {
  std::vector<double> misses(static_cast<std::size_t>(group_.size()), 0.0);
  const std::size_t bytes = vector.size() * sizeof(float);
  misses[static_cast<std::size_t>(group_.rank())] = misses_[piece] ? 1 : 0;
  group_.sum(misses);
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

/// Collective: shares the state that rank 0 has; that of other ranks has vectors of the same sizes.
CheckpointStart CheckpointLoader::startWhole(TrainingState state, const CheckpointSetting& setting) {
  const bool has_all = state.ranks.size() * (state.others.size() + 1) == static_cast<std::size_t>(group_.size());
  const bool is_own = has_all && state.sync == setting.sync && state.grid == setting.grid;
  if (is_own && !haveEqualSamples(state.settings, setting.settings) && forgetActivations(state))
    noteForgotten("with other samples");
  std::vector<std::string> inherited;
  if (!is_own && !(state.ranks.empty() && state.others.empty())) inherited = share(state, setting.sync);
  std::uint64_t head[] = {state.step, is_own ? 1u : 0u, inherited.size()};
  group_.broadcast(head, sizeof head);
  inherited.resize(head[2]);
  for (std::string& text : inherited)
    text = broadcastText(group_, std::move(text));
  CheckpointStart mine;
  mine.step = head[0];
  mine.sync = {std::move(inherited), false};
  distribute(state, head[1] != 0, mine);
  return mine;
}

/// Gives every rank the one state, or its own.
void CheckpointLoader::distribute(TrainingState& state, bool is_own, CheckpointStart& mine) {
  std::uint64_t differ = state.others.empty() ? 0 : 1;
  group_.broadcast(&differ, sizeof differ);
  const std::size_t ranks = state.ranks.size(); // ranks of a copy
  for (int peer = 1; differ != 0 && group_.rank() == 0 && peer < group_.size(); ++peer) {
    const std::size_t copy = static_cast<std::size_t>(peer) / ranks;
    moveVectors(group_, copy == 0 ? state : state.others[copy - 1], peer, Group::Direction::fromRoot);
  }
  if (differ != 0 && group_.rank() != 0) moveVectors(group_, state, group_.rank(), Group::Direction::fromRoot);
  if (differ == 0) {
    // In a new run all ranks have made the same parameters of the seed, and moments of zero.
    for (std::vector<float>* vector : {&state.parameters, &state.first_moments, &state.second_moments}) {
      if (!areEqual(group_, *vector)) group_.broadcast(vector->data(), vector->size() * sizeof(float));
    }
  }
  if (is_own) {
    RankState own;
    for (int peer = 1; group_.rank() == 0 && peer < group_.size(); ++peer) {
      const auto rank = static_cast<std::size_t>(peer);
      ReplicaState& copy = rank < ranks ? state : state.others[rank / ranks - 1];
      moveRank(group_, copy.ranks[rank % ranks], peer, Group::Direction::fromRoot);
    }
    if (group_.rank() == 0) {
      own = std::move(state.ranks.front());
    } else {
      moveRank(group_, own, group_.rank(), Group::Direction::fromRoot);
    }
    mine.activations = std::move(own.activations);
    mine.sync.is_own = true;
    if (!own.sync.empty()) mine.sync.states = {std::move(own.sync)};
  }
  state.ranks.clear();
  mine.model = std::move(state);
}

/// Whether there were any.
bool CheckpointLoader::forgetActivations(TrainingState& state) {
  bool has_any = false;
  const auto forget = [&](ReplicaState& replica) {
    for (RankState& rank : replica.ranks) {
      has_any = has_any || !rank.activations.empty();
      rank.activations.clear();
    }
  };
  forget(state);
  std::ranges::for_each(state.others, forget);
  return has_any;
}

/// Turns a state in which copies differ into one that all ranks share. Returns what the synchronizers of all ranks
/// kept.
std::vector<std::string> CheckpointLoader::share(TrainingState& state, const std::string& sync) {
  std::vector<std::string> kept;
  if (forgetActivations(state)) noteForgotten("of " + state.grid);
  const auto take = [&](ReplicaState& replica) {
    for (RankState& rank : replica.ranks)
      if (!rank.sync.empty()) kept.push_back(std::move(rank.sync));
    replica.ranks.clear();
  };
  take(state);
  for (ReplicaState& other : state.others)
    take(other);
  if (!kept.empty()) {
    const bool is_kin = methodOf(state.sync) == methodOf(sync);
    report_.note(
        fmt::format("note: the checkpoint is of {} with '{}': all ranks go on from the mean of their "
                    "parameters and moments; what its synchronizer kept is {}",
                    state.grid, state.sync, is_kin ? "cut anew" : "reset"));
    if (!is_kin) kept.clear();
  }
  for (std::vector<float> ReplicaState::*vector :
       {&ReplicaState::parameters, &ReplicaState::first_moments, &ReplicaState::second_moments}) {
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
