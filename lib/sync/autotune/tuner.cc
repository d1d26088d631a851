#include "sync/autotune/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/split_mix.h"

namespace goss::sync {

namespace {

// The knobs; their first values are where tuning begins.
enum Knob : std::size_t { kBuckets, kLevels, kCodec, kTopology };
constexpr std::array<std::string_view, 4> kBucketKb = {"1024", "256", "4096", "16384"};
constexpr std::array<std::string_view, 2> kLevelsOf = {"", ",levels=2"};
constexpr std::array<std::string_view, 5> kCodecs = {"none", "bf16", "fp16", "int8:block=256", "int4:block=64"};
constexpr std::array<std::string_view, 3> kTopologies = {"all", "one-peer-exponential", "ring"};
constexpr std::array<std::size_t, 4> kValues = {kBucketKb.size(), kLevelsOf.size(), kCodecs.size(), kTopologies.size()};

/// A choice must be so much faster than the best one to replace it: the clock's noise alone must not.
constexpr double kMargin = 0.98;

void writeNumber(base::WireWriter& writer, double number) { writer.integer(std::bit_cast<std::uint64_t>(number)); }
double readNumber(base::WireReader& reader) { return std::bit_cast<double>(reader.integer<std::uint64_t>()); }

} // namespace

Tuner::Tuner(const Tuning& tuning) : tuning_(tuning) {}

/// Gossip exchanges the whole model at once: it has neither buckets nor levels.
std::string Tuner::specOf(const Choice& choice) const {
  const std::string_view codec = kCodecs[choice[kCodec]];
  return choice[kTopology] == 0 ? fmt::format("ddp:bucket_kb={}{},codec={}", kBucketKb[choice[kBuckets]],
                                              kLevelsOf[has_levels_ ? choice[kLevels] : 0], codec)
                                : fmt::format("dpsgd:topology={},codec={}", kTopologies[choice[kTopology]], codec);
}

bool Tuner::dropLevels() {
  if (has_levels_) {
    return false;
  }
  const bool changes = running_[kLevels] != 0 && running_[kTopology] == 0;
  for (Trial& trial : trials_) {
    trial.choice[kLevels] = 0;
  }
  best_[kLevels] = running_[kLevels] = 0;
  if (changes) {
    begin(running_);
  }
  return changes;
}

bool Tuner::isExact(const Choice& choice) { return choice[kCodec] == 0 && choice[kTopology] == 0; }

std::size_t Tuner::valuesOf(std::size_t knob) const {
  const bool is_fixed = (knob == kTopology && !tuning_.may_gossip) || (knob == kLevels && !has_levels_);
  return is_fixed ? 1 : kValues[knob];
}

/// All values but the one that `best_` has.
std::vector<std::uint8_t> Tuner::orderOf(std::size_t knob) const {
  std::vector<std::uint8_t> order(valuesOf(knob) - 1);
  std::iota(order.begin(), order.end(), std::uint8_t{1});
  base::SplitMix64 random(tuning_.seed * kKnobs + knob);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  return order;
}

bool Tuner::isTimed(std::uint64_t made) const { return made >= tuning_.steps / 2 && made + 1 < tuning_.steps; }

bool Tuner::measures() const {
  const std::uint64_t made = step_ - first_;
  return !isExact(running_) && (knob_ == kKnobs ? made % tuning_.check == 0 : !isTimed(made));
}

bool Tuner::noteError(double error) {
  const bool is_within = error <= tuning_.budget;
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  error_ = std::max(error_, error);
  return is_within;
}

bool Tuner::noteStep(double seconds) {
  const std::uint64_t made = step_ - first_;
  ++step_;
  if (!(error_ <= tuning_.budget)) {
    return true;
  }
  if (knob_ == kKnobs) {
    return false;
  }
  if (isTimed(made)) {
    sum_ += seconds;
  }
  return made + 1 == tuning_.steps;
}

double Tuner::seconds() const {
  const std::uint64_t timed = tuning_.steps - tuning_.steps / 2 - 1;
  return sum_ / static_cast<double>(timed);
}

bool Tuner::decide(double seconds) {
  const std::string before = spec();
  if (!(error_ <= tuning_.budget)) {
    trials_.push_back({running_, first_, 0, error_, false});
    if (knob_ == kKnobs) {
      fallBack();
    } else {
      next();
    }
    return spec() != before;
  }
  const bool is_first = trials_.empty();
  const bool is_kept = is_first || seconds < kMargin * best_seconds_;
  trials_.push_back({running_, first_, seconds, error_, is_kept});
  if (is_kept) {
    best_ = running_;
    best_seconds_ = seconds;
  }
  next();
  return spec() != before;
}

void Tuner::begin(const Choice& choice) {
  running_ = choice;
  first_ = step_;
  sum_ = error_ = 0;
}

/// The next value of the knob, or the first of the next knob; behind the last one, the best.
void Tuner::next() {
  for (; knob_ < kKnobs; ++knob_, tried_ = 0) {
    const std::vector<std::uint8_t> order = orderOf(knob_);
    if (tried_ < order.size()) {
      Choice choice = best_;
      choice[knob_] = order[tried_++];
      begin(choice);
      return;
    }
  }
  begin(best_);
}

/// The error of the settled choice is above the budget: takes the fastest of the other choices whose error never was.
void Tuner::fallBack() {
  const Trial* found = nullptr;
  for (const Trial& trial : trials_) {
    const bool is_out = std::any_of(trials_.begin(), trials_.end(), [&](const Trial& other) {
      return other.choice == trial.choice && !(other.error <= tuning_.budget);
    });
    if (!is_out && (found == nullptr || trial.seconds < found->seconds)) {
      found = &trial; // the first trial is exact, so there is one
    }
  }
  best_ = found->choice;
  best_seconds_ = found->seconds;
  begin(best_);
}

std::string Tuner::describe() const {
  std::string trials;
  for (const Trial& trial : trials_) {
    trials += fmt::format(R"({}{{"spec":"{}","first_step":{},"seconds":{},"error":{},"kept":{}}})",
                          trials.empty() ? "" : ",", specOf(trial.choice), trial.first_step + 1,
                          trial.seconds > 0 ? fmt::format("{:.9g}", trial.seconds) : "null",
                          trial.error < 1e300 ? fmt::format("{:.9g}", trial.error) : "1e300", trial.is_kept ? 1 : 0);
  }
  return fmt::format(R"({{"runs":"{}","settled":{},"trials":[{}]}})", spec(), knob_ == kKnobs ? 1 : 0, trials);
}

void Tuner::save(base::WireWriter& writer, bool own) const {
  const auto choice = [&](const Choice& values) {
    for (const std::uint8_t value : values) {
      writer.integer(value);
    }
  };
  writer.integer(static_cast<std::uint64_t>(trials_.size()));
  for (const Trial& trial : trials_) {
    choice(trial.choice);
    writer.integer(trial.first_step);
    writeNumber(writer, trial.seconds);
    writeNumber(writer, trial.error);
    writer.integer(static_cast<std::uint8_t>(trial.is_kept ? 1 : 0));
  }
  choice(best_);
  choice(running_);
  writer.integer(knob_).integer(tried_).integer(step_).integer(first_);
  for (const double number : {best_seconds_, own ? sum_ : 0, error_}) {
    writeNumber(writer, number);
  }
}

bool Tuner::load(base::WireReader& reader) {
  bool fits = true;
  const auto choice = [&](Choice& values) {
    for (std::size_t knob = 0; knob < kKnobs; ++knob) {
      values[knob] = reader.integer<std::uint8_t>();
      fits = fits && values[knob] < kValues[knob];
    }
  };
  const auto count = reader.integer<std::uint64_t>();
  trials_.clear();
  for (std::uint64_t i = 0; i < count && fits && reader.ok(); ++i) {
    Trial trial;
    choice(trial.choice);
    trial.first_step = reader.integer<std::uint64_t>();
    trial.seconds = readNumber(reader);
    trial.error = readNumber(reader);
    trial.is_kept = reader.integer<std::uint8_t>() != 0;
    trials_.push_back(trial);
  }
  choice(best_);
  choice(running_);
  knob_ = reader.integer<std::uint64_t>();
  tried_ = reader.integer<std::uint64_t>();
  step_ = reader.integer<std::uint64_t>();
  first_ = reader.integer<std::uint64_t>();
  best_seconds_ = readNumber(reader);
  sum_ = readNumber(reader);
  error_ = readNumber(reader);
  return fits && reader.ok() && knob_ <= kKnobs && first_ <= step_;
}

} // namespace goss::sync
