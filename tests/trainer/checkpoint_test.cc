#include "trainer/files/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/files/checkpoint_writer.h"
#include "trainer/files/safetensors.h"

namespace goss::trainer {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr ModelConfig kConfig{.layers = 1, .channels = 4, .heads = 2, .context = 3, .vocab = 5};

TrainingState stateOf(const ParameterTable& table, std::size_t step) {
  TrainingState state;
  state.step = step;
  state.settings = R"({"lr":0.5})";
  for (std::size_t i = 0; i < table.count(); ++i) {
    state.parameters.push_back(static_cast<float>(i + step));
    state.first_moments.push_back(-static_cast<float>(i));
    state.second_moments.push_back(0.5f * static_cast<float>(i));
  }
  return state;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : table_(kConfig), store_(directory_ / "run", 2) { store_.prepare(1); }

  void save(std::size_t step) { store_.save(kConfig, table_, stateOf(table_, step)); }
  [[nodiscard]] std::string file(const std::string& name) const { return directory_ / ("run/step-00000007/" + name); }
  [[nodiscard]] std::string loadError() {
    return errorOf([this] { std::ignore = store_.loadLatest(kConfig, table_); });
  }
  [[nodiscard]] std::size_t loadedStep() { return store_.loadLatest(kConfig, table_)->state.step; }
  /// Makes checksums.json true again.
  void seal() const {
    nlohmann::json checksums;
    for (const char* name : {"model.safetensors", "optim.safetensors", "config.json"}) {
      const std::string bytes = readBytes(file(name));
      checksums[name] = fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
    }
    writeBytes(file("checksums.json"), checksums.dump());
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_ / "run"))
      names.insert(entry.path().filename().string());
    return names;
  }

  TemporaryDirectory directory_;
  ParameterTable table_;
  CheckpointStore store_;
};

TEST_F(CheckpointTest, NothingWasSavedYet) { EXPECT_FALSE(store_.loadLatest(kConfig, table_).has_value()); }

TEST_F(CheckpointTest, WhatWasSavedIsLoaded) {
  save(7);
  const std::optional<LoadedCheckpoint> loaded = store_.loadLatest(kConfig, table_);
  ASSERT_TRUE(loaded.has_value());
  expectSameState(loaded->state, stateOf(table_, 7));
  EXPECT_EQ(loaded->state.settings, R"({"lr":0.5})");
  EXPECT_TRUE(loaded->damaged.empty());
}

TEST_F(CheckpointTest, WhatRanksHoldAndTheirSynchronizersKeepIsLoaded) {
  TrainingState state = stateOf(table_, 7);
  state.sync = "some";
  state.grid = "a grid";
  state.ranks = {{std::string("a\0b", 3), ""}, {"", "d"}};
  state.others = {stateOf(table_, 8), stateOf(table_, 9)};
  state.others[0].ranks.resize(2);
  state.others[1].ranks = {{"c", "e"}, {}};
  store_.save(kConfig, table_, state);
  const TrainingState loaded = store_.loadLatest(kConfig, table_)->state;
  expectSameState(loaded, state);
  EXPECT_EQ(loaded.sync, "some");
  EXPECT_EQ(loaded.grid, "a grid");
  const auto expectRanks = [](const ReplicaState& of, const ReplicaState& expected) {
    ASSERT_EQ(of.ranks.size(), expected.ranks.size());
    for (std::size_t i = 0; i < of.ranks.size(); ++i) {
      EXPECT_EQ(of.ranks[i].sync, expected.ranks[i].sync);
      EXPECT_EQ(of.ranks[i].activations, expected.ranks[i].activations);
    }
  };
  expectRanks(loaded, state);
  ASSERT_EQ(loaded.others.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(loaded.others[i].parameters == state.others[i].parameters);
    EXPECT_TRUE(loaded.others[i].second_moments == state.others[i].second_moments);
    expectRanks(loaded.others[i], state.others[i]);
  }
}

TEST_F(CheckpointTest, HasTheFilesNamesAndShapesOfAHuggingFaceGpt2) {
  save(7);
  const SafetensorsFile model(file("model.safetensors"));
  EXPECT_EQ(model.metadata().at("format"), "pt");
  EXPECT_THAT(model.names(),
              testing::UnorderedElementsAre("wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.ln_1.bias",
                                            "h.0.attn.c_attn.weight", "h.0.attn.c_attn.bias", "h.0.attn.c_proj.weight",
                                            "h.0.attn.c_proj.bias", "h.0.ln_2.weight", "h.0.ln_2.bias",
                                            "h.0.mlp.c_fc.weight", "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.weight",
                                            "h.0.mlp.c_proj.bias", "ln_f.weight", "ln_f.bias"));
  std::vector<float> values(100);
  EXPECT_EQ(errorOf([&] { model.read("h.0.attn.c_attn.weight", {4, 12}, values.data()); }), "");
  const nlohmann::json config = nlohmann::json::parse(readBytes(file("config.json")));
  EXPECT_EQ(config["model_type"], "gpt2");
  EXPECT_EQ(config["n_head"], 2);
  EXPECT_EQ(config["vocab_size"], 5);
  EXPECT_EQ(config["activation_function"], "gelu_new");
}

TEST_F(CheckpointTest, OfALlamaHasHuggingFacesConfigAndIsNoGpt2) {
  ModelConfig llama = kConfig;
  llama.arch = Architecture::llama;
  const ParameterTable table(llama);
  store_.save(llama, table, stateOf(table, 7));
  const nlohmann::json config = nlohmann::json::parse(readBytes(file("config.json")));
  EXPECT_EQ(config["architectures"], nlohmann::json({"LlamaForCausalLM"}));
  EXPECT_EQ(config["hidden_size"], 4);
  EXPECT_EQ(config["intermediate_size"], 32);
  EXPECT_EQ(config["num_key_value_heads"], 2);
  EXPECT_EQ(readModelConfig(directory_ / "run/step-00000007"), llama);
  EXPECT_EQ(store_.loadLatest(llama, table)->state.parameters, stateOf(table, 7).parameters);
  EXPECT_THAT(loadError(), AllOf(HasSubstr("of another model"), HasSubstr("--arch llama")));
}

TEST_F(CheckpointTest, TheNewestTwoAreKept) {
  for (const std::size_t step : {1u, 2u, 3u, 10u})
    save(step);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000003", "step-00000010"}));
  EXPECT_EQ(loadedStep(), 10u);
}

TEST_F(CheckpointTest, AnEarlierOneCanBeNamedByHandAndIsNotOverwrittenByItsSuccessors) {
  save(7);
  save(8);
  writeBytes(directory_ / "run/latest", "step-00000007");
  EXPECT_EQ(loadedStep(), 7u);
  save(8); // the run goes on from 7 and comes to 8 again
  EXPECT_EQ(readBytes(directory_ / "run/latest"), "step-00000008.1\n");
  EXPECT_EQ(loadedStep(), 8u);
}

TEST_F(CheckpointTest, ThoseOfACourseThatWasLeftAreTheFirstToGo) {
  save(7);
  save(8);
  writeBytes(directory_ / "run/latest", "step-00000007");
  EXPECT_EQ(loadedStep(), 7u);
  save(8);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000007", "step-00000008.1"}));
  CheckpointStore anew(directory_ / "run", 2); // a run from step 0, without a look at what is there
  for (const std::size_t step : {1u, 2u})
    anew.save(kConfig, table_, stateOf(table_, step));
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000001", "step-00000002"}));
}

TEST_F(CheckpointTest, ANameThatADamagedOneHadIsNotTakenForDamaged) {
  save(6);
  save(8);
  fs::remove(directory_ / "run/step-00000008/config.json");
  EXPECT_EQ(loadedStep(), 6u);
  for (const std::size_t step : {7u, 8u, 9u})
    save(step);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000008", "step-00000009"}));
}

TEST_F(CheckpointTest, LeftoversOfACrashAreIgnoredAndRemoved) {
  save(7);
  fs::create_directory(directory_ / "run/.writing");
  writeBytes(directory_ / "run/.writing/model.safetensors", "half of a fi");
  writeBytes(directory_ / "run/latest.tmp", "step-0");
  EXPECT_EQ(loadedStep(), 7u);
  save(8);
  EXPECT_EQ(loadedStep(), 8u);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000007", "step-00000008"}));
}

/// Files of this process cannot grow beyond a size while this lives; writing more fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(CheckpointTest, AFailedWriteNamesTheFileAndKeepsThePreviousCheckpoint) {
  save(7);
  std::string error;
  {
    const FileSizeLimit limit(2048); // model.safetensors needs more
    error = errorOf([this] { save(8); });
  }
  EXPECT_THAT(error, AllOf(HasSubstr("step 8"), HasSubstr("model.safetensors"), HasSubstr("File too large"),
                           HasSubstr("earlier checkpoints are untouched")));
  EXPECT_EQ(loadedStep(), 7u);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000007"}));
  save(9); // and the store works again once there is room
  EXPECT_EQ(loadedStep(), 9u);
}

TEST_F(CheckpointTest, ADirectoryThatCannotBeMadeIsNamedAtTheStart) {
  writeBytes(directory_ / "file", "");
  EXPECT_THAT(errorOf([this] { CheckpointStore(directory_ / "file/run", 1).prepare(1); }),
              AllOf(HasSubstr("cannot create"), HasSubstr("file/run")));
}

TEST_F(CheckpointTest, EveryTruncatedFileIsRefusedByName) {
  save(7);
  for (const std::string name : {"model.safetensors", "optim.safetensors", "config.json", "checksums.json"}) {
    const std::string whole = readBytes(file(name));
    for (const std::size_t length : {std::size_t{0}, std::size_t{5}, whole.size() / 2, whole.size() - 2}) {
      writeBytes(file(name), whole.substr(0, length));
      EXPECT_THAT(loadError(), AllOf(HasSubstr(name), HasSubstr("damaged"))) << length;
    }
    writeBytes(file(name), whole);
  }
  EXPECT_EQ(loadError(), "");
}

TEST_F(CheckpointTest, AFlippedBitAnywhereIsRefused) {
  save(7);
  for (const std::string name : {"model.safetensors", "optim.safetensors", "config.json"}) {
    const std::string whole = readBytes(file(name));
    for (std::size_t at = 0; at < whole.size(); at += 61) { // header, metadata and data
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 4);
      writeBytes(file(name), damaged);
      EXPECT_THAT(loadError(), AllOf(HasSubstr(name), HasSubstr("damaged"), HasSubstr("checksum"))) << at;
    }
    writeBytes(file(name), whole);
  }
}

TEST_F(CheckpointTest, ADamagedOneIsNamedAndThePreviousOneIsUsed) {
  for (const std::size_t step : {6u, 7u})
    save(step);
  const std::string whole = readBytes(file("model.safetensors"));
  writeBytes(file("model.safetensors"), whole.substr(0, whole.size() / 2));
  const std::optional<LoadedCheckpoint> loaded = store_.loadLatest(kConfig, table_);
  ASSERT_TRUE(loaded.has_value());
  expectSameState(loaded->state, stateOf(table_, 6));
  EXPECT_THAT(loaded->damaged,
              testing::ElementsAre(AllOf(HasSubstr("step-00000007/model.safetensors"), HasSubstr("damaged"))));
  save(7); // the run comes there again, and the damaged one is the first to go
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000006", "step-00000007.1"}));
  EXPECT_EQ(loadedStep(), 7u);
  for (const char* name : {"step-00000006", "step-00000007.1"})
    fs::remove(directory_ / ("run/" + std::string(name) + "/config.json"));
  EXPECT_THAT(loadError(), AllOf(HasSubstr("step-00000007.1/config.json"), HasSubstr("no earlier checkpoint")));
}

TEST_F(CheckpointTest, AMissingFileIsNamed) {
  save(7);
  fs::remove(file("optim.safetensors"));
  EXPECT_THAT(loadError(), AllOf(HasSubstr("optim.safetensors"), HasSubstr("No such file")));
}

TEST_F(CheckpointTest, ALatestThatNamesNothingOrLeavesTheDirectoryIsNamedAndTheNewestIsUsed) {
  save(6);
  save(7);
  for (const std::string name : {"step-00000099", "../elsewhere", "step-/../../etc", "", "step-"}) {
    writeBytes(directory_ / "run/latest", name);
    const std::optional<LoadedCheckpoint> loaded = store_.loadLatest(kConfig, table_);
    ASSERT_TRUE(loaded.has_value());
    EXPECT_EQ(loaded->state.step, 7u);
    EXPECT_THAT(loaded->damaged, testing::ElementsAre(AllOf(HasSubstr("run/latest"), HasSubstr("no checkpoint"))));
  }
  fs::remove(directory_ / "run/latest"); // a crash before it was there
  EXPECT_EQ(loadedStep(), 7u);
}

TEST_F(CheckpointTest, ACheckpointOfAnotherModelIsRefusedWithTheFlag) {
  save(7);
  const auto error = [this](const ModelConfig& other) {
    return errorOf([&] { std::ignore = store_.loadLatest(other, ParameterTable(other)); });
  };
  ModelConfig other = kConfig;
  other.heads = 1; // the same shapes
  EXPECT_THAT(error(other), AllOf(HasSubstr("n_head is 2"), HasSubstr("--heads is 1")));
  other = kConfig;
  other.layers = 2;
  EXPECT_THAT(error(other), HasSubstr("--layers"));
  other = kConfig;
  other.channels = 8;
  EXPECT_THAT(error(other), HasSubstr("--channels"));
}

TEST_F(CheckpointTest, AModelFileWithTheTensorsOfAnotherModelIsRefused) {
  save(7);
  const std::vector<float> values(4, 0.0f);
  writeSafetensors(file("model.safetensors"), {{"wte.weight", {4}, values.data()}}, {});
  seal();
  EXPECT_THAT(loadError(), AllOf(HasSubstr("model.safetensors"), HasSubstr("another model")));
}

TEST_F(CheckpointTest, AnOptimiserFileOfAnotherVersionOrWithoutAStepIsRefused) {
  save(7);
  const std::vector<float> values(4, 0.0f);
  const auto error = [&](const Metadata& metadata) {
    writeSafetensors(file("optim.safetensors"), {{"x", {4}, values.data()}}, metadata);
    seal();
    return loadError();
  };
  EXPECT_THAT(error({}), HasSubstr("no metadata 'format'"));
  EXPECT_THAT(error({{"format", "gossamer-optim"}, {"version", "1"}}), HasSubstr("another format or version"));
}

TEST_F(CheckpointTest, ADirectoryWithoutRoomIsNamedAtTheStart) {
  EXPECT_THAT(errorOf([this] { store_.prepare(std::size_t{1} << 62); }),
              AllOf(HasSubstr("needs 4611686018427387904 bytes"), HasSubstr(directory_ / "run")));
}

TEST_F(CheckpointTest, TheWriterWorksInTheBackgroundAndTellsOfEachCheckpointOnce) {
  CheckpointWriter writer(store_, kConfig, table_);
  EXPECT_EQ(writer.poll(), std::nullopt);
  writer.start(stateOf(table_, 7));
  EXPECT_EQ(writer.finish(), std::optional<std::size_t>(7));
  EXPECT_EQ(writer.finish(), std::nullopt);
  writer.start(stateOf(table_, 8));
  std::optional<std::size_t> polled;
  for (int i = 0; i < 60000 && !polled; ++i) {
    polled = writer.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(polled, std::optional<std::size_t>(8));
  EXPECT_EQ(loadedStep(), 8u);
}

TEST_F(CheckpointTest, WhileTheWriterWritesAndWhenItFailsThePreviousOneIsTheLatest) {
  save(7);
  const std::string fifo = directory_ / "run/latest.tmp"; // its opening blocks until there is a reader
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  CheckpointWriter writer(store_, kConfig, table_);
  writer.start(stateOf(table_, 8));
  EXPECT_EQ(writer.poll(), std::nullopt); // the caller goes on, the writer cannot
  EXPECT_EQ(loadedStep(), 7u);
  const std::ifstream reader(fifo);
  EXPECT_THAT(errorOf([&] { writer.finish(); }), AllOf(HasSubstr("step 8"), HasSubstr("latest.tmp"))); // no flush
  EXPECT_EQ(loadedStep(), 7u);
  EXPECT_EQ(writer.finish(), std::nullopt); // a failure is told once
}

} // namespace
} // namespace goss::trainer
