/// Every codec's bytes, as tests/golden/codecs.txt pins them: a payload of 70 elements, what it decodes to, and
/// payloads that must be refused. A payload format that changes gets another wire_version and new lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/compressors/harness.h"
#include "tests/golden/golden.h"

namespace goss::test {
namespace {

/// A copy of the tree has a file of its own (tests/adding).
std::string goldenFile() {
  const char* folder = std::getenv("GOSS_TEST_GOLDEN");
  return std::string(folder != nullptr ? folder : GOSS_GOLDEN_FOLDER) + "/codecs.txt";
}

/// Numbers of 7 bits at several magnitudes, so that any language can make them.
Floats goldenInput() {
  Floats values(70);
  for (int i = 0; i < 70; ++i) {
    values[static_cast<std::size_t>(i)] = std::ldexp(static_cast<float>(i * 37 % 101 - 50), i % 5 - 6);
  }
  return values;
}

std::string nameOf(const Codec& codec) { return codec.spec() + "@" + std::to_string(codec.traits().wire_version); }

std::string text(const void* data, std::size_t bytes) { return {static_cast<const char*>(data), bytes}; }

Bytes bytesOf(const std::string& from) {
  Bytes bytes(from.size());
  std::transform(from.begin(), from.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

TEST(GoldenPayloads, AreWrittenAndReadByEveryCodec) {
  const std::vector<GoldenCase> cases = readGolden(goldenFile());
  const auto find = [&](const std::string& name) {
    const auto found =
        std::find_if(cases.begin(), cases.end(), [&](const GoldenCase& one) { return one.accept && one.name == name; });
    return found == cases.end() ? std::string("missing") : found->bytes;
  };
  for (const compressors::CodecEntry& entry : compressors::builtinCodecs()) {
    const auto codec = codecOf(entry.example);
    if (codec->traits().multi_phase) continue; // they send plain float32 vectors
    const Bytes payload = encode(*codec, goldenInput());
    const std::string written = text(payload.data(), payload.size());
    EXPECT_EQ(toHex(find(nameOf(*codec))), toHex(written)) << "accept " << nameOf(*codec) << " " << toHex(written);
    const Floats decoded = decode(*codec, payload, 70);
    const std::string read = text(decoded.data(), decoded.size() * sizeof(float));
    EXPECT_EQ(toHex(find("decoded:" + nameOf(*codec))), toHex(read))
        << "accept decoded:" << nameOf(*codec) << " " << toHex(read);
  }
}

TEST(GoldenPayloads, AreRefusedWhereTheyAreWrong) {
  int refused = 0;
  for (const GoldenCase& one : readGolden(goldenFile())) {
    if (one.accept) continue;
    // "reason:spec@version"
    const std::string spec = one.name.substr(one.name.find(':') + 1, one.name.find('@') - one.name.find(':') - 1);
    EXPECT_EQ(codecOf(spec)->check(bytesOf(one.bytes), 70).kind(), GOSS_ERR_PROTOCOL) << one.name;
    ++refused;
  }
  EXPECT_GE(refused, 8);
}

} // namespace
} // namespace goss::test
