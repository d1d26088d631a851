#include "trainer/files/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "tests/trainer/checkpoint_fixture.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/files/checkpoint_parts.h"
#include "trainer/files/checkpoint_writer.h"
#include "trainer/files/pretrained.h"
#include "trainer/files/safetensors.h"
#include "trainer/run/checkpoint_start.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(CheckpointTest, NothingWasSavedYet) {
  EXPECT_EQ(loadedStep(), 0u);
  EXPECT_THAT(shown_, HasSubstr("starting from step 0"));
}

TEST_F(CheckpointTest, WhatWasSavedIsLoaded) {
  save(7);
  expectLoaded(stateOf(table_, 7));
  EXPECT_THAT(shown_, AllOf(HasSubstr("resumed from step 7"), testing::Not(HasSubstr("damaged"))));
  EXPECT_EQ(files(),
            (std::set<std::string>{"checkpoint.json", "config.json", "model.safetensors", "rank-0000.safetensors"}));
}

TEST_F(CheckpointTest, EachRankWritesWhatNoRankBeforeItHolds) {
  const std::vector<ReplicaState> ranks = threeRanks(table_);
  saveRanks(7, ranks);
  EXPECT_EQ(files(),
            (std::set<std::string>{"checkpoint.json", "config.json", "model.safetensors", "rank-0000.safetensors",
                                   "rank-0001.safetensors", "rank-0002.safetensors"}));
  const std::size_t tensors = table_.parameters().size();
  EXPECT_EQ(SafetensorsFile(file("rank-0000.safetensors")).names().size(), 2 * tensors);     // both moments
  EXPECT_EQ(SafetensorsFile(file("rank-0001.safetensors")).names().size(), 2 * tensors + 1); // model, second, text
  EXPECT_EQ(SafetensorsFile(file("rank-0002.safetensors")).names().size(), tensors + 2);
  const CheckpointIndex index = readIndex(file(""));
  const TrainingState whole = readWhole(file(""), index, table_);
  ASSERT_EQ(whole.others.size(), 2u);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const ReplicaState& read = rank == 0 ? whole : whole.others[rank - 1];
    for (std::size_t piece = 0; piece < kVectors; ++piece) {
      EXPECT_TRUE(read.*kPieceVectors[piece] == ranks[rank].*kPieceVectors[piece]);
      std::vector<float> own(table_.count());
      EXPECT_EQ(readVector(file(""), index.ranks[rank], piece, table_, own), table_.count());
      EXPECT_TRUE(own == ranks[rank].*kPieceVectors[piece]);
    }
    EXPECT_EQ(read.ranks.at(0).sync, ranks[rank].ranks[0].sync);
    EXPECT_EQ(read.ranks.at(0).activations, ranks[rank].ranks[0].activations);
  }
  EXPECT_EQ(whole.step, 7u);
  EXPECT_EQ(whole.sync, "some");
  EXPECT_EQ(whole.grid, "a grid");
}

TEST_F(CheckpointTest, RanksThatHoldTheSameWriteItOnce) {
  saveRanks(7, std::vector<ReplicaState>(3, stateOf(table_, 7)));
  EXPECT_EQ(files(),
            (std::set<std::string>{"checkpoint.json", "config.json", "model.safetensors", "rank-0000.safetensors"}));
  expectLoaded(stateOf(table_, 7), "another grid");
}

TEST_F(CheckpointTest, AnotherGridGoesOnFromTheMeanOfTheCopies) {
  saveRanks(7, threeRanks(table_));
  const CheckpointStart mean = load(kConfig, "another grid");
  EXPECT_EQ(mean.model.parameters[5], static_cast<float>((12.0 + 13.0 + 13.0) / 3));
  EXPECT_EQ(mean.model.second_moments[3], static_cast<float>((1.5 + 1 + 2) / 3));
  EXPECT_EQ(mean.sync.states, (std::vector<std::string>{std::string("a\0b", 3), "c"}));
  EXPECT_FALSE(mean.sync.is_own);
}

// Stages of a pipeline: two ranks hold half of the tensors each, and two more those of another island.
TEST_F(CheckpointTest, StagesBecomeShardsThatHuggingFacesIndexNames) {
  const auto share_of = [this](int rank) {
    RankShare share{static_cast<std::size_t>(rank) / 2, {}};
    std::size_t offset = 0;
    for (std::size_t i = 0; i < table_.parameters().size(); ++i) {
      if (static_cast<int>(i) % 2 != rank % 2) continue;
      share.tensors.push_back(table_.parameters()[i]);
      share.tensors.back().offset = std::exchange(offset, offset + share.tensors.back().count);
    }
    return share;
  };
  const auto part_of = [&](int rank) {
    const TrainingState whole = stateOf(table_, rank < 2 ? 7 : 8);
    ReplicaState part;
    part.ranks = {{"", ""}};
    const RankShare share = share_of(rank);
    for (const Parameter& own : share.tensors) {
      for (const Parameter& p : table_.parameters()) {
        if (p.name != own.name) continue;
        for (const auto vector : kPieceVectors)
          (part.*vector)
              .insert((part.*vector).end(), (whole.*vector).begin() + static_cast<std::ptrdiff_t>(p.offset),
                      (whole.*vector).begin() + static_cast<std::ptrdiff_t>(p.offset + p.count));
      }
    }
    return part;
  };
  CheckpointIndex index;
  index.step = 7;
  index.texts["config.json"] = configText(kConfig);
  std::vector<PieceHashes> hashes;
  for (int rank = 0; rank < 4; ++rank)
    hashes.push_back(hashesOf(share_of(rank).tensors, part_of(rank)));
  index.assignWriters(hashes, share_of);
  const std::string name = store_.begin(7);
  for (int rank = 0; rank < 4; ++rank) {
    storeOf(static_cast<std::size_t>(rank))
        .writePart(name, index, share_of(rank).tensors, part_of(rank), store_.names());
  }
  store_.commit(name, index);
  EXPECT_TRUE(readWhole(file(""), readIndex(file("")), table_).parameters == stateOf(table_, 7).parameters);
  EXPECT_TRUE(readPretrainedWeights(file(""), kConfig, table_) == stateOf(table_, 7).parameters);
  EXPECT_TRUE(readParameters(file(""), kConfig, table_) == stateOf(table_, 7).parameters);
  const nlohmann::json map = nlohmann::json::parse(readBytes(file("model.safetensors.index.json")))["weight_map"];
  EXPECT_EQ(map.size(), table_.parameters().size());
  EXPECT_EQ(map[table_.parameters()[1].name], "model-00002-of-00002.safetensors");
  EXPECT_TRUE(readWhole(file(""), readIndex(file("")), table_).others.at(0).parameters ==
              stateOf(table_, 8).parameters);
}

TEST_F(CheckpointTest, UntilTheIndexIsThereTheCheckpointBeforeIsTheLatest) {
  save(6);
  const std::vector<ReplicaState> ranks = threeRanks(table_);
  const CheckpointIndex index = indexOf(kConfig, table_, 7, ranks);
  const std::string name = store_.begin(7);
  for (std::size_t rank = 0; rank < 3; ++rank) { // a kill after any part leaves the one before
    EXPECT_EQ(loadedStep(), 6u);
    storeOf(rank).writePart(name, index, table_.parameters(), ranks[rank], store_.names());
  }
  EXPECT_EQ(loadedStep(), 6u);
  EXPECT_THAT(shown_, testing::Not(HasSubstr("damaged")));
  CheckpointStore(directory_ / "run", 2, 0).prepare(1); // the next run
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000006"}));
  saveRanks(7, ranks);
  EXPECT_EQ(loadedStep(), 7u);
}

TEST_F(CheckpointTest, APartOfAnotherCheckpointIsNotTaken) {
  save(6);
  saveRanks(7, threeRanks(table_));
  std::vector<ReplicaState> others = threeRanks(table_);
  others[1].second_moments[0] = 9;
  saveRanks(8, others);
  fs::copy_file(directory_ / "run/step-00000008/rank-0001.safetensors", file("rank-0001.safetensors"),
                fs::copy_options::overwrite_existing);
  writeBytes(directory_ / "run/latest", "step-00000007");
  EXPECT_THAT(errorOf([this] { load(kConfig, "another grid"); }),
              AllOf(HasSubstr("step-00000007/rank-0001.safetensors is damaged"), HasSubstr("exp_avg_sq")));
}

// Written by a run of two ranks before every rank wrote its own part.
TEST_F(CheckpointTest, OneOfVersionThreeIsLoaded) {
  const ModelConfig config{.layers = 1, .channels = 4, .heads = 2, .context = 3, .vocab = 256};
  const std::string golden = GOSS_GOLDEN_DIR "/trainer/version_3/step-00000003";
  const ParameterTable table(config);
  fs::copy(GOSS_GOLDEN_DIR "/trainer/version_3", directory_ / "run", fs::copy_options::recursive);
  const TrainingState state = readVersion3(golden, config, table);
  EXPECT_EQ(state.step, 3u);
  EXPECT_EQ(state.grid, "2 ranks that hold the whole model");
  ASSERT_EQ(state.others.size(), 1u);
  std::vector<float> bias(12), moment(12);
  const SafetensorsFile moments(golden + "/optim.safetensors"), second(golden + "/replica-0001.safetensors");
  for (const Parameter& p : table.parameters()) {
    if (p.name != "h.0.attn.c_attn.bias") continue;
    moments.read("exp_avg/" + p.name, {12}, moment.data());
    second.read("exp_avg/" + p.name, {12}, bias.data());
    EXPECT_TRUE(std::equal(moment.begin(), moment.end(), state.first_moments.data() + p.offset));
    EXPECT_TRUE(std::equal(bias.begin(), bias.end(), state.others[0].first_moments.data() + p.offset));
    EXPECT_FALSE(bias == moment);
  }
  EXPECT_EQ(state.others[0].ranks.at(0).sync, second.readBytes("sync/0"));
  const CheckpointStart mean = load(config);
  EXPECT_EQ(mean.step, 3u);
  EXPECT_TRUE(mean.model.parameters == state.parameters);
  EXPECT_EQ(mean.sync.states.size(), 0u); // of another method
  EXPECT_TRUE(readParameters(golden, config, table) == state.parameters);
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
  saveRanks(7, {stateOf(table, 7)}, llama);
  const nlohmann::json config = nlohmann::json::parse(readBytes(file("config.json")));
  EXPECT_EQ(config["architectures"], nlohmann::json({"LlamaForCausalLM"}));
  EXPECT_EQ(config["hidden_size"], 4);
  EXPECT_EQ(config["intermediate_size"], 32);
  EXPECT_EQ(config["num_key_value_heads"], 2);
  EXPECT_EQ(readModelConfig(directory_ / "run/step-00000007"), llama);
  EXPECT_EQ(load(llama).model.parameters, stateOf(table, 7).parameters);
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
  store_ = CheckpointStore(directory_ / "run", 2, 0); // a run from step 0, without a look at what is there
  for (const std::size_t step : {1u, 2u})
    save(step);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000001", "step-00000002"}));
}

// Run A leaves 10 to 40, run B goes on from 20 to 40.1, which is damaged.
TEST_F(CheckpointTest, ADamagedOneIsReplacedByOneOfItsOwnCourse) {
  for (const std::string damaged : {"config.json", "checkpoint.json"}) {
    fs::remove_all(directory_ / "run");
    store_ = CheckpointStore(directory_ / "run", 10, 0);
    store_.prepare(1);
    for (const std::size_t step : {10u, 20u, 30u, 40u})
      save(step);
    writeBytes(directory_ / "run/latest", "step-00000020");
    EXPECT_EQ(loadedStep(), 20u);
    for (const std::size_t step : {30u, 40u})
      save(step);
    const std::string last = directory_ / "run/step-00000040.1/";
    const std::string whole = readBytes(last + damaged);
    writeBytes(last + damaged, whole.substr(0, whole.size() / 2));
    std::vector<std::string> notes;
    store_ = CheckpointStore(directory_ / "run", 3, 0); // run C
    EXPECT_EQ(store_.candidates(notes),
              (std::vector<std::string>{"step-00000040.1", "step-00000030.1", "step-00000020", "step-00000010"}));
    EXPECT_EQ(loadedStep(), 30u);
    save(40); // what is left of the other courses goes first
    EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000020", "step-00000030.1", "step-00000040.2"}));
  }
}

TEST_F(CheckpointTest, ACourseSkipsWhatTheUserHasRemoved) {
  store_ = CheckpointStore(directory_ / "run", 10, 0);
  for (const std::size_t step : {5u, 6u, 7u})
    save(step);
  fs::remove_all(directory_ / "run/step-00000006");
  fs::remove(file("config.json"));
  EXPECT_EQ(loadedStep(), 5u);
}

// Written before indexes named those before.
TEST_F(CheckpointTest, AnIndexWithoutACourseTakesAllOlderOnesForIt) {
  store_ = CheckpointStore(directory_ / "run", 10, 0);
  for (const char* name : {"step-00000006", "step-00000007", "step-00000007.9", "step-00000007.10"}) {
    save(7);
    const std::string written = readBytes(directory_ / "run/latest");
    const std::string folder = directory_ / ("run/" + written.substr(0, written.size() - 1));
    CheckpointIndex index = readIndex(folder);
    index.before.reset();
    index.texts["config.json"] = readBytes(folder + "/config.json");
    writeBytes(folder + "/checkpoint.json", toText(index));
    if (folder != store_.folder(name)) fs::rename(folder, store_.folder(name));
  }
  writeBytes(directory_ / "run/latest", "step-00000007.10");
  std::vector<std::string> notes;
  EXPECT_EQ(store_.candidates(notes),
            (std::vector<std::string>{"step-00000007.10", "step-00000007.9", "step-00000007", "step-00000006"}));
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
  fs::create_directory(directory_ / "run/.writing"); // version 3's
  writeBytes(directory_ / "run/.writing/model.safetensors", "half of a fi");
  writeBytes(directory_ / "run/latest.tmp", "step-0");
  EXPECT_EQ(loadedStep(), 7u);
  save(8);
  EXPECT_EQ(loadedStep(), 8u);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000007", "step-00000008"}));
}

TEST_F(CheckpointTest, EveryTruncatedFileIsRefusedByName) {
  save(7);
  for (const std::string name : {"model.safetensors", "rank-0000.safetensors", "config.json", "checkpoint.json"}) {
    const std::string whole = readBytes(file(name));
    for (const std::size_t length : {std::size_t{0}, std::size_t{5}, whole.size() / 2, whole.size() - 2}) {
      writeBytes(file(name), whole.substr(0, length));
      EXPECT_THAT(loadError(), AllOf(HasSubstr(name), HasSubstr("damaged"))) << length;
    }
    writeBytes(file(name), whole);
  }
  EXPECT_EQ(loadError(), "");
}

// Metadata of a safetensors file is for other readers: a flip there does no harm.
TEST_F(CheckpointTest, AFlippedBitAnywhereIsRefusedOrChangesNothing) {
  save(7);
  for (const std::string name : {"model.safetensors", "rank-0000.safetensors", "config.json", "checkpoint.json"}) {
    const std::string whole = readBytes(file(name));
    std::size_t refused = 0, tried = 0;
    for (std::size_t at = 0; at < whole.size(); at += 61, ++tried) { // header, metadata and data
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 4);
      writeBytes(file(name), damaged);
      const std::string error = loadError();
      if (error.empty()) {
        expectLoaded(stateOf(table_, 7));
      } else {
        EXPECT_THAT(error, HasSubstr(name)) << at;
        ++refused;
      }
    }
    EXPECT_GE(refused, tried - 4) << name;
    EXPECT_TRUE(name != "config.json" || refused == tried);
    writeBytes(file(name), whole);
  }
}

TEST_F(CheckpointTest, ADamagedOneIsNamedAndThePreviousOneIsUsed) {
  for (const std::size_t step : {6u, 7u})
    save(step);
  const std::string whole = readBytes(file("model.safetensors"));
  writeBytes(file("model.safetensors"), whole.substr(0, whole.size() / 2));
  expectLoaded(stateOf(table_, 6));
  EXPECT_THAT(shown_, AllOf(HasSubstr("rank 0: "), HasSubstr("step-00000007/model.safetensors"), HasSubstr("damaged"),
                            HasSubstr("going back to an earlier checkpoint")));
  save(7); // the run comes there again, and the damaged one is the first to go
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000006", "step-00000007.1"}));
  EXPECT_EQ(loadedStep(), 7u);
  for (const char* name : {"step-00000006", "step-00000007.1"})
    fs::remove(directory_ / ("run/" + std::string(name) + "/config.json"));
  EXPECT_THAT(loadError(), AllOf(HasSubstr("step-00000007.1/config.json"), HasSubstr("no earlier checkpoint")));
}

TEST_F(CheckpointTest, AMissingFileIsNamed) {
  save(7);
  fs::remove(file("rank-0000.safetensors"));
  EXPECT_THAT(loadError(), AllOf(HasSubstr("rank-0000.safetensors"), HasSubstr("No such file")));
}

TEST_F(CheckpointTest, ALatestThatNamesNothingOrLeavesTheDirectoryIsNamedAndTheNewestIsUsed) {
  save(6);
  save(7);
  for (const std::string name : {"step-00000099", "../elsewhere", "step-/../../etc", "", "step-"}) {
    writeBytes(directory_ / "run/latest", name);
    EXPECT_EQ(loadedStep(), 7u);
    EXPECT_THAT(shown_, AllOf(HasSubstr("run/latest"), HasSubstr("no checkpoint")));
  }
  fs::remove(directory_ / "run/latest"); // a crash before it was there
  EXPECT_EQ(loadedStep(), 7u);
}

TEST_F(CheckpointTest, ACheckpointOfAnotherModelIsRefusedWithTheFlag) {
  save(7);
  const auto error = [this](const ModelConfig& other) { return loadError(other); };
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
  EXPECT_THAT(loadError(), AllOf(HasSubstr("model.safetensors"), HasSubstr("this model needs")));
}

TEST_F(CheckpointTest, AnIndexOfAnotherVersionIsRefused) {
  save(7);
  nlohmann::json index = nlohmann::json::parse(readBytes(file("checkpoint.json")));
  index["version"] = 5;
  index.erase("xxh3");
  index["xxh3"] = fmt::format("{:016x}", hashOfText(index.dump()));
  // its own checksum is not part of what it covers
  writeBytes(file("checkpoint.json"), index.dump());
  EXPECT_THAT(loadError(), HasSubstr("another format or version"));
}

TEST_F(CheckpointTest, TheWriterWorksInTheBackgroundAndTellsOfEachJobOnce) {
  CheckpointWriter writer;
  EXPECT_FALSE(writer.poll());
  writer.start([this] { save(7); });
  EXPECT_TRUE(writer.finish());
  EXPECT_FALSE(writer.finish());
  writer.start([this] { save(8); });
  bool polled = false;
  for (int i = 0; i < 60000 && !polled; ++i) {
    polled = writer.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(polled);
  EXPECT_EQ(loadedStep(), 8u);
}

TEST_F(CheckpointTest, WhileTheWriterWritesAndWhenItFailsThePreviousOneIsTheLatest) {
  save(7);
  const std::string fifo = directory_ / "run/latest.tmp"; // its opening blocks until there is a reader
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  CheckpointWriter writer;
  writer.start([this] { save(8); });
  EXPECT_FALSE(writer.poll()); // the caller goes on, the writer cannot
  EXPECT_EQ(readBytes(directory_ / "run/latest"), "step-00000007\n");
  const std::ifstream reader(fifo);
  EXPECT_THAT(errorOf([&] { writer.finish(); }), AllOf(HasSubstr("step 8"), HasSubstr("latest.tmp"))); // no flush
  EXPECT_EQ(loadedStep(), 7u);
  EXPECT_FALSE(writer.finish()); // a failure is told once
}

} // namespace
} // namespace goss::trainer
