#include "trainer/files/checkpoint_parts.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "trainer/files/file_io.h"
#include "trainer/files/safetensors.h"

namespace goss::trainer {

namespace {

constexpr const char* kTemporary = ".tmp";

bool isModelFile(const std::string& file) { return file.starts_with("model"); }

/// What precedes the names of a piece's tensors in its file. A model file has Hugging Face's names.
std::string prefixOf(const std::string& file, std::size_t piece) {
  return isModelFile(file) ? "" : std::string(kPieceNames[piece]) + "/";
}

std::string pathOf(const std::string& folder, const std::string& file) { return fmt::format("{}/{}", folder, file); }

[[noreturn]] void failChecksum(const std::string& path, std::size_t piece) {
  fail("{} is damaged: the checksum of its {} is not the one in checkpoint.json", path, kPieceNames[piece]);
}

void addVector(std::vector<SafetensorsEntry>& entries, const std::string& prefix, const std::vector<Parameter>& tensors,
               const std::vector<float>& values) {
  for (const Parameter& p : tensors)
    entries.push_back({prefix + p.name, p.shape, values.data() + p.offset});
}

void writeText(const std::string& path, const std::string& text) {
  OutputFile file(path + kTemporary);
  file.write(text.data(), text.size());
  file.commit();
  renameTo(path + kTemporary, path);
}

} // namespace

void writePart(const std::string& folder, const CheckpointIndex& index, std::size_t rank,
               const std::vector<Parameter>& tensors, const ReplicaState& own) {
  std::map<std::string, std::vector<SafetensorsEntry>> files;
  const RankState& kept = own.ranks.front();
  for (std::size_t i = 0; i < kPieces; ++i) {
    if (!index.writes(rank, i)) continue;
    const std::string& file = index.ranks[rank].pieces[i].file;
    if (i < kVectors) {
      addVector(files[file], prefixOf(file, i), tensors, own.*kPieceVectors[i]);
    } else {
      const std::string& text = i == kSyncPiece ? kept.sync : kept.activations;
      files[file].push_back({kPieceNames[i], {text.size()}, nullptr, text});
    }
  }
  for (auto& [file, entries] : files) {
    const std::string path = pathOf(folder, file);
    Metadata metadata = {{"format", isModelFile(file) ? "pt" : "gossamer-rank"}};
    if (!isModelFile(file)) metadata["step"] = fmt::to_string(index.step);
    writeSafetensors(path + kTemporary, std::move(entries), std::move(metadata));
    renameTo(path + kTemporary, path);
  }
  if (rank == 0) {
    for (const auto& [name, text] : index.texts)
      writeText(pathOf(folder, name), text);
  }
  syncDirectory(folder);
}

std::size_t readVector(const std::string& folder, const CheckpointIndex::Rank& rank, std::size_t piece,
                       const ParameterTable& table, std::vector<float>& whole) {
  const CheckpointIndex::Piece& of = rank.pieces[piece];
  const SafetensorsFile file(pathOf(folder, of.file));
  const std::string prefix = prefixOf(of.file, piece);
  std::set<std::string> names;
  for (const std::string& name : file.names())
    names.insert(name);
  std::uint64_t hash = 0;
  std::size_t elements = 0;
  for (const Parameter& p : table.parameters()) {
    if (!names.contains(prefix + p.name)) continue;
    float* values = whole.data() + p.offset;
    file.read(prefix + p.name, p.shape, values);
    addTensor(hash, p.name, values, p.count);
    elements += p.count;
  }
  if (hash != of.hash) failChecksum(file.path(), piece);
  return elements;
}

std::string readRankText(const std::string& folder, const CheckpointIndex::Rank& rank, std::size_t piece) {
  const CheckpointIndex::Piece& of = rank.pieces[piece];
  if (of.file.empty()) return "";
  const SafetensorsFile file(pathOf(folder, of.file));
  std::string text = file.readBytes(kPieceNames[piece]);
  if (hashOfText(text) != of.hash) failChecksum(file.path(), piece);
  return text;
}

ReplicaState readCopy(const std::string& folder, const CheckpointIndex& index, std::size_t copy,
                      const ParameterTable& table, std::initializer_list<std::size_t> vectors) {
  ReplicaState state;
  for (const std::size_t piece : vectors) {
    std::set<std::string> files; // several ranks of a copy may hold the same part
    std::size_t elements = 0;
    std::vector<float>& whole = state.*kPieceVectors[piece];
    whole.resize(table.count());
    for (const CheckpointIndex::Rank& rank : index.ranks) {
      if (rank.copy != copy || !files.insert(rank.pieces[piece].file).second) continue;
      elements += readVector(folder, rank, piece, table, whole);
    }
    if (elements != table.count()) {
      fail("{} is damaged: its files have {} of {} elements of {}", indexPath(folder), elements, table.count(),
           kPieceNames[piece]);
    }
  }
  return state;
}

TrainingState readWhole(const std::string& folder, const CheckpointIndex& index, const ParameterTable& table) {
  std::map<std::size_t, std::vector<std::size_t>> ranks_of; // by copy
  bool keeps = false, differs = false;
  for (std::size_t r = 0; r < index.ranks.size(); ++r) {
    const CheckpointIndex::Rank& rank = index.ranks[r];
    ranks_of[rank.copy].push_back(r);
    for (std::size_t i = kVectors; i < kPieces; ++i)
      keeps = keeps || !rank.pieces[i].file.empty();
    for (std::size_t i = 0; rank.copy != 0 && i < kVectors; ++i)
      differs = differs || index.writes(r, i);
  }
  TrainingState state;
  for (const auto& [copy, ranks] : ranks_of) {
    if (!keeps && !differs && copy != 0) break;
    ReplicaState read = readCopy(folder, index, copy, table, {0, 1, 2});
    for (std::size_t i = 0; keeps && i < ranks.size(); ++i) {
      read.ranks.push_back({readRankText(folder, index.ranks[ranks[i]], kSyncPiece),
                            readRankText(folder, index.ranks[ranks[i]], kActivationsPiece)});
    }
    if (copy == 0) {
      static_cast<ReplicaState&>(state) = std::move(read);
    } else {
      state.others.push_back(std::move(read));
    }
  }
  state.step = index.step;
  state.settings = index.settings;
  state.sync = index.sync;
  state.grid = index.grid;
  return state;
}

void removePart(const std::string& folder, const CheckpointIndex& index, std::size_t rank) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kPieces; ++i)
    if (index.writes(rank, i)) names.insert(index.ranks[rank].pieces[i].file);
  for (const auto& [name, text] : index.texts)
    if (rank == 0) names.insert(name);
  std::error_code ignored;
  for (const std::string& name : names) {
    std::filesystem::remove(pathOf(folder, name), ignored);
    std::filesystem::remove(pathOf(folder, name) + kTemporary, ignored);
  }
}

} // namespace goss::trainer
