// The list of problems.
//
// Thread safety: pure functions. Cost: one allocation. Read star/problems/registry_test.cpp as an example.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

struct problem_entry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<problem> (*make)();
};

/// All problems, in alphabetical order.
std::span<const problem_entry> all_problems();
std::vector<std::string> problem_names();

/// Errors: an unknown name: one line with the known ones.
result<std::unique_ptr<problem>> make_problem(std::string_view name);

std::unique_ptr<problem> make_advection();
std::unique_ptr<problem> make_einfeldt();
std::unique_ptr<problem> make_kelvin_helmholtz();
std::unique_ptr<problem> make_linear_wave();
std::unique_ptr<problem> make_moving_body();
std::unique_ptr<problem> make_sedov();
std::unique_ptr<problem> make_sod();

}  // namespace plx::star
