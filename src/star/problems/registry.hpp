// The list of problems.
//
// Thread safety: register_problem() before the list is used for the first time; then any thread. Cost: one allocation.
// Read star/problems/test/registry_test.cpp as an example.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <span>
#include <stdexcept>
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

/// Adds a problem of the user; call it before main() reads the input, for example to initialize a variable of a file:
///   const bool registered = plx::star::register_problem(
///       {"two_streams", "two streams that meet", [] { return plx::star::make<two_streams>(); }});
/// Shapes: the texts are literals. Errors: std::invalid_argument, thrown by all_problems(), if the name is taken or is
/// no identifier in lower case.
bool register_problem(const problem_entry& entry);
template <class Problem>
requires std::derived_from<Problem, problem> std::unique_ptr<problem> make() { return std::make_unique<Problem>(); }

/// Can this be the name of a problem, an analysis or a column: lower-case letters, digits and _, a letter first?
bool is_identifier(std::string_view name);

/// The entries of the library and those that users have added, in alphabetical order. `kind`: what messages call one.
/// Errors: std::invalid_argument, thrown: a name that is taken, or no identifier.
template <class Entry>
std::vector<Entry> sorted_entries(const std::string& kind, std::span<const Entry> own,
                                  const std::vector<Entry>& added) {
  std::vector<Entry> all(own.begin(), own.end());
  for (const Entry& e : added) {
    const std::string which = kind + " '" + std::string(e.name) + "': ";
    if (!is_identifier(e.name))
      throw std::invalid_argument(which +
                                  "expected a name of lower-case letters, digits and _, which begins with a letter");
    if (std::any_of(all.begin(), all.end(), [&](const Entry& other) { return other.name == e.name; }))
      throw std::invalid_argument(which + "this name occurs twice; rename yours");
    all.push_back(e);
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return all;
}

/// The thing of this name. Errors: one line: an unknown name, with the known ones, `expected` before them; a function
/// that returns null.
template <class Thing, class Entry>
result<std::unique_ptr<Thing>> make_entry(const std::string& kind, const std::string& expected,
                                          std::span<const Entry> all, std::string_view name) {
  std::string known;
  for (const Entry& e : all) {
    if (e.name == name) {
      if (auto made = e.make(); made != nullptr) return made;
      return error{kind + " '" + std::string(name) + "': expected an object from its registered function, found null"};
    }
    known += (known.empty() ? "" : ", ") + std::string(e.name);
  }
  return error{expected + " " + known + "; found '" + std::string(name) + "'"};
}

/// All problems, in alphabetical order.
std::span<const problem_entry> all_problems();
std::vector<std::string> problem_names();

/// Errors: an unknown name: one line with the known ones.
result<std::unique_ptr<problem>> make_problem(std::string_view name);

std::unique_ptr<problem> make_advection();
std::unique_ptr<problem> make_binary();
std::unique_ptr<problem> make_blob();
std::unique_ptr<problem> make_double_mach();
std::unique_ptr<problem> make_einfeldt();
std::unique_ptr<problem> make_evrard();
std::unique_ptr<problem> make_expressions();
std::unique_ptr<problem> make_gresho();
std::unique_ptr<problem> make_grid();
std::unique_ptr<problem> make_implosion();
std::unique_ptr<problem> make_jeans_wave();
std::unique_ptr<problem> make_kelvin_helmholtz();
std::unique_ptr<problem> make_kepler_disk();
std::unique_ptr<problem> make_linear_wave();
std::unique_ptr<problem> make_moving_body();
std::unique_ptr<problem> make_noh();
std::unique_ptr<problem> make_piecewise();
std::unique_ptr<problem> make_polytrope();
std::unique_ptr<problem> make_profile();
std::unique_ptr<problem> make_riemann_2d();
std::unique_ptr<problem> make_rotating_star();
std::unique_ptr<problem> make_sedov();
std::unique_ptr<problem> make_sod();
std::unique_ptr<problem> make_spheroid();
std::unique_ptr<problem> make_two_stars();

}  // namespace plx::star
