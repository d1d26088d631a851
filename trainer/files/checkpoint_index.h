/// The index of a checkpoint, checkpoint.json: which file holds what of which rank.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_INDEX_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/base/error.h"
#include "trainer/files/training_state.h"

namespace goss::trainer {

/// A complete checkpoint is of another model, or of a version that this program does not read. So are earlier ones.
class IncompatibleCheckpoint : public Error {
 public:
  using Error::Error;
};

/// What a rank has to save: three vectors of float32, and two texts.
constexpr std::size_t kVectors = 3, kPieces = 5;
constexpr std::size_t kModelPiece = 0, kSyncPiece = 3, kActivationsPiece = 4;
constexpr std::array<const char*, kPieces> kPieceNames = {"model", "exp_avg", "exp_avg_sq", "sync", "activations"};
constexpr std::array<std::vector<float> ReplicaState::*, kVectors> kPieceVectors = {
    &ReplicaState::parameters, &ReplicaState::first_moments, &ReplicaState::second_moments};

/// A hash for each piece; 0: the rank has none. That of a vector covers its tensors' names and values, in any order.
using PieceHashes = std::array<std::uint64_t, kPieces>;

/// `own` has the vectors, with `tensors` at their offsets, and in own.ranks[0] the rank's texts.
PieceHashes hashesOf(const std::vector<Parameter>& tensors, const ReplicaState& own);
/// Adds a tensor to the hash of a vector. The hash of no tensors is 0.
void addTensor(std::uint64_t& hash, const std::string& name, const float* values, std::size_t count);
std::uint64_t hashOfText(const std::string& text);

struct CheckpointIndex {
  struct Piece {
    std::string file; // in the checkpoint's folder; empty: the rank has none
    std::uint64_t hash = 0;
  };
  struct Rank {
    std::size_t copy = 0; // RankShare::copy
    std::array<Piece, kPieces> pieces;
  };
  std::size_t step = 0;
  std::string settings, sync, grid; // as in TrainingState
  std::vector<Rank> ranks;
  std::map<std::string, std::string> texts; // small files that rank 0 writes: contents, by name
  // The checkpoints through which the run came to this one, the newest first; CheckpointStore::commit sets it. nullopt:
  // written before indexes had it.
  std::optional<std::vector<std::string>> before;

  /// Decides which rank writes what: of ranks that hold the same piece, the first. `hashes` are those of all ranks. The
  /// parameters of the first copy go to model.safetensors, or to shards of it with Hugging Face's index; all else goes
  /// to rank-NNNN.safetensors.
  void assignWriters(const std::vector<PieceHashes>& hashes, const std::function<RankShare(int)>& share_of);
  /// The rank that writes the vector `piece` of `rank`.
  [[nodiscard]] std::size_t writerOf(std::size_t rank, std::size_t piece) const;
  /// Whether `rank` is the one that writes its piece `piece`.
  [[nodiscard]] bool writes(std::size_t rank, std::size_t piece) const;
  [[nodiscard]] bool writes(std::size_t rank) const;
  /// Whether the file of piece `piece` is the same for all ranks.
  [[nodiscard]] bool isShared(std::size_t piece) const;
};

/// JSON with a hash of itself.
std::string toText(const CheckpointIndex& index);
/// Returns what toText wrote as `text`, but with hexadecimal hashes for the contents of `texts`. Throws Error, which
/// names `path`, when any bit differs from what toText wrote; IncompatibleCheckpoint for another version.
CheckpointIndex parseIndex(const std::string& text, const std::string& path);
/// Reads the folder's index, and checks the hashes of its texts. Throws as parseIndex.
CheckpointIndex readIndex(const std::string& folder);

/// The name of the file for what no other rank holds.
std::string rankFile(std::size_t rank);
std::string indexPath(const std::string& folder);

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_INDEX_H_
