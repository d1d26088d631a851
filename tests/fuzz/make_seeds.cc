/// Writes one valid payload of every codec and an export of references, as inputs for codec_fuzz: make_seeds FOLDER.
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "compressors/catalogue.h"
#include "sync/reference_store.h"

namespace {

void write(const std::string& folder, std::size_t which, std::size_t count, std::string_view bytes) {
  std::ofstream file(fmt::format("{}/seed_{}", folder, which), std::ios::binary);
  const char head[] = {static_cast<char>(which), static_cast<char>(count & 255), static_cast<char>(count >> 8)};
  file.write(head, sizeof head);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 1;
  }
  constexpr std::size_t kCount = 300;
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = std::sin(static_cast<float>(i * i)) * static_cast<float>(i % 17);
  }
  std::size_t which = 0;
  for (const auto& entry : goss::compressors::builtinCodecs()) {
    const auto made = goss::compressors::makeCompression(entry.example);
    if (!made.isOk() || made.value().codec->traits().multi_phase) {
      continue;
    }
    const goss::Codec& codec = *made.value().codec;
    std::vector<std::byte> payload(codec.maxBytes(kCount)), scratch(codec.scratchBytes(kCount) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    goss::EncodeSegment segment{0, kCount, payload, 0};
    goss::EncodeJob job;
    job.values = values;
    job.scratch = std::span(scratch).subspan((64 - address % 64) % 64);
    job.segments = {&segment, 1};
    if (!codec.encode(job).isOk()) {
      return 1;
    }
    write(argv[1], which++, kCount, {reinterpret_cast<const char*>(payload.data()), segment.bytes});
  }
  goss::sync::ReferenceStore store;
  const auto opened = store.open({1, goss::sync::ReferenceRole::worker, 2}, {3, 4});
  write(argv[1], which, 0, store.exportAll());
  return opened.isOk() ? 0 : 1;
}
