#include "star/driver/identity.hpp"

#include "base/config.hpp"
#include "io/run_json.hpp"
#include "star/driver/options.hpp"

namespace plx::star {

std::string identity_of(const config_table& table) {
  std::string lines;
  for (const auto& [key, value] : option_values(table.toml()))
    if (!may_change_on_resume(key)) lines += key + " = " + value + "\n";
  return lines;
}

}  // namespace plx::star
