#include "star/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
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

namespace {

/// The folder and those above it, from the top.
std::vector<std::string> up_to(const std::string& path) {
  fs::path whole;
  std::vector<std::string> all;
  for (const fs::path& part : fs::path(path)) {
    whole = whole.empty() ? part : whole / part;
    all.push_back(whole.string());
  }
  return all;
}

}  // namespace

result<void> run_folder::make(bool of_parts) {
  std::vector<std::string> wanted = up_to(path_);
  wanted.push_back(file("mesh"));
  wanted.push_back(file("checkpoint"));
  for (const char* whole : {"mesh", "checkpoint"})
    if (of_parts) wanted.push_back(file(whole) + "/parts");
  return make(wanted);
}

result<void> run_folder::make_alone() { return make(up_to(path_)); }

result<void> run_folder::make(const std::vector<std::string>& wanted) {
  std::error_code code;
  for (const std::string& p : wanted) {
    if (p.empty() || fs::is_directory(p, code)) continue;
    if (fs::create_directory(p, code)) made_.push_back(p);
    if (code) {
      const int number = code.value();
      unmake();
      return file_error("make the folder", p, number);
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

std::string run_folder::folder_of(int locality) const { return fmt::format("{}/localities/{}", path_, locality); }

namespace {

std::string mark_text(std::uint64_t mark) { return fmt::format(".{:x}.", mark); }

fs::path parts_folder(const fs::path& whole) { return whole.parent_path() / "parts"; }

/// f(path, name) for each file.
template <class F>
void for_each_file(const fs::path& folder, F&& f) {
  std::error_code code;
  std::vector<fs::path> all;  // removing while one looks is not defined
  for (const fs::directory_entry& e : fs::directory_iterator(folder, code))
    if (e.is_regular_file(code)) all.push_back(e.path());
  for (const fs::path& p : all) f(p, p.filename().string());
}

void drop_parts(const std::string& whole, std::string_view kept) {
  const std::string stem = fs::path(whole).stem().string();
  for_each_file(parts_folder(whole), [&](const fs::path& path, std::string_view name) {
    std::error_code code;
    if (!name.starts_with(stem + ".")) return;
    if (kept.empty() || !name.substr(stem.size()).starts_with(kept)) fs::remove(path, code);
  });
}

}  // namespace

std::string run_folder::part_of(const std::string& whole, std::uint64_t mark, int locality) {
  return fmt::format("parts/{}{}{}.h5", fs::path(whole).stem().string(), mark_text(mark), locality);
}

void run_folder::drop_other_parts(const std::string& whole, std::uint64_t mark) { drop_parts(whole, mark_text(mark)); }

void run_folder::drop_leftovers() const {
  for (const char* inside : {"mesh", "checkpoint"}) {
    const fs::path folder = fs::path(path_) / inside;
    std::vector<std::string> stems;
    const auto drop_unfinished = [](const fs::path& path, std::string_view name) {
      std::error_code code;
      if (name.ends_with(".part")) fs::remove(path, code);
    };
    for_each_file(folder, drop_unfinished);
    for_each_file(folder, [&](const fs::path& path, std::string_view) { stems.push_back(path.stem().string() + "."); });
    for_each_file(folder / "parts", drop_unfinished);
    for_each_file(folder / "parts", [&](const fs::path& path, std::string_view name) {
      std::error_code code;
      const auto has_whole = [&](const std::string& stem) { return name.starts_with(stem); };
      if (std::none_of(stems.begin(), stems.end(), has_whole)) fs::remove(path, code);
    });
  }
}

result<void> run_folder::sync_names(const std::string& file) {
  const std::string folder = fs::path(file).parent_path().string();
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return file_error("open", folder, errno);
  // A file system that cannot says EINVAL; it has done what it can.
  const int number = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  close(descriptor);
  return number == 0 ? result<void>() : file_error("write", folder, number);
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
  for (std::size_t i = 0; i + kept < all.size(); ++i) {
    fs::remove(all[i], code);
    drop_parts(all[i], "");
  }
}

}  // namespace plx::star
