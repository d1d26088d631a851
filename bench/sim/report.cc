#include "bench/sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace goss::bench::sim {

namespace {

double meanStep_s(const TrainingOptions& options, const TrainingResult& result) {
  return (result.time_s - result.start_s) / static_cast<double>(options.steps);
}

/// The longest step, from the slowest rank's end of one to that of the next.
double longestStep_s(const TrainingResult& result) {
  double longest_s = 0;
  double before_s = result.start_s;
  for (const double end_s : result.step_ends_s) {
    longest_s = std::max(longest_s, end_s - before_s);
    before_s = std::max(before_s, end_s);
  }
  return longest_s;
}

double bytesOfRank(int ranks, const TrainingResult& result) { return result.traffic.bytes / ranks; }

} // namespace

std::string asText(const TrainingOptions& options, int ranks, const TrainingResult& result) {
  std::string text = fmt::format("{}: {} ranks, {:.4g} parameters, {} steps of {:.4g} s, seed {}\n", options.sync,
                                 ranks, options.parameters, options.steps, options.step_s, options.seed);
  const double per_step = bytesOfRank(ranks, result) / static_cast<double>(options.steps);
  text += fmt::format("time              {:.6g} s ({:.3g} s until the first step)\n", result.time_s, result.start_s);
  text +=
      fmt::format("a step            {:.6g} s, longest {:.6g} s\n", meanStep_s(options, result), longestStep_s(result));
  text += fmt::format("sent by a rank    {:.4g} bytes, {:.4g} a step\n", bytesOfRank(ranks, result), per_step);
  text += fmt::format("utilisation       {:.1f} %\n", 100 * result.utilisation);
  text += fmt::format("recoveries        {}, {:.3g} s in all, {:.4g} messages; {} ranks at the end\n",
                      result.recoveries, result.recovering_s, result.agreement_messages, result.survivors);
  for (const auto& [plan, times] : result.traffic.plans)
    text += fmt::format("plan              {} x {}\n", times, plan.empty() ? "nothing to send" : plan);
  return text;
}

std::string asJson(const TrainingOptions& options, int ranks, const TrainingResult& result) {
  nlohmann::ordered_json json;
  json["sync"] = options.sync;
  json["ranks"] = ranks;
  json["parameters"] = options.parameters;
  json["steps"] = options.steps;
  json["seed"] = options.seed;
  json["time_s"] = result.time_s;
  json["start_s"] = result.start_s;
  json["step_s"] = meanStep_s(options, result);
  json["longest_step_s"] = longestStep_s(result);
  json["bytes_sent_by_rank"] = bytesOfRank(ranks, result);
  json["utilisation"] = result.utilisation;
  json["steps_computed"] = result.steps_computed;
  json["recoveries"] = result.recoveries;
  json["recovering_s"] = result.recovering_s;
  json["agreement_messages"] = result.agreement_messages;
  json["ranks_at_end"] = result.survivors;
  json["plans"] = result.traffic.plans;
  return json.dump(2) + "\n";
}

std::string asSvg(const TrainingOptions& options, const TrainingResult& result) {
  constexpr double kLeft = 50;
  constexpr double kWidth = 900;
  constexpr double kRow = 14;
  constexpr const char* kColors[] = {"#4477aa", "#ddcc77", "#cc3311"};
  const double height = 50 + kRow * static_cast<double>(result.timelines.size());
  const double scale = result.time_s > 0 ? kWidth / result.time_s : 0;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"10\">\n",
      kLeft + kWidth + 10, height);
  svg += fmt::format("<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", options.sync);
  for (int kind = 0; kind < 3; ++kind) {
    const double x = kLeft + kind * 100;
    svg += fmt::format(
        "<rect x=\"{}\" y=\"6\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"15\">{}</text>\n", x,
        kColors[kind], x + 14,
        kind == 0   ? "computes"
        : kind == 1 ? "waits"
                    : "recovers");
  }
  for (std::size_t rank = 0; rank < result.timelines.size(); ++rank) {
    const double y = 24 + kRow * static_cast<double>(rank);
    svg += fmt::format("<text x=\"4\" y=\"{:.0f}\">rank {}</text>\n", y + 10, rank);
    for (const Interval& interval : result.timelines[rank]) {
      svg += fmt::format("<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\"/>\n",
                         kLeft + interval.from_s * scale, y, (interval.to_s - interval.from_s) * scale, kRow - 2,
                         kColors[static_cast<int>(interval.kind)]);
    }
  }
  svg += fmt::format(
      "<text x=\"{}\" y=\"{:.0f}\">0 s</text><text x=\"{}\" y=\"{:.0f}\" text-anchor=\"end\">{:.4g} s</text>\n", kLeft,
      height - 8, kLeft + kWidth, height - 8, result.time_s);
  return svg + "</svg>\n";
}

} // namespace goss::bench::sim
