#include "trainer/run/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLogBegins = "{\"event\":";
constexpr const char* kCsvHeader = "step,loss,validation_loss,lr,grad_norm,tokens,seconds,tokens_per_s";

/// The first line of a file, without its line break; "" for an empty file, and for a pipe or terminal, which gives
/// nothing back.
std::string firstLine(const std::string& path) {
  std::string line;
  if (!std::filesystem::is_regular_file(path)) return line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// 12345 -> "12,345", whatever the locale.
std::string grouped(double value) {
  const std::string digits = fmt::format("{:.0f}", value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

/// Cuts off the last line of a file of ours if it has no line break: a full disk or a crash left it unfinished.
/// `begins` is how such a file begins; others stay as they are.
void cutUnfinishedLine(const std::string& path, std::string_view begins) {
  if (!std::filesystem::is_regular_file(path)) return;
  std::ifstream file(path);
  std::string first(begins.size(), '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(file.gcount()));
  if (first.empty() || !begins.starts_with(first)) return;
  file.clear();
  const std::uintmax_t size = std::filesystem::file_size(path);
  std::uintmax_t end = size;
  for (; end > 0; --end) {
    file.seekg(static_cast<std::streamoff>(end - 1));
    if (file.get() == '\n') break;
  }
  if (end < size) std::filesystem::resize_file(path, end);
}

} // namespace

std::string formatDuration(double seconds) {
  const auto total = static_cast<unsigned long long>(std::llround(seconds));
  if (total >= 3600) return fmt::format("{}h{:02}m", total / 3600, total / 60 % 60);
  if (total >= 60) return fmt::format("{}m{:02}s", total / 60, total % 60);
  return fmt::format("{}s", total);
}

Report::LineFile::LineFile(const std::string& path, std::string_view begins)
    : file_(nullptr, &std::fclose), path_(path) {
  if (path.empty()) return;
  cutUnfinishedLine(path, begins);
  file_.reset(std::fopen(path.c_str(), "ae"));
  if (file_ == nullptr) fail("cannot open the log {}: {}", path, std::generic_category().message(errno));
}

void Report::LineFile::append(const std::string& line) {
  if (file_ == nullptr) return;
  const bool is_written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
                          std::fputc('\n', file_.get()) != EOF && std::fflush(file_.get()) == 0;
  if (!is_written) fail("cannot write the log {}: {}", path_, std::generic_category().message(errno));
}

Report::Report(bool is_active, const std::string& log_path, const std::string& csv_path)
    : is_active_(is_active),
      log_(is_active ? log_path : "", kLogBegins),
      csv_(is_active ? csv_path : "", fmt::format("{}\n", kCsvHeader)) {
  if (!is_active || csv_path.empty()) return;
  const std::string first = firstLine(csv_path);
  if (first.empty()) {
    csv_.append(kCsvHeader);
  } else if (first != kCsvHeader) {
    fail("--csv {}: its first line is not '{}', so rows of this run do not belong there; give another file", csv_path,
         kCsvHeader);
  }
}

void Report::note(const std::string& text) {
  if (!is_active_) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void Report::begin(const RunShape& shape, const std::string& settings) {
  shape_ = shape;
  if (!is_active_) return;
  log_.append(
      Json{{"event", "start"}, {"step", shape.first_step}, {"ranks", shape.ranks}, {"settings", Json::parse(settings)}}
          .dump());
}

void Report::step(const StepRecord& r) {
  if (!is_active_) return;
  run_seconds_ += r.seconds;
  printed_seconds_ += r.seconds;
  const double tokens = static_cast<double>(shape_.tokens_per_step) * r.share;
  printed_tokens_ += tokens;
  left_out_tokens_ += static_cast<double>(shape_.tokens_per_step) - tokens;
  const std::size_t trained = r.step * shape_.tokens_per_step - static_cast<std::size_t>(left_out_tokens_);
  log_.append(Json{{"event", "step"},
                   {"step", r.step},
                   {"loss", r.loss},
                   {"lr", r.lr},
                   {"grad_norm", r.grad_norm},
                   {"tokens", trained},
                   {"seconds", r.seconds},
                   {"tokens_per_s", tokens / r.seconds}}
                  .dump());
  csv_.append(
      fmt::format("{},{},,{},{},{},{},{}", r.step, r.loss, r.lr, r.grad_norm, trained, r.seconds, tokens / r.seconds));
  if (r.step % shape_.print_every != 0 && r.step != shape_.total_steps && r.step != shape_.first_step + 1) return;
  const auto done = static_cast<double>(r.step - shape_.first_step);
  const double eta = run_seconds_ / done * static_cast<double>(shape_.total_steps - r.step);
  note(fmt::format("step {:>5}/{} | loss {:.4f} | lr {:.2e} | grad norm {:.3f} | {:>7} tok/s | ETA {}", r.step,
                   shape_.total_steps, r.loss, r.lr, r.grad_norm, grouped(printed_tokens_ / printed_seconds_),
                   formatDuration(eta)));
  printed_seconds_ = 0;
  printed_tokens_ = 0;
}

void Report::validation(std::size_t step, double loss) {
  if (!is_active_) return;
  log_.append(Json{{"event", "validation"}, {"step", step}, {"loss", loss}}.dump());
  csv_.append(fmt::format("{},,{},,,,,", step, loss));
  note(fmt::format("step {:>5}/{} | validation loss {:.4f}", step, shape_.total_steps, loss));
}

void Report::checkpoint(std::size_t step) {
  if (!is_active_) return;
  log_.append(Json{{"event", "checkpoint"}, {"step", step}}.dump());
}

void Report::sample(const std::string& prompt, const std::string& text) {
  if (!is_active_) return;
  log_.append(Json{{"event", "sample"}, {"prompt", prompt}, {"text", text}}.dump(-1, ' ', false,
                                                                                 Json::error_handler_t::replace));
  note("--- sample ---\n" + prompt + text + "\n--------------");
}

} // namespace goss::trainer
