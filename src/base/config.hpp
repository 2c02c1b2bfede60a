// Configuration: one plain struct per component, a table that binds its members to keys, and TOML files.
//
// Defaults, units, help, ranges and choices stand once, in the struct's describe(); files, --set, --list-options,
// --print-config and the documentation come from there. The table keeps pointers: the structs must outlive it.
// Thread safety: none; a table belongs to one thread. Cost: of reading a small file, once at start.
// Errors: one line with file:line:column, what was expected, what was found, the nearest known key. A file or an
//   assignment with an error changes nothing.
// Example: base/test/config_test.cpp
//
//   struct hydro_options {
//     double cfl = 0.4;
//     std::string flux = "hllc";
//     void describe(config_table& t) {
//       t.section("hydro", "Hydrodynamics");
//       t.add("hydro.cfl", cfl, {.unit = "1", .help = "Courant number", .max = 1, .above = 0});
//       t.add("hydro.flux", flux, {.help = "Riemann solver", .choices = {"hllc", "hll"}});
//     }
//   };
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace plx {

/// What a key means. Bounds and choices hold for each element of an array.
struct config_info {
  std::string unit = {};
  std::string help = {};
  double min = -std::numeric_limits<double>::infinity();    // value >= min
  double max = std::numeric_limits<double>::infinity();     // value <= max
  double above = -std::numeric_limits<double>::infinity();  // value > above
  std::vector<std::string> choices = {};
};

/// Keys with the variables they set, read from text, files and the command line.
class config_table {
 public:
  config_table();
  ~config_table();
  config_table(config_table&&) noexcept;
  config_table& operator=(config_table&&) noexcept;

  /// A heading for the keys "name.*".
  void section(std::string_view name, std::string_view title);

  /// Binds a key to a member; its present value is the default. A vector takes any length, a std::array its own.
  /// Requires: a key not yet bound; a default within its bounds and choices.
  void add(std::string_view key, bool& value, config_info info = {});
  void add(std::string_view key, int& value, config_info info = {});
  void add(std::string_view key, std::int64_t& value, config_info info = {});
  void add(std::string_view key, double& value, config_info info = {});
  void add(std::string_view key, std::string& value, config_info info = {});
  void add(std::string_view key, std::vector<int>& value, config_info info = {});
  void add(std::string_view key, std::vector<std::int64_t>& value, config_info info = {});
  void add(std::string_view key, std::vector<double>& value, config_info info = {});
  void add(std::string_view key, std::vector<std::string>& value, config_info info = {});
  template <class T, std::size_t N>
  void add(std::string_view key, std::array<T, N>& value, config_info info = {}) {
    add_elements(key, value.data(), N, std::move(info));
  }

  /// Sets the members from a TOML file, or from text in its place (`name` stands in messages).
  result<void> load_file(const std::string& path);
  /// As load_file(), from text that messages call `name`.
  result<void> load_text(std::string_view text, const std::string& name);
  /// Sets one member from "key=value", the value as in TOML; a string needs no quotes. `source` is shown by
  /// text_effective().
  result<void> set(std::string_view assignment, std::string_view source = "--set");

  /// For people: key, type, default, unit, range or choices, help; one line per key.
  std::string text_options() const;
  /// The same as tables in Markdown.
  std::string markdown() const;
  /// "key = value  # source", the source being "default", file:line or that of set().
  std::string text_effective() const;
  /// All values as TOML that loads back to the same values, doubles to the last bit.
  std::string toml() const;

  /// Whether there is such a key.
  bool knows(std::string_view key) const;
  /// Where the value came from. Requires: knows(key).
  const std::string& source(std::string_view key) const;
  /// All keys, in the order of add().
  std::vector<std::string> keys() const;

 private:
  void add_elements(std::string_view key, bool* values, std::size_t n, config_info info);
  void add_elements(std::string_view key, int* values, std::size_t n, config_info info);
  void add_elements(std::string_view key, std::int64_t* values, std::size_t n, config_info info);
  void add_elements(std::string_view key, double* values, std::size_t n, config_info info);
  void add_elements(std::string_view key, std::string* values, std::size_t n, config_info info);

  struct state;
  std::unique_ptr<state> state_;
};

/// One string of a TOML file without a table, "" when the key is not there: for a key that decides which others exist.
result<std::string> peek_string(const std::string& path, std::string_view key);
/// The same of text; `name` stands in messages.
result<std::string> peek_string_in_text(std::string_view text, const std::string& name, std::string_view key);

}  // namespace plx
