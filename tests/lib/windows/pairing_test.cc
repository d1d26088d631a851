// Every rank's Pairing over messages that arrive in any order that links allow: averages are made one after the other,
// and all of them, whoever calls whom.
#include "windows/pairing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/split_mix.h"

namespace goss {
namespace {

/// Ranks that hold a number each, and the messages between them, of which any first of its link may come next.
class Ranks {
 public:
  Ranks(int ranks, std::uint64_t seed) : random_(seed), links_(static_cast<std::size_t>(ranks * ranks)) {
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back(std::make_unique<One>(*this, rank));
  }

  void call(int rank, int partner) {
    One& one = at(rank);
    one.partners.push_back(partner);
    ++pending_;
    one.pairing.startOnLoop(static_cast<std::uint32_t>(one.partners.size() - 1));
  }
  void giveUp(int rank, std::uint32_t serial) {
    One& one = at(rank);
    if (one.isOver(serial)) return;
    one.over.push_back(serial);
    --pending_;
    if (one.pairing.withdrawOnLoop(serial)) one.answer(one.partners[serial], 0);
    one.pairing.resumeOnLoop();
  }
  /// Lets one message arrive. False: there is none.
  bool step() {
    std::vector<std::size_t> full;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (!links_[i].empty()) full.push_back(i);
    }
    if (full.empty()) return false;
    auto& link = links_[full[random_.below(full.size())]];
    const std::function<void()> message = std::move(link.front());
    link.pop_front();
    message();
    return true;
  }
  [[nodiscard]] int pending() const { return pending_; }
  [[nodiscard]] double value(int rank) { return at(rank).value; }
  [[nodiscard]] double sum() {
    double sum = 0;
    for (const auto& one : ranks_)
      sum += one->value;
    return sum;
  }
  [[nodiscard]] double variance() {
    double squares = 0;
    for (const auto& one : ranks_)
      squares += one->value * one->value;
    const double count = static_cast<double>(ranks_.size());
    return squares / count - std::pow(sum() / count, 2);
  }
  [[nodiscard]] std::size_t below(std::size_t bound) { return random_.below(bound); }
  [[nodiscard]] bool allFree() {
    for (const auto& one : ranks_) {
      if (one->pairing.engaged()) return false;
    }
    return true;
  }

 private:
  struct One final : Pairing::Host {
    One(Ranks& all, int rank) : ranks(all), self(rank), value(rank * rank % 17), pairing(rank, *this) {}

    [[nodiscard]] bool isOver(std::uint32_t serial) const {
      return std::find(over.begin(), over.end(), serial) != over.end();
    }
    void requestOnLoop(std::uint32_t serial) override {
      const int to = partners[serial];
      ranks.send(self, to, [this, to, serial] { ranks.at(to).pairing.requestedOnLoop({self, serial, {0, 1}}); });
    }
    void offerOnLoop(const Pairing::Request& request) override {
      ranks.send(self, request.rank, [this, request, theirs = value] {
        One& origin = ranks.at(request.rank);
        if (origin.isOver(request.serial)) return origin.answer(self, 0);
        origin.theirs = theirs;
        origin.pairing.offeredOnLoop(request.serial);
      });
    }
    void settleOnLoop(std::uint32_t serial) override {
      const double difference = (value - theirs) / 2;
      // The partner's number did not change since its offer: this is an average of what both hold.
      EXPECT_EQ(ranks.at(partners[serial]).value, theirs);
      value -= difference;
      over.push_back(serial);
      --ranks.pending_;
      answer(partners[serial], difference);
    }
    void answer(int to, double difference) {
      ranks.send(self, to, [this, to, difference] {
        One& partner = ranks.at(to);
        ASSERT_TRUE(partner.pairing.engaged() && partner.pairing.engaged()->rank == self);
        partner.value += difference;
        partner.pairing.endedOnLoop();
      });
    }

    Ranks& ranks;
    const int self;
    double value;
    double theirs = 0;
    std::vector<int> partners;       ///< By serial.
    std::vector<std::uint32_t> over; ///< Serials.
    Pairing pairing;
  };

  One& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  void send(int from, int to, std::function<void()> message) {
    links_[static_cast<std::size_t>(from) * ranks_.size() + static_cast<std::size_t>(to)].push_back(std::move(message));
  }

  base::SplitMix64 random_;
  std::vector<std::unique_ptr<One>> ranks_;
  std::vector<std::deque<std::function<void()>>> links_; ///< From each rank to each.
  int pending_ = 0;
};

using Graph = std::function<int(Ranks&, int rank, int ranks)>;

int onRing(Ranks& all, int rank, int ranks) { return (rank + (all.below(2) == 0 ? 1 : ranks - 1)) % ranks; }
int onStar(Ranks& all, int rank, int ranks) {
  return rank > 0 ? 0 : 1 + static_cast<int>(all.below(static_cast<std::size_t>(ranks - 1)));
}
int onFull(Ranks& all, int rank, int ranks) {
  return (rank + 1 + static_cast<int>(all.below(static_cast<std::size_t>(ranks - 1)))) % ranks;
}
int toTheNext(Ranks&, int rank, int ranks) { return (rank + 1) % ranks; } // a circle of those that wait

TEST(Pairing, AllAveragesAreMadeOnEveryGraphWhoeverCallsAtOnce) {
  constexpr int kCalls = 12;
  for (const Graph& partner : {Graph(onRing), Graph(onStar), Graph(onFull), Graph(toTheNext)}) {
    for (const int ranks : {2, 3, 5, 7, 8}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Ranks all(ranks, seed);
        const double sum = all.sum();
        const double variance = all.variance();
        for (int call = 0; call < kCalls; ++call) {
          for (int rank = 0; rank < ranks; ++rank)
            all.call(rank, partner(all, rank, ranks));
          for (std::size_t steps = all.below(20); steps > 0 && all.step(); --steps) {
          }
        }
        while (all.step()) {
        }
        ASSERT_EQ(all.pending(), 0) << ranks << " ranks, seed " << seed;
        ASSERT_TRUE(all.allFree());
        EXPECT_NEAR(all.sum(), sum, 1e-9);
        EXPECT_LE(all.variance(), variance * (1 + 1e-12));
        // Every pair of neighbours has met several times, so that the ranks are close to each other.
        if (ranks <= 3) {
          EXPECT_LT(all.variance(), variance / 10 + 1e-9) << ranks << " ranks, seed " << seed;
        }
      }
    }
  }
}

TEST(Pairing, AveragesThatAreGivenUpHoldNobodyUp) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    constexpr int kRanks = 5;
    Ranks all(kRanks, seed);
    const double sum = all.sum();
    for (std::uint32_t call = 0; call < 8; ++call) {
      for (int rank = 0; rank < kRanks; ++rank)
        all.call(rank, onFull(all, rank, kRanks));
      for (std::size_t steps = all.below(12); steps > 0 && all.step(); --steps) {
      }
      all.giveUp(static_cast<int>(all.below(kRanks)), call);
    }
    while (all.step()) {
    }
    ASSERT_EQ(all.pending(), 0) << "seed " << seed;
    ASSERT_TRUE(all.allFree());
    EXPECT_NEAR(all.sum(), sum, 1e-9);
  }
}

struct OfferList final : Pairing::Host {
  void requestOnLoop(std::uint32_t) override {}
  void offerOnLoop(const Pairing::Request& request) override { offers.emplace_back(request.rank, request.serial); }
  void settleOnLoop(std::uint32_t) override {}
  std::vector<std::pair<int, std::uint32_t>> offers; ///< Rank and serial.
};

TEST(Pairing, ARankThatWantsAnewGetsNoOfferForWhatItGaveUp) {
  OfferList host;
  Pairing pairing(0, host);
  pairing.requestedOnLoop({2, 1, {0, 1}});
  for (const std::uint32_t serial : {1U, 2U, 3U}) // Rank 1 gives up the first two.
    pairing.requestedOnLoop({1, serial, {0, 1}});
  pairing.endedOnLoop();
  pairing.endedOnLoop();
  EXPECT_EQ(host.offers, (std::vector<std::pair<int, std::uint32_t>>{{2, 1}, {1, 3}}));
  EXPECT_FALSE(pairing.engaged());
}

TEST(Pairing, ARankThatLeavesHoldsNobodyUp) {
  OfferList host;
  Pairing pairing(0, host);
  pairing.requestedOnLoop({1, 1, {0, 1}});
  for (const int rank : {2, 3})
    pairing.requestedOnLoop({rank, 1, {0, 1}});
  pairing.leftOnLoop(2); // It waits for an offer.
  pairing.leftOnLoop(1); // It has one.
  EXPECT_EQ(host.offers, (std::vector<std::pair<int, std::uint32_t>>{{1, 1}, {3, 1}}));
  pairing.leftOnLoop(2);
  EXPECT_EQ(pairing.engaged()->rank, 3);
}

} // namespace
} // namespace goss
