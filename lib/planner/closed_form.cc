#include "planner/closed_form.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "planner/cuts.h"
#include "schedule/contract.h"

namespace goss {

namespace {

/// The price on which windows depend most (windowFor()).
const schedule::LinkPrice& longer(const schedule::LinkPrice& one, const schedule::LinkPrice& other) {
  const auto bytes = [](const schedule::LinkPrice& price) { return price.latency_s * price.bandwidth_bytes_per_s; };
  return bytes(one) >= bytes(other) ? one : other;
}

} // namespace

ClosedForm::ClosedForm(const Question& question, const schedule::Links& links, const Levels* levels)
    : question_(question),
      links_(links),
      levels_(levels),
      price_(links.size() > 1 ? links.price(0, 1) : schedule::LinkPrice{}),
      pair_(2, levels != nullptr ? longer(levels->within, levels->between) : price_) {
  const schedule::NodePrice& node = links.node(links.nodeOf(0));
  port_s_ = 1 / price_.bandwidth_bytes_per_s;
  if (node.up_bytes_per_s > 0) port_s_ = std::max(port_s_, 1 / node.up_bytes_per_s);
  if (node.down_bytes_per_s > 0) port_s_ = std::max(port_s_, 1 / node.down_bytes_per_s);
  if (links.cpu().reduce_bytes_per_s > 0) add_s_ = 1 / links.cpu().reduce_bytes_per_s;
}

bool ClosedForm::holdsOver(const schedule::Links& links) {
  if (links.size() < 2 || !links.uniform()) return false;
  const double flow_bytes_per_s = links.price(0, 1).bandwidth_bytes_per_s;
  const schedule::NodePrice& node = links.node(links.nodeOf(0));
  return node.up_bytes_per_s <= flow_bytes_per_s && node.down_bytes_per_s <= flow_bytes_per_s;
}

ClosedForm::Cost ClosedForm::costOf(const CostRound& round, double fragment_bytes) const {
  const double bytes = round.part * fragment_bytes;
  const double k = round.messages;
  const double port_s = bytes * port_s_ + (round.enters ? 0 : price_.overhead_s);
  const double add_s = round.sums * bytes * add_s_;
  double processor_s = add_s;
  if (price_.sender_bytes_per_s > 0 && !round.enters)
    processor_s += bytes / price_.sender_bytes_per_s + price_.overhead_s;
  double each_s = std::max(port_s, processor_s);
  if (round.waits && waitsForReceive(price_, round, bytes)) each_s = price_.latency_s + bytes * port_s_ + add_s;
  return {round.waits ? price_.latency_s + bytes * port_s_ + (k - 1) * each_s + add_s : k * each_s,
          k * std::max(port_s, processor_s)};
}

FragmentedRun ClosedForm::runOf(const Candidate& candidate) const {
  const double fragments = candidate.fragments;
  return {static_cast<double>(question_.bytes) / fragments, fragments,
          std::clamp<double>(candidate.window, 1, fragments)};
}

bool ClosedForm::price(Candidate& candidate) const {
  const std::vector<CostRound> rounds = candidate.algorithm->rounds(requestFor(question_, candidate, links_.size(), 0));
  if (rounds.empty() && links_.size() > 1) return false;
  if (!(levels_ != nullptr ? priceByLevel(rounds, candidate) : priceAlike(rounds, candidate))) return false;
  double bytes = 0;
  double messages = 0;
  for (const CostRound& round : rounds) {
    const double sent = (round.enters ? 1.0 : round.messages) * round.times;
    bytes += sent * round.part * static_cast<double>(question_.bytes);
    messages += sent * candidate.fragments;
  }
  // Copies go beside messages, unless the processor moves these too.
  const double copied_s = copiedSeconds(candidate);
  candidate.price_s =
      price_.sender_bytes_per_s > 0 ? candidate.price_s + copied_s : std::max(candidate.price_s, copied_s);
  // The path of a tree leads over several ranks, each of them busy for a part of it.
  if (candidate.algorithm->traits().pipelined) candidate.least_s = 0;
  candidate.most_bytes_sent = static_cast<std::uint64_t>(bytes);
  candidate.most_messages_sent = static_cast<std::uint64_t>(messages);
  candidate.critical_rank = 0;
  candidate.extrapolated = true;
  return true;
}

bool ClosedForm::priceByLevel(const std::vector<CostRound>& rounds, Candidate& candidate) const {
  const FragmentedRun run = runOf(candidate);
  LevelForm form(*levels_, links_.cpu());
  for (const CostRound& round : rounds)
    if (!form.add(round, run)) return false;
  candidate.price_s = form.price_s(run);
  candidate.least_s = form.busy_s(run);
  return true;
}

bool ClosedForm::priceAlike(const std::vector<CostRound>& rounds, Candidate& candidate) const {
  const auto [fragment_bytes, fragments, window] = runOf(candidate);
  for (const CostRound& round : rounds) {
    // Rounds that do not wait have their latencies in turns, too, which is not known here.
    const double bytes = round.part * fragment_bytes;
    const bool short_messages = bytes * port_s_ < kLatenciesOfTurn * price_.latency_s;
    if (round.messages > 1 && short_messages && waitsForReceive(price_, round, bytes)) return false;
  }
  double path_s = 0; // Of a window of fragments.
  double tail_s = 0; // From the first fragment's end to the last's.
  double busy_s = 0; // Of one fragment.
  double least_s = 0;
  for (const CostRound& round : rounds) {
    const Cost cost = costOf(round, fragment_bytes);
    double share = 1;
    if (round.enters && !round.waits) {
      // What small subtrees send of a block arrives while that of the largest ones is on its way.
      share = static_cast<double>(rounds.front().messages) / round.messages;
      least_s = price_.latency_s + (round.times + 1) * cost.busy_s;
    }
    path_s += share * round.times * std::max(cost.path_s, window * cost.busy_s);
    tail_s = std::max(tail_s, std::min((window - 1) * cost.busy_s, cost.path_s - cost.busy_s));
    busy_s += round.times * cost.busy_s;
  }
  candidate.price_s = std::max(fragments / window * path_s + std::max(tail_s, 0.0), least_s);
  candidate.least_s = fragments * busy_s;
  return true;
}

/// Blocks of a rank's own, or a root's vector, are copied from the caller's input to its output; sums are written
/// there.
double ClosedForm::copiedSeconds(const Candidate& candidate) const {
  const bool copies = !schedule::reduces(question_.collective) && question_.collective != Collective::barrier;
  if (!copies || links_.cpu().copy_bytes_per_s <= 0) return 0;
  // Where a root keeps one block of its vector, it receives the others.
  const bool part = question_.collective == Collective::broadcast && !candidate.algorithm->traits().pipelined;
  const double bytes = static_cast<double>(question_.bytes) / (part ? links_.size() : 1);
  return bytes / links_.cpu().copy_bytes_per_s;
}

bool ClosedForm::tune(Candidate& candidate) const {
  if (!price(candidate)) return false;
  const bool pipelined = candidate.algorithm->traits().pipelined;
  const std::uint64_t most =
      pipelined ? maxBlocks(question_)
                : std::min<std::uint64_t>(kMaxFragments, largestMessage(candidate) / kMinFragmentedBytes);
  const auto trialIn = [&](std::uint32_t parts) {
    Candidate trial = inParts(candidate, parts, question_, pair_);
    return price(trial) ? std::optional(std::move(trial)) : std::nullopt;
  };
  tryParts(candidate, most, trialIn);
  if (!pipelined && streams(question_))
    tryWarmParts(candidate, std::min<std::uint64_t>(kMaxFragments, question_.bytes / kWarmBytes), trialIn);
  return true;
}

double ClosedForm::leastOf(const Candidate& candidate) const {
  Question plain = question_;
  if (plain.compressed)
    plain.bytes = static_cast<std::uint64_t>(static_cast<double>(plain.bytes) * plain.codec.payload_ratio);
  plain.compressed = false;
  Candidate formed = candidate;
  return ClosedForm(plain, links_, levels_).price(formed) ? formed.least_s : 0;
}

/// Bytes of the candidate's largest message.
std::uint64_t ClosedForm::largestMessage(const Candidate& candidate) const {
  double part = 0;
  for (const CostRound& round : candidate.algorithm->rounds(requestFor(question_, candidate, links_.size(), 0)))
    part = std::max(part, round.part);
  return static_cast<std::uint64_t>(part * static_cast<double>(question_.bytes));
}

} // namespace goss
