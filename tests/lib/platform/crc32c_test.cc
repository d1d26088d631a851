// The checksum of what travels between hosts.
#include "platform/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>

namespace goss::platform {
namespace {

std::uint32_t of(const std::string& bytes) { return crc32c(bytes.data(), bytes.size()); }

/// One bit after the other, as the polynomial's definition says.
std::uint32_t slow(const std::string& bytes) {
  std::uint32_t rest = ~0u;
  for (const char byte : bytes) {
    rest ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      rest = rest >> 1 ^ ((rest & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~rest;
}

TEST(Crc32c, IsThatOfRfc3720) {
  std::string rising(32, '\0');
  std::iota(rising.begin(), rising.end(), '\0');
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(of(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(of(rising), 0x46dd794eu);
  EXPECT_EQ(of(std::string(rising.rbegin(), rising.rend())), 0x113fdb5cu);
  std::string command(48, '\0'); // An iSCSI READ (10) command.
  command[0] = '\x01';
  command[1] = '\xc0';
  command[16] = '\x14';
  command[22] = '\x04';
  command[27] = '\x14';
  command[31] = '\x18';
  command[32] = '\x28';
  command[40] = '\x02';
  EXPECT_EQ(of(command), 0xd9963a56u);
  EXPECT_EQ(of("123456789"), 0xe3069283u);
  EXPECT_EQ(of(""), 0u);
}

TEST(Crc32c, IsTheDefinitionsAtEveryLengthAndAlignment) {
  std::mt19937 random(5);
  std::string bytes(5000, '\0');
  for (char& byte : bytes)
    byte = static_cast<char>(random());
  for (std::size_t size = 0; size < 300; ++size)
    for (const std::size_t from : {0u, 1u, 7u, 63u})
      ASSERT_EQ(of(bytes.substr(from, size)), slow(bytes.substr(from, size))) << size << " from " << from;
  for (std::size_t size = 300; size < bytes.size(); size += 97)
    ASSERT_EQ(crc32c(bytes.data() + 13, size - 13), slow(bytes.substr(13, size - 13))) << size;
}

TEST(Crc32c, GoesOnBehindOtherBytes) {
  const std::string bytes = "bytes that come in two pieces, wherever they are cut";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut)
    EXPECT_EQ(crc32c(bytes.data() + cut, bytes.size() - cut, crc32c(bytes.data(), cut)), of(bytes));
}

#if defined(__x86_64__)
/// Writes the upper halves of the registers that AVX has.
[[gnu::target("avx")]] void readUpperHalves(unsigned char* to) {
  asm volatile(
      "vextractf128 $1, %%ymm0, 0(%0)\n"
      "vextractf128 $1, %%ymm1, 16(%0)\n"
      "vextractf128 $1, %%ymm2, 32(%0)\n"
      "vextractf128 $1, %%ymm3, 48(%0)\n"
      "vextractf128 $1, %%ymm4, 64(%0)\n"
      "vextractf128 $1, %%ymm5, 80(%0)\n"
      "vextractf128 $1, %%ymm6, 96(%0)\n"
      "vextractf128 $1, %%ymm7, 112(%0)\n"
      "vextractf128 $1, %%ymm8, 128(%0)\n"
      "vextractf128 $1, %%ymm9, 144(%0)\n"
      "vextractf128 $1, %%ymm10, 160(%0)\n"
      "vextractf128 $1, %%ymm11, 176(%0)\n"
      "vextractf128 $1, %%ymm12, 192(%0)\n"
      "vextractf128 $1, %%ymm13, 208(%0)\n"
      "vextractf128 $1, %%ymm14, 224(%0)\n"
      "vextractf128 $1, %%ymm15, 240(%0)\n"
      :
      : "r"(to)
      : "memory");
}

TEST(Crc32c, LeavesNothingInTheUpperHalvesOfVectorRegisters) {
  if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "this processor has no AVX";
  std::string upper(256, '\1');
  auto* const to = reinterpret_cast<unsigned char*>(upper.data());
  const std::string bytes(5000, 'x');
  for (const std::size_t size : {1u, 100u, 1000u, 5000u}) {
    const std::uint32_t sum = crc32c(bytes.data(), size);
    readUpperHalves(to);
    EXPECT_EQ(upper, std::string(256, '\0')) << "after " << size << " bytes with the checksum " << sum;
  }
}
#endif

} // namespace
} // namespace goss::platform
