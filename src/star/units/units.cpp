#include "star/units/units.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "base/config.hpp"
#include "base/text.hpp"

namespace plx::star {

namespace {

double power(double x, int n) {
  double p = 1.0;
  for (int i = 0; i < std::abs(n); ++i) p *= x;
  return n < 0 ? 1.0 / p : p;
}

struct named_unit {
  std::string_view name;
  double value;  // CGS
};

constexpr double solar_mass = 1.3271244e26 / cgs::gravitational_constant;
constexpr double year = 3.15576e7;  // Julian

constexpr named_unit lengths[] = {{"cm", 1.0},
                                  {"m", 1e2},
                                  {"km", 1e5},
                                  {"Rearth", 6.3781e8},
                                  {"Rjup", 7.1492e9},
                                  {"Rsun", 6.957e10},
                                  {"au", 1.495978707e13},
                                  {"ly", 9.4607304725808e17},
                                  {"pc", 3.0856775814913673e18},
                                  {"kpc", 3.0856775814913673e21},
                                  {"Mpc", 3.0856775814913673e24}};
constexpr named_unit masses[] = {{"g", 1.0},
                                 {"kg", 1e3},
                                 {"Mearth", 3.986004e20 / cgs::gravitational_constant},
                                 {"Mjup", 1.2668653e23 / cgs::gravitational_constant},
                                 {"Msun", solar_mass}};
constexpr named_unit times[] = {{"s", 1.0},   {"min", 60.0},       {"h", 3600.0},       {"day", 86400.0},
                                {"yr", year}, {"kyr", 1e3 * year}, {"Myr", 1e6 * year}, {"Gyr", 1e9 * year}};
constexpr named_unit densities[] = {{"g/cm^3", 1.0}, {"kg/m^3", 1e-3}};

/// "2", "Rsun" or "2 Rsun" in CGS.
result<double> value_of(const char* key, std::string_view text, std::span<const named_unit> known) {
  double number = 1.0;
  const std::string_view all = trimmed(text);
  const auto [end, code] = std::from_chars(all.data(), all.data() + all.size(), number);
  const std::string_view name =
      trimmed(all.substr(code == std::errc() ? static_cast<std::size_t>(end - all.data()) : 0));
  std::vector<std::string> names;
  std::string list;
  for (const named_unit& u : known) {
    names.emplace_back(u.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  std::optional<double> unit;
  if (name.empty() && code == std::errc()) unit = 1.0;
  for (const named_unit& u : known)
    if (u.name == name) unit = u.value;
  if (!unit)
    return error{
        fmt::format("units.{} = \"{}\": expected a number in CGS, a name or both, with a name of {}; found \"{}\"{}",
                    key, text, list, name, did_you_mean(name, names))};
  const double value = (code == std::errc() ? number : 1.0) * *unit;
  if (value > 0.0 && std::isfinite(value)) return value;
  return error{fmt::format("units.{} = \"{}\": expected a finite value above 0", key, text)};
}

constexpr std::string_view of_gravity = "gravity";

}  // namespace

double units::cgs_of(dimension d) const {
  return power(length_cm, d.length) * power(mass_g, d.mass) * power(time_s, d.time);
}

std::string units::name_of(dimension d) const {
  if (d == dimensions::none) return "1";
  if (!known) return "code";
  std::string text;
  const auto add = [&](const char* name, int n) {
    if (n != 0) text += fmt::format("{}{}{}", text.empty() ? "" : " ", name, n == 1 ? "" : fmt::format("^{}", n));
  };
  add("g", d.mass);
  add("cm", d.length);
  add("s", d.time);
  return text;
}

std::vector<std::pair<std::string, double>> attributes_of(const units& u) {
  if (!u.known) return {};
  return {{"LengthUnit", u.length_cm}, {"MassUnit", u.mass_g}, {"TimeUnit", u.time_s}};
}

void unit_options::describe(config_table& t) {
  t.section("units", "Code units in CGS, by number or name; all, or none");
  t.add("units.length", length, {.unit = "cm", .help = "such as 6.957e10, \"Rsun\", \"0.5 pc\"", .takes_number = true});
  t.add("units.mass", mass, {.unit = "g", .help = "such as 2e33, \"Msun\"; or units.density", .takes_number = true});
  t.add("units.density", density, {.unit = "g/cm^3", .help = "instead of units.mass", .takes_number = true});
  t.add("units.time", time,
        {.unit = "s",
         .help = "such as 3600, \"yr\"; gravity: the unit for which the constant of gravity is 1",
         .takes_number = true});
}

result<units> unit_options::make() const {
  if (length.empty() && mass.empty() && density.empty() && time.empty()) return units{};
  if (length.empty()) return error{"[units]: expected units.length with the others, found none"};
  if (mass.empty() == density.empty())
    return error{fmt::format("[units]: expected one of units.mass and units.density, found {}",
                             mass.empty() ? "neither" : "both")};
  if (time.empty())
    return error{
        "[units]: expected units.time with the others, found none; \"gravity\" makes the constant of gravity 1"};
  units u;
  u.known = true;
  const auto l = value_of("length", length, lengths);
  if (!l) return l.error();
  u.length_cm = *l;
  const auto m = mass.empty() ? value_of("density", density, densities) : value_of("mass", mass, masses);
  if (!m) return m.error();
  u.mass_g = mass.empty() ? *m * power(*l, 3) : *m;
  if (time == of_gravity) {
    u.time_s = std::sqrt(power(u.length_cm, 3) / (cgs::gravitational_constant * u.mass_g));
    return u;
  }
  const auto t = value_of("time", time, times);
  if (!t) return error{t.error().message + "; or \"gravity\""};
  u.time_s = *t;
  return u;
}

}  // namespace plx::star
