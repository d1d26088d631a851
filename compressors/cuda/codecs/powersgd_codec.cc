#include "compressors/cuda/codecs/powersgd_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "compressors/cuda/device/vector_codec.h"
#include "compressors/cuda/kernels/factor_jobs.h"
#include "compressors/cuda/kernels/scale_jobs.h"
#include "compressors/cuda/kernels/sparse_jobs.h"

namespace goss::compressors::cuda {

namespace {

constexpr std::size_t kFlagBytes = 64;

/// to = from * factor; `to` may be `from`.
int multiplied(std::span<const float> from, float factor, float* to, Stream stream) {
  return launchPrepare({from.data(), nullptr, nullptr, to, 1, factor, from.size()}, stream);
}

/// How all forms begin: values = values + decay * residual.
int withResidual(const RunJob& job, Stream stream) {
  if (job.residual == nullptr) {
    return 0;
  }
  return launchPrepare({job.values.data(), nullptr, job.residual, job.values.data(), job.decay, 1, job.values.size()},
                       stream);
}

/// Runs vectors that factors do not make smaller: one sum of them as they are.
class PlainDeviceRun final : public DeviceRun {
 public:
  PlainDeviceRun(const Codec& codec, const RunJob& job) : codec_(codec), job_(job) {}
  Result<CodecPhase> next(Stream stream) override {
    Launches launches(codec_);
    if (summed_) {
      const float share = 1.0f / static_cast<float>(job_.ranks);
      launches([&] { return multiplied(job_.values, share, job_.values.data(), stream); });
      return finished(launches.status(), CodecPhase{});
    }
    summed_ = true;
    launches([&] { return withResidual(job_, stream); });
    if (job_.residual != nullptr) {
      launches([&] { return launchClear({job_.residual, nullptr, job_.values.size()}, stream); });
    }
    return finished(launches.status(), CodecPhase{PhaseWant::sum, job_.values});
  }

 private:
  static Result<CodecPhase> finished(const Status& status, const CodecPhase& phase) {
    return status.isOk() ? Result<CodecPhase>(phase) : Result<CodecPhase>(status);
  }

  const Codec& codec_;
  const RunJob job_;
  bool summed_ = false;
};

/// What both forms of factors share. Scratch: flags, sums of slabs, and three factors of either side.
class FactorDeviceRun : public DeviceRun {
 public:
  static std::size_t scratchBytes(const MatrixShape& shape) {
    const std::size_t slabs = std::max(timesSize(shape, false) * factorSlabs(shape, false),
                                       timesSize(shape, true) * factorSlabs(shape, true));
    return kFlagBytes + floatBytes(slabs) + 3 * floatBytes(longer(shape));
  }

 protected:
  FactorDeviceRun(const Codec& codec, const PowerSgdSettings& settings, const DeviceRunJob& job)
      : codec_(codec),
        averaged_feedback_(settings.averaged_feedback),
        job_(job.run),
        shape_{job.run.values.size() / job.run.columns, job.run.columns, settings.rank},
        scratch_(job.scratch) {}

  /// Elements of a factor of the longer side.
  static std::size_t longer(const MatrixShape& shape) { return std::max(shape.rows, shape.columns) * shape.rank; }
  [[nodiscard]] std::span<float> factor(std::size_t which, bool of_rows) const {
    std::byte* end = scratch_.data() + scratchBytes(shape_);
    auto* first = reinterpret_cast<float*>(end - (which + 1) * floatBytes(longer(shape_)));
    return {first, (of_rows ? shape_.rows : shape_.columns) * shape_.rank};
  }

  int draw(std::span<float> kept, Stream stream) const {
    auto* flags = reinterpret_cast<std::uint32_t*>(scratch_.data());
    return launchDraw({kept.data(), kept.size(), job_.random.shared.key(), flags}, stream);
  }
  int times(bool transposed, const float* by, float* out, Stream stream) const {
    auto* slabs = reinterpret_cast<float*>(scratch_.data() + kFlagBytes);
    return launchTimes({shape_, transposed, job_.values.data(), by, slabs, out}, stream);
  }
  int finish(const float* left, const float* right, const float* own_left, const float* own_right,
             Stream stream) const {
    ProductJob product{shape_, left, right, left, right, job_.values.data(), job_.residual};
    if (!averaged_feedback_) {
      product.own_left = own_left;
      product.own_right = own_right;
    }
    return launchProduct(product, stream);
  }
  [[nodiscard]] float share() const { return 1.0f / static_cast<float>(job_.ranks); }
  [[nodiscard]] Result<CodecPhase> answer(const Launches& launches, const CodecPhase& phase) const {
    const Status status = launches.status();
    return status.isOk() ? Result<CodecPhase>(phase) : Result<CodecPhase>(status);
  }

  const Codec& codec_;
  const bool averaged_feedback_;
  const RunJob job_;
  const MatrixShape shape_;
  const std::span<std::byte> scratch_;
};

class TwoReductionDeviceRun final : public FactorDeviceRun {
 public:
  TwoReductionDeviceRun(const Codec& codec, const PowerSgdSettings& settings, const DeviceRunJob& job)
      : FactorDeviceRun(codec, settings, job), left_(factor(0, true)), own_right_(factor(1, false)) {}

  Result<CodecPhase> next(Stream stream) override {
    const std::span<float> right = job_.state;
    Launches launches(codec_);
    switch (phase_++) {
      case 0:
        launches([&] { return withResidual(job_, stream); });
        launches([&] { return draw(right, stream); });
        launches([&] { return times(false, right.data(), left_.data(), stream); });
        return answer(launches, CodecPhase{PhaseWant::sum, left_});
      case 1:
        launches([&] { return launchOrthonormalize({left_.data(), shape_.rows, shape_.rank}, stream); });
        launches([&] { return times(true, left_.data(), right.data(), stream); });
        launches([&] { return multiplied(right, 1, own_right_.data(), stream); });
        return answer(launches, CodecPhase{PhaseWant::sum, right});
      default:
        launches([&] { return multiplied(right, share(), right.data(), stream); });
        launches([&] { return finish(left_.data(), right.data(), left_.data(), own_right_.data(), stream); });
        return answer(launches, CodecPhase{});
    }
  }

 private:
  int phase_ = 0;
  const std::span<float> left_, own_right_;
};

/// The state's first number says which side comes next, for a host that reads the state.
class OneReductionDeviceRun final : public FactorDeviceRun {
 public:
  OneReductionDeviceRun(const Codec& codec, const PowerSgdSettings& settings, const DeviceRunJob& job)
      : FactorDeviceRun(codec, settings, job),
        of_rows_(job.operation % 2 != 0),
        in_(factor(0, of_rows_)),
        out_(factor(1, !of_rows_)),
        own_(factor(2, !of_rows_)) {}

  Result<CodecPhase> next(Stream stream) override {
    Launches launches(codec_);
    if (!summed_) {
      summed_ = true;
      const std::span<float> kept = job_.state.subspan(1, in_.size());
      launches([&] { return withResidual(job_, stream); });
      launches([&] { return draw(kept, stream); });
      launches([&] { return multiplied(kept, 1, in_.data(), stream); });
      launches([&] {
        return launchOrthonormalize({in_.data(), of_rows_ ? shape_.rows : shape_.columns, shape_.rank}, stream);
      });
      launches([&] { return times(of_rows_, in_.data(), out_.data(), stream); });
      launches([&] { return multiplied(out_, 1, own_.data(), stream); });
      return answer(launches, CodecPhase{PhaseWant::sum, out_});
    }
    launches([&] { return multiplied(out_, share(), out_.data(), stream); });
    launches([&] {
      return of_rows_ ? finish(in_.data(), out_.data(), in_.data(), own_.data(), stream)
                      : finish(out_.data(), in_.data(), own_.data(), in_.data(), stream);
    });
    launches([&] { return multiplied(out_, 1, job_.state.data() + 1, stream); });
    launches([&] { return launchFill(job_.state.data(), of_rows_ ? 0.0f : 1.0f, 1, stream); });
    return answer(launches, CodecPhase{});
  }

 private:
  bool summed_ = false;
  const bool of_rows_;
  const std::span<float> in_, out_, own_;
};

} // namespace

std::size_t PowerSgdDeviceCodec::runScratchBytes(std::size_t count, std::size_t columns) const {
  return factorsPay(count, columns, settings_.rank)
             ? FactorDeviceRun::scratchBytes({count / columns, columns, settings_.rank})
             : 0;
}

Result<std::unique_ptr<DeviceRun>> PowerSgdDeviceCodec::start(const DeviceRunJob& job) const {
  const std::size_t count = job.run.values.size(), columns = job.run.columns;
  if (columns != 0 && count % columns != 0) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}': {} elements are no matrix of {} columns",
                                                                host_->spec(), count, columns));
  }
  if (job.run.ranks < 1 || job.run.state.size() != host_->stateFloats(count, columns) ||
      job.scratch.size() < runScratchBytes(count, columns)) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("codec '{}' on a device: state of {} elements and {} bytes of scratch; "
                                     "stateFloats() asks for {}, runScratchBytes() for {}",
                                     host_->spec(), job.run.state.size(), job.scratch.size(),
                                     host_->stateFloats(count, columns), runScratchBytes(count, columns)));
  }
  std::unique_ptr<DeviceRun> run;
  if (!factorsPay(count, columns, settings_.rank)) {
    run = std::make_unique<PlainDeviceRun>(*host_, job.run);
  } else if (settings_.one_reduction) {
    run = std::make_unique<OneReductionDeviceRun>(*host_, settings_, job);
  } else {
    run = std::make_unique<TwoReductionDeviceRun>(*host_, settings_, job);
  }
  return run;
}

} // namespace goss::compressors::cuda
