#include "trainer/files/checkpoint.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/files/checkpoint_parts.h"
#include "trainer/files/file_io.h"

namespace goss::trainer {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "step-";
constexpr const char* kUnfinished = "/unfinished"; // in the folder of a checkpoint until it has its index
constexpr const char* kScratch = "/.writing";      // where folders are made and emptied; version 3 wrote there, too
constexpr std::size_t kMaxNameBytes = 64;

/// Version 3 had checksums.json in the place of the index.
bool hasIndex(const std::string& folder) {
  return fs::exists(indexPath(folder)) || fs::exists(folder + "/checksums.json");
}

/// Names are ordered by step, then by the number behind the point: .9 before .10.
bool isNewer(const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) > 0; }

bool hasLaterStep(const std::string& a, const std::string& b) {
  return isNewer(a.substr(0, a.find('.')), b.substr(0, b.find('.')));
}

bool isUnfinished(const std::string& folder) { return fs::exists(folder + kUnfinished) && !hasIndex(folder); }

[[noreturn]] void failToWrite(std::size_t step, std::size_t rank, const char* reason) {
  fail("the checkpoint of step {} was not written by rank {}: {}; earlier checkpoints are untouched", step, rank,
       reason);
}

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

CheckpointStore::CheckpointStore(std::string directory, std::size_t keep, std::size_t rank)
    : directory_(std::move(directory)), keep_(keep), rank_(rank) {}

std::uint64_t CheckpointStore::disk() const {
  createDirectories(directory_);
  struct stat status {};
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (stat(directory_.c_str(), &status) != 0 || gethostname(host.data(), host.size()) != 0)
    fail("{}: {}", directory_, std::generic_category().message(errno));
  return XXH3_64bits_withSeed(host.data(), host.size(), status.st_dev) >> 11;
}

void CheckpointStore::prepare(std::size_t bytes) const {
  std::error_code error;
  createDirectories(directory_);
  if (rank_ == 0) removeUnfinished();
  const fs::space_info space = fs::space(directory_, error);
  const bool is_known = !error && space.capacity != 0 && space.capacity != static_cast<std::uintmax_t>(-1);
  if (is_known && space.available < bytes) {
    fail(
        "rank {}: a checkpoint needs {} bytes of the disk of {}, which has room for {}: free some, or give another "
        "--checkpoint directory",
        rank_, bytes, directory_, space.available);
  }
  const std::string probe = fmt::format("{}/.probe-{}", directory_, rank_);
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

std::string CheckpointStore::begin(std::size_t step) const try {
  removeUnfinished(); // of a run that another rank's failure ended
  std::string name = freshName(step);
  const std::string made = directory_ + kScratch;
  createDirectories(made);
  OutputFile(made + kUnfinished).commit();
  syncDirectory(made);
  renameTo(made, folder(name)); // so that the folder is never seen without its mark
  return name;
} catch (const std::exception& error) {
  failToWrite(step, rank_, error.what());
}

void CheckpointStore::writePart(const std::string& name, const CheckpointIndex& index,
                                const std::vector<Parameter>& tensors, const ReplicaState& own,
                                const std::vector<std::string>& names) {
  try {
    createDirectories(folder(name));
    trainer::writePart(folder(name), index, rank_, tensors, own);
    syncDirectory(directory_);            // before `latest` may name a new folder
  } catch (const std::exception& error) { // Error, or filesystem_error, which names the path and the reason as well
    removePart(folder(name), index, rank_);
    std::error_code ignored;
    fs::remove(folder(name), ignored); // only when empty: rank 0's has its mark, and other ranks may still write theirs
    failToWrite(index.step, rank_, error.what());
  }
  if (rank_ != 0) removeOwnBut(names);
}

void CheckpointStore::commit(const std::string& name, const CheckpointIndex& written) {
  CheckpointIndex index = written;
  std::erase_if(course_, [&](const std::string& earlier) { return !fs::exists(folder(earlier)); });
  index.before = course_;
  try {
    replaceFile(indexPath(folder(name)), toText(index));
    replaceFile(directory_ + "/latest", name + "\n");
  } catch (const std::exception& error) {
    std::error_code ignored;
    if (latest() != name) fs::remove(indexPath(folder(name)), ignored); // makes the checkpoint count as unfinished
    failToWrite(index.step, rank_, error.what());
  }
  std::error_code ignored;
  fs::remove(folder(name) + kUnfinished, ignored);
  course_.insert(course_.begin(), name);
  removeOld(index.step);
}

/// A name that no folder has. A run that went back to an earlier checkpoint finds folders of later steps; it overwrites
/// none of them, because `latest` may name one.
std::string CheckpointStore::freshName(std::size_t step) const {
  const std::string base = fmt::format("{}{:08}", kPrefix, step);
  std::string name = base;
  for (int n = 1; fs::exists(directory_ + "/" + name); ++n)
    name = fmt::format("{}.{}", base, n);
  return name;
}

std::vector<std::string> CheckpointStore::names() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_)) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with(kPrefix)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end(), isNewer); // the newest first
  return names;
}

std::vector<std::string> CheckpointStore::wholeNames() const {
  std::vector<std::string> names = this->names();
  std::erase_if(names, [&](const std::string& name) { return isUnfinished(folder(name)); });
  return names;
}

std::vector<std::string> CheckpointStore::courseOf(const std::string& name) const {
  std::vector<std::string> course = wholeNames();
  std::erase_if(course, [&](const std::string& other) { return !isNewer(name, other); });
  try {
    const std::string path = indexPath(folder(name));
    const std::optional<std::vector<std::string>> told = parseIndex(readText(path), path).before;
    if (told)
      std::erase_if(course,
                    [&](const std::string& n) { return std::find(told->begin(), told->end(), n) == told->end(); });
  } catch (const Error&) { // no course saves a step twice, so those of the same step are of others
    const auto before =
        std::find_if(course.begin(), course.end(), [&](const std::string& n) { return hasLaterStep(name, n); });
    if (before != course.end()) course = courseOf(*before);
  }
  course.insert(course.begin(), name);
  return course;
}

void CheckpointStore::requireNone() const {
  if (!fs::is_directory(directory_)) return;
  for (const std::string& name : names())
    if (!isUnfinished(folder(name)))
      fail(
          "{} has checkpoints of another run, such as {}: give --resume to go on from them, or another --checkpoint "
          "DIR",
          directory_, name);
}

std::optional<std::string> CheckpointStore::latest() const {
  const std::string path = directory_ + "/latest";
  if (!fs::exists(path)) return std::nullopt;
  return readName(path);
}

std::vector<std::string> CheckpointStore::candidates(std::vector<std::string>& damaged) const {
  if (!fs::is_directory(directory_)) return {};
  std::vector<std::string> names = wholeNames();
  const std::optional<std::string> latest = this->latest();
  if (!latest) return names; // the run was killed before it wrote the file for the first time
  if (std::find(names.begin(), names.end(), *latest) != names.end()) return courseOf(*latest);
  damaged.push_back(fmt::format("{}/latest is damaged: it names '{}', which is no checkpoint in that directory",
                                directory_, *latest));
  return names;
}

void CheckpointStore::use(const std::string& name) {
  course_ = courseOf(name);
  const std::vector<std::string> found = names();
  known_.insert(found.begin(), found.end());
}

/// Renames the folder before it removes the files, so that a crash leaves no folder that looks complete, or that has
/// parts but no mark.
void CheckpointStore::remove(const std::string& name) const {
  const std::string scratch = directory_ + kScratch;
  fs::remove_all(scratch);
  renameTo(folder(name), scratch);
  fs::remove_all(scratch);
}

void CheckpointStore::removeUnfinished() const {
  for (const std::string& name : names())
    if (isUnfinished(folder(name))) remove(name);
  fs::remove_all(directory_ + kScratch);
}

/// For ranks whose directory is not rank 0's: removes the rank's file of each checkpoint that rank 0 has removed, and
/// the folder when it held the last rank's file. Checkpoints that rank 0 never had stay: they are another run's, or
/// rank 0 has not written them yet.
void CheckpointStore::removeOwnBut(const std::vector<std::string>& names) {
  std::error_code ignored;
  for (const std::string& name : this->names()) {
    const bool is_gone = known_.contains(name) && std::find(names.begin(), names.end(), name) == names.end();
    if (!is_gone || hasIndex(folder(name))) continue;
    fs::remove(folder(name) + "/" + rankFile(rank_), ignored);
    bool is_last = true;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder(name), ignored))
      is_last = is_last && !entry.path().filename().string().starts_with("rank-");
    if (is_last) fs::remove_all(folder(name), ignored);
  }
  known_.insert(names.begin(), names.end());
}

void CheckpointStore::removeOld(std::size_t step) const try {
  std::vector<std::string> names = course_;
  for (const std::string& other : this->names())
    if (std::find(course_.begin(), course_.end(), other) == course_.end()) names.push_back(other);
  for (std::size_t i = keep_; i < names.size(); ++i)
    remove(names[i]);
} catch (const std::exception& error) {
  fail(
      "the checkpoint of step {} is whole, but older ones could not be removed: {}; remove them by hand and go on with "
      "--resume",
      step, error.what());
}

} // namespace goss::trainer
