/// What tests of checkpoints share: states of a tiny model, and a store with them.
#ifndef GOSS_TESTS_TRAINER_CHECKPOINT_FIXTURE_H_
#define GOSS_TESTS_TRAINER_CHECKPOINT_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/files/checkpoint.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/run/checkpoint_start.h"

namespace goss::trainer {

namespace fs = std::filesystem;

inline constexpr ModelConfig kConfig{.layers = 1, .channels = 4, .heads = 2, .context = 3, .vocab = 5};

inline constexpr const char* kSettings = R"({"lr":0.5})";

inline TrainingState stateOf(const ParameterTable& table, std::size_t step) {
  TrainingState state;
  state.step = step;
  for (std::size_t i = 0; i < table.count(); ++i) {
    state.parameters.push_back(static_cast<float>(i + step));
    state.first_moments.push_back(-static_cast<float>(i));
    state.second_moments.push_back(0.5f * static_cast<float>(i));
  }
  state.ranks = {{"", ""}};
  return state;
}

/// Ranks that each hold a whole copy.
inline std::function<RankShare(int)> copiesOf(const ParameterTable& table) {
  return [&table](int rank) { return RankShare{static_cast<std::size_t>(rank), table.parameters()}; };
}

inline CheckpointIndex indexOf(const ModelConfig& config, const ParameterTable& table, std::size_t step,
                               const std::vector<ReplicaState>& ranks) {
  CheckpointIndex index;
  index.step = step;
  index.settings = kSettings;
  index.sync = "some";
  index.grid = "a grid";
  index.texts["config.json"] = configText(config);
  std::vector<PieceHashes> hashes;
  for (const ReplicaState& rank : ranks)
    hashes.push_back(hashesOf(table.parameters(), rank));
  index.assignWriters(hashes, copiesOf(table));
  return index;
}

/// Checkpoints of a tiny model in a directory of the test's own.
class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : table_(kConfig), store_(directory_ / "run", 2, 0) { store_.prepare(1); }

  /// Writes the checkpoint of one rank, or of several that see one directory.
  void saveRanks(std::size_t step, const std::vector<ReplicaState>& ranks, const ModelConfig& config = kConfig) {
    const ParameterTable table(config);
    const CheckpointIndex index = indexOf(config, table, step, ranks);
    const std::string name = store_.begin(step);
    for (std::size_t rank = ranks.size(); rank-- > 0;)
      storeOf(rank).writePart(name, index, table.parameters(), ranks[rank], store_.names());
    store_.commit(name, index);
  }
  void save(std::size_t step) { saveRanks(step, {stateOf(table_, step)}); }
  [[nodiscard]] CheckpointStore storeOf(std::size_t rank) const { return {directory_ / "run", 2, rank}; }
  [[nodiscard]] std::string file(const std::string& name) const { return directory_ / ("run/step-00000007/" + name); }
  /// Resumes as one rank.
  CheckpointStart load(const ModelConfig& config = kConfig, const std::string& grid = "a grid") {
    TrainOptions options;
    options.model = config;
    options.checkpoint = directory_ / "run";
    options.resume = true;
    SoloGroup group;
    testing::internal::CaptureStdout();
    Report report(true);
    const ParameterTable table(config);
    try {
      CheckpointStart start = CheckpointLoader(options, table, group, report, &store_).load({kSettings, "some", grid});
      shown_ = testing::internal::GetCapturedStdout();
      return start;
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
  }
  [[nodiscard]] std::string loadError(const ModelConfig& config = kConfig) {
    return errorOf([&] { load(config); });
  }
  [[nodiscard]] std::size_t loadedStep() { return load().step; }
  void expectLoaded(const ReplicaState& expected, const std::string& grid = "a grid") {
    const CheckpointStart loaded = load(kConfig, grid);
    for (const auto vector : kPieceVectors)
      EXPECT_TRUE(loaded.model.*vector == expected.*vector);
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_ / "run"))
      names.insert(entry.path().filename().string());
    return names;
  }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(file("")))
      files.insert(entry.path().filename().string());
    return files;
  }

  TemporaryDirectory directory_;
  ParameterTable table_;
  CheckpointStore store_;
  std::string shown_; // by the last load()
};

/// Three ranks: the third has the second's parameters, all have the same first moments, and the first keeps nothing.
inline std::vector<ReplicaState> threeRanks(const ParameterTable& table) {
  std::vector<ReplicaState> ranks = {stateOf(table, 7), stateOf(table, 8), stateOf(table, 8)};
  ranks[1].second_moments[3] = 1;
  ranks[2].second_moments[3] = 2;
  ranks[1].ranks = {{std::string("a\0b", 3), ""}};
  ranks[2].ranks = {{"c", "d"}};
  return ranks;
}

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_CHECKPOINT_FIXTURE_H_
