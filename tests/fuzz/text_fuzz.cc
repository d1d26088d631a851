/// libFuzzer target: arbitrary text as a file that a user hands over. Input: which reader (1 byte), text. What is
/// accepted must survive being written and read again where there is a writer.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pipeline/csv.h"
#include "planner/tuning.h"
#include "schedule/links.h"

namespace {

constexpr int kRanks = 12;

void require(bool condition) {
  if (!condition) std::abort();
}

void tryPipeline(std::string_view text) {
  const auto schedule = goss::pipeline::readCsv(text);
  if (!schedule.isOk()) return;
  const auto written = goss::pipeline::writeCsv(schedule.value(), true);
  require(written.isOk());
  const auto again = goss::pipeline::readCsv(written.value());
  require(again.isOk() && again.value().per_rank == schedule.value().per_rank);
}

void tryTuning(std::string_view text) {
  const auto tuning = goss::Tuning::parse(text);
  if (!tuning.isOk()) return;
  for (const auto& price : {tuning.value().loopback, tuning.value().shm, tuning.value().tcp, tuning.value().network}) {
    require(price.latency_s >= 0 && price.bandwidth_bytes_per_s > 0 && price.overhead_s >= 0);
  }
}

void tryLinks(std::string_view text) {
  const auto links = goss::schedule::Links::parse(text, kRanks);
  if (!links.isOk()) return;
  for (int from = 0; from < kRanks; ++from) {
    require(links.value().nodeOf(from) < links.value().nodeCount());
    for (int to = 0; to < kRanks; ++to) {
      require(links.value().price(from, to).bandwidth_bytes_per_s > 0);
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exactly this length, so that the sanitizers see a read behind it.
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      tryPipeline(text);
      break;
    case 1:
      tryTuning(text);
      break;
    default:
      tryLinks(text);
  }
  return 0;
}
