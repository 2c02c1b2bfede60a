#include "star/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/file.hpp"

namespace plx::star {

namespace fs = std::filesystem;

result<void> run_folder::check_free(const std::string& path) {
  std::error_code code;
  const fs::file_status s = fs::status(path, code);
  if (s.type() == fs::file_type::not_found) return {};
  if (code) return file_error("look at", path, code.value());
  if (!fs::is_directory(s))
    return error{fmt::format("the output folder '{}' is a file; name another with --out", path)};
  const bool empty = fs::is_empty(path, code);
  if (code) return file_error("look into", path, code.value());
  if (!empty)
    return error{
        fmt::format("the output folder '{}' exists and is not empty; name another with --out, or go on with "
                    "the run in it: --resume {}",
                    path, path)};
  return {};
}

result<void> run_folder::make() {
  std::error_code code;
  fs::path whole;
  std::vector<fs::path> wanted;
  for (const fs::path& part : fs::path(path_)) {
    whole = whole.empty() ? part : whole / part;
    wanted.push_back(whole);
  }
  wanted.push_back(fs::path(path_) / "mesh");
  wanted.push_back(fs::path(path_) / "checkpoint");
  for (const fs::path& p : wanted) {
    if (p.empty() || fs::is_directory(p, code)) continue;
    if (fs::create_directory(p, code)) made_.push_back(p.string());
    if (code) {
      const int number = code.value();
      unmake();
      return file_error("make the folder", p.string(), number);
    }
  }
  return {};
}

void run_folder::unmake() {
  std::error_code code;
  for (std::size_t i = made_.size(); i-- > 0;) fs::remove_all(made_[i], code);
  made_.clear();
}

std::string run_folder::mesh_file(const std::string& problem, std::int64_t number) const {
  return fmt::format("{}/mesh/{}.{:05d}.athdf", path_, problem, number);
}

std::string run_folder::checkpoint_file(const std::string& problem, std::int64_t step) const {
  return fmt::format("{}/checkpoint/{}.{:08d}.h5", path_, problem, step);
}

std::vector<std::string> run_folder::checkpoints() const {
  std::vector<std::string> found;
  std::error_code code;
  for (const fs::directory_entry& e : fs::directory_iterator(path_ + "/checkpoint", code))
    if (e.path().extension() == ".h5") found.push_back(e.path().string());
  // Names end in the step, all of the same length.
  std::sort(found.begin(), found.end());
  return found;
}

void run_folder::prune_checkpoints(std::size_t kept) const {
  const std::vector<std::string> all = checkpoints();
  std::error_code code;
  for (std::size_t i = 0; i + kept < all.size(); ++i) fs::remove(all[i], code);
}

}  // namespace plx::star
