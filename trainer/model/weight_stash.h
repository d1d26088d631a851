/// The versions of one stage's weights that a schedule without a flush still needs.
#ifndef GOSS_TRAINER_MODEL_WEIGHT_STASH_H_
#define GOSS_TRAINER_MODEL_WEIGHT_STASH_H_

#include <map>
#include <memory>
#include <vector>

#include "trainer/base/error.h"
#include "trainer/compute/buffer.h"
#include "trainer/model/stage_model.h"

namespace goss::trainer {

/// PipeDream's weight stashing (Narayanan et al. 2019), and with two versions that of PipeDream-2BW (Narayanan et al.
/// 2021). The model holds the newest version; an older version is copied before the update that would overwrite it, and
/// kept as long as the schedule uses it. One thread.
class WeightStash {
 public:
  /// `uses`[v]: how many actions compute with version v. The model's weights are version 0.
  WeightStash(StageModel& model, std::vector<int> uses, Ops& ops) : model_(model), uses_(std::move(uses)), ops_(ops) {}

  /// The argument of StageModel::use; valid until done(version) has been called as often as the version has uses.
  [[nodiscard]] const float* weights(int version) {
    if (version == newest_) return nullptr;
    const auto found = old_.find(version);
    if (found == old_.end()) fail("version {} of a stage's weights is gone", version);
    return found->second->data();
  }
  void done(int version) {
    if (--uses_[static_cast<std::size_t>(version)] > 0) return;
    if (auto node = old_.extract(version); !node.empty()) free_.push_back(std::move(node.mapped()));
  }
  /// Called before the model's weights become the next version.
  void advance() {
    if (uses_[static_cast<std::size_t>(newest_)] > 0) {
      if (free_.empty()) free_.push_back(std::make_unique<Buffer<float>>(ops_, model_.table().count()));
      ops_.copy(free_.back()->data(), model_.parameters(), model_.table().count());
      old_[newest_] = std::move(free_.back());
      free_.pop_back();
    }
    ++newest_;
  }

 private:
  StageModel& model_;
  std::vector<int> uses_;
  Ops& ops_;
  int newest_ = 0;
  std::map<int, std::unique_ptr<Buffer<float>>> old_;
  std::vector<std::unique_ptr<Buffer<float>>> free_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_WEIGHT_STASH_H_
