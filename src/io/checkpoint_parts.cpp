#include "io/checkpoint_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace plx {
namespace {

// Removes digits at the beginning; false: none.
bool skip_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

// Whether it is a name of checkpoint_part_file(), and not a copy by a user.
bool is_part(std::string_view name) {
  constexpr std::string_view begin = "checkpoint-";
  if (!name.starts_with(begin)) return false;
  name.remove_prefix(begin.size());
  if (!skip_number(name) || !name.starts_with('-')) return false;
  name.remove_prefix(1);
  return skip_number(name) && name == ".h5";
}

}  // namespace

std::string checkpoint_part_file(const std::string& folder, std::uint64_t mark, std::size_t index) {
  return fmt::format("{}/checkpoint-{}-{}.h5", folder, mark, index);
}

result<void> check_parts_exist(const std::string& folder, const checkpoint_parts& parts) {
  for (std::size_t i = 0; i < parts.count(); ++i) {
    const std::string part = checkpoint_part_file(folder, parts.mark, i);
    std::error_code failed;
    if (parts.has_items(i) && !std::filesystem::exists(part, failed))
      return error{
          fmt::format("'{}': expected the part of the checkpoint that process {} has written, found none; use a "
                      "folder that all hosts share",
                      part, i)};
  }
  return {};
}

void remove_other_parts(const std::string& folder, const checkpoint_parts& kept) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kept.count(); ++i)
    names.push_back(checkpoint_part_file(folder, kept.mark, i).substr(folder.size() + 1));
  std::error_code failed;
  std::vector<std::filesystem::path> others;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (is_part(name) && std::find(names.begin(), names.end(), name) == names.end()) others.push_back(entry.path());
  }
  for (const auto& path : others) std::filesystem::remove(path, failed);
}

}  // namespace plx
