#include "trainer/files/checkpoint_index.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "trainer/files/file_io.h"

namespace goss::trainer {

namespace {

using Json = nlohmann::json; // keys are sorted, so that equal contents have equal texts

constexpr const char* kFormat = "gossamer-checkpoint";
constexpr unsigned kVersion = 4;
constexpr const char* kHashKey = "xxh3";
constexpr const char* kShardIndex = "model.safetensors.index.json";

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::uint64_t fromHex(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

/// As Hugging Face's libraries write it beside shards.
std::string shardIndex(const std::map<std::string, std::string>& files, std::size_t bytes) {
  return Json({{"metadata", {{"total_size", bytes}}}, {"weight_map", files}}).dump(2) + "\n";
}

Json toJson(const CheckpointIndex::Rank& rank) {
  Json json = {{"copy", rank.copy}};
  for (std::size_t i = 0; i < kPieces; ++i)
    if (!rank.pieces[i].file.empty()) json[kPieceNames[i]] = {rank.pieces[i].file, hex(rank.pieces[i].hash)};
  return json;
}

CheckpointIndex::Rank rankOf(const Json& json) {
  CheckpointIndex::Rank rank;
  rank.copy = json.at("copy").get<std::size_t>();
  for (std::size_t i = 0; i < kPieces; ++i) {
    const auto found = json.find(kPieceNames[i]);
    if (found == json.end()) continue;
    rank.pieces[i] = {found->at(0).get<std::string>(), fromHex(found->at(1).get<std::string>())};
  }
  return rank;
}

} // namespace

void addTensor(std::uint64_t& hash, const std::string& name, const float* values, std::size_t count) {
  // a sum, so that the order of a rank's tensors, which its files do not have, does not matter
  hash += XXH3_64bits_withSeed(values, count * sizeof(float), XXH3_64bits(name.data(), name.size()));
}

std::uint64_t hashOfText(const std::string& text) {
  return text.empty() ? 0 : std::max<std::uint64_t>(1, XXH3_64bits(text.data(), text.size()));
}

PieceHashes hashesOf(const std::vector<Parameter>& tensors, const ReplicaState& own) {
  PieceHashes hashes{};
  for (std::size_t i = 0; i < kVectors; ++i)
    for (const Parameter& p : tensors)
      addTensor(hashes[i], p.name, (own.*kPieceVectors[i]).data() + p.offset, p.count);
  hashes[kSyncPiece] = hashOfText(own.ranks.front().sync);
  hashes[kActivationsPiece] = hashOfText(own.ranks.front().activations);
  return hashes;
}

void CheckpointIndex::assignWriters(const std::vector<PieceHashes>& hashes,
                                    const std::function<RankShare(int)>& share_of) {
  std::map<std::pair<std::size_t, std::uint64_t>, std::string> written; // file, by piece and hash
  std::vector<std::pair<std::size_t, RankShare>> shards;
  ranks.assign(hashes.size(), {});
  for (std::size_t r = 0; r < hashes.size(); ++r) {
    const RankShare share = share_of(static_cast<int>(r));
    ranks[r].copy = share.copy;
    for (std::size_t i = 0; i < kPieces; ++i) {
      if (i >= kVectors && hashes[r][i] == 0) continue;
      const bool may_share = i < kVectors; // texts are a rank's own
      const auto found = may_share ? written.find({i, hashes[r][i]}) : written.end();
      ranks[r].pieces[i] = {found != written.end() ? found->second : rankFile(r), hashes[r][i]};
      if (!may_share || found != written.end()) continue;
      written[{i, hashes[r][i]}] = rankFile(r);
      if (i == kModelPiece && share.copy == 0) shards.emplace_back(r, share);
    }
  }
  std::map<std::string, std::string> weights; // file, by tensor
  std::size_t bytes = 0;
  for (std::size_t n = 0; n < shards.size(); ++n) {
    const auto& [writer, share] = shards[n];
    const std::string own_file = rankFile(writer);
    const std::string file = shards.size() == 1 ? "model.safetensors"
                                                : fmt::format("model-{:05}-of-{:05}.safetensors", n + 1, shards.size());
    for (Rank& rank : ranks)
      if (rank.pieces[kModelPiece].file == own_file) rank.pieces[kModelPiece].file = file;
    for (const Parameter& p : share.tensors) {
      weights[p.name] = file;
      bytes += p.count * sizeof(float);
    }
  }
  if (shards.size() > 1) texts[kShardIndex] = shardIndex(weights, bytes);
}

std::size_t CheckpointIndex::writerOf(std::size_t rank, std::size_t piece) const {
  const auto same = [&](const Rank& other) { return other.pieces[piece].file == ranks[rank].pieces[piece].file; };
  return static_cast<std::size_t>(std::ranges::find_if(ranks, same) - ranks.begin());
}

bool CheckpointIndex::writes(std::size_t rank, std::size_t piece) const {
  return !ranks[rank].pieces[piece].file.empty() && writerOf(rank, piece) == rank;
}

bool CheckpointIndex::writes(std::size_t rank) const {
  for (std::size_t i = 0; i < kPieces; ++i)
    if (writes(rank, i)) return true;
  return false;
}

bool CheckpointIndex::isShared(std::size_t piece) const {
  return std::ranges::all_of(
      ranks, [&](const Rank& rank) { return rank.pieces[piece].file == ranks.front().pieces[piece].file; });
}

std::string rankFile(std::size_t rank) { return fmt::format("rank-{:04}.safetensors", rank); }

std::string indexPath(const std::string& folder) { return folder + "/checkpoint.json"; }

std::string toText(const CheckpointIndex& index) {
  Json json = {{"format", kFormat},          {"version", kVersion}, {"step", index.step},
               {"settings", index.settings}, {"sync", index.sync},  {"grid", index.grid}};
  if (index.before) json["before"] = *index.before;
  for (const auto& [name, text] : index.texts)
    json["texts"][name] = hex(hashOfText(text));
  for (const CheckpointIndex::Rank& rank : index.ranks)
    json["ranks"].push_back(toJson(rank));
  json[kHashKey] = hex(hashOfText(json.dump()));
  return json.dump(1) + "\n";
}

CheckpointIndex parseIndex(const std::string& text, const std::string& path) try {
  Json json = Json::parse(text);
  const std::string hash = json.at(kHashKey).get<std::string>();
  json.erase(kHashKey);
  if (hash != hex(hashOfText(json.dump()))) fail("{} is damaged: its checksum is not the one that it names", path);
  if (json.at("format") != kFormat || json.at("version") != kVersion)
    throw IncompatibleCheckpoint(fmt::format("{} is of another format or version than {} {}", path, kFormat, kVersion));
  CheckpointIndex index;
  index.step = json.at("step").get<std::size_t>();
  index.settings = json.at("settings").get<std::string>();
  index.sync = json.at("sync").get<std::string>();
  index.grid = json.at("grid").get<std::string>();
  index.texts = json.at("texts").get<std::map<std::string, std::string>>();
  if (json.contains("before")) index.before = json["before"].get<std::vector<std::string>>();
  for (const Json& rank : json.at("ranks"))
    index.ranks.push_back(rankOf(rank));
  return index;
} catch (const Json::exception& error) {
  fail("{} is damaged: {}", path, error.what());
}

CheckpointIndex readIndex(const std::string& folder) {
  const std::string path = indexPath(folder);
  CheckpointIndex index = parseIndex(readText(path), path);
  for (const auto& [name, expected] : index.texts) {
    const std::string file = fmt::format("{}/{}", folder, name);
    if (hex(hashOfText(readText(file))) != expected)
      fail("{} is damaged: its checksum is not the one in checkpoint.json", file);
  }
  return index;
}

} // namespace goss::trainer
