// The golden file was written by an independent program from the format's description.
#include "trainer/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kGolden = GOSS_GOLDEN_DIR "/trainer/two_tensors.safetensors";
const std::vector<float> kWeight = {1.5f, -2.0f, 0.25f, 3.0f, 1e-8f, 65504.0f};
const std::vector<float> kBias = {-0.0f, 7.0f};

std::string file(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

TEST(Safetensors, WritesTheGoldenFileByteForByte) {
  const TemporaryDirectory directory;
  writeSafetensors(directory / "x", {{"b.bias", {2}, kBias.data()}, {"a.weight", {2, 3}, kWeight.data()}},
                   {{"note", "golden"}, {"format", "pt"}});
  EXPECT_EQ(readBytes(directory / "x"), readBytes(kGolden));
}

TEST(Safetensors, ReadsTheGoldenFile) {
  const SafetensorsFile golden(kGolden);
  EXPECT_EQ(golden.names(), (std::vector<std::string>{"a.weight", "b.bias"}));
  EXPECT_EQ(golden.metadata().at("note"), "golden");
  std::vector<float> weight(6), bias(2);
  golden.read("a.weight", {2, 3}, weight.data());
  golden.read("b.bias", {2}, bias.data());
  EXPECT_EQ(weight, kWeight);
  EXPECT_EQ(bias, kBias);
  EXPECT_EQ(errorOf([&] { golden.verifyChecksum(); }), "");
}

TEST(Safetensors, OtherDtypesAndFilesWithoutOurChecksumAreReadable) {
  const TemporaryDirectory directory;
  writeBytes(directory / "x", file(R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[4,8]},)"
                                   R"("f":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                                   std::string(8, '\0')));
  const SafetensorsFile other(directory / "x");
  float value = 1.0f;
  other.read("f", {}, &value);
  EXPECT_EQ(value, 0.0f);
  EXPECT_EQ(errorOf([&] { other.verifyChecksum(); }), "");
  EXPECT_THAT(errorOf([&] { other.read("h", {2}, &value); }), AllOf(HasSubstr("F16"), HasSubstr("F32")));
}

TEST(Safetensors, AWrongShapeOrNameIsRefusedWithBoth) {
  const SafetensorsFile golden(kGolden);
  std::vector<float> out(6);
  EXPECT_THAT(errorOf([&] {
                golden.read("a.weight", {3, 2}, out.data());
              }),
              AllOf(HasSubstr("[2, 3]"), HasSubstr("[3, 2]"), HasSubstr(kGolden)));
  EXPECT_THAT(errorOf([&] { golden.read("c", {1}, out.data()); }), HasSubstr("no tensor c"));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const TemporaryDirectory directory;
  const std::string golden = readBytes(kGolden);
  ASSERT_GT(golden.size(), 100u);
  for (std::size_t length = 0; length < golden.size(); ++length) {
    writeBytes(directory / "x", golden.substr(0, length));
    EXPECT_THROW(SafetensorsFile(directory / "x"), Error) << length;
  }
}

TEST(Safetensors, AFlippedBitAnywhereIsRefusedOrChangesNoTensor) {
  const TemporaryDirectory directory;
  const std::string golden = readBytes(kGolden);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < golden.size(); ++at) {
    std::string damaged = golden;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    writeBytes(directory / "x", damaged);
    try {
      const SafetensorsFile tensors(directory / "x");
      tensors.verifyChecksum();
      std::vector<float> weight(6), bias(2);
      tensors.read("a.weight", {2, 3}, weight.data());
      tensors.read("b.bias", {2}, bias.data());
      EXPECT_EQ(weight, kWeight) << at; // the flip hit a text of the metadata
      EXPECT_EQ(bias, kBias) << at;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, golden.size() / 2);
}

struct Refused {
  const char* name;
  std::string bytes;
  const char* reason;
};

TEST(Safetensors, MalformedHeadersAreRefusedWithTheReason) {
  const auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets,
                      std::size_t data_bytes) {
    return file(R"({"t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                std::string(data_bytes, 'x'));
  };
  const std::vector<Refused> cases = {
      {"empty", "", "no safetensors file"},
      {"header beyond the file", file("{}", "").replace(0, 1, "\x7f"), "its header says 127 bytes"},
      {"header beyond the limit", std::string("\x01\xe1\xf5\x05\x00\x00\x00\x00{}", 10), "100000001 bytes"},
      {"header of 2^64 - 1 bytes", std::string(8, '\xff') + "{}", "damaged"},
      {"not JSON", file("{\"t\":", ""), "not JSON"},
      {"an array", file("[]", ""), "not JSON"},
      {"leading space", file(" {}", ""), "not JSON"},
      {"entry is a number", file(R"({"t":1})", ""), "not an object"},
      {"metadata is not text", file(R"({"__metadata__":{"a":1}})", ""), "not a string"},
      {"no shape", file(R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", "xxxx"), "lacks"},
      {"negative extent", one(R"("F32")", "[-1]", "[0,4]", 4), "lacks"},
      {"three offsets", one(R"("F32")", "[1]", "[0,4,8]", 8), "lacks"},
      {"unknown dtype", one(R"("F31")", "[1]", "[0,4]", 4), "unknown dtype F31"},
      {"shape larger than offsets", one(R"("F32")", "[2]", "[0,4]", 4), "do not fit"},
      {"offsets beyond the data", one(R"("F32")", "[2]", "[0,8]", 4), "do not fit"},
      {"offsets backwards", one(R"("F32")", "[0]", "[4,0]", 4), "do not fit"},
      {"overflowing shape", one(R"("F32")", "[4294967296,4294967296,4]", "[0,0]", 0), "do not fit"},
      {"a hole", one(R"("F32")", "[1]", "[4,8]", 8), "hole"},
      {"trailing bytes", one(R"("F32")", "[1]", "[0,4]", 5), "follow the last tensor"},
      {"overlap",
       file(
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           "xxxx"),
       "overlap"}};
  const TemporaryDirectory directory;
  for (const Refused& refused : cases) {
    writeBytes(directory / "x", refused.bytes);
    EXPECT_THAT(errorOf([&] { SafetensorsFile(directory / "x"); }),
                AllOf(HasSubstr(refused.reason), HasSubstr(directory / "x")))
        << refused.name;
  }
}

TEST(Safetensors, AMissingFileOrDirectoryIsNamed) {
  const TemporaryDirectory directory;
  EXPECT_THAT(errorOf([&] { SafetensorsFile(directory / "none"); }), HasSubstr("No such file"));
  EXPECT_THAT(errorOf([&] { SafetensorsFile(directory / ""); }), HasSubstr("not a regular file"));
}

} // namespace
} // namespace goss::trainer
