#include "explain/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "boards/board_price.h"
#include "builtins/builtins.h"
#include "call/codec_pair.h"
#include "execution/device_codec_steps.h"
#include "gossamer/transport_names.h"
#include "planner/oversubscription.h"
#include "planner/planner.h"
#include "planner/processor_share.h"
#include "planner/setting_file.h"
#include "platform/host.h"
#include "runner/multi_phase_operation.h"
#include "runner/prepared_payload.h"
#include "schedule/compress.h"
#include "schedule/contract.h"

namespace goss {

namespace {

constexpr int kMaxRanks = 4096;

/// Normalises spelling: "allreduce", "all-reduce" and "all_reduce" are one.
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

/// The arguments of a planner.
struct Surroundings {
  schedule::Links links;
  Preferences preferred;
  std::uint64_t board_bytes = 0;
};

/// Whether ranks of one host use sockets.
bool usesSockets(const Config& config) {
  const bool forced = config.transport == transport_names::kTcp || config.transport == transport_names::kTls;
  return forced || (!config.tls.empty() && config.tls_scope == "all");
}

/// A link file does not name hosts; without one all ranks are on one host, and map each other's boards unless they use
/// sockets.
Result<Surroundings> surroundingsOf(const Circumstances& circumstances, int ranks) {
  const Config& config = circumstances.config;
  Preferences preferred;
  preferred.fragment_bytes = config.fragment_bytes;
  if (!circumstances.links.empty()) {
    auto given = schedule::Links::parse(circumstances.links, ranks);
    if (!given.isOk()) return given.status();
    return Surroundings{given.take(), preferred, 0};
  }
  const bool sockets = usesSockets(config);
  const Tuning& tuning = circumstances.tuning;
  if (!sockets || ranks < 2) {
    const bool over_ucx = config.transport == transport_names::kUcx;
    if (circumstances.processors != 0) {
      const bool memory = config.transport.empty() || config.transport == transport_names::kShm;
      preferred.in_turns = takesTurns(memory, ranks, static_cast<double>(ranks) / circumstances.processors);
    }
    return Surroundings{schedule::Links(ranks, over_ucx ? tuning.ucx : tuning.shm, tuning.cpu), preferred,
                        over_ucx ? 0 : kWideBoardBytes};
  }
  const schedule::LinkPrice& price = config.tls.empty() ? tuning.tcp : tuning.tls;
  const int processors = circumstances.processors != 0 ? circumstances.processors : ranks;
  const double ranks_per_processor = static_cast<double>(ranks) / processors;
  preferred.among_equals = preferredAmongEquals(sockets, ranks_per_processor);
  return Surroundings{schedule::Links(ranks, oversubscribedPrice(price, ranks_per_processor), tuning.cpu), preferred,
                      0};
}

bool has(const std::vector<Candidate>& candidates, std::string_view name) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const Candidate& candidate) { return candidate.algorithm->name() == name; });
}

/// Replaces candidates by those of the same name that were asked for, because some are legal only if they are asked
/// for.
void addAsked(std::vector<Candidate>& candidates, const std::vector<Candidate>& asked) {
  std::erase_if(candidates, [&](const Candidate& one) { return has(asked, one.algorithm->name()); });
  candidates.insert(candidates.end(), asked.begin(), asked.end());
}

/// The links with costs for bytes only.
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

struct Choice {
  std::vector<Candidate> candidates;
  std::size_t index = 0;  ///< Index of the chosen candidate.
  std::string_view merit; ///< Why it was chosen; empty: for its price.
  Question question;
  std::string_view cut; ///< Why it is fragmented as it is; empty: for its price.
};

/// Marks `taken`, the plan that calls run, as the choice. It replaces the candidate that differs from it only in blocks
/// and fragments, at a price for exactly the question's bytes; if there is none, at the planner's own price.
void take(Choice& choice, const Candidate& taken, const schedule::Links& links) {
  std::vector<Candidate>& candidates = choice.candidates;
  auto same = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& other) {
    return other.algorithm == taken.algorithm && other.on_board == taken.on_board &&
           other.between_nodes == taken.between_nodes && other.order.empty() == taken.order.empty();
  });
  if (same == candidates.end()) same = candidates.insert(same, taken);
  choice.index = static_cast<std::size_t>(same - candidates.begin());
  if (same->blocks == taken.blocks && same->fragments == taken.fragments && same->order == taken.order &&
      same->weights == taken.weights)
    return;
  *same = taken;
  priceAgain(choice.question, *same, links);
}

std::string_view meritOf(const Candidate& taken, const std::vector<Candidate>& candidates) {
  double least_s = taken.price_s;
  for (const Candidate& candidate : candidates)
    least_s = std::min(least_s, candidate.price_s);
  if (taken.price_s <= least_s) return "the cheapest";
  if (taken.price_s <= Planner::kAsGood * least_s) return "as good as the cheapest";
  return "the cheapest by the quick prices that calls use,";
}

/// Cuts into fragments of the size that was asked for, whatever that costs.
void cutAsPreferred(Choice& choice, const Planner& planner, std::uint64_t fragment_bytes) {
  Candidate& taken = choice.candidates[choice.index];
  if (fragment_bytes == 0 || taken.on_board) return;
  if (choice.merit.empty()) choice.merit = meritOf(taken, choice.candidates);
  Candidate cut = taken;
  planner.cutAsPreferred(cut, choice.question);
  if (!cut.extrapolated && priceAgain(choice.question, cut, planner.links())) {
    taken = std::move(cut);
    choice.cut = ", in parts as GOSS_FRAGMENT_BYTES asks";
  } else {
    choice.cut = " if GOSS_FRAGMENT_BYTES did not cut it otherwise, at a price that is not known";
  }
}

/// Chooses as the planner of a communicator: what `asked` names, else what is preferred among equals, else the
/// cheapest.
Result<Choice> choose(const Surroundings& around, const Catalogue& catalogue, const PlanKey& key,
                      const std::string& asked, std::uint64_t bytes) {
  Preferences asking = around.preferred;
  asking.algorithm = asked;
  Planner planner(0, around.links, catalogue, around.preferred, around.board_bytes);
  Planner asked_planner(0, around.links, catalogue, asking, around.board_bytes);
  Result<std::vector<Candidate>> free = planner.candidates(key);
  if (!free.isOk()) return free.status();
  const Result<std::vector<Candidate>> bound = asked_planner.candidates(key);
  if (!bound.isOk()) return bound.status();

  Choice choice{free.take(), 0, "", asked_planner.questionOf(key, bytes), ""};
  const bool is_asked = has(bound.value(), asked); // Otherwise the collective has no algorithm of this name.
  if (is_asked) addAsked(choice.candidates, bound.value());
  Planner& calls = is_asked ? asked_planner : planner;
  const Result<Candidate> taken = calls.choice(key);
  if (!taken.isOk()) return taken.status();
  take(choice, taken.value(), around.links);
  const std::string_view name = taken.value().algorithm->name();
  if (is_asked) {
    choice.merit = "what GOSS_ALGORITHM asks for,";
  } else if (name == around.preferred.among_equals) {
    choice.merit = "preferred among equals where ranks take turns over sockets,";
  } else if (name == planner.algorithmWhenOversubscribed(key, bytes)) {
    choice.merit = "what ranks take that share processors, for they wait the least in it,";
  }
  cutAsPreferred(choice, calls, around.preferred.fragment_bytes);
  return choice;
}

std::string reason(const Choice& choice, const schedule::Links& links) {
  const std::vector<Candidate>& candidates = choice.candidates;
  const Candidate& best = candidates[choice.index];
  const std::string_view merit = choice.merit.empty() ? meritOf(best, candidates) : choice.merit;
  std::string text = fmt::format("{} is {} of {}: {:.3g} us{}", best.algorithm->name(), merit, candidates.size(),
                                 best.price_s * 1e6, choice.cut);
  constexpr int kMaxRanksToSplit = 64;
  if (best.price_s > 0 && !best.extrapolated && !best.on_board && links.size() <= kMaxRanksToSplit) {
    const auto bytes_only = priceOver(choice.question, best, withoutLatency(links));
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

/// Limit of a vector whose codec runs, to find its phases.
constexpr std::size_t kMaxPhasedBytes = std::size_t{1} << 30;

/// Arguments of goss_explain.
struct Asked {
  Collective collective = Collective::allReduce;
  std::size_t bytes = 0;
  const std::string& algorithm; ///< Empty: the planner's choice.
};

nlohmann::ordered_json headOf(const Asked& asked, int ranks) {
  nlohmann::ordered_json json;
  json["collective"] = schedule::nameOf(asked.collective);
  json["ranks"] = ranks;
  json["bytes"] = asked.bytes;
  return json;
}

void addChoice(nlohmann::ordered_json& json, const Choice& choice, const schedule::Links& links) {
  const Candidate& chosen = choice.candidates[choice.index];
  json["choice"] = chosen.algorithm->name();
  json["why"] = reason(choice, links);
  for (const Candidate& candidate : choice.candidates) {
    json["candidates"].push_back(toJson(candidate, chosen.price_s));
  }
}

/// Explains the phases of one operation, as its ranks would plan them one after the other.
class PhaseExplainer {
 public:
  PhaseExplainer(const Surroundings& around, const Catalogue& catalogue, const Asked& asked)
      : around_(around), catalogue_(catalogue), asked_(asked) {}

  Status add(const CodecPhase& phase) {
    const auto payload = std::make_shared<PreparedPayload>("payloads of a phase");
    std::shared_ptr<const CodecPair> codecs;
    const bool adds = phase.want == PhaseWant::add;
    if (adds) {
      payload->prepare(phase);
      codecs = CodecPair::of(payload);
    }
    PlanKey key;
    key.count = adds ? phase.count : phase.values.size();
    key.element_bytes = sizeof(float);
    key.codecs = codecs.get();
    Result<Choice> made = choose(around_, catalogue_, key, asked_.algorithm, key.count * sizeof(float));
    if (!made.isOk()) return made.status();
    const Choice& choice = made.value();
    const Candidate& taken = choice.candidates[choice.index];
    nlohmann::ordered_json json;
    json["exchanges"] = phase.want == PhaseWant::max ? "maximum" : adds ? "sum of payloads" : "sum";
    json["bytes"] = adds ? phase.payload.size() : phase.values.size_bytes();
    addChoice(json, choice, around_.links);
    bytes_ += json["bytes"].get<std::size_t>();
    names_.push_back(std::string(taken.algorithm->name()));
    total_.price_s += taken.price_s;
    total_.most_messages_sent += taken.most_messages_sent;
    total_.most_bytes_sent += taken.most_bytes_sent;
    total_.fragments = std::max(total_.fragments, taken.fragments);
    total_.blocks = std::max(total_.blocks, taken.blocks);
    total_.extrapolated = total_.extrapolated || taken.extrapolated;
    total_.algorithm = taken.algorithm;
    phases_.push_back(std::move(json));
    return Status::ok();
  }

  void write(nlohmann::ordered_json& json) const {
    json["payload_ratio"] = asked_.bytes > 0 ? static_cast<double>(bytes_) / static_cast<double>(asked_.bytes) : 1.0;
    const std::string name = fmt::format("{}", fmt::join(names_, " + "));
    json["choice"] = name;
    json["why"] = fmt::format("the codec works in {} phases, each a collective of its own: {:.3g} us together",
                              names_.size(), total_.price_s * 1e6);
    json["phases"] = phases_;
    json["candidates"] = nlohmann::ordered_json::array();
    if (total_.algorithm == nullptr) return; // An empty vector has no phases.
    json["candidates"].push_back(toJson(total_, total_.price_s));
    json["candidates"][0]["algorithm"] = name;
  }

 private:
  const Surroundings& around_;
  const Catalogue& catalogue_;
  const Asked& asked_;
  std::size_t bytes_ = 0; ///< Bytes of one rank's contributions.
  std::vector<std::string> names_;
  Candidate total_;
  nlohmann::ordered_json phases_ = nlohmann::ordered_json::array();
};

Result<std::string> explainPhases(const Surroundings& around, const Catalogue& catalogue, const Asked& asked,
                                  const CodecPair& codecs) {
  const int ranks = around.links.size();
  if (asked.collective != Collective::allReduce) {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("codec '{}' works in phases, which only all_reduce has, so not {}", codecs.text,
                                     schedule::nameOf(asked.collective)));
  }
  if (asked.bytes > kMaxPhasedBytes) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("codec '{}' runs to tell its phases: {} bytes; use at most {}", codecs.text,
                                     asked.bytes, kMaxPhasedBytes));
  }
  PhaseExplainer explainer(around, catalogue, asked);
  Status status = forEachPhase(codecs.contribution, asked.bytes / sizeof(float), ranks,
                               [&](const CodecPhase& phase) { return explainer.add(phase); });
  if (!status.isOk()) return status;
  nlohmann::ordered_json json = headOf(asked, ranks);
  json["codec"] = codecs.text;
  explainer.write(json);
  return json.dump(2);
}

} // namespace

Result<std::string> explainJson(std::string_view collective, int ranks, std::size_t bytes, std::string_view links,
                                std::string_view codec) {
  Circumstances circumstances;
  circumstances.links = links;
  circumstances.codec = codec;
  return explainJson(collective, ranks, bytes, circumstances);
}

Result<std::string> explainJson(std::string_view collective, int ranks, std::size_t bytes,
                                const Circumstances& circumstances) {
  const std::optional<Collective> known = collectiveOf(collective);
  if (!known.has_value()) {
    std::vector<std::string_view> names;
    for (int i = 0; i < kCollectiveCount; ++i)
      names.push_back(schedule::nameOf(static_cast<Collective>(i)));
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("unknown collective '{}'; use one of: {}", collective, fmt::join(names, ", ")));
  }
  if (ranks < 1 || ranks > kMaxRanks) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("{} ranks; use 1 to {}", ranks, kMaxRanks));
  }
  if (*known == Collective::barrier) bytes = 0;
  const Result<Surroundings> around = surroundingsOf(circumstances, ranks);
  if (!around.isOk()) return around.status();
  const schedule::Links& links = around.value().links;

  const Catalogue catalogue = makeCatalogue();
  PlanKey key;
  key.collective = *known;
  key.count = bytes;
  CodecRegistry registry;
  std::shared_ptr<const CodecPair> codecs;
  const bool by_default = circumstances.codec.empty() && *known == Collective::allReduce;
  const std::string_view codec = by_default ? std::string_view(circumstances.config.codec) : circumstances.codec;
  if (!codec.empty()) {
    if (!schedule::canCompress(*known)) {
      return Status::error(GOSS_ERR_UNSUPPORTED,
                           fmt::format("{} takes no codec, so not '{}'", schedule::nameOf(*known), codec));
    }
    auto found = registry.find(codec, {});
    if (!found.isOk()) {
      const Status& status = found.status();
      return by_default ? Status::error(status.kind(), fmt::format("GOSS_CODEC: {}", status.text())) : status;
    }
    codecs = found.take();
    key.codecs = codecs.get();
    key.element_bytes = sizeof(float);
    key.count = bytes / sizeof(float);
  }
  const Asked asked{*known, bytes, circumstances.config.algorithm};
  if (codecs != nullptr && codecs->multiPhase()) return explainPhases(around.value(), catalogue, asked, *codecs);
  const Result<Choice> made = choose(around.value(), catalogue, key, asked.algorithm, bytes);
  if (!made.isOk()) return made.status();
  const Choice& choice = made.value();

  nlohmann::ordered_json json = headOf(asked, ranks);
  if (codecs != nullptr) {
    json["codec"] = codecs->text;
    json["payload_ratio"] = choice.question.codec.payload_ratio;
    const std::string_view why = whyStaged(*codecs);
    json["device_buffers"] = why.empty() ? "encoded and decoded on GPUs that have kernels of the codec, if float32"
                                         : fmt::format("encoded and decoded on the host: {}", why);
  }
  addChoice(json, choice, links);
  return json.dump(2);
}

Result<std::string> explainHere(std::string_view collective, int ranks, std::size_t bytes,
                                Circumstances circumstances) {
  Result<Config> config = Config::fromEnvironment();
  if (!config.isOk()) return config.status();
  circumstances.config = config.take();
  const Result<std::string> tuning_text = readSettingFile("GOSS_TUNING", circumstances.config.tuning_file);
  if (!tuning_text.isOk()) return tuning_text.status();
  Result<Tuning> tuning = tuningOf(tuning_text.value());
  if (!tuning.isOk()) return tuning.status();
  circumstances.tuning = tuning.take();
  std::string links;
  if (circumstances.links.empty()) {
    Result<std::string> text = readSettingFile("GOSS_LINKS", circumstances.config.links_file);
    if (!text.isOk()) return text.status();
    circumstances.links = links = text.take();
  }
  const std::string usable = platform::usableProcessors();
  circumstances.processors = static_cast<int>(std::lround(1 / shareOfProcessors({usable}).ranks_per_processor));
  return explainJson(collective, ranks, bytes, circumstances);
}

} // namespace goss
