#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

constexpr problem_entry entries[] = {
    {"advection", "a cube and a ball of two species carried through a periodic box", make_advection},
    {"einfeldt", "two strong rarefactions that leave a near vacuum", make_einfeldt},
    {"kelvin_helmholtz", "the growing mode of a smooth shear layer between walls", make_kelvin_helmholtz},
    {"linear_wave", "a plane sound, entropy or shear wave in any direction", make_linear_wave},
    {"moving_body", "a dense body in a fast uniform flow", make_moving_body},
    {"sedov", "a point explosion in a uniform gas", make_sedov},
    {"sod", "the shock tube, in any direction", make_sod},
};

}  // namespace

std::span<const problem_entry> all_problems() { return entries; }

std::vector<std::string> problem_names() {
  std::vector<std::string> names;
  for (const problem_entry& p : entries) names.emplace_back(p.name);
  return names;
}

result<std::unique_ptr<problem>> make_problem(std::string_view name) {
  std::string known;
  for (const problem_entry& p : entries) {
    if (p.name == name) return p.make();
    known += (known.empty() ? "" : ", ") + std::string(p.name);
  }
  return error{"problem.name: expected one of " + known + "; found '" + std::string(name) + "'"};
}

}  // namespace plx::star
