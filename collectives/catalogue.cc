#include "collectives/catalogue.h"

#include <algorithm>
#include <utility>

#include "collectives/barrier.h"
#include "collectives/bruck_exchange.h"
#include "collectives/butterfly.h"
#include "collectives/circulant.h"
#include "collectives/circulant_pipeline.h"
#include "collectives/double_binary_tree.h"
#include "collectives/flat.h"
#include "collectives/hierarchical.h"
#include "collectives/neighbor_exchange.h"
#include "collectives/pairwise_exchange.h"
#include "collectives/recursive_doubling.h"
#include "collectives/ring.h"
#include "collectives/rooted.h"
#include "collectives/scan.h"
#include "collectives/scatter_all_gather.h"
#include "collectives/sharded.h"
#include "collectives/site_pairs.h"
#include "collectives/tree_pipeline.h"

namespace goss::collectives {

namespace {

using Entries = std::vector<CatalogueEntry>;
using ShardSchemes = std::vector<std::unique_ptr<ShardScheme>>;
using AllReduceSchemes = std::vector<std::unique_ptr<AllReduceScheme>>;

void add(Entries& entries, Collective collective, std::unique_ptr<const Algorithm> algorithm) {
  entries.push_back({collective, std::move(algorithm)});
}

/// The sharding schemes that are worth composing with others.
ShardSchemes composableShardSchemes() {
  ShardSchemes schemes;
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::unit));
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::halving));
  schemes.push_back(std::make_unique<Ring>());
  return schemes;
}

ShardSchemes allShardSchemes() {
  ShardSchemes schemes = composableShardSchemes();
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::radix4));
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::radix8));
  schemes.push_back(std::make_unique<Circulant>(Circulant::Skips::doubling));
  schemes.push_back(makeRabenseifner());
  schemes.push_back(makeSwing());
  return schemes;
}

AllReduceSchemes allReduceSchemes(ShardSchemes shard_schemes) {
  AllReduceSchemes schemes;
  for (auto& scheme : shard_schemes)
    schemes.push_back(std::make_unique<ShardedAllReduce>(std::move(scheme)));
  schemes.push_back(std::make_unique<RecursiveDoubling>());
  schemes.push_back(std::make_unique<DoubleBinaryTree>());
  return schemes;
}

void addAllReduces(Entries& entries) {
  for (auto& scheme : allReduceSchemes(allShardSchemes())) {
    add(entries, Collective::allReduce, makeAllReduce(std::move(scheme)));
  }
  const std::size_t inner_count = composableShardSchemes().size();
  for (std::size_t i = 0; i < inner_count; ++i) {
    for (auto& outer : allReduceSchemes(composableShardSchemes())) {
      ShardSchemes inner = composableShardSchemes();
      add(entries, Collective::allReduce, std::make_unique<Hierarchical>(std::move(inner[i]), std::move(outer)));
    }
  }
  add(entries, Collective::allReduce, std::make_unique<SitePairs>());
}

/// Broadcasts and reduces mirror one another.
void addRooted(Entries& entries, Collective collective) {
  using Shape = TreePipeline::Shape;
  for (const Shape shape :
       {Shape::linear, Shape::binomial, Shape::knomial4, Shape::knomial8, Shape::binary, Shape::chain}) {
    add(entries, collective, std::make_unique<TreePipeline>(collective, shape));
  }
  add(entries, collective, std::make_unique<CirculantPipeline>(collective));
  for (auto& scheme : composableShardSchemes()) {
    // Direct exchange is for long latencies: then the rooted phase must be one hop too.
    std::unique_ptr<const RootedScheme> rooted = std::make_unique<BinomialRooted>();
    if (scheme->name() == "direct") rooted = std::make_unique<LinearRooted>();
    add(entries, collective, std::make_unique<ScatterAllGather>(collective, std::move(rooted), std::move(scheme)));
  }
}

/// Adds the flat algorithm; call it after the others of the collective.
void addFlat(Entries& entries, Collective collective) {
  const auto last = std::find_if(entries.rbegin(), entries.rend(),
                                 [&](const CatalogueEntry& entry) { return entry.collective == collective; });
  entries.insert(last.base(), CatalogueEntry{collective, std::make_unique<Flat>(collective)});
}

} // namespace

Catalogue builtinAlgorithms() {
  Entries entries;
  addAllReduces(entries);
  addRooted(entries, Collective::reduce);
  addRooted(entries, Collective::broadcast);
  for (auto& scheme : allShardSchemes())
    add(entries, Collective::allGather, makeAllGather(std::move(scheme)));
  for (auto& scheme : allShardSchemes())
    add(entries, Collective::reduceScatter, makeReduceScatter(std::move(scheme)));
  add(entries, Collective::allToAll, std::make_unique<PairwiseExchange>());
  add(entries, Collective::allToAll, std::make_unique<BruckExchange>());
  add(entries, Collective::gather, makeGather(std::make_unique<LinearRooted>()));
  add(entries, Collective::gather, makeGather(std::make_unique<BinomialRooted>()));
  add(entries, Collective::scatter, makeScatter(std::make_unique<LinearRooted>()));
  add(entries, Collective::scatter, makeScatter(std::make_unique<BinomialRooted>()));
  add(entries, Collective::scan, std::make_unique<Scan>(Collective::scan));
  add(entries, Collective::exscan, std::make_unique<Scan>(Collective::exscan));
  add(entries, Collective::barrier, std::make_unique<DisseminationBarrier>());
  for (int i = kCollectiveCount; i < kAllCollectives; ++i)
    add(entries, static_cast<Collective>(i), std::make_unique<NeighborExchange>(static_cast<Collective>(i)));
  for (int i = 0; i < kCollectiveCount; ++i)
    addFlat(entries, static_cast<Collective>(i));
  return Catalogue(std::move(entries));
}

} // namespace goss::collectives
