#include "trainer/files/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

using Json = nlohmann::json;
using HashState = std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)>;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kHashBlockBytes = std::size_t{1} << 20;
constexpr const char* kChecksumKey = "xxh3";

HashState makeHash() {
  HashState state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  return state;
}

std::string hexDigest(const HashState& state) { return fmt::format("{:016x}", XXH3_64bits_digest(state.get())); }

std::size_t elementCount(const std::vector<std::size_t>& shape) {
  std::size_t count = 1;
  for (const std::size_t extent : shape)
    count *= extent;
  return count;
}

/// Bits of one element; 0 for a dtype that the format does not have.
std::size_t dtypeBits(const std::string& dtype) {
  static const std::map<std::string, std::size_t> kBits = {
      {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},   {"I8", 8},    {"F8_E5M2", 8},
      {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16}, {"BF16", 16}, {"I32", 32},
      {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},    {"I64", 64}, {"U64", 64}};
  const auto found = kBits.find(dtype);
  return found == kBits.end() ? 0 : found->second;
}

/// Bytes of a tensor, or SIZE_MAX when they do not fit a size_t or a whole byte.
std::size_t tensorBytes(const std::vector<std::size_t>& shape, std::size_t bits) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t total = bits;
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(total, extent, &total)) return kNone;
  }
  return total % 8 == 0 ? total / 8 : kNone;
}

std::string_view bytesOf(const SafetensorsEntry& tensor) {
  if (tensor.data == nullptr) return tensor.bytes;
  return {reinterpret_cast<const char*>(tensor.data), elementCount(tensor.shape) * sizeof(float)};
}

std::string headerText(const std::vector<SafetensorsEntry>& tensors, const Metadata& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const SafetensorsEntry& tensor : tensors) {
    const std::size_t end = offset + bytesOf(tensor).size();
    const char* dtype = tensor.data == nullptr ? "U8" : "F32";
    header[tensor.name] = {{"dtype", dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

bool readSizes(const Json& json, std::vector<std::size_t>& out) {
  if (!json.is_array()) return false;
  for (const Json& value : json) {
    if (!value.is_number_unsigned()) return false;
    out.push_back(value.get<std::size_t>());
  }
  return true;
}

float fromBfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// IEEE 754 binary16: its exponent moves by 112, infinities and NaNs by another 112; a subnormal is a multiple of
/// 2^-24.
float fromHalf(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16, size = bits & 0x7fffu;
  if (size < 0x400) {
    const float value = static_cast<float>(size) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  constexpr std::uint32_t kBias = 112u << 23;
  return std::bit_cast<float>(sign | ((size << 13) + (size < 0x7c00 ? kBias : 2 * kBias)));
}

} // namespace

void writeSafetensors(const std::string& path, std::vector<SafetensorsEntry> tensors, Metadata metadata) {
  // Vectors of bytes come last, so that every float is aligned.
  std::sort(tensors.begin(), tensors.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.data == nullptr, a.name) < std::pair(b.data == nullptr, b.name);
  });
  const HashState hash = makeHash();
  for (const SafetensorsEntry& tensor : tensors)
    XXH3_64bits_update(hash.get(), bytesOf(tensor).data(), bytesOf(tensor).size());
  metadata[kChecksumKey] = hexDigest(hash);
  const std::string header = headerText(tensors, metadata);
  const std::uint64_t length = header.size();
  OutputFile file(path);
  file.write(&length, sizeof(length));
  file.write(header.data(), header.size());
  for (const SafetensorsEntry& tensor : tensors)
    file.write(bytesOf(tensor).data(), bytesOf(tensor).size());
  file.commit();
}

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  std::uint64_t length = 0;
  if (file_.size() < kLengthBytes) fail("{} is damaged: {} bytes are no safetensors file", path, file_.size());
  file_.read(0, &length, sizeof(length));
  if (length > kMaxHeaderBytes || length > file_.size() - kLengthBytes) {
    fail("{} is damaged: its header says {} bytes, the file has {}", path, length, file_.size());
  }
  std::string header(length, '\0');
  file_.read(kLengthBytes, header.data(), header.size());
  data_offset_ = kLengthBytes + header.size();
  data_bytes_ = file_.size() - data_offset_;
  parseHeader(header);
  checkCoverage();
}

void SafetensorsFile::parseHeader(const std::string& header) {
  const Json json = Json::parse(header, nullptr, false);
  if (header.empty() || header.front() != '{' || !json.is_object())
    fail("{} is damaged: its header is not JSON", path());
  for (const auto& [name, value] : json.items()) {
    if (!value.is_object()) fail("{} is damaged: the entry {} is not an object", path(), name);
    if (name == "__metadata__") {
      for (const auto& [key, text] : value.items()) {
        if (!text.is_string()) fail("{} is damaged: its metadata {} is not a string", path(), key);
        metadata_[key] = text.get<std::string>();
      }
      continue;
    }
    Tensor tensor;
    std::vector<std::size_t> offsets;
    const bool is_complete = value.contains("dtype") && value["dtype"].is_string() && value.contains("shape") &&
                             readSizes(value["shape"], tensor.shape) && value.contains("data_offsets") &&
                             readSizes(value["data_offsets"], offsets) && offsets.size() == 2;
    if (!is_complete) fail("{} is damaged: the entry {} lacks a valid dtype, shape or data_offsets", path(), name);
    tensor.dtype = value["dtype"].get<std::string>();
    tensor.begin = offsets[0];
    tensor.end = offsets[1];
    addTensor(name, std::move(tensor));
  }
}

void SafetensorsFile::addTensor(const std::string& name, Tensor tensor) {
  const std::size_t bits = dtypeBits(tensor.dtype);
  if (bits == 0) fail("{} has the tensor {} of unknown dtype {}", path(), name, tensor.dtype);
  if (tensor.begin > tensor.end || tensor.end > data_bytes_ ||
      tensor.end - tensor.begin != tensorBytes(tensor.shape, bits)) {
    fail("{} is damaged: the offsets {}..{} of {} do not fit its shape [{}] and the {} bytes of data", path(),
         tensor.begin, tensor.end, name, fmt::join(tensor.shape, ", "), data_bytes_);
  }
  tensors_[name] = std::move(tensor);
}

void SafetensorsFile::checkCoverage() const {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& [name, tensor] : tensors_)
    ranges.emplace_back(tensor.begin, tensor.end);
  std::sort(ranges.begin(), ranges.end());
  std::size_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != covered) fail("{} is damaged: its tensors overlap or leave a hole at byte {}", path(), covered);
    covered = end;
  }
  if (covered != data_bytes_) fail("{} is damaged: {} bytes follow the last tensor", path(), data_bytes_ - covered);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_)
    names.push_back(name);
  return names;
}

const SafetensorsFile::Tensor& SafetensorsFile::tensorOf(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail("{} has no tensor {}", path(), name);
  return found->second;
}

std::string SafetensorsFile::readBytes(const std::string& name) const {
  const Tensor& tensor = tensorOf(name);
  if (tensor.dtype != "U8" || tensor.shape.size() != 1)
    fail("{} has {} as {}, but it must be a vector of U8", path(), name, tensor.dtype);
  std::string bytes(tensor.end - tensor.begin, '\0');
  file_.read(data_offset_ + tensor.begin, bytes.data(), bytes.size());
  return bytes;
}

void SafetensorsFile::read(const std::string& name, const std::vector<std::size_t>& shape, float* out) const {
  const Tensor& tensor = tensorOf(name);
  if (tensor.dtype != "F32" || tensor.shape != shape) {
    fail("{} has {} as {} [{}], but this model needs F32 [{}]", path(), name, tensor.dtype,
         fmt::join(tensor.shape, ", "), fmt::join(shape, ", "));
  }
  file_.read(data_offset_ + tensor.begin, out, tensor.end - tensor.begin);
}

std::vector<float> SafetensorsFile::readAsFloats(const std::string& name, const std::vector<std::size_t>& shape) const {
  const Tensor& tensor = tensorOf(name);
  std::vector<float> values(elementCount(shape));
  if (tensor.shape != shape || (tensor.dtype != "F16" && tensor.dtype != "BF16")) {
    read(name, shape, values.data()); // or the reason why not
    return values;
  }
  std::vector<std::uint16_t> halves(values.size());
  file_.read(data_offset_ + tensor.begin, halves.data(), tensor.end - tensor.begin);
  std::transform(halves.begin(), halves.end(), values.begin(), tensor.dtype == "F16" ? fromHalf : fromBfloat);
  return values;
}

void SafetensorsFile::verifyChecksum() const {
  const auto expected = metadata_.find(kChecksumKey);
  if (expected == metadata_.end()) return;
  const HashState hash = makeHash();
  std::vector<char> block(std::min(data_bytes_, kHashBlockBytes));
  for (std::size_t done = 0; done < data_bytes_; done += block.size()) {
    const std::size_t bytes = std::min(block.size(), data_bytes_ - done);
    file_.read(data_offset_ + done, block.data(), bytes);
    XXH3_64bits_update(hash.get(), block.data(), bytes);
  }
  if (hexDigest(hash) != expected->second) fail("{} is damaged: its checksum does not match its data", path());
}

} // namespace goss::trainer
