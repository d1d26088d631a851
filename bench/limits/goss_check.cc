/// goss-check: proves every built-in algorithm with the checker and prints the table of docs/algorithms.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/catalogue.h"
#include "schedule/checker.h"
#include "schedule/compress.h"
#include "schedule/contract.h"
#include "schedule/sample_requests.h"
#include "tools/commandline/command_line.h"

namespace goss {
namespace {

using collectives::builtinAlgorithms;
using schedule::RunFacts;

struct Settings {
  int max_ranks = 64;
  std::string collective;
  std::string algorithm;
  bool markdown = false;
  std::string compare_file;
};

/// The table's row for one algorithm. The figures are for 16 and 64 ranks (two-level: groups of 4 and 8), one block.
struct Row {
  Collective collective = Collective::allReduce;
  std::string name;
  std::string ranks;
  bool identical_bits = true;
  bool identical_when_lossy = true;
  RunFacts small;
  RunFacts large;
  std::string compressed;
  std::string wire;
};

constexpr int kSmallRanks = 16;
constexpr int kLargeRanks = 64;

// ---- Wire formulas: one is named only if it equals the algorithm's count for every checked number of ranks ----

/// The variables of formulas: ranks, ranks of a group, and elements of the vector, counted in equal chunks.
struct Terms {
  std::uint64_t p = 1;
  std::uint64_t local = 1;
  std::uint64_t m = 1;
};

std::uint64_t ceilLog2(std::uint64_t p) { return static_cast<std::uint64_t>(std::bit_width(p - 1)); }

std::uint64_t recursiveDoubling(std::uint64_t p) {
  const std::uint64_t q = std::bit_floor(p);
  return q * ceilLog2(q) + 2 * (p - q);
}

/// The sum over v < p of the one bits in v.
std::uint64_t oneBits(std::uint64_t p) {
  std::uint64_t sum = 0;
  for (std::uint64_t v = 0; v < p; ++v)
    sum += static_cast<std::uint64_t>(std::popcount(v));
  return sum;
}

std::uint64_t scanMessages(std::uint64_t p) {
  std::uint64_t sum = 0;
  for (std::uint64_t d = 1; d < p; d *= 2)
    sum += p - d;
  return sum;
}

struct Formula {
  const char* text;
  std::function<std::uint64_t(const Terms&)> elems;
};

std::vector<Formula> formulas() {
  return {
      {"(p-1)m", [](const Terms& t) { return (t.p - 1) * t.m; }},
      {"2(p-1)m", [](const Terms& t) { return 2 * (t.p - 1) * t.m; }},
      {"(p-1)m/p", [](const Terms& t) { return (t.p - 1) * t.m / t.p; }},
      {"(p-1)m + (p-1)m/p", [](const Terms& t) { return (t.p - 1) * t.m + (t.p - 1) * t.m / t.p; }},
      {"ones(p)m/p", [](const Terms& t) { return oneBits(t.p) * t.m / t.p; }},
      {"(p-1)m + ones(p)m/p", [](const Terms& t) { return (t.p - 1) * t.m + oneBits(t.p) * t.m / t.p; }},
      {"ones(p)m", [](const Terms& t) { return oneBits(t.p) * t.m; }},
      {"doubling(p)m", [](const Terms& t) { return recursiveDoubling(t.p) * t.m; }},
      {"(2(p-p/L) + doubling(p/L))m",
       [](const Terms& t) { return (2 * (t.p - t.p / t.local) + recursiveDoubling(t.p / t.local)) * t.m; }},
      {"sum over d of (p-d)m", [](const Terms& t) { return scanMessages(t.p) * t.m; }},
      {"p(p-1)m", [](const Terms& t) { return t.p * (t.p - 1) * t.m; }},
      {"p(p-1)m/2", [](const Terms& t) { return t.p * (t.p - 1) / 2 * t.m; }},
      {"p ceil(log2 p) empty messages", [](const Terms& t) { return t.p * ceilLog2(t.p) * t.m; }},
  };
}

/// The formulas that match all requests checked so far.
class FormulaSieve {
 public:
  void look(const Algorithm& algorithm, const PlanRequest& request, std::uint32_t chunks) {
    const auto p = static_cast<std::uint64_t>(request.size);
    const std::vector<std::uint64_t> elems(chunks, p);
    const Terms terms{p, static_cast<std::uint64_t>(std::max(1, request.group_size)), p * chunks};
    const std::uint64_t sent = algorithm.wireElements(request, elems);
    std::erase_if(left_, [&](const Formula& formula) { return formula.elems(terms) != sent; });
  }
  [[nodiscard]] std::string text() const { return left_.empty() ? "" : left_.front().text; }

 private:
  std::vector<Formula> left_ = formulas();
};

// ---- Proof ----

/// The numbers as text: "1-64", or a list where some are missing.
std::string rangeText(const std::vector<int>& sizes) {
  if (sizes.empty()) return "none";
  if (sizes.back() - sizes.front() + 1 == static_cast<int>(sizes.size())) {
    return fmt::format("{}-{}", sizes.front(), sizes.back());
  }
  std::string text;
  for (const int p : sizes)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", p);
  return sizes.size() <= 8 ? text : fmt::format("composite {}-{}", sizes.front(), sizes.back());
}

PlanRequest requestFor(const CatalogueEntry& entry, int ranks, int group) {
  PlanRequest request = schedule::requestFor(entry.collective, ranks);
  const AlgorithmTraits traits = entry.algorithm->traits();
  if (traits.takes_group) request.group_size = traits.pairs_groups ? ranks / 2 : group;
  return request;
}

Result<RunFacts> factsAt(const CatalogueEntry& entry, int ranks, int group) {
  return schedule::checkAlgorithm(*entry.algorithm, requestFor(entry, ranks, group));
}

/// How often the algorithm's compressed schedules encode a value, for 16 and 64 ranks, and whether the planner takes
/// them.
Result<std::string> compressedText(const CatalogueEntry& entry) {
  if (!schedule::canCompress(entry.collective)) return std::string("-");
  std::vector<schedule::CompressedFacts> facts;
  for (const auto& [ranks, group] : {std::pair(kSmallRanks, 4), std::pair(kLargeRanks, 8)}) {
    Result<schedule::CompressedFacts> found =
        schedule::checkCompressed(*entry.algorithm, requestFor(entry, ranks, group));
    if (!found.isOk()) return found.status();
    facts.push_back(found.value());
  }
  const bool diverges = facts[0].diverges || facts[1].diverges;
  const bool requantizes = facts[0].requantizes || facts[1].requantizes;
  return fmt::format("{}, {}{}", facts[0].run.lossy_depth, facts[1].run.lossy_depth,
                     diverges      ? " never"
                     : requantizes ? " named"
                                   : "");
}

Result<Row> prove(const CatalogueEntry& entry, int max_ranks) {
  const Algorithm& algorithm = *entry.algorithm;
  Row row;
  row.collective = entry.collective;
  row.name = algorithm.name();
  std::vector<int> sizes;
  FormulaSieve sieve;
  for (int p = 1; p <= max_ranks; ++p) {
    const std::vector<PlanRequest> requests = schedule::sampleRequests(algorithm, entry.collective, p);
    if (!requests.empty()) sizes.push_back(p);
    for (const PlanRequest& request : requests) {
      Result<RunFacts> facts = schedule::checkAlgorithm(algorithm, request);
      if (!facts.isOk()) return facts.status();
      row.identical_bits = row.identical_bits && facts.value().identical_bits;
      row.identical_when_lossy = row.identical_when_lossy && facts.value().identical_when_lossy;
      sieve.look(algorithm, request, algorithm.plan(request).chunk_count);
    }
  }
  row.ranks = rangeText(sizes);
  row.wire = sieve.text();
  if (row.wire.empty()) {
    return Status::error(GOSS_ERR_INTERNAL,
                         fmt::format("{}: no known wire formula fits; add it to goss-check", row.name));
  }
  Result<RunFacts> small = factsAt(entry, kSmallRanks, 4);
  Result<RunFacts> large = factsAt(entry, kLargeRanks, 8);
  if (!small.isOk()) return small.status();
  if (!large.isOk()) return large.status();
  Result<std::string> compressed = compressedText(entry);
  if (!compressed.isOk()) return compressed.status();
  row.compressed = compressed.take();
  row.small = small.value();
  row.large = large.value();
  return row;
}

// ---- Output ----

constexpr const char* kIntroduction = R"(# Algorithms

`goss-check --markdown` writes this file: it proves every built-in algorithm and measures its schedules; a test compares
the two. Each algorithm has a file in `collectives/`, whose header names its source, its steps and its wire formula:
start with `collectives/ring.h`. [architecture.md](architecture.md#words) explains schedule, step, slot, chunk and
segment.

## What is proved

An algorithm is a pure function from (collective, number of ranks, rank, parameters) to a **schedule**. The checker
plans all ranks and executes their schedules symbolically: with random interleavings, over channels that hold any number
of messages, one, or none (rendezvous), in separate buffers and in place (but for all_to_all). It proves that

- each contribution counts exactly once, and each sum passes exactly one finish step;
- every send meets a receive of the same size and order; nothing is left over, nothing deadlocks;
- every promised output is complete, no other is touched, inputs are never written, nothing undefined is read;
- every two steps with a hazard between them are ordered;
- the bytes of all messages together equal the wire formula.

It does so for sizes of 0 to 1009 elements, blocks of different sizes and weighted chunks, and for several roots, ring
orders and numbers of blocks. The tests add up to 129 ranks.

## How to read the tables

- Each algorithm is proved for 1 to 64 ranks, or for the numbers of ranks p behind its name.
- Two-level algorithms, `hier-A-B`, run A among the ranks of a node and B between nodes. They are proved for every group
  size that divides a composite p up to 64; `goss-check --algorithm NAME` prints the wire formula of one (L:
  the group size).
- **same bits**: whether all ranks end with the same bits. "lossless": only without a lossy codec. "yes": with one
  too, if the owner of a sum uses the encoded form that it sent. "-": ranks get different things.
- **path** and **compressed** are for 16 and 64 ranks, with one block and groups of 4 and 8.
- **path**: messages that follow one another on the longest path.
- **compressed**: how often a lossy codec adds its error to a value. "named": incomplete sums are encoded, so the error
  grows with the ranks; the planner takes the algorithm only when it is named. "never": ranks would end with different
  bits. "-": there is no compressed form.
- **wire**: elements that all ranks together send for a vector of m elements (m: the sum of the blocks where blocks have
  owners; for all_to_all the input of one rank). ones(p): the one bits in 0..p-1, about p log2(p) / 2. doubling(p) =
  q log2(q) + 2 (p - q) with q the largest power of two in p. d: 1, 2, 4, ... below p.

Every schedule but those of scan, exscan and barrier has a compressed form, explained in
[compressors.md](compressors.md#in-a-collective) and proved by the tests.
)";

const char* sameBits(const Row& row) {
  const bool comparable = row.collective == Collective::allReduce || row.collective == Collective::broadcast ||
                          row.collective == Collective::allGather;
  if (!comparable) return "-";
  if (!row.identical_bits) return "no";
  return row.identical_when_lossy ? "yes" : "lossless";
}

/// The algorithm's name, and the numbers of ranks if it does not support all.
std::string titleOf(const Row& row) {
  return row.ranks.starts_with("1-") ? row.name : fmt::format("{} ({})", row.name, row.ranks);
}

std::string tableRow(const Row& row) {
  return fmt::format("| {} | {} | {}, {} | {} | {} |\n", titleOf(row), sameBits(row), row.small.longest_path,
                     row.large.longest_path, row.compressed, row.wire);
}

/// The table of one collective, and below it the names of its two-level algorithms.
std::string tableOf(Collective collective, const std::vector<Row>& rows) {
  std::string text = "| algorithm | same bits | path | compressed | wire |\n|---|---|---|---|---|\n";
  std::vector<std::string> two_level;
  for (const Row& row : rows) {
    if (row.collective != collective) continue;
    if (row.name.starts_with("hier-")) {
      two_level.push_back(fmt::format("`{}`", row.name));
    } else {
      text += tableRow(row);
    }
  }
  if (!two_level.empty()) text += fmt::format("\nTwo-level algorithms: {}.\n", fmt::join(two_level, ", "));
  return text;
}

/// The whole document; collectives that follow one another and have equal tables share one.
std::string markdown(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, std::string>> sections; // heading, table
  std::optional<Collective> last;
  for (const Row& row : rows) {
    if (last == row.collective) continue;
    last = row.collective;
    std::string table = tableOf(row.collective, rows);
    if (!sections.empty() && sections.back().second == table) {
      sections.back().first += fmt::format(", {}", schedule::nameOf(row.collective));
    } else {
      sections.emplace_back(schedule::nameOf(row.collective), std::move(table));
    }
  }
  std::string text = kIntroduction;
  for (const auto& [heading, table] : sections)
    text += fmt::format("\n## {}\n\n{}", heading, table);
  return text;
}

std::string plain(const Row& row) {
  return fmt::format("ok  {:<15} {:<42} p {:<24} {}\n", schedule::nameOf(row.collective), row.name, row.ranks,
                     row.wire);
}

bool sameAsFile(const std::string& text, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file && std::string(std::istreambuf_iterator<char>(file), {}) == text;
}

int run(const Settings& settings) {
  const bool table = settings.markdown || !settings.compare_file.empty();
  const Catalogue catalogue = builtinAlgorithms();
  std::vector<Row> rows;
  int failures = 0;
  for (const CatalogueEntry& entry : catalogue.entries()) {
    if (isAmongNeighbors(entry.collective)) continue; // proved for each topology, by tests/collectives
    if (!settings.collective.empty() && settings.collective != schedule::nameOf(entry.collective)) continue;
    if (!settings.algorithm.empty() && settings.algorithm != entry.algorithm->name()) continue;
    Result<Row> row = prove(entry, settings.max_ranks);
    if (!row.isOk()) {
      ++failures;
      fmt::print(stderr, "FAILED  {}\n", row.status().text());
      continue;
    }
    if (!table) fmt::print("{}", plain(row.value()));
    rows.push_back(row.take());
  }
  if (settings.markdown) fmt::print("{}", markdown(rows));
  if (rows.empty() && failures == 0) {
    fmt::print(stderr, "no such algorithm: {} {}\n", settings.collective, settings.algorithm);
    return 2;
  }
  if (!settings.compare_file.empty() && !sameAsFile(markdown(rows), settings.compare_file)) {
    fmt::print(stderr, "{} is out of date; write it again: goss-check --markdown > {}\n", settings.compare_file,
               settings.compare_file);
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}

} // namespace
} // namespace goss

int main(int argc, char** argv) {
  goss::Settings settings;
  goss::CommandLine line("Proves the built-in algorithms: symbolic execution of all ranks, sizes, wire formulas.",
                         "goss-check");
  line.option("--max-ranks", settings.max_ranks, "Prove 1 to this many ranks").range(1, 256).showDefault();
  line.option("--collective", settings.collective, "Only this collective, such as all_reduce");
  line.option("--algorithm", settings.algorithm, "Only algorithms of this name");
  line.flag("--markdown", settings.markdown, "Print docs/algorithms.md");
  line.option("--compare", settings.compare_file, "Fail unless this file is what --markdown prints");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  return goss::run(settings);
}
