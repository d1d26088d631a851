#include "tests/lib/schedule/simulator/sample_schedules.h"

#include <algorithm>
#include <numeric>

namespace goss::samples {

namespace {

std::uint32_t wrap(int chunk, int size) { return static_cast<std::uint32_t>(((chunk % size) + size) % size); }

ScheduleBuilder builderFor(Collective collective, int size, int rank, std::uint32_t chunks) {
  return ScheduleBuilder(
      {collective, size, rank, collective == Collective::broadcast ? 0 : -1, Partition::even, chunks});
}

std::vector<Slot> blocks(int rank, int from, int to, int size) {
  std::vector<Slot> slots;
  for (int j = from; j < to; ++j)
    slots.push_back(data(wrap(rank + j, size)));
  return slots;
}

void scatterRound(ScheduleBuilder& builder, int longer, int skip) {
  const int size = builder.size();
  const int rank = builder.rank();
  builder.send(static_cast<int>(wrap(rank + skip, size)), blocks(rank, skip, longer, size));
  std::vector<Slot> received;
  for (int j = 0; j < longer - skip; ++j)
    received.push_back(builder.scratch(wrap(rank + j, size)));
  builder.recv(static_cast<int>(wrap(rank - skip, size)), received);
  for (int j = 0; j < longer - skip; ++j) {
    builder.reduce(data(wrap(rank + j, size)), received[static_cast<std::size_t>(j)]);
  }
}

void gatherRound(ScheduleBuilder& builder, int longer, int skip) {
  const int size = builder.size();
  const int rank = builder.rank();
  builder.send(static_cast<int>(wrap(rank - skip, size)), blocks(rank, 0, longer - skip, size));
  builder.recv(static_cast<int>(wrap(rank + skip, size)), blocks(rank, skip, longer, size));
}

} // namespace

std::vector<int> halvingSkips(int size) {
  std::vector<int> skips{size};
  while (skips.back() > 1)
    skips.push_back((skips.back() + 1) / 2);
  return skips;
}

std::vector<int> unitSkips(int size) {
  std::vector<int> skips(static_cast<std::size_t>(size));
  std::iota(skips.rbegin(), skips.rend(), 1);
  return skips;
}

Schedule circulantAllReduce(int size, int rank, const std::vector<int>& skips, const std::string& name) {
  ScheduleBuilder builder = builderFor(Collective::allReduce, size, rank, static_cast<std::uint32_t>(size));
  for (std::size_t k = 0; k + 1 < skips.size(); ++k)
    scatterRound(builder, skips[k], skips[k + 1]);
  builder.finish({data(static_cast<std::uint32_t>(rank))});
  for (std::size_t k = skips.size() - 1; k > 0; --k)
    gatherRound(builder, skips[k - 1], skips[k]);
  return builder.build(name);
}

Schedule ringAllReduce(int size, int rank, std::vector<int> order) {
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
  }
  const int place = static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
  const auto at = [&](int index) { return order[wrap(index, size)]; };
  const auto chunk = [&](int index) { return data(static_cast<std::uint32_t>(at(index))); };
  ScheduleBuilder builder = builderFor(Collective::allReduce, size, rank, static_cast<std::uint32_t>(size));
  for (int t = 0; t < size - 1; ++t) {
    builder.send(at(place + 1), {chunk(place - 1 - t)});
    builder.recvReduce(at(place - 1), {chunk(place - 2 - t)});
  }
  builder.finish({chunk(place)});
  for (int t = 0; t < size - 1; ++t) {
    builder.send(at(place + 1), {chunk(place - t)});
    builder.recv(at(place - 1), {chunk(place - 1 - t)});
  }
  return builder.build("ring");
}

Schedule doublingAllReduce(int size, int rank) {
  int power = 1;
  while (power * 2 <= size)
    power *= 2;
  const int extra = size - power;
  const auto core = [&](int virtual_rank) {
    return virtual_rank < extra ? 2 * virtual_rank + 1 : virtual_rank + extra;
  };
  ScheduleBuilder builder = builderFor(Collective::allReduce, size, rank, 1);
  const bool paired = rank < 2 * extra;
  if (paired && rank % 2 == 0) {
    builder.send(rank + 1, {data(0)});
    builder.recv(rank + 1, {data(0)});
    return builder.build("recursive-doubling");
  }
  if (paired) builder.recvReduce(rank - 1, {data(0)});
  const int self = paired ? rank / 2 : rank - extra;
  for (int distance = 1; distance < power; distance *= 2) {
    const int peer = core(self ^ distance);
    const Slot received = builder.scratch(0);
    builder.send(peer, {data(0)});
    builder.recv(peer, {received});
    builder.reduce(data(0), received);
  }
  builder.finish({data(0)});
  if (paired) builder.send(rank - 1, {data(0)});
  return builder.build("recursive-doubling");
}

Schedule binomialBroadcast(int size, int rank) {
  ScheduleBuilder builder = builderFor(Collective::broadcast, size, rank, 1);
  int bit = 1;
  while (bit < size && (rank & bit) == 0)
    bit *= 2;
  if (rank != 0) builder.recv(rank - bit, {data(0)});
  for (bit /= 2; bit >= 1; bit /= 2) {
    if (rank + bit < size) builder.send(rank + bit, {data(0)});
  }
  return builder.build("binomial");
}

Schedule chainBroadcast(int size, int rank, std::uint32_t blocks_count) {
  ScheduleBuilder builder = builderFor(Collective::broadcast, size, rank, blocks_count);
  for (std::uint32_t block = 0; block < blocks_count; ++block) {
    if (rank > 0) builder.recv(rank - 1, {data(block)});
    if (rank + 1 < size) builder.send(rank + 1, {data(block)});
  }
  return builder.build("chain");
}

} // namespace goss::samples
