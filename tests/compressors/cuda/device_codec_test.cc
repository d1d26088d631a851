/// Codecs on a device beside those on the CPU, byte for byte: payloads, residuals, merges and what is decoded, over
/// sizes, alignments and special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "compressors/catalogue.h"
#include "compressors/chain.h"
#include "tests/compressors/cuda/harness.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

/// Specs besides the catalogue's: every way through the kernels.
constexpr const char* kMoreSpecs[] = {
    "int8:block=32",
    "int8:block=64",
    "int8:block=128",
    "int8:block=1024",
    "int4:block=2048",
    "int6:block=4096,mode=minmax",
    "int2:block=32",
    "int6:block=32",
    "int4:block=4096,round=stochastic",
    "int8:block=512,mode=minmax,round=stochastic",
    "qsgd:bits=2,block=32",
    "int2:block=64,round=stochastic",
    "threshold:value=0.5+qsgd:bits=2",
    "randk:ratio=0.5+sign:norm=l2",
    "qsgd:bits=8,block=1024",
    "qsgd:bits=8,block=4096",
    "dynamic8:block=64",
    "dynamic8:block=256",
    "topk:ratio=0.001+none",
    "topk:ratio=1+fp16",
    "topk:ratio=0.05+terngrad",
    "randk:ratio=0.3,block=1+int8:block=64",
    "randk:ratio=1,block=4096+sign",
    "terngrad:clip=2.5,scale=3,ranks=1",
    "terngrad:clip=0,scale=3,ranks=100",
    "topk:ratio=0.02,select=sampled+int4:block=64",
    "topk:ratio=0.4,select=sampled+mxfp4",
    "topk:ratio=0.001,select=sampled+dynamic8:block=64",
    "threshold:value=0+fp16",
    "threshold:value=0.5+int6:block=64,mode=minmax,round=stochastic",
    "threshold:value=100+natural",
    "randk:ratio=0.5+threshold:value=1+int8",
    "topk:ratio=0.3+topk:ratio=0.5,select=sampled+none",
    "topk:ratio=0.3+uniform8",
    "randk:ratio=0.2+minmaxuint8",
    "randk:ratio=0.5+dct:chunk=32,keep=4",
    "topk:ratio=0.3,indices=packed+int8:block=64",
    "topk:ratio=1,indices=packed+none",
    "topk:ratio=0.02,select=sampled,indices=packed+int4:block=64",
    "threshold:value=0.5,indices=packed+fp16",
    "threshold:value=100,indices=packed+none",
    "randk:ratio=0.5+topk:ratio=0.01,indices=packed+none",
    "nf4:block=32",
    "nf4:block=512",
    "topk:ratio=0.3+nf4",
    "threshold:value=0.5+nvfp4",
    "threshold:value=0.5+mxfp6:element=e3m2",
    "hadamard:chunk=16+none",
    "hadamard:chunk=1024+int4:block=2048",
    "hadamard:chunk=32+topk:ratio=0.1+none",
    "hadamard:chunk=512+sign",
    "topk:ratio=0.3+hadamard:chunk=64+int8:round=stochastic",
    "dct:chunk=8,keep=1",
    "dct:chunk=16,keep=16",
    "dct:chunk=64,keep=32",
    "dct:chunk=128,keep=5",
    "dct:chunk=256,keep=200",
};

std::vector<std::string> specs() {
  std::vector<std::string> all(std::begin(kMoreSpecs), std::end(kMoreSpecs));
  for (const compressors::CodecEntry& entry : compressors::builtinCodecs()) {
    const auto made = makeDeviceCodec(entry.example);
    if (made.isOk() && !made.value()->host().traits().multi_phase) { // those: device_run_test.cc
      all.emplace_back(entry.example);
    }
  }
  return all;
}

struct Case {
  std::size_t count = 0;
  std::size_t value_shift = 0;   ///< Bytes from an aligned address.
  std::size_t payload_shift = 0; ///< The same.
  std::uint64_t first_element = 0;
  bool reference = false, residual = false;
  Kind kind = Kind::plain;
};

class OnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    GOSS_NEED_DEVICE();
    auto made = makeDeviceCodec(GetParam());
    ASSERT_TRUE(made.isOk()) << made.status().text();
    device_ = made.take();
  }
  [[nodiscard]] const Codec& host() const { return device_->host(); }

  EncodeJob jobOf(const Case& what, std::uint32_t rank = 0) const {
    EncodeJob job;
    job.decay = 0.5f;
    job.random = randomness(rank);
    job.first_element = what.first_element;
    return job;
  }
  /// Decodes one payload, which `view` and the job refer to.
  static DecodeJob jobOf(const PayloadView& view, const Lent& out, const Lent& scratch) {
    DecodeJob job;
    job.payloads = {&view, 1};
    job.out = out.span();
    job.shared = randomness(0).shared;
    job.scratch = scratch.bytes();
    return job;
  }
  /// The host's payload.
  Bytes encodeOnHost(const Floats& values, const Case& what, const Floats* reference, Floats* residual,
                     std::uint32_t rank = 0) const {
    Bytes payload(host().maxBytes(values.size()));
    HostScratch scratch(host().scratchBytes(values.size()));
    EncodeSegment segment{0, values.size(), payload, 0};
    EncodeJob job = jobOf(what, rank);
    job.values = values;
    job.reference = reference == nullptr ? nullptr : reference->data();
    job.residual = residual == nullptr ? nullptr : residual->data();
    job.scratch = scratch.span();
    job.segments = {&segment, 1};
    EXPECT_TRUE(host().encode(job).isOk());
    payload.resize(segment.bytes);
    return payload;
  }

  /// `bytes` is what a call said; lengths that the device alone knows are asked for.
  void checkLength(std::span<std::byte> payload, std::size_t count, std::size_t bytes, std::size_t expected) const {
    if (device_->fixedBytes()) {
      ASSERT_EQ(bytes, expected);
      return;
    }
    ASSERT_EQ(bytes, host().maxBytes(count));
    const std::uint64_t unknown = 0;
    const Lent length(&unknown, sizeof unknown);
    const Status status =
        device_->measure({payload, count, reinterpret_cast<std::uint64_t*>(length.floats())}, nullptr);
    ASSERT_TRUE(status.isOk()) << status.text();
    std::uint64_t measured = 0;
    std::memcpy(&measured, length.back(sizeof measured).data(), sizeof measured);
    ASSERT_EQ(measured, expected);
  }

  void checkEncode(const Case& what) const {
    const Floats values = valuesOf(what.count, 1, what.kind), reference = valuesOf(what.count, 2);
    Floats residual = valuesOf(what.count, 3);
    const Lent at_values(values, what.value_shift), at_reference(reference, what.value_shift),
        at_residual(residual, what.value_shift);
    const Bytes expected =
        encodeOnHost(values, what, what.reference ? &reference : nullptr, what.residual ? &residual : nullptr);
    const Bytes empty(host().maxBytes(what.count));
    const Lent payload(empty.data(), empty.size(), what.payload_shift);
    const Lent scratch(Bytes(device_->scratchBytes(what.count)).data(), device_->scratchBytes(what.count));
    EncodeSegment segment{0, what.count, payload.bytes(), 0};
    EncodeJob job = jobOf(what);
    job.values = at_values.span();
    job.reference = what.reference ? at_reference.floats() : nullptr;
    job.residual = what.residual ? at_residual.floats() : nullptr;
    job.scratch = scratch.bytes();
    job.segments = {&segment, 1};
    const Status status = device_->encode(job, nullptr);
    ASSERT_TRUE(status.isOk()) << status.text();
    checkLength(payload.bytes(), what.count, segment.bytes, expected.size());
    expectSame(expected, payload.back(expected.size()), "payload");
    expectSame(residual, at_residual.backFloats(), "residual");
  }

  void checkDecode(const Case& what, DecodeMode mode, std::size_t senders) const {
    std::vector<Bytes> payloads;
    std::vector<std::unique_ptr<Lent>> lent;
    std::vector<PayloadView> on_host, on_device;
    for (std::size_t s = 0; s < senders; ++s) {
      const Floats values = valuesOf(what.count, static_cast<std::uint32_t>(10 + s), s == 1 ? what.kind : Kind::plain);
      payloads.push_back(encodeOnHost(values, what, nullptr, nullptr, static_cast<std::uint32_t>(s)));
    }
    for (const Bytes& payload : payloads) {
      lent.push_back(std::make_unique<Lent>(payload.data(), payload.size(), what.payload_shift));
      on_host.push_back(payload);
      on_device.push_back(lent.back()->bytes());
    }
    Floats out = valuesOf(what.count, 5);
    const Lent at_out(out, what.value_shift);
    HostScratch host_scratch(host().scratchBytes(what.count));
    const Lent scratch(Bytes(device_->scratchBytes(what.count)).data(), device_->scratchBytes(what.count));
    DecodeJob job;
    job.payloads = on_host;
    job.out = out;
    job.mode = mode;
    job.weight = 0.375f;
    job.shared = randomness(0).shared;
    job.first_element = what.first_element;
    job.scratch = host_scratch.span();
    ASSERT_TRUE(host().decode(job).isOk());
    job.payloads = on_device;
    job.out = at_out.span();
    job.scratch = scratch.bytes();
    const Status status = device_->decode(job, nullptr);
    ASSERT_TRUE(status.isOk()) << status.text();
    expectSame(out, at_out.backFloats(), "decoded");
  }

  void checkMerge(const Case& what, std::size_t senders) const {
    std::vector<Bytes> payloads;
    std::vector<std::unique_ptr<Lent>> lent;
    std::vector<PayloadView> on_host, on_device;
    for (std::size_t s = 0; s < senders; ++s) {
      payloads.push_back(encodeOnHost(valuesOf(what.count, static_cast<std::uint32_t>(20 + s)), what, nullptr, nullptr,
                                      static_cast<std::uint32_t>(s)));
    }
    for (const Bytes& payload : payloads) {
      lent.push_back(std::make_unique<Lent>(payload.data(), payload.size(), what.payload_shift));
      on_host.push_back(payload);
      on_device.push_back(lent.back()->bytes());
    }
    Floats values = valuesOf(what.count, 6, what.kind), residual = valuesOf(what.count, 7);
    const Lent at_values(values, what.value_shift), at_residual(residual, what.value_shift);
    Bytes out(host().maxBytes(what.count));
    const Lent at_out(out.data(), out.size(), what.payload_shift);
    HostScratch host_scratch(host().scratchBytes(what.count));
    const Lent scratch(Bytes(device_->scratchBytes(what.count)).data(), device_->scratchBytes(what.count));
    float* const kept = what.residual ? residual.data() : nullptr;
    MergeJob job{on_host, values, 0.25f, kept, 0.5f, randomness(1), what.first_element, host_scratch.span(), out, 0};
    ASSERT_TRUE(host().merge(job).isOk());
    out.resize(job.bytes);
    MergeJob device_job{on_device,
                        at_values.span(),
                        0.25f,
                        what.residual ? at_residual.floats() : nullptr,
                        0.5f,
                        randomness(1),
                        what.first_element,
                        scratch.bytes(),
                        at_out.bytes(),
                        0};
    const Status status = device_->merge(device_job, nullptr);
    ASSERT_TRUE(status.isOk()) << status.text();
    checkLength(at_out.bytes(), what.count, device_job.bytes, job.bytes);
    expectSame(out, at_out.back(job.bytes), "payload");
    expectSame(values, at_values.backFloats(), "own shard");
    expectSame(residual, at_residual.backFloats(), "residual");
  }

  std::unique_ptr<const DeviceCodec> device_;
};

constexpr std::size_t kCounts[] = {0, 1, 3, 31, 33, 64, 127, 128, 130, 257, 511, 1000, 2049, 4096, 4099, 6001, 12290};

TEST_P(OnDevice, EncodesAllCounts) {
  for (const std::size_t count : kCounts) {
    SCOPED_TRACE(count);
    checkEncode({count});
  }
}

TEST_P(OnDevice, EncodesWithReferencesAndResiduals) {
  for (const std::size_t count : {std::size_t{130}, std::size_t{9001}}) {
    checkEncode({count, 0, 0, 0, true, false});
    checkEncode({count, 0, 0, 0, false, true});
    checkEncode({count, 0, 0, 0, true, true});
    checkEncode({count, 4, 0, 128, true, true});
  }
}

TEST_P(OnDevice, EncodesAtAnyAlignment) {
  for (const std::size_t shift : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{8}}) {
    SCOPED_TRACE(shift);
    checkEncode({5001, 4 * shift, shift, 1000 + shift, false, true});
  }
}

TEST_P(OnDevice, EncodesSpecialValues) {
  checkEncode({12000, 0, 0, 0, false, true, Kind::special});
  checkEncode({12000, 4, 0, 3, true, true, Kind::special});
}

TEST_P(OnDevice, DecodesInEveryMode) {
  for (const DecodeMode mode : {DecodeMode::set, DecodeMode::add, DecodeMode::axpy, DecodeMode::meanOfPresent}) {
    SCOPED_TRACE(static_cast<int>(mode));
    for (const std::size_t senders : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
      checkDecode({6001}, mode, senders);
      checkDecode({4097, 4, 1, 77, false, false, Kind::special}, mode, senders);
    }
  }
  checkDecode({200}, DecodeMode::set, 70); // in several launches
  checkDecode({200}, DecodeMode::meanOfPresent, 70);
}

TEST_P(OnDevice, Merges) {
  for (const std::size_t senders : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    for (const bool residual : {false, true}) {
      checkMerge({6001, 0, 0, 256, false, residual}, senders);
      checkMerge({4099, 4, 1, 9, false, residual, Kind::special}, senders);
    }
  }
  checkMerge({300, 0, 0, 0, false, true}, 40); // more than one launch takes
}

TEST_P(OnDevice, EncodesSegmentsInAnyOrder) {
  const Floats values = valuesOf(40000, 1);
  const Lent at_values(values);
  std::vector<EncodeSegment> segments;
  std::vector<std::unique_ptr<Lent>> payloads;
  for (std::size_t s = 0; s < 40; ++s) { // more than one launch takes
    const std::size_t count = 1 + s * 23;
    const Bytes empty(host().maxBytes(count));
    payloads.push_back(std::make_unique<Lent>(empty.data(), empty.size(), s % 5));
    segments.push_back({(39 - s) * 1000, count, payloads.back()->bytes(), 0});
  }
  const Lent scratch(Bytes(device_->scratchBytes(1000)).data(), device_->scratchBytes(1000));
  EncodeJob job = jobOf({});
  job.values = at_values.span();
  job.scratch = scratch.bytes();
  job.segments = segments;
  ASSERT_TRUE(device_->encode(job, nullptr).isOk());
  for (std::size_t s = 0; s < 40; ++s) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(segments[s].first);
    Case alone;
    alone.first_element = segments[s].first;
    const Bytes expected =
        encodeOnHost(Floats(begin, begin + static_cast<std::ptrdiff_t>(segments[s].count)), alone, nullptr, nullptr);
    checkLength(payloads[s]->bytes(), segments[s].count, segments[s].bytes, expected.size());
    expectSame(expected, payloads[s]->back(expected.size()), "segment " + std::to_string(s));
  }
}

TEST_P(OnDevice, RefusesWhatDoesNotFit) {
  const Floats values(100);
  const Lent at_values(values);
  Bytes bytes(host().maxBytes(100) - 1);
  const Lent short_payload(bytes.data(), bytes.size());
  EncodeSegment segment{0, 100, short_payload.bytes(), 0};
  EncodeJob job;
  job.values = at_values.span();
  job.segments = {&segment, 1};
  EXPECT_EQ(device_->encode(job, nullptr).kind(), GOSS_ERR_INVALID_ARGUMENT);
  const Bytes too_many(host().maxBytes(100) + 1);
  const Lent long_payload(too_many.data(), too_many.size());
  const Lent scratch(Bytes(device_->scratchBytes(100)).data(), device_->scratchBytes(100));
  const PayloadView view = long_payload.bytes();
  DecodeJob decode;
  decode.payloads = {&view, 1};
  decode.out = at_values.span();
  decode.scratch = scratch.bytes();
  EXPECT_EQ(device_->decode(decode, nullptr).kind(), GOSS_ERR_PROTOCOL);
}

std::string nameOf(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, OnDevice, testing::ValuesIn(specs()), nameOf);

// DGC clears the momentum of the elements that were sent.
TEST_P(OnDevice, ClearsWhatAPayloadHolds) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{300}, std::size_t{12290}}) {
    SCOPED_TRACE(count);
    const Case what{count, 0, 0, 77};
    Bytes payload = encodeOnHost(valuesOf(count, 1), what, nullptr, nullptr);
    Floats expected = valuesOf(count, 2);
    const Lent out(expected, 4);
    std::vector<std::uint32_t> held(count);
    const auto some = host().selected(payload, count, randomness(0).shared, what.first_element, held);
    payload.resize(host().maxBytes(count)); // as a device leaves it
    const Lent at_payload(payload.data(), payload.size(), 1);
    const Lent scratch(Bytes(device_->scratchBytes(count)).data(), device_->scratchBytes(count));
    const PayloadView view = at_payload.bytes();
    DecodeJob job = jobOf(view, out, scratch);
    job.first_element = what.first_element;
    const Status status = device_->clearHeld(job, nullptr);
    ASSERT_EQ(status.isOk(), host().traits().sparse) << status.text();
    if (!status.isOk()) return;
    ASSERT_TRUE(some.isOk());
    for (std::size_t i = 0; i < some.value(); ++i) {
      expected[held[i]] = 0;
    }
    expectSame(expected, out.backFloats(), "cleared");
  }
}

// Where a call in a stream has failed, such codecs fill its result with NaN by decoding set bits.
TEST_P(OnDevice, MakesNanOfSetBitsIfItSaysSo) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{257}, std::size_t{12290}}) {
    const Bytes set(host().maxBytes(count), std::byte{0xff});
    const Lent payload(set.data(), set.size(), 1), out(valuesOf(count, 1));
    const Lent scratch(Bytes(device_->scratchBytes(count)).data(), device_->scratchBytes(count));
    const PayloadView view = payload.bytes();
    DecodeJob job = jobOf(view, out, scratch);
    const auto check = [&](const Lent& decoded, const std::string& how) {
      const Floats values = decoded.backFloats();
      EXPECT_TRUE(!device_->makesNan() ||
                  std::all_of(values.begin(), values.end(), [](float value) { return std::isnan(value); }))
          << count << ", " << how;
    };
    for (const DecodeMode mode : {DecodeMode::set, DecodeMode::add, DecodeMode::meanOfPresent}) {
      job.mode = mode;
      ASSERT_TRUE(device_->decode(job, nullptr).isOk());
      check(out, "mode " + std::to_string(static_cast<int>(mode)));
    }
    const Lent merged(valuesOf(count, 2)), result(set.data(), set.size());
    MergeJob merge{job.payloads, merged.span(), 1, nullptr, 1, randomness(0), 0, scratch.bytes(), result.bytes(), 0};
    ASSERT_TRUE(device_->merge(merge, nullptr).isOk());
    check(merged, "merged");
  }
}

/// More chunks than the one warp that adds up their counts, or their sums, takes in one step.
class LongOnDevice : public OnDevice {};

TEST_P(LongOnDevice, EncodesAndDecodes) {
  const std::size_t count = GetParam() == "sign" ? fullOr(17'000'003, 2'300'001) : 2'300'001;
  checkEncode({count});
  if (GetParam() != "sign") {
    checkDecode({count}, DecodeMode::add, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, LongOnDevice,
                         testing::Values("topk:ratio=0.001+none", "topk:ratio=0.2+none", "threshold:value=1+fp16",
                                         "topk:ratio=0.001,indices=packed+none",
                                         "threshold:value=3,indices=packed+fp16", "sign"),
                         nameOf);

// Bytes of a sender that is wrong give wrong values, and nothing is touched outside: guards and AddressSanitizer look.
TEST_P(OnDevice, DecodesNonsenseWithinTheVector) {
  constexpr std::size_t kCount = 6001;
  std::mt19937 engine(5);
  Bytes nonsense(host().maxBytes(kCount));
  std::generate(nonsense.begin(), nonsense.end(), [&] { return std::byte(engine() & 0xffu); });
  const Lent payload(nonsense.data(), nonsense.size());
  const Floats zeros(kCount);
  const Lent out(zeros);
  const Lent scratch(Bytes(device_->scratchBytes(kCount)).data(), device_->scratchBytes(kCount));
  const PayloadView view = payload.bytes();
  ASSERT_TRUE(device_->decode(jobOf(view, out, scratch), nullptr).isOk());
  EXPECT_EQ(out.backFloats().size(), kCount); // and guards are whole
  EXPECT_EQ(scratch.back(scratch.bytes().size()).size(), scratch.bytes().size());
}

constexpr std::uint32_t kManyNans[] = {0x7fc00000u, 0x7fffffffu, 0x7f800001u, 0xffc12345u, 0xff800001u};

/// Bits of the payload that `none` makes of kManyNans, with a residual of ones or without, on the host and here.
void checkNans(bool sums, const std::vector<std::uint32_t>& expected) {
  const auto made = makeDeviceCodec("none");
  ASSERT_TRUE(made.isOk()) << made.status().text();
  constexpr std::size_t kCount = std::size(kManyNans);
  Floats values(kCount), residual(kCount, 1.0f);
  std::memcpy(values.data(), kManyNans, sizeof kManyNans);
  const Lent at_values(values), at_residual(residual), payload(Floats(kCount, 0.0f));
  Bytes on_host(sizeof kManyNans);
  EncodeSegment segment{0, kCount, on_host, 0};
  EncodeJob job;
  job.values = values;
  job.residual = sums ? residual.data() : nullptr;
  job.segments = {&segment, 1};
  ASSERT_TRUE(made.value()->host().encode(job).isOk());
  segment.out = payload.bytes();
  job.values = at_values.span();
  job.residual = sums ? at_residual.floats() : nullptr;
  ASSERT_TRUE(made.value()->encode(job, nullptr).isOk());
  for (const Bytes& bytes : {on_host, payload.back(sizeof kManyNans)}) {
    std::vector<std::uint32_t> bits(kCount);
    std::memcpy(bits.data(), bytes.data(), bytes.size());
    EXPECT_EQ(bits, expected) << (sums ? "sums" : "copies");
  }
}

TEST(DeviceCodecs, CopyTheBitsOfNansThatTheyDoNotCompute) {
  GOSS_NEED_DEVICE();
  checkNans(false, {std::begin(kManyNans), std::end(kManyNans)});
}

// A GPU's sums have another NaN than the CPU's.
TEST(DeviceCodecs, WriteOneNanOfSums) {
  GOSS_NEED_DEVICE();
  checkNans(true, std::vector<std::uint32_t>(std::size(kManyNans), 0x7fc00000u));
}

TEST(DeviceCodecs, SayWhichMakeNanOfSetBits) {
  for (const char* spec : {"int8", "bf16", "sign", "topk:ratio=0.1+int8", "topk:ratio=0.1,indices=packed+none",
                           "threshold:value=1+natural", "hadamard:chunk=64+int4"}) {
    EXPECT_TRUE(makeDeviceCodec(spec).value()->makesNan()) << spec;
  }
  for (const char* spec : {"natural", "randk:ratio=0.5+none", "randk:ratio=0.5+topk:ratio=0.5+none"}) {
    EXPECT_FALSE(makeDeviceCodec(spec).value()->makesNan()) << spec;
  }
}

void expectUnsupported(const char* spec, const std::string& reason) {
  const Status status = makeDeviceCodec(spec).status();
  EXPECT_EQ(status.kind(), GOSS_ERR_UNSUPPORTED) << spec;
  EXPECT_NE(status.text().find(std::string("codec '") + spec), std::string::npos) << status.text();
  EXPECT_NE(status.text().find(reason), std::string::npos) << status.text();
}

TEST(DeviceCodecs, SayWhatTheyDoNotOfferAndWhatToDo) {
  expectUnsupported("lossless", "entropy coder");
  expectUnsupported("terngrad:clip=2.5,agree=max", "phases");
  expectUnsupported("threshold:value=2+sign", "follow the threshold with");
  expectUnsupported("topk:ratio=0.01,select=sampled+uniform8", "select=exact");
  EXPECT_NE(makeDeviceCodec("lossless").status().text().find("host memory"), std::string::npos);
  EXPECT_EQ(makeDeviceCodec("int9").status().kind(), GOSS_ERR_INVALID_ARGUMENT);
}

TEST(DeviceCodecs, AreTheCatalogueButForStagesWithoutKernels) {
  const auto is_without = [](const auto& stage) {
    return std::holds_alternative<compressors::NoKernels>(stage.kernels);
  };
  for (const compressors::CodecEntry& entry : compressors::builtinCodecs()) {
    const auto chain = compressors::readChain(entry.example);
    ASSERT_TRUE(chain.isOk()) << chain.status().text();
    const auto& sparsifiers = chain.value().sparsifiers;
    const bool without =
        is_without(chain.value().value) || std::any_of(sparsifiers.begin(), sparsifiers.end(), is_without);
    const auto made = makeDeviceCodec(std::string(entry.example));
    EXPECT_EQ(made.isOk(), !without) << entry.example << ": " << made.status().text();
    EXPECT_TRUE(made.isOk() || made.status().kind() == GOSS_ERR_UNSUPPORTED) << entry.example;
  }
}

} // namespace
} // namespace goss::test
