/// PowerSGD on a device beside the CPU's, bit for bit: two ranks, several operations, both forms and both feedbacks.
#include "compressors/chain.h"
#include "tests/compressors/cuda/harness.h"

namespace goss::test {
namespace {

struct RunCase {
  const char* spec;
  std::size_t rows, columns;
};

class DeviceRuns : public testing::TestWithParam<RunCase> {
 protected:
  static constexpr int kRanks = 2;
  static constexpr int kOperations = 3;

  /// The state that one rank keeps, on both sides.
  struct Rank {
    Floats values, residual, state;
    Lent at_values{Floats()}, at_residual{Floats()}, at_state{Floats()}, at_scratch{Floats()};
    std::unique_ptr<CodecRun> run;
    std::unique_ptr<compressors::cuda::DeviceRun> device_run;
    CodecPhase phase, device_phase;
  };

  static Floats downloaded(std::span<float> on_device) {
    Floats values(on_device.size());
    EXPECT_TRUE(DeviceBuffer::read(values.data(), on_device.data(), on_device.size_bytes()).isOk());
    return values;
  }
  static void sum(std::vector<Rank>& ranks) {
    Floats host(ranks[0].phase.values.begin(), ranks[0].phase.values.end());
    Floats device = downloaded(ranks[0].device_phase.values);
    for (std::size_t r = 1; r < ranks.size(); ++r) {
      const Floats other = downloaded(ranks[r].device_phase.values);
      for (std::size_t i = 0; i < host.size(); ++i) {
        host[i] += ranks[r].phase.values[i];
        device[i] += other[i];
      }
    }
    for (Rank& rank : ranks) {
      std::copy(host.begin(), host.end(), rank.phase.values.begin());
      const std::span<float> there = rank.device_phase.values;
      EXPECT_TRUE(DeviceBuffer::write(there.data(), device.data(), there.size_bytes()).isOk());
    }
  }
};

TEST_P(DeviceRuns, AreThoseOfTheCpu) {
  GOSS_NEED_DEVICE();
  const auto [spec, rows, columns] = GetParam();
  const auto made = makeDeviceCodec(spec);
  ASSERT_TRUE(made.isOk()) << made.status().text();
  const DeviceCodec& device = *made.value();
  const std::size_t count = rows * columns;
  std::vector<Rank> ranks(kRanks);
  for (Rank& rank : ranks) {
    rank.residual = Floats(count);
    rank.state = Floats(device.host().stateFloats(count, columns));
    rank.at_residual = Lent(rank.residual);
    rank.at_state = Lent(rank.state);
    rank.at_scratch = Lent(Floats(device.runScratchBytes(count, columns) / sizeof(float)));
  }
  for (int operation = 0; operation < kOperations; ++operation) {
    SCOPED_TRACE(operation);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      Rank& rank = ranks[r];
      rank.values = valuesOf(count, static_cast<std::uint32_t>(10 * operation) + static_cast<std::uint32_t>(r));
      if (operation == 1 && r == 1) {
        rank.values[count / 2] = std::numeric_limits<float>::infinity(); // and is forgotten
      }
      rank.at_values = Lent(rank.values);
      RunJob job{rank.values, columns, rank.residual.data(), 0.5f, rank.state, kRanks, randomness(0)};
      auto run = device.host().start(job);
      ASSERT_TRUE(run.isOk()) << run.status().text();
      rank.run = run.take();
      job.values = rank.at_values.span();
      job.residual = rank.at_residual.floats();
      job.state = rank.at_state.span();
      auto device_run = device.start({job, rank.at_scratch.bytes(), static_cast<std::uint64_t>(operation)});
      ASSERT_TRUE(device_run.isOk()) << device_run.status().text();
      rank.device_run = device_run.take();
    }
    for (;;) {
      for (Rank& rank : ranks) {
        rank.phase = rank.run->next().take();
        rank.device_phase = rank.device_run->next(nullptr).take();
        ASSERT_EQ(rank.phase.want, rank.device_phase.want);
        ASSERT_EQ(rank.phase.values.size(), rank.device_phase.values.size());
      }
      if (ranks[0].phase.want == PhaseWant::done) break;
      sum(ranks);
    }
    for (Rank& rank : ranks) {
      expectSame(rank.values, rank.at_values.backFloats(), "values");
      expectSame(rank.residual, rank.at_residual.backFloats(), "residual");
      expectSame(rank.state, rank.at_state.backFloats(), "state");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PowerSgd, DeviceRuns,
                         testing::Values(RunCase{"powersgd:rank=4", 100, 70}, RunCase{"powersgd:rank=1", 33, 1100},
                                         RunCase{"powersgd:rank=11,feedback=local", 600, 40},
                                         RunCase{"powersgd:rank=3,reductions=1", 90, 61},
                                         RunCase{"powersgd:rank=9,reductions=1,feedback=local", 40, 530},
                                         RunCase{"powersgd:rank=8", 7, 9})); // not worth it: a plain sum

TEST(DeviceRuns, RefuseWhatDoesNotFit) {
  const auto made = makeDeviceCodec("powersgd:rank=2");
  ASSERT_TRUE(made.isOk()) << made.status().text();
  Floats values(1000), state(made.value()->host().stateFloats(1000, 50));
  compressors::cuda::DeviceRunJob job;
  job.run.values = values;
  job.run.columns = 50;
  job.run.state = state;
  EXPECT_EQ(made.value()->start(job).status().kind(), GOSS_ERR_INVALID_ARGUMENT) << "no scratch";
  job.run.columns = 3;
  EXPECT_EQ(made.value()->start(job).status().kind(), GOSS_ERR_INVALID_ARGUMENT) << "no matrix";
  EXPECT_EQ(made.value()->encode({}, nullptr).kind(), GOSS_ERR_UNSUPPORTED);
  EXPECT_EQ(makeDeviceCodec("int8").value()->start(job).status().kind(), GOSS_ERR_UNSUPPORTED);
}

} // namespace
} // namespace goss::test
