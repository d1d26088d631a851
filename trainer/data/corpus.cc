#include "trainer/data/corpus.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

constexpr std::uint32_t kTokenMagic = 20240520;
constexpr std::uint32_t kTokenVersion = 1;
constexpr std::size_t kTokenHeaderBytes = 256 * 4;
constexpr const char* kBibleProgram = "/usr/bin/bible";
constexpr const char* kBibleCommand = "/usr/bin/bible -f gen1:1-rev22:21 </dev/null";

std::uint32_t readU32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Reads everything up to the end of the stream; false on a read error.
bool readAll(std::FILE* stream, std::string& text) {
  std::array<char, 65536> block{};
  while (const std::size_t n = std::fread(block.data(), 1, block.size(), stream))
    text.append(block.data(), n);
  return std::ferror(stream) == 0;
}

std::string reason(int error) { return std::generic_category().message(error); }

} // namespace

std::string readBible() {
  if (access(kBibleProgram, X_OK) != 0) {
    fail("the default text is not installed: run 'apt-get install bible-kjv', or give a text file with --data FILE");
  }
  std::FILE* pipe = popen(kBibleCommand, "r");
  if (pipe == nullptr) fail("cannot run {}: {}; give a text file with --data FILE", kBibleProgram, reason(errno));
  std::string listing;
  const bool complete = readAll(pipe, listing);
  const int status = pclose(pipe);
  if (!complete || status != 0 || listing.empty()) {
    fail("'{}' failed with status {} after {} bytes; give a text file with --data FILE", kBibleCommand,
         WIFEXITED(status) ? WEXITSTATUS(status) : -1, listing.size());
  }
  return stripVerseReferences(listing);
}

std::string stripVerseReferences(std::string_view listing) {
  std::string text;
  text.reserve(listing.size());
  while (!listing.empty()) {
    const std::size_t length = std::min(listing.find('\n'), listing.size());
    const std::string_view line = listing.substr(0, length);
    const std::size_t space = line.find(' ');
    text.append(space == std::string_view::npos ? line : line.substr(space + 1)).push_back('\n');
    listing.remove_prefix(std::min(length + 1, listing.size()));
  }
  return text;
}

std::vector<std::uint16_t> bytesToTokens(std::string_view bytes) {
  std::vector<std::uint16_t> tokens(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    tokens[i] = static_cast<unsigned char>(bytes[i]);
  return tokens;
}

bool isTokenFile(std::string_view bytes) { return bytes.size() >= 4 && readU32(bytes, 0) == kTokenMagic; }

std::string_view tokensOfFile(std::string_view bytes, const std::string& path) {
  if (bytes.size() < kTokenHeaderBytes) {
    fail("{} is a token file without its header of {} bytes; it has {}", path, kTokenHeaderBytes, bytes.size());
  }
  if (const std::uint32_t version = readU32(bytes, 4); version != kTokenVersion) {
    fail("{} is a token file of version {}; version {} (GPT-2, uint16) is supported", path, version, kTokenVersion);
  }
  const std::uint64_t count = readU32(bytes, 8);
  if (const std::uint64_t want = kTokenHeaderBytes + 2 * count; bytes.size() != want) {
    fail("{} says {} tokens, which makes {} bytes, but has {}; it is damaged", path, count, want, bytes.size());
  }
  return bytes.substr(kTokenHeaderBytes);
}

} // namespace goss::trainer
