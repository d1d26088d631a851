#include "explain/explain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collectives/catalogue.h"
#include "planner/planner.h"
#include "schedule/contract.h"
#include "tests/support/environment.h"
#include "tests/support/quick.h"

namespace goss {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json explained(std::string_view collective, int ranks, std::size_t bytes, std::string_view links = {}) {
  const auto text = explainJson(collective, ranks, bytes, links);
  EXPECT_TRUE(text.isOk()) << text.status().text();
  return text.isOk() ? json::parse(text.value()) : json();
}

void expectRefused(const Result<std::string>& result, const std::string& text) {
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(result.status().text(), HasSubstr(text));
}

TEST(Explain, NamesTheCheapestOfAllCandidatesAndWhy) {
  const json answer = explained("all_reduce", 8, 1 << 20);
  EXPECT_EQ(answer["collective"], "all_reduce");
  EXPECT_EQ(answer["ranks"], 8);
  EXPECT_EQ(answer["bytes"], 1 << 20);
  ASSERT_GT(answer["candidates"].size(), 8u);
  double best = 1e300;
  std::string cheapest;
  for (const json& candidate : answer["candidates"]) {
    EXPECT_GE(candidate["ratio"].get<double>(), 1.0) << candidate["algorithm"];
    EXPECT_GT(candidate["most_messages_sent"].get<int>(), 0) << candidate["algorithm"];
    if (candidate["price_us"].get<double>() >= best) continue;
    best = candidate["price_us"];
    cheapest = candidate["algorithm"];
  }
  EXPECT_EQ(answer["choice"], cheapest);
  const std::string why = answer["why"];
  EXPECT_EQ(why.rfind(cheapest + " is the cheapest of", 0), 0u) << why;
  EXPECT_THAT(why, HasSubstr("latency; next "));
}

// Among so many ranks calls choose by formulas, and the table has simulated prices.
TEST(Explain, NamesWhatCallsTakeAmongManyRanks) {
  const Catalogue catalogue = collectives::builtinAlgorithms();
  int others = 0;
  for (const std::string_view base : {"shm", "tcp", "lan10g"}) {
    const std::string links = fmt::format("gossamer-links 1\nbase {}\n", base);
    for (const int ranks : {12, 20}) {
      if (ranks > test::fullOr(20, 12)) continue;
      Planner planner(0, schedule::Links::parse(links, ranks).value(), catalogue);
      for (const Collective collective : {Collective::allReduce, Collective::broadcast, Collective::reduce}) {
        for (const std::size_t bytes : {1000u, 90'000u, 1'400'000u}) {
          PlanKey key;
          key.collective = collective;
          key.count = bytes;
          const Candidate taken = planner.choice(key).value();
          ASSERT_EQ(planner.plan(key).value()->algorithm, taken.algorithm->name());
          const json answer = explained(schedule::nameOf(collective), ranks, bytes, links);
          const std::string question =
              fmt::format("{} of {} bytes, {} ranks, {}", schedule::nameOf(collective), bytes, ranks, base);
          EXPECT_EQ(answer["choice"], taken.algorithm->name()) << question;
          double least = 1e300;
          json chosen;
          for (const json& candidate : answer["candidates"]) {
            least = std::min(least, candidate["price_us"].get<double>());
            if (candidate["algorithm"] == answer["choice"]) chosen = candidate;
          }
          EXPECT_EQ(chosen["blocks"], taken.blocks) << question;
          EXPECT_EQ(chosen["fragments"], taken.fragments) << question;
          EXPECT_EQ(chosen["ratio"], 1.0) << question;
          const bool other = chosen["price_us"].get<double>() > 1.03 * least;
          const std::string why = answer["why"];
          EXPECT_EQ(why.find("quick prices") != std::string::npos, other) << question << ": " << why;
          others += other ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(others, 0) << "no question asked for more than the cheapest simulated price";
}

TEST(Explain, KnowsEveryCollectiveInEverySpelling) {
  for (const char* name : {"allreduce", "all_reduce", "all-reduce", "reduce", "broadcast", "bcast", "allgather",
                           "reduce_scatter", "alltoall", "gather", "scatter", "scan", "exscan", "barrier"}) {
    EXPECT_FALSE(explained(name, 5, 1000)["candidates"].empty()) << name;
  }
}

TEST(Explain, ABarrierHasNoBytes) {
  const json answer = explained("barrier", 8, 1 << 20);
  EXPECT_EQ(answer["bytes"], 0);
  EXPECT_EQ(answer["candidates"][0]["most_bytes_sent"], 0);
}

TEST(Explain, ALoneRankPaysNothing) {
  const json answer = explained("allreduce", 1, 1000);
  EXPECT_EQ(answer["candidates"][0]["most_messages_sent"], 0);
}

TEST(Explain, TellsOrdersAndSharesThatUnequalLinksAskFor) {
  std::string links = "gossamer-links 1\nbase wan\n";
  for (int rank = 0; rank < 6; ++rank) {
    links += fmt::format("node {0} up {1}MB/s down {1}MB/s\n", rank, 10 + 17 * rank);
  }
  bool weighted = false;
  const json unequal = explained("allreduce", 6, 64 << 20, links);
  for (const json& candidate : unequal["candidates"]) {
    if (!candidate.contains("weights")) continue;
    weighted = true;
    EXPECT_EQ(candidate["weights"].size(), 6u);
  }
  EXPECT_TRUE(weighted);

  const std::string ring =
      "gossamer-links 1\nbase lan10g\ndefault bandwidth 1MB/s\npair 0 <-> 2 bandwidth 1GB/s\n"
      "pair 2 <-> 1 bandwidth 1GB/s\npair 1 <-> 3 bandwidth 1GB/s\npair 3 <-> 0 bandwidth 1GB/s\n";
  const json answer = explained("allreduce", 4, 64 << 20, ring);
  EXPECT_EQ(answer["choice"], "ring");
  bool ordered = false;
  for (const json& candidate : answer["candidates"])
    ordered = ordered || (candidate.contains("order") && candidate["ratio"] == 1.0);
  EXPECT_TRUE(ordered);
}

TEST(Explain, MarksPricesThatFollowFromFewerRanks) {
  bool extrapolated = false;
  const json answer = explained("allreduce", 512, 1 << 20);
  for (const json& candidate : answer["candidates"])
    extrapolated = extrapolated || candidate["extrapolated"].get<bool>();
  EXPECT_TRUE(extrapolated);
}

TEST(Explain, RefusesWhatItDoesNotKnow) {
  expectRefused(explainJson("allredouce", 4, 1000, ""), "'allredouce'; use one of: all_reduce");
  expectRefused(explainJson("", 4, 1000, ""), "use one of");
  expectRefused(explainJson("allreduce", 0, 1000, ""), "0 ranks; use 1 to 4096");
  expectRefused(explainJson("allreduce", 4097, 1000, ""), "4097 ranks");
  expectRefused(explainJson("allreduce", 4, 1000, "gossamer-links 1\nnonsense\n"), "line 2");
  expectRefused(explainJson("allreduce", 2, 1000, "gossamer-links 1\npair 0 -> 5 latency 1us\n"), "line 2");
}

json explainedAs(const Config& config, std::string_view codec = {}, int processors = 0) {
  const auto text = explainJson("allreduce", 4, 16 << 20, {"", codec, config, processors});
  EXPECT_TRUE(text.isOk()) << text.status().text();
  return text.isOk() ? json::parse(text.value()) : json();
}

bool offers(const json& answer, std::string_view algorithm) {
  return std::any_of(answer["candidates"].begin(), answer["candidates"].end(),
                     [&](const json& candidate) { return candidate["algorithm"] == algorithm; });
}

TEST(Explain, TellsWhatRunsWhenAnAlgorithmIsAskedFor) {
  Config config;
  config.algorithm = "ring";
  for (const char* codec : {"", "int8"}) {
    const json answer = explainedAs(config, codec);
    EXPECT_EQ(answer["choice"], "ring") << codec;
    EXPECT_THAT(answer["why"].get<std::string>(), HasSubstr("GOSS_ALGORITHM"));
    EXPECT_TRUE(offers(answer, "direct")) << "what it is compared with";
  }
  EXPECT_FALSE(offers(explainedAs({}, "int8"), "ring")) << "requantising must be asked for";
  EXPECT_EQ(explainedAs(config, "dgc")["choice"], "flat") << "a momentum leaves no choice";
  config.algorithm = "pairwise"; // An algorithm of other collectives.
  const json other = explainedAs(config);
  EXPECT_EQ(other["choice"], explainedAs({})["choice"]);
  config.algorithm = "rnig";
  expectRefused(explainJson("allreduce", 4, 1000, {"", "", config, 0}), "rnig");
}

TEST(Explain, TellsThatTheRingIsPreferredWhereRanksTakeTurnsOverSockets) {
  Config config;
  config.transport = "tcp";
  EXPECT_EQ(explainedAs(config, "", 2)["choice"], "ring");
  EXPECT_THAT(explainedAs(config, "", 2)["why"].get<std::string>(), HasSubstr("preferred among equals"));
  EXPECT_NE(explainedAs(config, "", 4)["choice"], "ring") << "each has a processor";
}

TEST(Explain, TellsWhatRanksTakeThatShareProcessorsAndTalkThroughMemory) {
  Circumstances circumstances;
  const auto explained = [&] { return json::parse(explainJson("reduce", 4, 128 << 10, circumstances).value()); };
  EXPECT_FALSE(offers(explained(), "flat")) << "each has a processor";
  circumstances.processors = 2;
  EXPECT_EQ(explained()["choice"], "flat");
  EXPECT_THAT(explained()["why"].get<std::string>(), HasSubstr("they wait the least"));
  circumstances.processors = 3;
  EXPECT_NE(explained()["choice"], "flat") << "not measured";
  circumstances.processors = 2;
  circumstances.config.transport = "ucx";
  EXPECT_NE(explained()["choice"], "flat") << "who sends copies and waits in UCX";
}

TEST(Explain, CutsWhatIsTakenAsItIsAskedFor) {
  const json free = explainedAs({});
  Config config;
  config.fragment_bytes = 64 << 10; // 256 parts of 16 MiB.
  const json cut = explainedAs(config);
  EXPECT_EQ(cut["choice"], free["choice"]);
  EXPECT_THAT(cut["why"].get<std::string>(), HasSubstr("GOSS_FRAGMENT_BYTES"));
  EXPECT_THAT(free["why"].get<std::string>(), Not(HasSubstr("GOSS_FRAGMENT_BYTES")));
  const auto taken = [](const json& answer) {
    for (const json& candidate : answer["candidates"])
      if (candidate["algorithm"] == answer["choice"]) return candidate;
    return json();
  };
  EXPECT_EQ(std::max(taken(cut)["fragments"].get<int>(), taken(cut)["blocks"].get<int>()), 256);
  EXPECT_GT(taken(cut)["most_messages_sent"], taken(free)["most_messages_sent"]);
  EXPECT_GT(taken(cut)["price_us"], taken(free)["price_us"]);
}

TEST(Explain, TakesTheCodecThatAllReducesHaveByDefault) {
  Config config;
  config.codec = "int8";
  EXPECT_THAT(explainedAs(config)["codec"].get<std::string>(), HasSubstr("int8"));
  EXPECT_THAT(explainedAs(config, "int4")["codec"].get<std::string>(), HasSubstr("int4")) << "the call's own wins";
  const auto other = explainJson("broadcast", 4, 1000, {"", "", config, 0});
  ASSERT_TRUE(other.isOk()) << other.status().text();
  EXPECT_FALSE(json::parse(other.value()).contains("codec"));
  config.codec = "int9";
  expectRefused(explainJson("allreduce", 4, 1000, {"", "", config, 0}), "GOSS_CODEC: ");
}

TEST(Explain, PlansByWhatWasMeasured) {
  Tuning slow = Tuning::builtIn();
  slow.shm.bandwidth_bytes_per_s /= 10;
  Config config;
  const auto shm = explainJson("allreduce", 4, 16 << 20, {"", "", config, 0, slow});
  ASSERT_TRUE(shm.isOk()) << shm.status().text();
  const auto priceOf = [](const json& answer) { return answer["candidates"][0]["price_us"].get<double>(); };
  EXPECT_GT(priceOf(json::parse(shm.value())), 2 * priceOf(explainedAs(config)));
  config.transport = "tcp"; // There are no measurements of tcp.
  const auto tcp = explainJson("allreduce", 4, 16 << 20, {"", "", config, 0, slow});
  ASSERT_TRUE(tcp.isOk()) << tcp.status().text();
  EXPECT_EQ(priceOf(json::parse(tcp.value())), priceOf(explainedAs(config)));
}

TEST(ExplainHere, ReadsTheFilesThatTheEnvironmentNames) {
  test::ScopedEnvironment environment;
  environment.set("GOSS_TUNING", "/nowhere/at/all.json");
  expectRefused(explainHere("allreduce", 4, 1000, {}), "GOSS_TUNING: cannot read");
  environment.set("GOSS_TUNING", std::nullopt);
  environment.set("GOSS_LINKS", "/nowhere/at/all.links");
  expectRefused(explainHere("allreduce", 4, 1000, {}), "GOSS_LINKS: cannot read");
  environment.set("GOSS_LINKS", "/dev/urandom");
  expectRefused(explainHere("allreduce", 4, 1000, {}),
                "GOSS_LINKS: cannot read '/dev/urandom': it is no ordinary file");
  Circumstances given;
  given.links = "gossamer-links 1\nbase wan\n";
  EXPECT_TRUE(explainHere("allreduce", 4, 1000, given).isOk()) << "what is given wins";
}

#ifdef GOSS_EXPLAIN

struct Ran {
  int code = -1;
  std::string text; ///< Its output, errors included.
};

Ran explain(const std::string& arguments) {
  Ran ran;
  FILE* pipe = ::popen((GOSS_EXPLAIN " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer;
  while (const std::size_t size = ::fread(buffer.data(), 1, buffer.size(), pipe))
    ran.text.append(buffer.data(), size);
  const int status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

TEST(GossExplain, PrintsAnAlignedTableCheapestFirst) {
  const Ran ran = explain("allreduce --ranks 12 --bytes 64K");
  ASSERT_EQ(ran.code, 0) << ran.text;
  std::istringstream lines(ran.text);
  std::string title;
  std::string header;
  std::getline(lines, title);
  std::getline(lines, header);
  EXPECT_EQ(title, "all_reduce of 65536 bytes over 12 ranks");
  const std::size_t price_end = header.find("price (us)") + 10;
  double last = 0;
  int rows = 0;
  for (std::string line; std::getline(lines, line) && !line.empty(); ++rows) {
    EXPECT_EQ(line.size(), header.size()) << line;
    const std::size_t begin = line.rfind(' ', price_end - 1);
    const double price = std::stod(line.substr(begin, price_end - begin));
    EXPECT_GE(price, last) << line;
    last = price;
  }
  EXPECT_GT(rows, 8);
  EXPECT_THAT(ran.text, HasSubstr("\nchoice: "));
}

TEST(GossExplain, PrintsJson) {
  const Ran ran = explain("bcast -n 6 -m 1M --json");
  ASSERT_EQ(ran.code, 0) << ran.text;
  const json answer = json::parse(ran.text);
  EXPECT_EQ(answer["collective"], "broadcast");
  EXPECT_EQ(answer["bytes"], 1 << 20);
}

TEST(GossExplain, ReadsLinkFiles) {
  const Ran ran = explain("allreduce -n 8 -m 16M --links " GOSS_LINKS_DIR "/good/two_sites.links");
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("groups of 4"));
  const Ran refused = explain("allreduce -n 8 --links " GOSS_LINKS_DIR "/refuse/arrow.links");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.text, HasSubstr("line 3"));
  EXPECT_NE(explain("allreduce --links /nowhere/at/all.links").code, 0);
  const Ran device = explain("allreduce --links /dev/null");
  EXPECT_EQ(device.code, 1);
  EXPECT_THAT(device.text, HasSubstr("cannot read '/dev/null': it is no ordinary file"));
}

TEST(GossExplain, RefusesBadArguments) {
  EXPECT_NE(explain("").code, 0);
  EXPECT_NE(explain("allreduce --bytes many").code, 0);
  const Ran ran = explain("allredouce");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.text, HasSubstr("goss-explain: unknown collective 'allredouce'"));
}

#endif

} // namespace
} // namespace goss
