#include "star/output/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"

namespace plx::star {

namespace fs = std::filesystem;

result<void> run_folder::check_free(const std::string& path) {
  if (const auto holder = folder_lock::holder_of(path))
    return error{fmt::format("the output folder '{}' is in use by process {}; name another with --out", path, *holder)};
  return check_empty(path);
}

result<void> run_folder::check_empty(const std::string& path) {
  std::error_code code;
  const fs::file_status s = fs::status(path, code);
  if (s.type() == fs::file_type::not_found) return {};
  if (code) return file_error("access", path, code.value());
  if (!fs::is_directory(s))
    return error{fmt::format("the output folder '{}' is a file; name another with --out", path)};
  // Ignored: the lock file of a run that ended before its first file, and what the runtime writes before the run takes
  // the folder: the URL of the live page, and the trace of --plx:trace with what was measured.
  constexpr std::array<std::string_view, 4> ignored{folder_lock::name, "live.url", "trace.plxt", "measurement.json"};
  bool empty = true;
  for (const fs::directory_entry& e : fs::directory_iterator(path, code))
    empty = empty && std::ranges::find(ignored, e.path().filename().string()) != ignored.end();
  if (code) return file_error("list", path, code.value());
  if (auto r = check_program_of(path, "plx-star"); !r) return r;
  if (empty) return {};
  const bool was_run = fs::exists(path + "/config.toml", code);
  const std::string other = !was_run ? ""
                            : run_folder(path).checkpoints().empty()
                                ? ", or remove it: the run in it has ended before its first checkpoint"
                                : fmt::format(", or continue the run in it: --resume {}", path);
  return error{fmt::format("the output folder '{}' exists and is not empty; name another with --out{}", path, other)};
}

namespace {

/// The folder and those above it, from the root of the file system.
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

result<void> run_folder::lock(bool must_be_free) {
  if (lock_.is_held()) return {};
  if (auto r = make(up_to(path_)); !r) return r;
  if (auto r = lock_.take(path_); !r) {
    made_.clear();  // another process may have found the folder and be using it
    return r;
  }
  return must_be_free ? check_empty(path_) : result<void>();
}

result<void> run_folder::make(bool of_parts, bool has_series) {
  std::vector<std::string> wanted{file("mesh"), file("checkpoint")};
  if (has_series) wanted.push_back(file("series"));
  for (std::size_t i = 0, wholes = wanted.size(); of_parts && i < wholes; ++i) wanted.push_back(wanted[i] + "/parts");
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
  lock_.release();
  std::error_code code;
  for (std::size_t i = made_.size(); i-- > 0;) fs::remove_all(made_[i], code);
  made_.clear();
}

std::string run_folder::mesh_file(const std::string& problem, std::int64_t number) const {
  return fmt::format("{}/mesh/{}.{:05d}.athdf", path_, problem, number);
}

std::string run_folder::series_file(const std::string& name, std::int64_t number, const char* ending) const {
  return fmt::format("{}/series/{}.{:05d}{}", path_, name, number, ending);
}

std::string run_folder::checkpoint_file(const std::string& problem, std::int64_t step) const {
  return fmt::format("{}/checkpoint/{}.{:08d}.h5", path_, problem, step);
}

std::string run_folder::folder_of(int locality) const { return fmt::format("{}/localities/{}", path_, locality); }

namespace {

std::string mark_text(std::uint64_t mark) { return fmt::format(".{:x}.", mark); }

fs::path parts_folder(const fs::path& whole) { return whole.parent_path() / "parts"; }

/// Calls f(path, name) for each file.
template <class F>
void for_each_file(const fs::path& folder, F&& f) {
  std::error_code code;
  std::vector<fs::path> all;  // removing files during the iteration is unspecified
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
  for (const char* inside : {"mesh", "checkpoint", "series"}) {
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
  // A file system without this operation returns EINVAL, which is not an error.
  const int number = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  close(descriptor);
  return number == 0 ? result<void>() : file_error("write", folder, number);
}

namespace {

/// The number in "<anything>.<number><ending>"; none for another name.
std::optional<std::int64_t> number_in(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return std::nullopt;
  name.remove_suffix(ending.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(dot + 1);
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc() || end != digits.data() + digits.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

namespace {

// Compared as numbers: a step past 99,999,999 has more digits than the names of those before.
std::vector<std::pair<std::int64_t, std::string>> checkpoints_in(const std::string& run) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for_each_file(run + "/checkpoint", [&](const fs::path& path, std::string_view name) {
    if (const auto step = number_in(name, ".h5")) found.emplace_back(*step, path.string());
  });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> run_folder::checkpoints() const {
  auto found = checkpoints_in(path_);
  std::vector<std::string> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::vector<std::string> run_folder::analysis_tables() const {
  std::vector<std::string> names;
  for_each_file(path_, [&](const fs::path&, std::string_view name) {
    if (name.starts_with("analysis_") && name.ends_with(".csv")) names.emplace_back(name);
  });
  return names;
}

void run_folder::drop_checkpoints_after(std::int64_t step) const {
  for_each_file(path_ + "/checkpoint", [&](const fs::path& path, std::string_view name) {
    std::error_code code;
    if (const auto of = number_in(name, ".h5"); of && *of > step) fs::remove(path, code);
  });
}

void run_folder::drop_mesh_files(const std::string& problem, std::int64_t first, const std::string& kept) const {
  const std::string kept_stem = fs::path(kept).stem().string();
  for_each_file(path_ + "/mesh", [&](const fs::path& path, std::string_view name) {
    auto number = number_in(name, ".athdf");
    if (!number) number = number_in(name, ".xdmf");
    if (!number || *number < first || !name.starts_with(problem + ".") || path.stem() == kept_stem) return;
    std::error_code code;
    fs::remove(path, code);
  });
}

void run_folder::drop_series_files(const std::string& name, std::int64_t first) const {
  for_each_file(path_ + "/series", [&](const fs::path& path, std::string_view file) {
    std::error_code code;
    if (!file.starts_with(name + ".")) return;
    for (const char* ending : {".h5", ".csv", ".athdf", ".xdmf"})
      if (const auto number = number_in(file, ending); number && *number >= first) fs::remove(path, code);
  });
}

void run_folder::prune_checkpoints(std::size_t kept, std::int64_t good_step) const {
  const auto all = checkpoints_in(path_);
  const auto good = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const auto& c) { return c.first <= good_step; }));
  std::error_code code;
  for (std::size_t i = 0; i + kept < all.size(); ++i) {
    if (i < good && i + kept >= good) continue;
    fs::remove(all[i].second, code);
    drop_parts(all[i].second, "");
  }
}

}  // namespace plx::star
