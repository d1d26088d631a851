#include "collectives/catalogue.h"

#include "collectives/barrier.h"
#include "collectives/circulant.h"
#include "collectives/recursive_doubling.h"
#include "collectives/ring.h"
#include "collectives/sharded.h"

namespace goss::collectives {

namespace {

/// Collects entries of one list.
class List {
 public:
  void add(Collective collective, std::unique_ptr<const Algorithm> algorithm) {
    entries_.push_back({collective, std::move(algorithm)});
  }
  std::vector<CatalogueEntry> take() { return std::move(entries_); }

 private:
  std::vector<CatalogueEntry> entries_;
};

std::vector<std::unique_ptr<ShardScheme>> shardSchemes() {
  std::vector<std::unique_ptr<ShardScheme>> schemes;
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::unit));
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::halving));
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::radix4));
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::radix8));
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::doubling));
  schemes.push_back(std::make_unique<Ring>());
  return schemes;
}

} // namespace

std::vector<const Algorithm*> Catalogue::of(Collective collective) const {
  std::vector<const Algorithm*> algorithms;
  for (const CatalogueEntry& entry : entries_) {
    if (entry.collective == collective) algorithms.push_back(entry.algorithm.get());
  }
  return algorithms;
}

const Algorithm* Catalogue::find(Collective collective, std::string_view name) const {
  for (const CatalogueEntry& entry : entries_) {
    if (entry.collective == collective && entry.algorithm->name() == name) return entry.algorithm.get();
  }
  return nullptr;
}

Catalogue builtinAlgorithms() {
  List list;
  for (auto& scheme : shardSchemes()) {
    list.add(Collective::allReduce, makeAllReduce(std::make_unique<ShardedAllReduce>(std::move(scheme))));
  }
  list.add(Collective::allReduce, makeAllReduce(std::make_unique<RecursiveDoubling>()));
  for (auto& scheme : shardSchemes())
    list.add(Collective::reduceScatter, makeReduceScatter(std::move(scheme)));
  for (auto& scheme : shardSchemes())
    list.add(Collective::allGather, makeAllGather(std::move(scheme)));
  list.add(Collective::barrier, std::make_unique<DisseminationBarrier>());
  return Catalogue(list.take());
}

} // namespace goss::collectives
