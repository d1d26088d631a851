// State that ranks of one grid saved, as ranks of another grid read it.
#include "sync/outer_state.h"

#include <gtest/gtest.h>

#include "sync/saved_vectors.h"

namespace goss::sync {
namespace {

using Floats = std::vector<float>;

/// A state of two tensors, a (3 elements) and b (2), in one fragment, from the table of tensors to the codecs.
std::string stateOf(const Floats& reference, const Floats& momentum, const ReferenceStore& store) {
  base::WireWriter writer;
  writer.integer(std::uint64_t{2}).text("a").integer(std::uint64_t{3}).text("b").integer(std::uint64_t{2});
  writer.integer(std::uint64_t{1}); // fragments
  const std::uint64_t tensors[] = {0, 1};
  saveNumbers(writer, tensors);
  writer.integer(std::uint64_t{7}).integer(std::uint8_t{1}).integer(std::uint8_t{0}).integer(std::uint64_t{1});
  saveFloats(writer, reference);
  saveFloats(writer, momentum);
  writer.integer(std::uint64_t{0}); // buckets
  const std::string kept = store.exportAll();
  writer.integer(static_cast<std::uint64_t>(kept.size())).raw(kept);
  return writer.take();
}

void keep(ReferenceStore& store, ReferenceRole role, std::uint64_t first, const Floats& values,
          std::uint64_t version = 0) {
  const ElementRange range{first, values.size()};
  const Result<std::span<float>> interval = store.open({1, role, 0}, range);
  ASSERT_TRUE(interval.isOk());
  std::copy(values.begin(), values.end(), interval.value().begin());
  if (version != 0) {
    store.setVersion({1, role, 0}, range, version);
  }
}

void add(OuterState& state, const std::string& bytes) {
  base::WireReader reader(bytes);
  ASSERT_TRUE(state.add(reader));
  ASSERT_TRUE(reader.complete());
}

TEST(OuterState, VectorsAreCutIntoTensorsAndAveragedOverTheRanks) {
  OuterState state;
  add(state, stateOf({1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}, {}));
  add(state, stateOf({3, 2, 3, 4, 7}, {10, 20, 30, 40, 90}, {}));
  state.finish();
  const OuterTensor* a = state.find("a", 3);
  const OuterTensor* b = state.find("b", 2);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(a->reference, (Floats{2, 2, 3}));
  EXPECT_EQ(b->reference, (Floats{4, 6}));
  EXPECT_EQ(a->outer, (std::vector<Floats>{{10, 20, 30}}));
  EXPECT_EQ(b->outer, (std::vector<Floats>{{40, 70}}));
  EXPECT_EQ(a->rounds, 7u);
  EXPECT_EQ(state.find("a", 2), nullptr);
  EXPECT_EQ(state.find("c", 3), nullptr);
  EXPECT_FALSE(state.hasFeedback());
}

TEST(OuterState, WhatWasLostIsSpreadOverTheRanksAndOwnersShardsAreJoined) {
  ReferenceStore first, second;
  // Two ranks: the first one owns elements 0 and 1, which the second one encodes, and so on.
  keep(first, ReferenceRole::worker, 2, {2, 4, 6});
  keep(first, ReferenceRole::server, 0, {8, 9});
  keep(second, ReferenceRole::worker, 0, {10, 12});
  keep(second, ReferenceRole::server, 2, {1, 2, 3});
  OuterState state;
  add(state, stateOf(Floats(5), Floats(5), first));
  add(state, stateOf(Floats(5), Floats(5), second));
  state.finish();
  auto a = state.find("a", 3)->feedback(), b = state.find("b", 2)->feedback();
  EXPECT_EQ(a[ReferenceRole::worker], (Floats{5, 6, 1}));
  EXPECT_EQ(b[ReferenceRole::worker], (Floats{2, 3}));
  EXPECT_EQ(a[ReferenceRole::server], (Floats{8, 9, 1}));
  EXPECT_EQ(b[ReferenceRole::server], (Floats{2, 3}));
  EXPECT_TRUE(state.hasFeedback());
  EXPECT_FALSE(state.leavesBehind());
}

TEST(OuterState, WhatNobodyTookUpDoesNotCountBesideWhatSomebodyDid) {
  ReferenceStore first, second;
  keep(first, ReferenceRole::server, 0, {1, 2, 3, 4, 5}, OuterState::kInherited);
  keep(first, ReferenceRole::server, 0, {6, 7}); // taken out of the inherited ones
  keep(second, ReferenceRole::server, 0, {1, 2, 3, 4, 5}, OuterState::kInherited);
  OuterState state;
  add(state, stateOf(Floats(5), Floats(5), first));
  add(state, stateOf(Floats(5), Floats(5), second));
  state.finish();
  EXPECT_EQ(state.find("a", 3)->feedback()[ReferenceRole::server], (Floats{6, 7, 3}));
  EXPECT_EQ(state.find("b", 2)->feedback()[ReferenceRole::server], (Floats{4, 5}));
}

TEST(OuterState, PlacesOfRandomStreamsGoOnAndVectorsOfAWholeFragmentStayBehind) {
  ReferenceStore store;
  for (int i = 0; i < 3; ++i) {
    store.countUp(1);
  }
  keep(store, ReferenceRole::global, 0, {1});
  OuterState state;
  add(state, stateOf(Floats(5), Floats(5), store));
  state.finish();
  EXPECT_EQ(state.draws(), 3u);
  EXPECT_TRUE(state.leavesBehind());
}

TEST(OuterState, TensorsThatAreTooLongForAVectorAreRefused) {
  for (const bool fits : {true, false}) {
    base::WireWriter writer;
    writer.integer(std::uint64_t{1}).text("a").integer(std::uint64_t{1} << 63);
    writer.integer(std::uint64_t{0}).integer(std::uint64_t{1}); // fragments, buckets
    const std::uint64_t tensors[] = {0, 0, 0};
    saveNumbers(writer, std::span(tensors).first(fits ? 1 : 3));
    writer.integer(std::uint8_t{0}); // no momentum
    const std::string kept = ReferenceStore().exportAll();
    writer.integer(static_cast<std::uint64_t>(kept.size())).raw(kept);
    const std::string bytes = writer.take();
    OuterState state;
    base::WireReader reader(bytes);
    EXPECT_EQ(state.add(reader), fits);
  }
}

TEST(OuterState, EveryTruncationAndOtherLengthsOfATensorAreRefused) {
  ReferenceStore store;
  keep(store, ReferenceRole::worker, 0, {1, 2});
  const std::string good = stateOf(Floats(5), Floats(5), store);
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    OuterState state;
    base::WireReader reader(std::string_view(good).substr(0, bytes));
    EXPECT_FALSE(state.add(reader)) << bytes;
  }
  std::string longer = good;
  longer[8 + 4 + 1] = 4; // elements of a
  OuterState state;
  add(state, good);
  base::WireReader reader(longer);
  EXPECT_FALSE(state.add(reader));
}

} // namespace
} // namespace goss::sync
