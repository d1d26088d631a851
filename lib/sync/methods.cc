#include "sync/methods.h"

#include <fmt/format.h>

#include <array>

namespace goss::sync {

// Defined in methods/method_*.cc. To add one, declare it here and name it in the list below.
const Method& ddpMethod();
const Method& localMethod();
const Method& dilocoMethod();
const Method& streamingMethod();
const Method& eagerMethod();
const Method& delayedNesterovMethod();
const Method& slowmoMethod();
const Method& co2Method();
const Method& qsrMethod();
const Method& demoMethod();
const Method& cocktailMethod();
const Method& asyncAverageMethod();
// Defined in autotune/method_auto.cc.
const Method& autoMethod();
// Defined in gossip/method_*.cc.
const Method& dpsgdMethod();
const Method& gossipgradMethod();
const Method& gossipPgaMethod();
const Method& moshpitMethod();
const Method& adpsgdMethod();
const Method& acidMethod();
const Method& sgpMethod();
const Method& osgpMethod();
const Method& chocoMethod();
const Method& dcdMethod();
const Method& deepsqueezeMethod();
const Method& nolocoMethod();
const Method& spartaMethod();
const Method& sparselocoMethod();
const Method& easgdMethod();
const Method& papaMethod();
const Method& fedavgMethod();
const Method& fedoptMethod();
const Method& fedproxMethod();
const Method& lionMethod();
const Method& signumMethod();
const Method& ef21Method();
const Method& helocoMethod();
const Method& oneByteMethod();
const Method& oneBitAdamMethod();
const Method& qadamMethod();
const Method& zeroOneAdamMethod();
const Method& dadamMethod();

std::span<const Method* const> allMethods() {
  // clang-format off
  static const std::array kMethods = {
      &ddpMethod(),
      &localMethod(),
      &dilocoMethod(),
      &streamingMethod(),
      &eagerMethod(),
      &delayedNesterovMethod(),
      &slowmoMethod(),
      &co2Method(),
      &qsrMethod(),
      &demoMethod(),
      &cocktailMethod(),
      &asyncAverageMethod(),
      &autoMethod(),
      &dpsgdMethod(),
      &gossipgradMethod(),
      &gossipPgaMethod(),
      &moshpitMethod(),
      &adpsgdMethod(),
      &acidMethod(),
      &sgpMethod(),
      &osgpMethod(),
      &chocoMethod(),
      &dcdMethod(),
      &deepsqueezeMethod(),
      &nolocoMethod(),
      &spartaMethod(),
      &sparselocoMethod(),
      &easgdMethod(),
      &papaMethod(),
      &fedavgMethod(),
      &fedoptMethod(),
      &fedproxMethod(),
      &lionMethod(),
      &signumMethod(),
      &ef21Method(),
      &helocoMethod(),
      &oneByteMethod(),
      &oneBitAdamMethod(),
      &qadamMethod(),
      &zeroOneAdamMethod(),
      &dadamMethod(),
  };
  // clang-format on
  return kMethods;
}

/// A codec's own spec has commas and colons, so `codec` comes last.
constexpr base::SpecGrammar kGrammar = {"synchronizer", "diloco:h=50", ",", "codec", ""};

Result<Made> makeComposition(std::string_view text) {
  Result<base::Spec> spec = base::parseSpec(text, kGrammar);
  if (!spec.isOk()) {
    return spec.status();
  }
  std::string names;
  for (const Method* method : allMethods()) {
    if (method->name == spec.value().name) {
      SpecReader reader(spec.value(), method->parameters);
      Made made{method->make(reader), ""};
      if (Status status = reader.finish(); !status.isOk()) {
        return status;
      }
      made.spec = reader.canonical();
      return made;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", method->name);
  }
  return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                       fmt::format("there is no synchronizer '{}'; there are: {}", spec.value().name, names));
}

std::string describeMethods() {
  std::string json;
  for (const Method* method : allMethods()) {
    json +=
        fmt::format(R"({}{{"name":"{}","summary":"{}","paper":"{}","depends_on_time":{},"parameters":[)",
                    json.empty() ? "[" : ",", method->name, method->summary, method->paper, method->depends_on_time);
    bool first = true;
    for (const ParameterInfo& info : method->parameters) {
      json += fmt::format(R"({}{{"key":"{}","default":"{}","meaning":"{}"}})", first ? "" : ",", info.key,
                          info.fallback, info.meaning);
      first = false;
    }
    json += "]}";
  }
  return json + "]";
}

Composition composeLocalSteps(SpecReader& reader, const std::function<void(Composition&)>& fill) {
  Composition made;
  made.timing.period = reader.integer("h", kPeriodRange);
  if (reader.knows(kStepsParameter.key)) {
    made.timing.is_dynamic = reader.choice(kStepsParameter.key, "dynamic");
  }
  fill(made);
  made.topology.islands = reader.integer("islands", {0, 1e6});
  made.layout.codec = reader.text("codec");
  return made;
}

std::unique_ptr<OuterSgd> readOuterSgd(SpecReader& reader) {
  const double lr = reader.number("lr", kRateRange);
  return std::make_unique<OuterSgd>(lr, reader.number("momentum", kUnitRange));
}

} // namespace goss::sync
