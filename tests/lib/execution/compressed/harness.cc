#include "tests/lib/execution/compressed/harness.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace goss::test {

namespace {

/// Narrow floats are held as bits, rounded toward zero.
std::uint16_t toBfloat16(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }
float fromBfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

} // namespace

RanksSetup setupOf(int ranks, const char* transport, const char* algorithm) {
  RanksSetup setup;
  setup.ranks = ranks;
  setup.transport = transport;
  setup.algorithm = algorithm;
  return setup;
}

Floats contribution(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) * 977u + 5u);
  Floats values(count);
  for (float& value : values) {
    // Box and Muller's, because std::normal_distribution differs between libraries.
    const double u = (static_cast<double>(random()) + 1) / 4294967297.0;
    const double v = static_cast<double>(random()) / 4294967296.0;
    const auto normal = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v));
    value = normal;
  }
  return values;
}

std::vector<Floats> allReduceCompressed(const CompressedCase& what) {
  std::vector<Floats> results(static_cast<std::size_t>(what.setup.ranks));
  runRanks(what.setup, [&](goss_comm_t comm, int rank) {
    const Floats mine = contribution(rank, what.count);
    const std::size_t element = goss_dtype_size(what.dtype);
    std::vector<std::byte> send(what.count * element);
    for (std::size_t i = 0; i < what.count; ++i) {
      const std::uint16_t narrow = toBfloat16(mine[i]);
      if (element == 2) std::memcpy(send.data() + 2 * i, &narrow, 2);
      if (element == 4) std::memcpy(send.data() + 4 * i, &mine[i], 4);
    }
    std::vector<std::byte> before = send;
    std::vector<std::byte> recv(send.size());
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = what.codec.c_str();
    if (!what.return_codec.empty()) options.return_codec = what.return_codec.c_str();
    options.tensor = what.tensor;
    std::byte* to = what.in_place ? send.data() : recv.data();
    EXPECT_EQ(goss_all_reduce(comm, send.data(), to, what.count, what.dtype, what.op, &options, nullptr), GOSS_SUCCESS)
        << what.codec << ": " << goss_last_error();
    if (!what.in_place) {
      EXPECT_EQ(send, before) << "the send buffer is only read";
    }
    Floats& result = results[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < what.count; ++i) {
      std::uint16_t narrow = 0;
      float value = 0;
      if (element == 2) std::memcpy(&narrow, to + 2 * i, 2);
      if (element == 4) std::memcpy(&value, to + 4 * i, 4);
      result.push_back(element == 2 ? fromBfloat16(narrow) : value);
    }
  });
  return results;
}

double errorOf(const Floats& exact, const Floats& found) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += std::pow(static_cast<double>(exact[i]) - static_cast<double>(found[i]), 2);
    norm += std::pow(static_cast<double>(exact[i]), 2);
  }
  return norm > 0 ? error / norm : error;
}

Floats exactResult(const CompressedCase& what) {
  std::vector<double> sum(what.count);
  for (int rank = 0; rank < what.setup.ranks; ++rank) {
    const Floats mine = contribution(rank, what.count);
    for (std::size_t i = 0; i < what.count; ++i)
      sum[i] += static_cast<double>(what.dtype == GOSS_BFLOAT16 ? fromBfloat16(toBfloat16(mine[i])) : mine[i]);
  }
  Floats result;
  for (const double value : sum)
    result.push_back(static_cast<float>(what.op == GOSS_AVG ? value / what.setup.ranks : value));
  return result;
}

} // namespace goss::test
