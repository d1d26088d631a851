#include "trainer/files/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/files/file_io.h"

namespace goss::trainer {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "step-";
constexpr const char* kTemporary = ".writing";
constexpr std::size_t kMaxNameBytes = 64;

/// The checkpoint was written, but older ones could not be removed.
class OldCheckpoints : public Error {
 public:
  using Error::Error;
};

/// Creates the missing directories of `path` and syncs them to the disk.
void createDirectories(const fs::path& path) {
  std::vector<fs::path> missing;
  for (fs::path at = fs::absolute(path).lexically_normal(); !at.empty() && !fs::exists(at); at = at.parent_path())
    missing.push_back(at);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail("cannot create the checkpoint directory {}: {}", path.string(), error.message());
  for (const fs::path& made : missing)
    syncDirectory(made.parent_path().string());
}

std::string readName(const std::string& path) {
  const InputFile file(path);
  std::string name(std::min(file.size(), kMaxNameBytes), '\0');
  file.read(0, name.data(), name.size());
  while (!name.empty() && name.back() == '\n')
    name.pop_back();
  return name;
}

} // namespace

CheckpointStore::CheckpointStore(std::string directory, std::size_t keep)
    : directory_(std::move(directory)), keep_(keep) {}

void CheckpointStore::prepare(std::size_t bytes) const {
  std::error_code error;
  createDirectories(directory_);
  const fs::space_info space = fs::space(directory_, error);
  const bool is_known = !error && space.capacity != 0 && space.capacity != static_cast<std::uintmax_t>(-1);
  if (is_known && space.available < bytes) {
    fail("a checkpoint needs {} bytes, but {} has room for {}: free some, or give another --checkpoint directory",
         bytes, directory_, space.available);
  }
  const std::string probe = directory_ + "/.probe";
  try {
    OutputFile file(probe);
    file.write("probe", 5); // an empty file would fit on a full disk
    file.commit();
  } catch (const Error&) {
    fs::remove(probe, error);
    throw;
  }
  fs::remove(probe, error);
}

void CheckpointStore::save(const ModelConfig& config, const ParameterTable& table, const TrainingState& state) {
  const std::string temporary = directory_ + "/" + kTemporary;
  std::error_code ignored;
  try {
    fs::remove_all(temporary); // removes what a crash may have left
    fs::create_directory(temporary);
    writeCheckpointFiles(temporary, config, table, state);
    syncDirectory(temporary);
    const std::string name = freshName(state.step);
    passed_over_.erase(name); // a damaged checkpoint that is gone may have had this name
    fs::rename(temporary, directory_ + "/" + name);
    syncDirectory(directory_); // before `latest` may name the new folder
    replaceFile(directory_ + "/latest", name + "\n");
    removeOld(name, state.step);
  } catch (const OldCheckpoints&) {
    throw;
  } catch (const std::exception& error) { // Error, or filesystem_error, which names the path and the reason as well
    fs::remove_all(temporary, ignored);
    fail("the checkpoint of step {} was not written: {}; earlier checkpoints are untouched", state.step, error.what());
  }
}

/// A run that went back to an earlier checkpoint finds names that exist; those are never overwritten, because `latest`
/// may name them.
std::string CheckpointStore::freshName(std::size_t step) const {
  const std::string base = fmt::format("{}{:08}", kPrefix, step);
  std::string name = base;
  for (int n = 1; fs::exists(directory_ + "/" + name); ++n)
    name = fmt::format("{}.{}", base, n);
  return name;
}

/// Sorted by name, which is by step.
std::vector<std::string> CheckpointStore::namesNewestFirst() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_)) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with(kPrefix)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

/// The checkpoints to try, in this order. A `latest` that names nothing counts as a damaged file.
std::vector<std::string> CheckpointStore::candidates(std::vector<std::string>& damaged) const {
  if (!fs::is_directory(directory_)) return {};
  std::vector<std::string> names = namesNewestFirst();
  const std::string path = directory_ + "/latest";
  if (!fs::exists(path)) return names; // a crash came before the file was written for the first time
  const std::string latest = readName(path);
  const auto found = std::find(names.begin(), names.end(), latest);
  if (found == names.end()) {
    damaged.push_back(
        fmt::format("{} is damaged: it names '{}', which is no checkpoint in that directory", path, latest));
  } else {
    names.erase(names.begin(), found); // newer checkpoints belong to a course of training that the user left
  }
  return names;
}

std::optional<LoadedCheckpoint> CheckpointStore::loadLatest(const ModelConfig& config, const ParameterTable& table) {
  LoadedCheckpoint loaded;
  for (const std::string& name : candidates(loaded.damaged)) {
    try {
      loaded.state = readCheckpointFiles(directory_ + "/" + name, config, table);
      for (const std::string& newer : namesNewestFirst()) {
        if (newer == name) break;
        passed_over_.insert(newer); // damaged, or of a course that was left
      }
      return loaded;
    } catch (const Refusal&) {
      throw;
    } catch (const Error& error) {
      loaded.damaged.emplace_back(error.what());
    }
  }
  if (loaded.damaged.empty()) return std::nullopt;
  fail("{}; there is no earlier checkpoint that is whole", loaded.damaged.front());
}

void CheckpointStore::removeOld(const std::string& latest, std::size_t step) const try {
  std::vector<std::string> names = namesNewestFirst();
  std::erase(names, latest); // the latest stays whatever its name is
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string& n) { return n < latest && !passed_over_.contains(n); });
  for (std::size_t i = keep_ - 1; i < names.size(); ++i)
    fs::remove_all(directory_ + "/" + names[i]);
} catch (const fs::filesystem_error& error) {
  throw OldCheckpoints(
      fmt::format("the checkpoint of step {} is whole, but older ones could not be removed: {}; remove "
                  "them by hand and go on with --resume",
                  step, error.what()));
}

} // namespace goss::trainer
