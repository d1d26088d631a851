// What synchronizers refuse, and with which sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/lib/sync/methods/model.h"
#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using testing::HasSubstr;

TEST(Refusals, OfSpecsNameWhatIsWrong) {
  struct Case {
    const char* spec;
    const char* text;
  };
  const Case cases[] = {{"", "must begin with a name, such as diloco:h=50"},
                        {"dilocco:h=3", "there is no synchronizer 'dilocco'; there are: ddp, local, diloco"},
                        {"diloco:", "nothing follows the colon"},
                        {"diloco:h", "'h' is not key=value"},
                        {"diloco:h=", "'h' has no value"},
                        {"diloco:h=3,h=4", "'h' is given twice"},
                        {"diloco:h=3,", "nothing follows the last ','"},
                        {"diloco:h=0", "h=0 is not between 1 and"},
                        {"diloco:h=-1", "h=-1 is not a whole number"},
                        {"diloco:lr=nan", "lr=nan is not a number"},
                        {"diloco:tau=1", "unknown parameter 'tau'; it has: h, steps, lr, momentum, islands, codec"},
                        {"diloco:steps=often", "steps=often is neither fixed nor dynamic"},
                        {"eager:steps=dynamic", "unknown parameter 'steps'"},
                        {"streaming:h=7,fragments=2", "fragments must divide h"},
                        {"streaming:h=8,fragments=2,tau=4", "tau must be below h / fragments"},
                        {"delayed-nesterov:buffer=4,spread=0.5", "spread must be at most 1 / buffer"},
                        {"diloco:codec=int9", "'int9' is unknown here"},
                        {"demo:keep=100", "keep=100 is more than a chunk has"},
                        {"fedopt:eps=0", "eps=0 is not between 1e-30 and 1000"},
                        {"1-bit-adam:eps=0", "eps=0 is not between"},
                        {"qadam:eps=0", "eps=0 is not between"},
                        {"dadam:eps=0", "eps=0 is not between"},
                        {"fedavg:samples=3;0", "samples is neither equal nor numbers above 0"},
                        {"fedavg:samples=3;", "samples is neither equal nor numbers above 0"},
                        {"0-1-adam:freeze=0", "freeze"},
                        {"moshpit:patience=1", "patience and rates are of wait=0"},
                        {"moshpit:wait=1,rates=3;1;1", "patience and rates are of wait=0"},
                        {"fedavg:samples=3;2", "is for 2 ranks, but there are 1"},
                        {"local:islands=2", "1 ranks cannot be cut into 2 equal islands"}};
  runRanks(1, [&](goss_comm_t comm, int) {
    for (const Case& c : cases) {
      goss_sync_t sync = nullptr;
      EXPECT_EQ(goss_sync_create(comm, c.spec, &sync), GOSS_ERR_INVALID_ARGUMENT) << c.spec;
      EXPECT_THAT(goss_last_error(), HasSubstr(c.text)) << c.spec;
      EXPECT_EQ(sync, nullptr);
    }
  });
}

TEST(Refusals, OfErrorFeedbackWhereElementsOrPartnersChange) {
  runRanks(2, [](goss_comm_t comm, int) {
    for (const char* spec : {"sparta:part=0.5,codec=int8+ef", "noloco:codec=int8+ef", "noloco:codec=topk+momentum"}) {
      goss_sync_t sync = nullptr;
      EXPECT_EQ(goss_sync_create(comm, spec, &sync), GOSS_ERR_UNSUPPORTED) << spec;
      EXPECT_THAT(goss_last_error(), HasSubstr("error feedback would add what was lost of others")) << spec;
    }
    goss_sync_t sync = nullptr;
    EXPECT_OK(goss_sync_create(comm, "noloco:codec=int8", &sync));
    EXPECT_OK(goss_sync_destroy(sync));
  });
}

TEST(Refusals, OfCodecsInPhasesWhereTheMethodEncodesByItself) {
  runRanks(1, [](goss_comm_t comm, int) {
    for (const char* spec : {"choco:codec=powersgd", "dcd:codec=powersgd", "deepsqueeze:codec=powersgd",
                             "ef21:codec=powersgd", "choco:codec=powersgd:rank=2"}) {
      goss_sync_t sync = nullptr;
      EXPECT_EQ(goss_sync_create(comm, spec, &sync), GOSS_ERR_UNSUPPORTED) << spec;
      EXPECT_THAT(goss_last_error(), HasSubstr("several phases")) << spec;
      EXPECT_EQ(sync, nullptr);
    }
  });
}

// Rank 1's loss is finite at the first parameters that it is asked for, and not at the second.
TEST(Refusals, OfALossThatIsNotFiniteLeaveTheParametersAsTheyWere) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    SyncRun run(comm, "one-byte:eps=0.25");
    struct Loss {
      int calls = 0;
      bool is_finite = true;
    } asked{0, rank == 0};
    goss_sync_loss loss = GOSS_SYNC_LOSS_INIT;
    loss.context = &asked;
    loss.evaluate = [](void* context) {
      auto& one = *static_cast<Loss*>(context);
      return ++one.calls < 2 || one.is_finite ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    };
    EXPECT_OK(goss_sync_set_loss(run.sync(), &loss));
    run.start();
    const std::vector<float> before = run.parameters();
    EXPECT_NE(goss_sync_gradients(run.sync()), GOSS_SUCCESS);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 1's loss is not finite"));
    EXPECT_EQ(asked.calls, 2);
    EXPECT_EQ(run.parameters(), before);
  });
}

// Rank 0 gives its whole vector away and gets none: its push-sum weight becomes 0.
TEST(Refusals, OfAPushSumWithoutWeightEndTheStepsOfAllRanks) {
  const std::string matrix = testing::TempDir() + "gossamer_push_sum_" + std::to_string(getpid());
  std::ofstream(matrix) << "0 0\n1 1\n";
  runRanks(2, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, "sgp:topology=matrix:" + matrix);
    run.start();
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    EXPECT_OK(goss_sync_gradients(run.sync()));
    goss_status status = goss_sync_step(run.sync());
    if (rank == 1 && status == GOSS_SUCCESS) status = goss_sync_step(run.sync()); // it has a weight of 2
    EXPECT_NE(status, GOSS_SUCCESS);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 0 has a push-sum weight of 0 after step 1"));
  });
  std::filesystem::remove(matrix);
}

TEST(Refusals, OfRanksThatDisagreeReachAllOfThem) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_sync_t sync = nullptr;
    EXPECT_EQ(goss_sync_create(comm, rank == 0 ? "diloco:h=5" : "diloco:h=6", &sync), GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), HasSubstr("different synchronizers"));
    EXPECT_OK(goss_sync_create(comm, "diloco:h=5", &sync));
    std::vector<float> values(2);
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "weights";
    tensor.parameter = values.data();
    tensor.count = rank == 0 ? 1 : 2;
    EXPECT_OK(goss_sync_register(sync, &tensor, nullptr));
    EXPECT_EQ(goss_sync_step(sync), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("goss_sync_start first"));
    EXPECT_EQ(goss_sync_start(sync), GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), HasSubstr("different tensors"));
    EXPECT_EQ(goss_sync_step(sync), GOSS_ERR_MISMATCH) << "a failure lasts";
    EXPECT_OK(goss_sync_destroy(sync));
  });
}

TEST(Refusals, OfStatesThatDoNotFit) {
  runRanks(1, [](goss_comm_t comm, int) {
    SyncRun run(comm, "diloco:h=5");
    run.start();
    const std::string state = exported(run.sync());
    SyncRun other(comm, "slowmo:h=5");
    EXPECT_EQ(goss_sync_import(other.sync(), state.data(), state.size()), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("is of 'diloco:h=5"));
    SyncRun same(comm, "diloco:h=5");
    for (std::size_t at = 0; at < state.size(); ++at) {
      std::string damaged = state;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      EXPECT_EQ(goss_sync_import(same.sync(), damaged.data(), damaged.size()), GOSS_ERR_PROTOCOL) << at;
      EXPECT_EQ(goss_sync_import(same.sync(), state.data(), at), GOSS_ERR_PROTOCOL) << at;
    }
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    float one = 0;
    tensor.name = "one more";
    tensor.parameter = &one;
    tensor.count = 1;
    EXPECT_OK(goss_sync_register(same.sync(), &tensor, nullptr));
    EXPECT_EQ(goss_sync_import(same.sync(), state.data(), state.size()), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("of other tensors"));
  });
}

/// The methods whose ranks go on from the latest of the steps that their states are of.
bool goesOnFromTheLatest(const std::string& spec) {
  static const std::set<std::string> kMethods = {
      "acid",       "adpsgd", "choco",   "dpsgd",  "dadam", "dcd",  "deepsqueeze", "ef21",  "gossip-pga",
      "gossipgrad", "heloco", "moshpit", "noloco", "osgp",  "papa", "sgp",         "sparta"};
  return kMethods.contains(spec.substr(0, spec.find(':')));
}

// Ranks that went on would keep different references for ever, or wait for each other in different collectives.
TEST(Refusals, OfStatesOfDifferentStepsUnlessExchangesBringTheRanksTogether) {
  std::vector<std::string> specs = allSpecs();
  specs.insert(specs.end(), {"streaming:h=2,alpha=0", "adpsgd", "acid", "sgp:wait=0", "moshpit:wait=0", "heloco:h=4"});
  for (const std::string& spec : specs) {
    SCOPED_TRACE(spec);
    std::vector<std::vector<float>> ends(kRanks);
    runRanks(kRanks, [&](goss_comm_t comm, int rank) {
      std::string state;
      std::vector<float> parameters;
      {
        SyncRun run(comm, spec);
        run.start();
        for (int step = 0; step < 8; ++step) {
          run.step(step);
          if (step == (rank == 2 ? 6 : 7)) {
            state = exported(run.sync());
            parameters = run.parameters();
          }
        }
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // heloco's ranks read rank 0's memory
      }
      SyncRun resumed(comm, spec);
      EXPECT_OK(goss_sync_import(resumed.sync(), state.data(), state.size()));
      resumed.parameters() = parameters;
      if (!goesOnFromTheLatest(spec)) {
        EXPECT_EQ(goss_sync_start(resumed.sync()), GOSS_ERR_MISMATCH) << "rank " << rank;
        EXPECT_THAT(goss_last_error(), HasSubstr("different steps"));
        EXPECT_EQ(resumed.tryStep(8), GOSS_ERR_MISMATCH) << "a failure lasts";
        return;
      }
      resumed.start();
      for (int step = 8; step < 12; ++step)
        resumed.step(step);
      resumed.finish();
      ends[static_cast<std::size_t>(rank)] = resumed.parameters();
    });
    for (const std::vector<float>& end : ends)
      EXPECT_EQ(end, ends[0]);
  }
}

TEST(Refusals, OfAnAlgorithmThatWouldGiveTheRanksDifferentReferences) {
  RanksSetup setup;
  setup.ranks = kRanks;
  setup.algorithm = "recursive-doubling";
  runRanks(setup, [](goss_comm_t comm, int) {
    for (const char* spec : {"diloco:h=4,codec=int4:block=32,round=stochastic", "ddp:codec=qsgd"}) {
      goss_sync_t sync = nullptr;
      EXPECT_EQ(goss_sync_create(comm, spec, &sync), GOSS_ERR_INVALID_ARGUMENT) << spec;
      EXPECT_THAT(goss_last_error(), HasSubstr("they would end with different bits; use one of: direct")) << spec;
    }
    for (const char* spec : {"diloco:h=4,codec=int8", "diloco:h=4,codec=int4:block=32+ef", "diloco:h=4,codec=fp16"}) {
      SyncRun run(comm, spec), resumed(comm, spec);
      run.start();
      for (int step = 0; step < 8; ++step)
        run.step(step);
      const std::string state = exported(run.sync());
      EXPECT_OK(goss_sync_import(resumed.sync(), state.data(), state.size()));
      resumed.parameters() = run.parameters();
      resumed.start();
      for (SyncRun* one : {&run, &resumed})
        for (int step = 8; step < 12; ++step)
          one->step(step);
      EXPECT_EQ(resumed.parameters(), run.parameters()) << spec;
    }
  });
}

TEST(Refusals, OfStatesOfOneStepThatDoNotBelongTogether) {
  for (const char* spec : {"diloco:h=4", "streaming:h=8,fragments=2,tau=3", "co2:h=4", "diloco:h=4,islands=2"}) {
    runRanks(kRanks, [&](goss_comm_t comm, int rank) {
      SyncRun run(comm, spec);
      SyncRun other(comm, spec, nullptr, [](int) { return 0.125; });
      run.start();
      other.start();
      for (int step = 0; step < 6; ++step) {
        run.step(step);
        other.step(step);
      }
      const std::string before = exported(run.sync()), of_other = exported(other.sync());
      run.finish();
      const std::string behind = exported(run.sync());
      for (const std::string& odd : {of_other, behind}) {
        const std::string& state = rank == 1 ? odd : before;
        SyncRun resumed(comm, spec);
        EXPECT_OK(goss_sync_import(resumed.sync(), state.data(), state.size()));
        EXPECT_EQ(goss_sync_start(resumed.sync()), GOSS_ERR_MISMATCH) << spec << " on rank " << rank;
        EXPECT_THAT(goss_last_error(), HasSubstr("of step 6 that do not belong together"));
      }
    });
  }
}

TEST(Refusals, OfTensorsThatCannotTakePart) {
  runRanks(1, [](goss_comm_t comm, int) {
    goss_sync_t sync = nullptr;
    EXPECT_OK(goss_sync_create(comm, "ddp", &sync));
    float value = 0;
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "weights";
    tensor.parameter = &value;
    tensor.count = 1;
    EXPECT_EQ(goss_sync_register(sync, &tensor, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("has no gradient"));
    tensor.dtype = GOSS_BFLOAT16;
    EXPECT_EQ(goss_sync_register(sync, &tensor, nullptr), GOSS_ERR_UNSUPPORTED);
    EXPECT_EQ(goss_sync_set_lr(sync, -0.5), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("-0.5 is no learning rate; it must be at least 0"));
    EXPECT_EQ(goss_sync_set_lr(sync, std::nan("")), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_OK(goss_sync_destroy(sync));
    EXPECT_OK(goss_sync_destroy(nullptr));
    EXPECT_EQ(goss_sync_step(nullptr), GOSS_ERR_INVALID_ARGUMENT);
  });
}

TEST(Refusals, OfVotesThatAreNotFiniteOnAllRanks) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    std::vector<float> x(9, 1.0F), g(9, 1.0F);
    goss_sync_t sync = nullptr;
    EXPECT_OK(goss_sync_create(comm, "signum", &sync));
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "x";
    tensor.parameter = x.data();
    tensor.gradient = g.data();
    tensor.count = x.size();
    EXPECT_OK(goss_sync_register(sync, &tensor, nullptr));
    EXPECT_OK(goss_sync_start(sync));
    EXPECT_OK(goss_sync_gradients(sync));
    EXPECT_OK(goss_sync_step(sync));
    if (rank == 1) g[8] = std::nanf("");
    EXPECT_NE(goss_sync_gradients(sync), GOSS_SUCCESS);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 1's gradients or momenta are not finite in step 2"));
    EXPECT_OK(goss_sync_destroy(sync));
  });
}

TEST(Refusals, OfStepsThatARankLeavesOut) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    SyncRun run(comm, "local:h=2,steps=dynamic");
    run.start();
    EXPECT_EQ(goss_sync_step(run.sync()), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("ask goss_sync_computes before every step"));
    EXPECT_EQ(goss_sync_step_time(run.sync(), 0), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_sync_computes(run.sync(), nullptr), GOSS_ERR_INVALID_ARGUMENT);
    run.step(0);
    run.step(1);
    goss_sync_info info{};
    info.size = sizeof info;
    EXPECT_OK(goss_sync_get_info(run.sync(), &info));
    EXPECT_EQ(info.dynamic_period, 2);
    std::int32_t computes = -1;
    EXPECT_OK(goss_sync_computes(run.sync(), &computes));
    EXPECT_EQ(computes, rank == 0 ? 1 : 0);
    EXPECT_EQ(goss_sync_gradients(run.sync()), rank == 0 ? GOSS_SUCCESS : GOSS_ERR_INVALID_ARGUMENT);
  });
}

} // namespace
} // namespace goss::test
