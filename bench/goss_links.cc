/// goss-links: measures the links between ranks, shows them, and writes the link file that GOSS_LINKS names.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/links/link_map.h"
#include "gossamer/gossamer.h"
#include "gossamer/links.h"
#include "tools/commandline/command_line.h"

namespace {

using goss::bench::LinkMap;

struct Settings {
  std::string output = "gossamer-links";
  std::string svg;
};

void check(goss_status status, const char* what) {
  if (status != GOSS_SUCCESS) throw std::runtime_error(fmt::format("{}: {}", what, goss_last_error()));
}

/// Says once a second what goes on.
class Progress {
 public:
  explicit Progress(std::string doing) : doing_(std::move(doing)), thread_([this] { run(); }) {}
  ~Progress() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (int seconds = 1; !changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; }); ++seconds)
      fmt::print(stderr, "goss-links: {} s: {}\n", seconds, doing_);
  }

  const std::string doing_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_; ///< Last: it uses the others.
};

/// A communicator of all ranks, as the launcher says.
class World {
 public:
  World() {
    goss_config config;
    check(goss_config_init(&config), "goss_config_init");
    config.measure = "off"; // It measures itself.
    check(goss_comm_create(&config, &comm_), "meeting the other ranks");
    check(goss_comm_rank(comm_, &rank_), "goss_comm_rank");
    check(goss_comm_size(comm_, &size_), "goss_comm_size");
  }
  ~World() { goss_comm_destroy(comm_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Collective: the names of the ranks' hosts.
  std::vector<std::string> hosts() {
    std::array<char, 64> own{};
    ::gethostname(own.data(), own.size() - 1);
    std::vector<char> all(own.size() * static_cast<std::size_t>(size_));
    check(goss_all_gather(comm_, own.data(), all.data(), own.size(), GOSS_UINT8, nullptr, nullptr), "gathering names");
    std::vector<std::string> names;
    for (std::size_t at = 0; at < all.size(); at += own.size())
      names.emplace_back(&all[at], ::strnlen(&all[at], own.size()));
    return names;
  }

  /// Collective: the link file.
  std::string measure() {
    char* text = nullptr;
    check(goss_comm_measure_links(comm_, nullptr, &text), "measuring");
    std::string links = text;
    goss_free(text);
    return links;
  }

 private:
  goss_comm_t comm_ = nullptr;
  std::int32_t rank_ = 0;
  std::int32_t size_ = 0;
};

/// Replaces the file atomically: a reader sees the old or the new one.
void write(const std::string& path, const std::string& text) {
  const std::string beside = fmt::format("{}.{}", path, ::getpid());
  std::ofstream file(beside);
  file << text;
  file.close();
  std::error_code failed;
  if (file) std::filesystem::rename(beside, path, failed);
  if (file && !failed) return;
  std::filesystem::remove(beside, failed);
  throw std::runtime_error(fmt::format("cannot write {}", path));
}

/// A file that is no link file is somebody else's.
void checkOutput(const std::string& path) {
  std::string first;
  std::ifstream file(path);
  if (file && std::getline(file, first) && !first.starts_with("gossamer-links "))
    throw std::runtime_error(fmt::format("{} is there and is no link file; name another with -o", path));
}

void run(const Settings& settings) {
  checkOutput(settings.output);
  World world;
  if (world.size() < 2) throw std::runtime_error("one rank has no links; start goss-links with mpirun, on each host");
  const std::vector<std::string> hosts = world.hosts();
  std::string text;
  {
    std::unique_ptr<Progress> progress;
    if (world.rank() == 0)
      progress = std::make_unique<Progress>(
          fmt::format("measuring {} ranks; usual are 2 to 15 s, more over very slow lines", world.size()));
    text = world.measure();
  }
  if (world.rank() != 0) return;
  const LinkMap map(text, hosts);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    text += fmt::format("# Rank {} was on {}.\n", rank, hosts[rank]);
  write(settings.output, text);
  if (!settings.svg.empty()) write(settings.svg, map.svg());
  fmt::print("{}GOSS_LINKS={} lets the same ranks plan by this.\n", map.table(), settings.output);
}

} // namespace

int main(int argc, char** argv) {
  goss::CommandLine line{
      "Measures round trip and rate of all links between the ranks that run it, prints them as a matrix, and writes "
      "the\n"
      "link file that GOSS_LINKS names. Start it with mpirun or another launcher as the program that will use the "
      "file:\n"
      "the same hosts, numbers of ranks and settings, such as GOSS_TLS."};
  Settings settings;
  line.option("-o,--output", settings.output, "The link file, which rank 0 writes").showDefault();
  line.option("--svg", settings.svg, "Draws the links to this file too");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    run(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-links: {}\n", error.what());
    return 1;
  }
  return 0;
}
