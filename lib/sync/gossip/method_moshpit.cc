// Moshpit SGD: Ryabinin et al., "Moshpit SGD: Communication-Efficient Decentralized Training on Heterogeneous
// Unreliable Devices", NeurIPS 2021: ranks form a grid, and each round averages along one of its dimensions. With
// wait=0 a group averages only the ranks that arrive in time, as in hivemind.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

#include "sync/gossip/mixing.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"dims", "auto", "the grid, such as 4x4x4; places without a rank are missing from their groups"},
    kEveryStepParameter,
    ParameterInfo{"rounds", "0", "dimensions of an exchange; 0: all, which is exact on a full grid"},
    ParameterInfo{"wait", "1", "0: a group is averaged by those who come to it in time"},
    ParameterInfo{"patience", "0.05", "with wait=0: how long a rank waits, in times since its last average"},
    ParameterInfo{"rates", "equal", "with wait=0: what ranks can send, 'measured' or as 3;1;1; the fast average more"},
    kCodecParameter};

struct Attendance {
  double patience = 0;
  std::vector<double> rates; ///< Empty: measured, or equal.
  bool measures = false;
};

/// scalars[0]: seconds of this rank's clock when its last average ended; 0: none yet.
class Attending : public Rule {
 public:
  Attending(MixingPlan plan, Attendance attendance) : plan_(std::move(plan)), attendance_(std::move(attendance)) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.topology = plan_.topology;
    needs.properties = {GOSS_TOPOLOGY_DOUBLY_STOCHASTIC};
    needs.groups = true;
    needs.ranks = attendance_.rates.size();
    needs.scalars = 1;
    return needs;
  }
  void rejoin(const Model& model) const override { model.scalars[0] = 0; }
  Status resume(GossipPeers&, const Model& model) const override {
    rejoin(model); // another process has another clock
    return Status::ok();
  }
  [[nodiscard]] bool actsAfter(std::uint64_t step) const override { return step % plan_.period == 0; }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    const std::uint64_t rounds = plan_.rounds > 0 ? plan_.rounds : peers.period();
    const std::uint64_t first = (model.step / plan_.period - 1) * rounds;
    constexpr double kFirst = 1; // seconds before the first average: the ranks do not begin at the same moment
    const double since = model.scalars[0] > 0 ? now() - model.scalars[0] : kFirst;
    const std::chrono::duration<double> patience(attendance_.patience * since / static_cast<double>(rounds));
    for (std::uint64_t round = first; round < first + rounds; ++round) {
      Status status = meet(peers, model, round, patience);
      if (!status.isOk()) {
        return status;
      }
    }
    model.scalars[0] = now();
    return Status::ok();
  }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  Status meet(GossipPeers& peers, const Model& model, std::uint64_t round,
              std::chrono::duration<double> patience) const {
    Result<std::vector<int>> found = peers.partners(round, peers.rank());
    if (!found.isOk()) {
      return found.status();
    }
    std::vector<int> group = found.take();
    group.insert(std::lower_bound(group.begin(), group.end(), peers.rank()), peers.rank());
    GroupAverages::Meeting meeting;
    meeting.group = group;
    meeting.board = static_cast<std::size_t>(round % peers.period());
    meeting.patience = patience;
    meeting.rate = !attendance_.rates.empty() ? attendance_.rates[static_cast<std::size_t>(peers.rank())]
                   : attendance_.measures     ? 0
                                              : 1;
    return peers.groups().average(meeting, model.x).status();
  }

  MixingPlan plan_;
  Attendance attendance_;
};

/// nullopt: a word is no number from 0.001 to 1e12.
std::optional<std::vector<double>> ratesOf(std::string_view text) {
  constexpr double kWhole = 1e3; // boards have whole numbers
  std::vector<double> rates;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(';'));
    double rate = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rate);
    const bool is_number = error == std::errc() && end == word.data() + word.size();
    if (!is_number || !(rate >= 1e-3 && rate <= 1e12) || word.size() + 1 == text.size()) {
      return std::nullopt;
    }
    rates.push_back(rate * kWhole);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return rates;
}

Composition makeAttending(SpecReader& reader, MixingPlan plan) {
  Attendance attendance;
  attendance.patience = reader.number("patience", {0, 1e6});
  const std::string text = reader.text("rates");
  attendance.measures = text == "measured";
  if (text != "equal" && text != "measured") {
    const std::optional<std::vector<double>> rates = ratesOf(text);
    if (!rates) {
      reader.refuse("rates is none of equal, measured, and numbers from 0.001 to 1e12 with ';' between them");
    }
    attendance.rates = rates.value_or(std::vector<double>());
  }
  Composition made = composeRule(reader, std::make_unique<Attending>(std::move(plan), std::move(attendance)));
  if (made.layout.codec != "none") {
    reader.refuse("with wait=0 there is no codec");
  }
  return made;
}

Composition make(SpecReader& reader) {
  MixingPlan plan;
  const std::string dims = reader.text("dims");
  plan.topology = dims == "auto" ? "grid" : fmt::format("grid:{}", dims);
  plan.period = reader.integer("h", kPeriodRange);
  plan.rounds = reader.integer("rounds", {0, 1e6});
  if (reader.choice("wait", "0")) {
    return makeAttending(reader, std::move(plan));
  }
  if (reader.has("patience") || reader.has("rates")) {
    reader.refuse("patience and rates are of wait=0");
  }
  return composeRule(reader, std::make_unique<Mixing>(std::move(plan)));
}

} // namespace

const Method& moshpitMethod() {
  static const Method kMethod = {"moshpit", "means within groups that change from round to round",
                                 "Ryabinin et al., NeurIPS 2021", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
