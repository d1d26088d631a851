// goss_comm_shrink's agreement, run over all kinds of interleavings: every seed orders messages, deaths and accusations
// anew.
#include "health/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <set>

#include "world/context_numbers.h"

namespace goss {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AgreementView viewOf(const std::vector<std::pair<int, int>>& accusations, int size, bool ended = true) {
  AgreementView view;
  for (const auto& [accuser, rank] : accusations)
    view.accuse(accuser, rank, ended, size);
  return view;
}

TEST(Remaining, ADeadRankGoesWhoeverNoticedIt) {
  EXPECT_THAT(remainingRanks(viewOf({}, 4), 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(remainingRanks(viewOf({{1, 0}}, 4), 4), ElementsAre(1, 2, 3));
  EXPECT_THAT(remainingRanks(viewOf({{1, 0}, {2, 0}, {3, 0}, {1, 3}, {2, 3}}, 4), 4), ElementsAre(1, 2));
}

TEST(Remaining, OfTwoThatLostEachOtherOneStays) {
  EXPECT_THAT(remainingRanks(viewOf({{1, 2}, {2, 1}}, 4), 4), ElementsAre(0, 1, 3));
  // Rank 3 is accused by two and accuses one: it goes, and its accusation with it.
  EXPECT_THAT(remainingRanks(viewOf({{3, 0}, {0, 3}, {1, 3}}, 4), 4), ElementsAre(0, 1, 2));
}

TEST(Remaining, WhoHasLeftGoes) { EXPECT_THAT(remainingRanks(viewOf({{2, 2}}, 3), 3), ElementsAre(0, 1)); }

TEST(Quorum, MoreThanHalfGoOnOrAllWhoAreLeft) {
  const auto quorum = [](const std::vector<int>& agreed, const std::vector<int>& ended, int size) {
    std::vector<bool> here(static_cast<std::size_t>(size), false);
    std::vector<bool> gone = here;
    for (const int rank : agreed)
      here[static_cast<std::size_t>(rank)] = true;
    for (const int rank : ended)
      gone[static_cast<std::size_t>(rank)] = true;
    return hasQuorum(here, gone);
  };
  EXPECT_TRUE(quorum({3}, {0, 1, 2}, 4)) << "three have ended";
  EXPECT_FALSE(quorum({3}, {}, 4)) << "three are silent: perhaps we are cut off";
  EXPECT_FALSE(quorum({3}, {0, 1}, 4)) << "the third may have gone on with the two before they died";
  EXPECT_TRUE(quorum({1, 2, 3}, {}, 5));
  EXPECT_FALSE(quorum({1, 2}, {3}, 5));
  EXPECT_TRUE(quorum({0, 3}, {}, 4)) << "half, with rank 0";
  EXPECT_FALSE(quorum({1, 2}, {0}, 4)) << "the other half";
}

TEST(AgreementOutcomes, AreReadAsTheyWereWritten) {
  for (const int size : {2, 64, 65, 200}) {
    AgreementOutcome outcome{viewOf({{0, 1}}, size), std::vector<bool>(static_cast<std::size_t>(size)), size == 65};
    outcome.agreed.front() = outcome.agreed.back() = true;
    const std::string bytes = outcome.encode();
    EXPECT_EQ(bytes.size(), outcome.view.encode().size() + AgreementOutcome::overhead(size));
    const auto read = AgreementOutcome::decode(bytes, size);
    ASSERT_TRUE(read.isOk());
    EXPECT_EQ(read.value(), outcome);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(AgreementOutcome::decode(std::string_view(bytes).substr(0, length), size).isOk()) << length;
    EXPECT_FALSE(AgreementOutcome::decode(bytes + "x", size).isOk());
  }
  std::string stranger = AgreementOutcome{viewOf({{1, 0}}, 2), {true, true}, false}.encode();
  stranger[0] = 2; // Neither over nor not.
  EXPECT_FALSE(AgreementOutcome::decode(stranger, 2).isOk());
  stranger[0] = 0;
  stranger[1] = 4; // A rank that does not exist.
  EXPECT_FALSE(AgreementOutcome::decode(stranger, 2).isOk());
}

TEST(AgreementViews, AreReadAsTheyWereWritten) {
  for (const int size : {2, 64, 65, 200}) {
    AgreementView view = viewOf({{0, 1}, {size - 1, 1}, {size - 1, 0}}, size);
    view.context = 77;
    const std::string bytes = view.encode();
    const auto read = AgreementView::decode(bytes, size);
    ASSERT_TRUE(read.isOk());
    EXPECT_EQ(read.value(), view);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(AgreementView::decode(std::string_view(bytes).substr(0, length), size).isOk()) << length;
    EXPECT_FALSE(AgreementView::decode(bytes + "x", size).isOk());
  }
  const std::string two = viewOf({{1, 0}}, 2).encode();
  std::string stranger = two;
  stranger[8] = 2; // A rank that does not exist.
  EXPECT_FALSE(AgreementView::decode(stranger, 2).isOk());
  stranger = two;
  stranger[13] = 4; // An accuser that does not exist.
  EXPECT_FALSE(AgreementView::decode(stranger, 2).isOk());
}

using Manner = Agreement::Manner;

/// Ranks with ordered channels between them; one seed decides whatever can happen in several ways.
class Town {
 public:
  Town(int size, unsigned seed, Manner manner) : size_(size), manner_(manner), random_(seed) {
    for (int rank = 0; rank < size; ++rank) {
      next_context_.push_back(pick(5));
      alive_.push_back(true);
      last_words_.push_back(-1);
      ranks_.push_back(nullptr);
      channels_.emplace_back(static_cast<std::size_t>(size));
      noticed_.emplace_back(static_cast<std::size_t>(size), false);
    }
    broken_.resize(static_cast<std::size_t>(size) * static_cast<std::size_t>(size), false);
    cut_ = closed_ = broken_;
    destroyed_.resize(static_cast<std::size_t>(size), false);
    untold_ = destroyed_;
  }

  unsigned pick(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }
  int someone() { return static_cast<int>(pick(static_cast<unsigned>(size_))); }
  /// At once, or in the middle of what it says next.
  void kill(int rank) {
    last_words_[at(rank)] = static_cast<int>(pick(static_cast<unsigned>(size_)));
    if (pick(2) == 0) alive_[at(rank)] = false;
  }
  /// The way from `from` to `to` is cut. Who does not hear the other, or gets no answer, will give it up. `heals`: only
  /// after that has begun at one of the ends.
  void cut(int from, int to, bool heals = false) {
    broken_[at(from * size_ + to)] = broken_[at(to * size_ + from)] = true;
    cut_[at(from * size_ + to)] = !heals;
    lose(to, from);
  }
  /// The connections between the two are reset, and stay cut: what was under way is lost, too.
  void reset(int a, int b) {
    cut(a, b);
    cut(b, a);
  }
  /// The rank has gone on, and has destroyed its communicator since.
  void destroy(int rank) {
    if (ranks_[at(rank)] != nullptr && ranks_[at(rank)]->isComplete()) destroyed_[at(rank)] = true;
  }

  /// One event: a rank calls, notices a loss, or reads a message. False: no event is left.
  bool step() {
    std::vector<std::pair<int, int>> possible; // Rank and whom it hears from; itself: it calls.
    for (int rank = 0; rank < size_; ++rank) {
      if (!alive_[at(rank)]) continue;
      if (ranks_[at(rank)] == nullptr) {
        possible.emplace_back(rank, rank);
        continue;
      }
      for (int from = 0; from < size_; ++from)
        if (from != rank && hasNews(rank, from)) possible.emplace_back(rank, from);
    }
    if (possible.empty()) return false;
    const auto [rank, from] = possible[pick(static_cast<unsigned>(possible.size()))];
    if (rank == from) {
      begin(rank);
    } else {
      read(rank, from);
    }
    tell(rank);
    return true;
  }

  /// Whoever still waits asks again.
  void remind() {
    for (int rank = 0; rank < size_; ++rank) {
      if (!alive_[at(rank)] || ranks_[at(rank)]->isComplete()) continue;
      for (const int asked : ranks_[at(rank)]->asked())
        send(rank, asked, decision(rank).has_value() ? outcome(rank, true) : ownView(rank));
    }
  }
  /// As often as it takes, for ranks that are spoken for may have to ask again and again.
  void comeToRest() {
    for (int reminders = 0; reminders < (manner_ == Manner::all ? 2 : 12); ++reminders) {
      remind();
      while (step()) {
      }
    }
  }

  [[nodiscard]] const Agreement& agreement(int rank) const { return *ranks_[at(rank)]; }
  [[nodiscard]] const std::optional<AgreementView>& decision(int rank) const { return ranks_[at(rank)]->decision(); }
  [[nodiscard]] bool living(int rank) const { return alive_[at(rank)]; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool reaches(int rank, int other) const { return alive_[at(other)] && !noticed_[at(rank)][at(other)]; }
  /// Whether `rank` has given the number of a decision to nobody else.
  [[nodiscard]] bool hasReserved(int rank, std::uint32_t context) const { return context < next_context_[at(rank)]; }

 private:
  struct Message {
    AgreementOutcome outcome; ///< Of a rank that has not decided: its view alone.
    bool decided;
    bool left = false;
    bool asks = false;
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] bool isBroken(int a, int b) const { return !alive_[at(b)] || broken_[at(a * size_ + b)]; }
  /// Messages sent before a rank's end are read before its end is noticed.
  [[nodiscard]] bool hasNews(int rank, int from) const {
    return !channels_[at(rank)][at(from)].empty() || (isBroken(rank, from) && !noticed_[at(rank)][at(from)]);
  }
  /// Some of what is on its way to `rank`, from the last backwards.
  void lose(int rank, int from) {
    auto& channel = channels_[at(rank)][at(from)];
    channel.resize(pick(static_cast<unsigned>(channel.size()) + 1));
  }

  void begin(int rank) {
    const auto reserve = [this, rank](std::uint32_t least) {
      next_context_[at(rank)] = std::max(least, next_context_[at(rank)]) + 1;
      return next_context_[at(rank)] - 1;
    };
    ranks_[at(rank)] = std::make_unique<Agreement>(rank, size_, reserve, manner_);
  }

  void read(int rank, int from) {
    auto& channel = channels_[at(rank)][at(from)];
    if (channel.empty()) return notice(rank, from);
    const Message message = channel.front();
    channel.pop_front();
    if (hasGivenUp(rank)) {
      if (!message.decided && !message.left) send(rank, from, farewell(rank));
      return;
    }
    if (decision(rank).has_value() && !message.left && (!message.decided || message.asks)) {
      send(rank, from, outcome(rank));
      if (destroyed_[at(rank)]) send(rank, from, farewell(rank));
    }
    if (message.decided) return ranks_[at(rank)]->receiveDecision(from, message.outcome);
    ranks_[at(rank)]->receiveView(from, message.outcome.view);
    if (!message.left && ranks_[at(rank)]->owesView(message.outcome.view)) send(rank, from, ownView(rank));
  }

  /// Only the dead one's own host, if it is reached, says that it is dead.
  void notice(int rank, int from) {
    noticed_[at(rank)][at(from)] = true;
    const bool reached = !cut_[at(rank * size_ + from)] && !cut_[at(from * size_ + rank)];
    if (!hasGivenUp(rank)) ranks_[at(rank)]->accuse(from, !alive_[at(from)] && reached);
    // A rank that gives up another breaks the link.
    broken_[at(rank * size_ + from)] = broken_[at(from * size_ + rank)] = true;
    if (!reached) lose(from, rank);
  }

  /// Nobody will tell it a decision.
  [[nodiscard]] bool hasGivenUp(int rank) const { return told_.contains(rank) && !decision(rank).has_value(); }
  [[nodiscard]] Message ownView(int rank) const { return {{ranks_[at(rank)]->view(), {}, false}, false}; }
  /// What a rank tells that has decided, or that nobody will tell a decision.
  [[nodiscard]] Message outcome(int rank, bool asks = false) const {
    if (!decision(rank).has_value()) return farewell(rank);
    const Agreement& agreement = *ranks_[at(rank)];
    return {{*decision(rank), agreement.agreed(), agreement.isComplete()}, true, false, asks};
  }
  [[nodiscard]] Message farewell(int rank) const {
    return {{viewOf({{rank, rank}}, size_, !ranks_[at(rank)]->goesOn()), {}, false}, false, true};
  }

  /// As Shrink::settle (lib/health/shrink.cc).
  void tell(int rank) {
    Agreement& agreement = *ranks_[at(rank)];
    if (agreement.takeChanged()) untold_[at(rank)] = true;
    const bool has_decided = agreement.decision().has_value();
    const bool ends = agreement.isComplete() && !ended_.contains(rank);
    const bool decides = (has_decided || ends) && told_.insert(rank).second;
    if (decides && untold_[at(rank)] && (manner_ == Manner::all || !has_decided)) tellAll(rank, ownView(rank));
    if (decides) untold_[at(rank)] = true;
    if (const std::vector<int> audience = agreement.audience(); untold_[at(rank)] && !audience.empty()) {
      untold_[at(rank)] = false;
      for (const int to : audience) {
        const bool asks = manner_ == Manner::coordinator && agreement.isAwaited(to);
        send(rank, to, has_decided ? outcome(rank, asks) : decides ? farewell(rank) : ownView(rank));
      }
    }
    if (!ends) return;
    ended_.insert(rank);
    if (has_decided && agreement.isCoordinator()) tellAll(rank, outcome(rank));
  }

  void tellAll(int from, const Message& message) {
    for (int to = 0; to < size_; ++to)
      if (to != from) send(from, to, message);
  }

  void send(int from, int to, Message message) {
    if (last_words_[at(from)] == 0) alive_[at(from)] = false;
    if (last_words_[at(from)] > 0) --last_words_[at(from)];
    if (!alive_[at(to)] || !alive_[at(from)] || noticed_[at(from)][at(to)] || closed_[at(from * size_ + to)]) return;
    // Nothing comes behind what was lost on a link that breaks.
    if (cut_[at(from * size_ + to)] || (broken_[at(from * size_ + to)] && pick(2) == 0)) {
      closed_[at(from * size_ + to)] = true;
      return;
    }
    channels_[at(to)][at(from)].push_back(std::move(message));
  }

  const int size_;
  const Manner manner_;
  std::mt19937 random_;
  std::vector<std::uint32_t> next_context_;
  std::vector<bool> alive_;
  std::vector<int> last_words_; ///< Messages until it dies; -1: it does not.
  std::vector<bool> broken_;    ///< From, to: the link has ended, and both ends will notice.
  std::vector<bool> cut_;       ///< From, to: nothing passes.
  std::vector<bool> closed_;    ///< From, to: something that was sent did not arrive.
  std::vector<bool> destroyed_;
  std::vector<std::unique_ptr<Agreement>> ranks_;
  std::vector<std::vector<std::deque<Message>>> channels_; ///< To, from.
  std::vector<std::vector<bool>> noticed_;
  std::vector<bool> untold_; ///< By rank: it has something to tell.
  std::set<int> told_;       ///< Those that have told how it ended for them.
  std::set<int> ended_;      ///< Those that wait for nobody any more.
};

/// Checks the living ranks: those that remain in each other's decisions have the same decision; and all ranks that go
/// on have one decision.
void expectOneDecision(const Town& town, unsigned seed) {
  std::vector<int> going_on;
  for (int rank = 0; rank < town.size(); ++rank) {
    if (!town.living(rank) || !town.decision(rank).has_value()) continue;
    const std::vector<int> remaining = remainingRanks(*town.decision(rank), town.size());
    if (!std::binary_search(remaining.begin(), remaining.end(), rank)) continue;
    EXPECT_TRUE(town.hasReserved(rank, town.decision(rank)->context));
    for (const int other : remaining) {
      if (!town.living(other) || !town.decision(other).has_value()) continue;
      const std::vector<int> theirs = remainingRanks(*town.decision(other), town.size());
      if (!std::binary_search(theirs.begin(), theirs.end(), rank)) continue;
      ASSERT_EQ(*town.decision(rank), *town.decision(other)) << "seed " << seed << ", ranks " << rank << ", " << other;
    }
    if (!town.agreement(rank).goesOn()) continue;
    if (!going_on.empty()) {
      ASSERT_EQ(*town.decision(rank), *town.decision(going_on.front())) << "two halves: seed " << seed;
    }
    going_on.push_back(rank);
  }
}

class Agreements : public ::testing::TestWithParam<Manner> {};

INSTANTIATE_TEST_SUITE_P(Manners, Agreements, ::testing::Values(Manner::all, Manner::coordinator),
                         [](const auto& instance) { return instance.param == Manner::all ? "all" : "coordinator"; });

TEST_P(Agreements, WhoeverDiesWheneverTheLivingDecideAlikeAndGoOn) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Town town(2 + static_cast<int>(seed % 6), seed, GetParam());
    // Up to all but one die, at any time, before or while the others agree, or after they have.
    unsigned deaths = town.pick(static_cast<unsigned>(town.size()));
    bool more = true;
    while (more || deaths > 0) {
      if (deaths > 0 && (town.pick(12) == 0 || !more)) {
        town.kill(town.someone());
        --deaths;
      }
      more = town.step();
    }
    if (GetParam() == Manner::coordinator) town.comeToRest();
    for (int rank = 0; rank < town.size(); ++rank)
      if (town.living(rank)) {
        ASSERT_TRUE(town.decision(rank).has_value()) << "seed " << seed << ", rank " << rank;
        ASSERT_TRUE(town.agreement(rank).goesOn()) << "seed " << seed << ", rank " << rank;
      }
    expectOneDecision(town, seed);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Agreements, RanksThatLoseEachOtherNeverDecideDifferentlyAmongThoseThatStay) {
  int with_decision = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Town town(4, seed, GetParam());
    const unsigned when = town.pick(30);
    const int one = static_cast<int>(town.pick(4));
    const int other = static_cast<int>((static_cast<unsigned>(one) + 1 + town.pick(3)) % 4);
    unsigned steps = 0;
    do {
      if (steps++ == when) town.reset(one, other);
    } while (town.step() || steps <= when);
    if (GetParam() == Manner::coordinator) town.comeToRest();
    // The two that are cut off from each other may each have decided with the third and fourth, but not these two.
    std::optional<AgreementView> agreed;
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == one || rank == other || !town.decision(rank).has_value()) continue;
      if (!agreed.has_value()) agreed = town.decision(rank);
      ASSERT_EQ(*agreed, *town.decision(rank)) << "seed " << seed;
      ++with_decision;
    }
    expectOneDecision(town, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(with_decision, 4000) << "the two that nobody accuses always decide";
}

/// A town of `size` comes apart into the ranks of `half` and the rest, link by link.
int goOnAfterCuts(unsigned seed, Manner manner, const std::vector<bool>& half, unsigned deaths) {
  const int size = static_cast<int>(half.size());
  Town town(size, seed, manner);
  std::vector<std::pair<int, int>> links;
  for (int a = 0; a < size; ++a)
    for (int b = 0; b < a; ++b)
      if (half[static_cast<std::size_t>(a)] != half[static_cast<std::size_t>(b)]) links.emplace_back(a, b);
  bool more = true;
  while (more || !links.empty() || deaths > 0) {
    if (!links.empty() && (town.pick(4) == 0 || !more)) {
      const auto [a, b] = links.back();
      links.pop_back();
      const unsigned manner = town.pick(4);
      if (manner < 2) town.reset(a, b);
      if (manner == 2) town.cut(a, b, town.pick(2) == 0);
      if (manner == 3) town.cut(b, a, town.pick(2) == 0);
    }
    if (deaths > 0 && (town.pick(12) == 0 || !more)) {
      town.kill(town.someone());
      --deaths;
    }
    town.destroy(town.someone());
    more = town.step();
  }
  town.comeToRest();
  expectOneDecision(town, seed);
  int going_on = 0;
  for (int rank = 0; rank < size; ++rank) {
    if (!town.living(rank)) continue;
    const std::vector<int> awaited = town.agreement(rank).awaited();
    EXPECT_TRUE(town.agreement(rank).isComplete() ||
                std::ranges::any_of(awaited, [&](int other) { return town.reaches(rank, other); }))
        << "seed " << seed << ": rank " << rank << " waits for " << ::testing::PrintToString(awaited)
        << ", which it has lost";
    if (town.agreement(rank).goesOn()) ++going_on;
  }
  return going_on;
}

TEST_P(Agreements, NeverDoTwoHalvesGoOnHoweverTheyAreCutApart) {
  std::mt19937 random(5);
  int towns_going_on = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const int size = 2 + static_cast<int>(seed % 6);
    std::vector<bool> half;
    for (int rank = 0; rank < size; ++rank)
      half.push_back(random() % 2 == 0);
    // Every third time, ranks die meanwhile.
    const unsigned deaths = seed % 3 == 0 ? static_cast<unsigned>(random()) % static_cast<unsigned>(size) : 0;
    if (goOnAfterCuts(seed, GetParam(), half, deaths) > 0) ++towns_going_on;
    if (::testing::Test::HasFatalFailure()) return;
  }
  // Cuts in the middle of an agreement may end it for all; mostly they do not.
  EXPECT_GT(towns_going_on, 1000);
}

/// Rank 1 left rank 0 out before it learned better, and rank 0 decides before it has told its view.
TEST(Agreement, ADecisionThatCannotBeAdoptedIsAViewToAgreeWith) {
  const auto reserve = [](std::uint32_t wanted) { return wanted; };
  Agreement zero(0, 9, reserve, Manner::coordinator);
  Agreement one(1, 9, reserve, Manner::coordinator);
  AgreementView cut_off = viewOf({{8, 0}}, 9, false);
  for (int rank = 2; rank < 8; ++rank) {
    one.accuse(rank, true);
    cut_off.accuse(8, rank, true, 9);
  }
  one.receiveView(8, cut_off);
  ASSERT_THAT(remainingRanks(one.view(), 9), ElementsAre(1, 8));
  one.accuse(8, true);
  ASSERT_THAT(remainingRanks(one.view(), 9), ElementsAre(0, 1));
  zero.receiveView(1, one.view());
  ASSERT_TRUE(zero.decision().has_value());
  one.receiveDecision(0, {*zero.decision(), zero.agreed(), false});
  ASSERT_TRUE(one.decision().has_value()) << "it waits for a view that nobody will send";
  EXPECT_EQ(*one.decision(), *zero.decision());
  zero.receiveDecision(1, {*one.decision(), one.agreed(), false});
  EXPECT_TRUE(zero.isComplete() && one.isComplete());
}

TEST(Agreement, WhereTheCoordinatorIsSilentThoseThatWouldCoordinateAfterItAreWatchedToo) {
  Agreement agreement(
      6, 10, [](std::uint32_t wanted) { return wanted; }, Manner::coordinator);
  std::set<int> silent;
  const auto watched = [&] { return agreement.watched([&](int rank) { return silent.contains(rank); }); };
  EXPECT_THAT(watched(), ElementsAre(0));
  silent = {4}; // Not watched, and so not known.
  EXPECT_THAT(watched(), ElementsAre(0));
  silent = {0};
  EXPECT_THAT(watched(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(agreement.asked(), ElementsAre(0)) << "The others are not asked.";
  silent = {0, 1, 2, 3, 4};
  EXPECT_THAT(watched(), ElementsAre(0, 1, 2, 3, 4, 5));
  agreement.receiveView(0, agreement.view()); // Rank 0 has told what this rank needs, and then fallen silent.
  silent = {0, 1, 2, 3, 4, 5};                // This rank would coordinate, and awaits the others.
  EXPECT_THAT(watched(), ElementsAre(0, 1, 2, 3, 4, 5, 7, 8, 9));
  agreement.accuse(0, false);
  agreement.accuse(2, false);
  silent = {};
  EXPECT_THAT(watched(), ElementsAre(1));
  silent = {1};
  EXPECT_THAT(watched(), ElementsAre(1, 3, 4, 5));
}

TEST(Agreement, AmongHundredsNotManyMoreRanksAreWatchedThanAreSilent) {
  const Agreement agreement(
      200, 256, [](std::uint32_t wanted) { return wanted; }, Manner::coordinator);
  std::size_t watched = 0;
  for (const std::size_t expected : {1U, 5U, 21U, 38U, 55U}) {
    watched = agreement.watched([&](int rank) { return static_cast<std::size_t>(rank) < watched; }).size();
    EXPECT_EQ(watched, expected);
  }
}

TEST(Agreement, NumbersThatAreTakenAreRaised) {
  std::uint32_t next = 3;
  const auto reserve = [&](std::uint32_t least) {
    next = std::max(next, least) + 1;
    return next - 1;
  };
  Agreement agreement(0, 2, reserve, Manner::all);
  EXPECT_EQ(agreement.view().context, 3u);
  next = 9; // Another communicator took 4 to 8 meanwhile.
  AgreementView theirs;
  theirs.context = 5;
  agreement.receiveView(1, theirs);
  EXPECT_FALSE(agreement.decision().has_value()) << "5 is taken here";
  EXPECT_EQ(agreement.view().context, 9u);
  theirs.context = 9;
  agreement.receiveView(1, theirs);
  ASSERT_TRUE(agreement.decision().has_value());
  EXPECT_EQ(agreement.decision()->context, 9u);
  EXPECT_THAT(agreement.decision()->accused, IsEmpty());
}

/// Two agreements among the same two ranks that hear of each other's numbers in opposite order, always at the same
/// time: what one rank chooses for the first, the other has just chosen for the second.
TEST(Agreement, TwoAtATimeFindTheirNumbers) {
  constexpr std::uint32_t kParents[] = {5, 69}; // The numbers first differ in their seventh bit.
  std::array<ContextNumbers, 2> numbers;
  std::array<std::array<std::unique_ptr<Agreement>, 2>, 2> agreements; // By rank and communicator.
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t rank = i / 2;
    const std::size_t which = i % 2 == rank ? 0 : 1;
    agreements[rank][which] = std::make_unique<Agreement>(
        static_cast<int>(rank), 2,
        [&numbers, parent = kParents[which], rank, trial = 0U](std::uint32_t wanted) mutable {
          const std::uint32_t number = numbers[rank].reserve(wanted, parent, trial);
          if (number != wanted) ++trial;
          return number;
        },
        Manner::all);
  }
  const auto undecided = [&] {
    return std::ranges::any_of(agreements, [](const auto& both) {
      return std::ranges::any_of(both, [](const auto& one) { return !one->decision().has_value(); });
    });
  };
  int rounds = 0;
  for (; undecided() && rounds < 20; ++rounds) {
    std::array<std::array<AgreementView, 2>, 2> told;
    for (std::size_t rank = 0; rank < 2; ++rank)
      told[rank] = {agreements[rank][0]->view(), agreements[rank][1]->view()};
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (const std::size_t which : {rank, 1 - rank})
        agreements[rank][which]->receiveView(static_cast<int>(1 - rank), told[1 - rank][which]);
    }
  }
  EXPECT_GT(rounds, 3) << "this order has no conflict";
  ASSERT_FALSE(undecided()) << "after " << rounds << " rounds";
  for (const std::size_t which : {0U, 1U})
    EXPECT_EQ(agreements[0][which]->decision(), agreements[1][which]->decision());
  EXPECT_NE(agreements[0][0]->decision()->context, agreements[0][1]->decision()->context);
}

TEST(ContextNumbers, NoneIsGivenTwice) {
  ContextNumbers numbers;
  numbers.take(0);
  EXPECT_EQ(numbers.reserve(0, 7, 0), 1U);
  EXPECT_EQ(numbers.reserve(40, 7, 1), 40U) << "free";
  EXPECT_EQ(numbers.reserve(12, 7, 1), 12U) << "free, although a higher one is taken";
  const std::uint32_t raised = numbers.reserve(12, 7, 3);
  EXPECT_GT(raised, 40U);
  EXPECT_EQ(raised % 8, 7U % 8);
  EXPECT_EQ(numbers.next(), raised + 1);
}

} // namespace
} // namespace goss
