#include "collectives/flat.h"

#include <string>
#include <vector>

#include "collectives/scheme.h"
#include "schedule/contract.h"

namespace goss::collectives {

namespace {

Partition partitionOf(Collective collective) {
  return schedule::movesBlocks(collective) ? Partition::byRank : Partition::even;
}

std::uint32_t chunkOf(int rank) { return static_cast<std::uint32_t>(rank); }

/// One rank's part. Peers are visited from the next rank on, so that not all begin with rank 0.
class Emitter {
 public:
  explicit Emitter(ScheduleBuilder& builder) : builder_(builder), size_(builder.size()), self_(builder.rank()) {}

  void emit(Collective collective) {
    switch (collective) {
      case Collective::allReduce:
        sendToAll(0);
        reduceRanks(0, size_, 0);
        break;
      case Collective::reduce:
        if (self_ != builder_.root()) return builder_.send(builder_.root(), {data(0)});
        reduceRanks(0, size_, 0);
        break;
      case Collective::broadcast:
        if (self_ != builder_.root()) return builder_.recv(builder_.root(), {data(0)});
        sendToAll(0);
        break;
      case Collective::allGather:
        sendToAll(chunkOf(self_));
        recvFromAll();
        break;
      case Collective::reduceScatter:
        forEachPeer([&](int to, int) { builder_.send(to, {data(chunkOf(to))}); });
        reduceRanks(0, size_, chunkOf(self_));
        break;
      case Collective::allToAll:
        exchange();
        break;
      case Collective::gather:
        if (self_ != builder_.root()) return builder_.send(builder_.root(), {data(chunkOf(self_))});
        recvFromAll();
        break;
      case Collective::scatter:
        if (self_ != builder_.root()) return builder_.recv(builder_.root(), {data(chunkOf(self_))});
        forEachPeer([&](int to, int) { builder_.send(to, {data(chunkOf(to))}); });
        break;
      case Collective::scan:
        sendToLater();
        reduceRanks(0, self_ + 1, 0);
        break;
      case Collective::exscan:
        exclusive();
        break;
      case Collective::barrier:
        barrier();
        break;
      case Collective::neighborAllReduce:
      case Collective::neighborAllGather:
      case Collective::neighborAllToAll:
        break; // it has its own algorithm
    }
  }

 private:
  /// Calls visit(to, from) for t = 1..p-1 with the t-th peer after this rank and the t-th before it.
  template <typename Visit>
  void forEachPeer(Visit visit) {
    for (int t = 1; t < size_; ++t)
      visit((self_ + t) % size_, (self_ - t + size_) % size_);
  }

  void sendToAll(std::uint32_t chunk) {
    forEachPeer([&](int to, int) { builder_.send(to, {data(chunk)}); });
  }
  void sendToLater() {
    for (int to = self_ + 1; to < size_; ++to)
      builder_.send(to, {input(0)});
  }
  void recvFromAll() {
    forEachPeer([&](int, int from) { builder_.recv(from, {data(chunkOf(from))}); });
  }

  /// Adds the chunks of ranks first .. end - 1 in this order; data(chunk) is this rank's own, which is among them.
  void reduceRanks(int first, int end, std::uint32_t chunk) {
    const std::vector<Slot> received = recvInto(first, end, chunk);
    // Both orders of two operands have the same bits, so the sum of the ranks before may come second.
    for (int rank = first + 1; rank < self_; ++rank)
      builder_.reduce(received[0], received[static_cast<std::size_t>(rank - first)]);
    if (self_ > first) builder_.reduce(data(chunk), received[0]);
    for (int rank = self_ + 1; rank < end; ++rank)
      builder_.reduce(data(chunk), received[static_cast<std::size_t>(rank - first)]);
    builder_.finish({data(chunk)});
  }

  /// Scratch slots indexed by rank - first; this rank's own slot is not used.
  std::vector<Slot> recvInto(int first, int end, std::uint32_t chunk) {
    std::vector<Slot> slots(static_cast<std::size_t>(end - first));
    for (int from = first; from < end; ++from) {
      if (from == self_) continue;
      slots[static_cast<std::size_t>(from - first)] = builder_.scratch(chunk);
      builder_.recv(from, {slots[static_cast<std::size_t>(from - first)]});
    }
    return slots;
  }

  void exclusive() {
    sendToLater();
    if (self_ == 0) return;
    const std::vector<Slot> received = recvInto(0, self_, 0);
    for (int rank = 1; rank < self_; ++rank)
      builder_.reduce(received[0], received[static_cast<std::size_t>(rank)]);
    builder_.finish({received[0]});
    builder_.copy(received[0], output(0));
  }

  void exchange() {
    builder_.copy(input(chunkOf(self_)), output(chunkOf(self_)));
    forEachPeer([&](int to, int from) {
      builder_.send(to, {input(chunkOf(to))});
      builder_.recv(from, {output(chunkOf(from))});
    });
  }

  /// The reduction of all tokens makes the end of the barrier wait for them.
  void barrier() {
    forEachPeer([&](int to, int) { builder_.send(to, {input(0)}); });
    Slot heard = input(0);
    forEachPeer([&](int, int from) {
      const Slot token = builder_.scratch(0);
      builder_.recv(from, {token});
      builder_.reduce(token, heard);
      heard = token;
    });
    builder_.copy(heard, output(0));
  }

  ScheduleBuilder& builder_;
  const int size_;
  const int self_;
};

} // namespace

bool Flat::supports(const PlanRequest& request) const {
  return request.collective == collective_ && request.partition == partitionOf(collective_);
}

Schedule Flat::plan(const PlanRequest& request) const {
  const Partition partition = partitionOf(collective_);
  ScheduleBuilder builder({collective_, request.size, request.rank, schedule::hasRoot(collective_) ? request.root : -1,
                           partition, partition == Partition::byRank ? static_cast<std::uint32_t>(request.size) : 1});
  Emitter(builder).emit(collective_);
  return builder.build(std::string(name()));
}

std::uint64_t Flat::wireElements(const PlanRequest& request, std::span<const std::uint64_t> chunk_elems) const {
  const auto p = static_cast<std::uint64_t>(request.size);
  const std::uint64_t all = sumOf(chunk_elems);
  switch (collective_) {
    case Collective::allReduce:
    case Collective::barrier:
      return p * (p - 1) * all;
    case Collective::scan:
    case Collective::exscan:
      return p * (p - 1) / 2 * all;
    case Collective::gather:
    case Collective::scatter:
      return all - chunk_elems[static_cast<std::size_t>(request.root)];
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::allGather:
    case Collective::reduceScatter:
    case Collective::allToAll:
      return (p - 1) * all;
    case Collective::neighborAllReduce:
    case Collective::neighborAllGather:
    case Collective::neighborAllToAll:
      break;
  }
  return 0;
}

} // namespace goss::collectives
