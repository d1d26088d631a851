#include "core/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/builtins.h"
#include "core/codecs.h"
#include "core/flat.h"
#include "core/planner.h"
#include "schedule/compress.h"
#include "schedule/contract.h"

namespace goss::core {

namespace {

constexpr int kMostRanks = 4096;

/// Spelling does not matter: "allreduce", "all-reduce" and "all_reduce" are one.
std::string plain(std::string_view name) {
  std::string letters;
  std::copy_if(name.begin(), name.end(), std::back_inserter(letters), [](char c) { return c != '_' && c != '-'; });
  return letters == "bcast" ? "broadcast" : letters;
}

std::optional<Collective> collectiveOf(std::string_view name) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (plain(schedule::nameOf(collective)) == plain(name)) return collective;
  }
  return std::nullopt;
}

nlohmann::ordered_json toJson(const Candidate& candidate, double best_s) {
  nlohmann::ordered_json json;
  json["algorithm"] = candidate.algorithm->name();
  json["price_us"] = candidate.price_s * 1e6;
  json["ratio"] = best_s > 0 ? candidate.price_s / best_s : 1.0;
  json["fragments"] = candidate.fragments;
  json["blocks"] = candidate.blocks;
  if (candidate.group_size > 0) json["group_size"] = candidate.group_size;
  if (!candidate.order.empty()) json["order"] = candidate.order;
  if (!candidate.weights.empty()) json["weights"] = candidate.weights;
  json["most_messages_sent"] = candidate.most_messages_sent;
  json["most_bytes_sent"] = candidate.most_bytes_sent;
  if (candidate.on_board) json["on_board"] = true;
  if (candidate.between_nodes) json["compressed"] = "between nodes";
  json["last_rank"] = candidate.critical_rank;
  json["extrapolated"] = candidate.extrapolated;
  return json;
}

/// The same links where only bytes cost.
schedule::Links withoutLatency(const schedule::Links& links) {
  schedule::Links free = links;
  for (int from = 0; from < links.size(); ++from) {
    for (int to = 0; to < links.size(); ++to) {
      if (from == to) continue;
      schedule::LinkPrice price = links.price(from, to);
      price.latency_s = 0;
      price.overhead_s = 0;
      free.setPrice(from, to, price);
    }
  }
  return free;
}

std::string reason(const Question& question, const std::vector<Candidate>& candidates, std::size_t chosen,
                   const schedule::Links& links) {
  const Candidate& best = candidates[chosen];
  const bool least = std::none_of(candidates.begin(), candidates.end(),
                                  [&](const Candidate& other) { return other.price_s < best.price_s; });
  std::string text =
      fmt::format("{} is {} of {}: {:.3g} us", best.algorithm->name(),
                  least ? "the cheapest" : "as good as the cheapest", candidates.size(), best.price_s * 1e6);
  constexpr int kMostRanksToSplit = 64;
  if (best.price_s > 0 && !best.extrapolated && !best.on_board && links.size() <= kMostRanksToSplit) {
    const auto bytes_only = priceOver(question, best, withoutLatency(links));
    if (bytes_only.isOk()) {
      const double share = std::clamp(1.0 - bytes_only.value() / best.price_s, 0.0, 1.0);
      text += fmt::format(", {:.0f} % of it latency", share * 100);
    }
  }
  const Candidate* next = nullptr;
  for (const Candidate& candidate : candidates) {
    if (&candidate == &best || candidate.algorithm == best.algorithm) continue;
    if (next == nullptr || candidate.price_s < next->price_s) next = &candidate;
  }
  if (next != nullptr && best.price_s > 0) {
    text += fmt::format("; next {} at {:.2f}x ({} messages and {} bytes from the busiest rank, against {} and {})",
                        next->algorithm->name(), next->price_s / best.price_s, next->most_messages_sent,
                        next->most_bytes_sent, best.most_messages_sent, best.most_bytes_sent);
  }
  return text;
}

} // namespace

Result<std::string> explainJson(std::string_view collective, int ranks, std::size_t bytes, std::string_view links,
                                std::string_view codec) {
  const std::optional<Collective> known = collectiveOf(collective);
  if (!known.has_value()) {
    std::vector<std::string_view> names;
    for (int i = 0; i < kCollectiveCount; ++i)
      names.push_back(schedule::nameOf(static_cast<Collective>(i)));
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("unknown collective '{}'; use one of: {}", collective, fmt::join(names, ", ")));
  }
  if (ranks < 1 || ranks > kMostRanks) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("{} ranks; use 1 to {}", ranks, kMostRanks));
  }
  if (*known == Collective::barrier) bytes = 0;
  auto priced = links.empty() ? schedule::Links::builtIn("shm", ranks) : schedule::Links::parse(links, ranks);
  if (!priced.isOk()) return priced.status();

  const Catalogue catalogue = makeCatalogue();
  // A link file says nothing of hosts; without one all ranks are on one, and see each other's boards.
  const Planner planner(ranks, 0, priced.value(), catalogue, {}, links.empty() ? kUsualBoardBytes : 0);
  PlanKey key;
  key.collective = *known;
  key.count = bytes;
  CodecRegistry registry;
  std::shared_ptr<const CodecPair> codecs;
  if (!codec.empty()) {
    if (!schedule::canCompress(*known)) {
      return Status::error(GOSS_ERR_UNSUPPORTED,
                           fmt::format("{} takes no codec, so not '{}'", schedule::nameOf(*known), codec));
    }
    auto found = registry.find(codec, {});
    if (!found.isOk()) return found.status();
    codecs = found.take();
    key.codecs = codecs.get();
    key.element_bytes = sizeof(float);
    key.count = bytes / sizeof(float);
  }
  const auto candidates = planner.candidates(key);
  if (!candidates.isOk()) return candidates.status();
  const std::size_t chosen = Planner::cheapest(candidates.value());
  const Question question = planner.questionOf(key, bytes);

  nlohmann::ordered_json json;
  json["collective"] = schedule::nameOf(*known);
  json["ranks"] = ranks;
  json["bytes"] = bytes;
  if (codecs != nullptr) {
    json["codec"] = codecs->text;
    json["payload_ratio"] = question.codec.payload_ratio;
  }
  json["choice"] = candidates.value()[chosen].algorithm->name();
  json["why"] = reason(question, candidates.value(), chosen, priced.value());
  for (const Candidate& candidate : candidates.value()) {
    json["candidates"].push_back(toJson(candidate, candidates.value()[chosen].price_s));
  }
  return json.dump(2);
}

} // namespace goss::core
