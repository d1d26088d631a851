#include "compressors/powersgd/powersgd.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "compressors/powersgd/factors.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

void multiply(std::span<float> values, float by) {
  for (float& value : values) {
    value *= by;
  }
}

/// Runs vectors that factors do not make smaller: one sum of them as they are.
class PlainRun final : public CodecRun {
 public:
  explicit PlainRun(const RunJob& job) : job_(job) {}
  Result<CodecPhase> next() override {
    if (summed_) {
      multiply(job_.values, 1.0f / static_cast<float>(job_.ranks));
      return CodecPhase{};
    }
    summed_ = true;
    // a residual from an earlier operation is cleared, because nothing is lost from now on
    if (job_.residual != nullptr) {
      for (std::size_t i = 0; i < job_.values.size(); ++i) {
        job_.values[i] += job_.decay * job_.residual[i];
        job_.residual[i] = 0;
      }
    }
    return CodecPhase{PhaseWant::sum, job_.values};
  }

 private:
  const RunJob job_;
  bool summed_ = false;
};

/// Multiplications between two calls of next(), about ten milliseconds, so that other operations get their turn.
constexpr std::size_t kSliceWork = std::size_t{1} << 25;

/// How both forms begin and end, and how both cut long computations into slices.
class FactorRun : public CodecRun {
 protected:
  FactorRun(const PowerSgdSettings& settings, const RunJob& job)
      : averaged_feedback_(settings.averaged_feedback),
        job_(job),
        shape_{job.values.size() / job.columns, job.columns, settings.rank},
        slice_rows_(std::max<std::size_t>(1, kSliceWork / (shape_.columns * shape_.rank))) {
    if (job_.residual != nullptr) {
      for (std::size_t i = 0; i < job_.values.size(); ++i) {
        job_.values[i] += job_.decay * job_.residual[i];
      }
    }
  }

  /// A phase without values: next() is called again when other operations have had their turn.
  static CodecPhase again() { return CodecPhase{PhaseWant::sum}; }

  /// Works on the next rows; returns whether these were the last.
  template <typename Work>
  bool overRows(const Work& work) {
    const RowRange rows{done_, std::min(shape_.rows, done_ + slice_rows_)};
    work(rows);
    done_ = rows.end < shape_.rows ? rows.end : 0;
    return done_ == 0;
  }
  /// Orthonormalizes the next columns of a factor; returns whether these were the last.
  bool orthonormalizeMore(std::span<float> factor) {
    for (std::size_t work = 0; work < kSliceWork && done_ < shape_.rank; ++done_) {
      orthonormalize(factor, shape_.rank, done_);
      work += 2 * factor.size() / shape_.rank * (done_ + 1);
    }
    const bool last = done_ == shape_.rank;
    done_ = last ? 0 : done_;
    return last;
  }

  /// Draws the factor where it is all zero (the first operation) or not finite (after an overflow, which all ranks find
  /// in the same sums).
  void begin(std::span<float> factor) const {
    const bool zero = std::all_of(factor.begin(), factor.end(), [](float value) { return value == 0.0f; });
    if (zero || !std::all_of(factor.begin(), factor.end(), [](float value) { return std::isfinite(value); })) {
      fillShared(factor, job_.random.shared);
    }
  }
  /// `values` becomes the averaged product; the residual becomes the difference to it, or to this rank's own product.
  /// Returns whether these were the last rows.
  bool finishMore(const float* left, const float* right, const float* own_left, const float* own_right) {
    return overRows([&](RowRange rows) {
      if (job_.residual != nullptr) {
        const std::size_t first = rows.first * shape_.columns;
        const std::span<const float> values = job_.values.subspan(first, rows.end * shape_.columns - first);
        std::copy(values.begin(), values.end(), job_.residual + first);
        subtractProduct(shape_, rows, averaged_feedback_ ? left : own_left, averaged_feedback_ ? right : own_right,
                        job_.residual);
      }
      product(shape_, rows, left, right, job_.values.data());
    });
  }
  [[nodiscard]] float share() const { return 1.0f / static_cast<float>(job_.ranks); }

  const bool averaged_feedback_;
  const RunJob job_;
  const MatrixShape shape_;

 private:
  const std::size_t slice_rows_;
  std::size_t done_ = 0; ///< Rows or columns that are computed.
};

class TwoReductionRun final : public FactorRun {
 public:
  TwoReductionRun(const PowerSgdSettings& settings, const RunJob& job)
      : FactorRun(settings, job), left_(shape_.rows * shape_.rank), own_right_(shape_.columns * shape_.rank) {
    begin(job_.state);
  }

  Result<CodecPhase> next() override {
    const std::span<float> right = job_.state;
    const float* values = job_.values.data();
    switch (stage_) {
      case Stage::left:
        if (!overRows([&](RowRange rows) { timesRight(shape_, rows, values, right.data(), left_.data()); })) break;
        stage_ = Stage::basis;
        return CodecPhase{PhaseWant::sum, left_};
      case Stage::basis:
        if (!orthonormalizeMore(left_)) break;
        stage_ = Stage::right;
        [[fallthrough]];
      case Stage::right:
        if (!overRows([&](RowRange rows) {
              timesLeft(shape_, rows, values, left_.data(), own_right_.data(), right.data());
            })) {
          break;
        }
        std::copy(right.begin(), right.end(), own_right_.begin());
        stage_ = Stage::mean;
        return CodecPhase{PhaseWant::sum, right};
      case Stage::mean:
        multiply(right, share());
        stage_ = Stage::product;
        [[fallthrough]];
      case Stage::product:
        if (finishMore(left_.data(), right.data(), left_.data(), own_right_.data())) return CodecPhase{};
        break;
    }
    return again();
  }

 private:
  enum class Stage : std::uint8_t { left, basis, right, mean, product };

  Stage stage_ = Stage::left;
  std::vector<float> left_;      ///< P.
  std::vector<float> own_right_; ///< Q before it is summed.
};

/// state: the side of the kept factor (0: columns), then the factor, in space for the longer side.
class OneReductionRun final : public FactorRun {
 public:
  OneReductionRun(const PowerSgdSettings& settings, const RunJob& job)
      : FactorRun(settings, job),
        of_rows_(job.state[0] != 0),
        in_((of_rows_ ? shape_.rows : shape_.columns) * shape_.rank),
        out_((of_rows_ ? shape_.columns : shape_.rows) * shape_.rank),
        own_(out_.size()) {
    const std::span<float> kept = job_.state.subspan(1, in_.size());
    begin(kept);
    std::copy(kept.begin(), kept.end(), in_.begin());
  }

  Result<CodecPhase> next() override {
    switch (stage_) {
      case Stage::basis:
        if (!orthonormalizeMore(in_)) break;
        stage_ = Stage::out;
        [[fallthrough]];
      case Stage::out:
        if (!overRows([&](RowRange rows) { multiplyRows(rows); })) break;
        std::copy(out_.begin(), out_.end(), own_.begin());
        stage_ = Stage::mean;
        return CodecPhase{PhaseWant::sum, out_};
      case Stage::mean:
        multiply(out_, share());
        stage_ = Stage::product;
        [[fallthrough]];
      case Stage::product:
        if (of_rows_ ? !finishMore(in_.data(), out_.data(), in_.data(), own_.data())
                     : !finishMore(out_.data(), in_.data(), own_.data(), in_.data())) {
          break;
        }
        std::copy(out_.begin(), out_.end(), job_.state.begin() + 1);
        job_.state[0] = of_rows_ ? 0.0f : 1.0f;
        return CodecPhase{};
    }
    return again();
  }

 private:
  enum class Stage : std::uint8_t { basis, out, mean, product };

  void multiplyRows(RowRange rows) {
    if (of_rows_) {
      timesLeft(shape_, rows, job_.values.data(), in_.data(), own_.data(), out_.data());
    } else {
      timesRight(shape_, rows, job_.values.data(), in_.data(), out_.data());
    }
  }

  Stage stage_ = Stage::basis;
  const bool of_rows_;
  std::vector<float> in_, out_, own_;
};

} // namespace

std::string PowerSgdCodec::spec() const {
  const std::string columns = settings_.columns != 0 ? fmt::format(",columns={}", settings_.columns) : "";
  return fmt::format("powersgd:rank={},reductions={},feedback={}{}", settings_.rank, settings_.one_reduction ? 1 : 2,
                     settings_.averaged_feedback ? "averaged" : "local", columns);
}

CodecTraits PowerSgdCodec::traits() const {
  CodecTraits traits;
  traits.needs_shape = true;
  traits.columns = settings_.columns;
  traits.multi_phase = true;
  traits.shared_random = true;
  traits.block = 0;
  return traits;
}

std::size_t PowerSgdCodec::stateFloats(std::size_t count, std::size_t columns) const {
  if (!factorsPay(count, columns, settings_.rank)) {
    return 0;
  }
  const std::size_t rows = count / columns;
  return settings_.one_reduction ? 1 + std::max(rows, columns) * settings_.rank : columns * settings_.rank;
}

Result<std::unique_ptr<CodecRun>> PowerSgdCodec::start(const RunJob& job) const {
  const std::size_t count = job.values.size();
  if (job.columns != 0 && count % job.columns != 0) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}': {} elements are no matrix of {} columns",
                                                                spec(), count, job.columns));
  }
  if (job.ranks < 1 || job.state.size() != stateFloats(count, job.columns)) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("codec '{}': state of {} elements; stateFloats() asks for {}", spec(),
                                     job.state.size(), stateFloats(count, job.columns)));
  }
  std::unique_ptr<CodecRun> run;
  if (!factorsPay(count, job.columns, settings_.rank)) {
    run = std::make_unique<PlainRun>(job);
  } else if (settings_.one_reduction) {
    run = std::make_unique<OneReductionRun>(settings_, job);
  } else {
    run = std::make_unique<TwoReductionRun>(settings_, job);
  }
  return run;
}

namespace {

ValueCodec read(StageReader& reader) {
  PowerSgdSettings settings;
  settings.rank = reader.integer("rank", 4, {1, 256});
  settings.one_reduction = reader.choice("reductions", {"2", "1"}) == 1;
  settings.averaged_feedback = reader.choice("feedback", {"averaged", "local"}) == 0;
  settings.columns = static_cast<std::uint32_t>(reader.integer("columns", 0, {0, 1u << 30}));
  return {[settings](const Loops&) { return std::make_shared<PowerSgdCodec>(settings); }, settings};
}

} // namespace

std::span<const ValueStage> powerSgdStages() {
  static const std::array kStages = {
      ValueStage{"powersgd",
                 {"4 rank (rows + columns)/segment",
                  "the product of two thin factors of a matrix, which phases sum (or one, the sides taking turns); the "
                  "matrix has `columns` columns or is nearly square",
                  "Vogels 2019", "none: its phases sum float32 vectors"},
                 {"powersgd:rank=4,reductions=2,feedback=averaged", "powersgd:rank=4,reductions=1,feedback=local"},
                 read},
  };
  return kStages;
}

} // namespace goss::compressors
