#include "pipeline/csv.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "pipeline/checker.h"
#include "pipeline/generate.h"
#include "pipeline/invalid.h"

namespace goss::pipeline {

namespace {

constexpr int kMaxStages = 65535;
constexpr int kMaxMicroBatches = 1 << 24;

/// Takes decimal digits from the front.
std::optional<int> takeNumber(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<ActionKind> takeKind(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && ((text[length] >= 'A' && text[length] <= 'Z') || text[length] == '_'))
    ++length;
  for (int kind = 0; kind <= static_cast<int>(ActionKind::step); ++kind) {
    if (text.substr(0, length) != kindText(static_cast<ActionKind>(kind))) continue;
    text.remove_prefix(length);
    return static_cast<ActionKind>(kind);
  }
  return std::nullopt;
}

/// Parses a cell. micro_batch -1: the cell names none, as PyTorch's REDUCE_GRAD.
std::optional<Action> parseAction(std::string_view text) {
  const std::optional<int> stage = takeNumber(text);
  if (!stage || *stage >= kMaxStages) return std::nullopt;
  const std::optional<ActionKind> kind = takeKind(text);
  if (!kind) return std::nullopt;
  Action action{*kind, 0, static_cast<std::uint16_t>(*stage), -1, 0};
  if (const std::optional<int> micro_batch = takeNumber(text)) {
    if (*micro_batch >= kMaxMicroBatches) return std::nullopt;
    action.micro_batch = *micro_batch;
  } else if (*kind != ActionKind::reduce) {
    return std::nullopt;
  }
  if (text.starts_with('@')) {
    text.remove_prefix(1);
    const std::optional<int> version = takeNumber(text);
    if (!version) return std::nullopt;
    action.version = *version;
  }
  if (!text.empty()) return std::nullopt;
  return action;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

Status parseRow(std::string_view line, std::vector<Action>& row, int rank) {
  for (int cell = 0; !line.empty(); ++cell) {
    const std::size_t comma = line.find(',');
    const std::string_view text = trimmed(line.substr(0, comma));
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
    if (text.empty()) continue;
    const std::optional<Action> action = parseAction(text);
    if (!action) {
      return invalid("row {}, cell {}: '{}' is not an action such as 2F0, 1I3, 1W3, 0B2, 0SEND_F1 or 0STEP7", rank,
                     cell, text);
    }
    row.push_back(*action);
  }
  // Written again, such a row would be an empty line, which is not read as a row.
  if (row.empty()) return invalid("row {} has no action: give each rank at least one, or leave the row out", rank);
  return Status::ok();
}

/// Counts stages and micro-batches, and finds the rank of each stage.
Status measure(Schedule& schedule) {
  int stages = 0;
  for (const auto& row : schedule.per_rank) {
    for (const Action& action : row) {
      stages = std::max(stages, action.stage + 1);
      schedule.micro_batches = std::max(schedule.micro_batches, action.micro_batch + 1);
    }
  }
  // Readers of a schedule allocate tables of this size, and a few bytes of text must not make them huge.
  const std::size_t passes = static_cast<std::size_t>(stages) * static_cast<std::size_t>(schedule.micro_batches);
  std::size_t actions = 0;
  for (const auto& row : schedule.per_rank)
    actions += row.size();
  if (actions < passes) {
    return invalid("{} actions are too few for {} micro-batches through {} stages", actions, schedule.micro_batches,
                   stages);
  }
  schedule.stage_rank.assign(static_cast<std::size_t>(stages), -1);
  for (std::size_t rank = 0; rank < schedule.per_rank.size(); ++rank) {
    for (Action& action : schedule.per_rank[rank]) {
      if (action.micro_batch < 0) action.micro_batch = schedule.micro_batches - 1;
      int& at = schedule.stage_rank[action.stage];
      if (at < 0) at = static_cast<int>(rank);
    }
  }
  schedule.chains.emplace_back();
  for (int stage = 0; stage < stages; ++stage) {
    if (schedule.stage_rank[static_cast<std::size_t>(stage)] < 0) {
      return invalid("stage {} has no action, but stage {} has", stage, stages - 1);
    }
    schedule.chains.front().push_back(stage);
  }
  return Status::ok();
}

bool hasAny(const Schedule& schedule, bool (*matches)(ActionKind)) {
  return std::any_of(schedule.per_rank.begin(), schedule.per_rank.end(), [matches](const auto& row) {
    return std::any_of(row.begin(), row.end(), [matches](const Action& a) { return matches(a.kind); });
  });
}

} // namespace

Result<std::string> writeCsv(const Schedule& schedule, bool is_complete) {
  if (schedule.chains.size() > 1) return invalid("a CSV file holds one chain, not {}", schedule.chains.size());
  std::string text;
  for (const auto& order : schedule.per_rank) {
    bool is_first = true;
    for (Action action : order) {
      if (!is_complete && (!isCompute(action.kind) || action.kind == ActionKind::recompute)) continue;
      if (!is_complete) action.version = 0;
      if (!is_first) text += ',';
      is_first = false;
      text += toText(action);
    }
    text += '\n';
  }
  return text;
}

Result<Schedule> readCsv(std::string_view text) {
  Schedule schedule;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (trimmed(line).empty()) continue;
    schedule.per_rank.emplace_back();
    if (Status status = parseRow(line, schedule.per_rank.back(), schedule.ranks++); !status.isOk()) return status;
  }
  if (schedule.ranks == 0) return invalid("the schedule is empty: it needs one row of actions a rank");
  if (Status status = measure(schedule); !status.isOk()) return status;
  if (!hasAny(schedule, [](ActionKind kind) { return kind == ActionKind::step; })) {
    for (auto& row : schedule.per_rank)
      std::erase_if(row, [](const Action& a) { return a.kind == ActionKind::reduce; });
    addFinalSteps(schedule);
  }
  if (!hasAny(schedule, [](ActionKind kind) { return isSend(kind) || isRecv(kind); })) {
    if (Status status = addMessages(schedule); !status.isOk()) return status;
  }
  if (Result<CheckReport> report = check(schedule); !report.isOk()) return report.status();
  return schedule;
}

} // namespace goss::pipeline
