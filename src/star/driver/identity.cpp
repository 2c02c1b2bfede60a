#include "star/driver/identity.hpp"

#include <string_view>

#include "base/config.hpp"
#include "star/driver/options.hpp"

namespace plx::star {

// The effective configuration in TOML has one line "[name]" per section or item of a list, and one line per key, arrays
// included.
std::string identity_of(const config_table& table) {
  const std::string toml = table.toml();
  std::string section, lines;
  for (std::string_view rest = toml; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (line.starts_with('[')) {  // [name], or [[name]] of a list
      const std::size_t begin = line.find_first_not_of('[');
      section = std::string(line.substr(begin, line.find(']') - begin)) + ".";
      continue;
    }
    const std::size_t equals = line.find('=');
    if (line.empty() || line.starts_with('#') || equals == std::string_view::npos) continue;
    std::string key = section + std::string(line.substr(0, equals));
    while (key.ends_with(' ')) key.pop_back();
    if (!may_change_on_resume(key)) lines += key + " " + std::string(line.substr(equals)) + "\n";
  }
  return lines;
}

}  // namespace plx::star
