// Internal to base/config: a bound key, its values, and their text. For config*.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/config.hpp"

namespace plx::config_detail {

/// A number, switch or string. A key holds one of these or an array.
using element = std::variant<bool, std::int64_t, double, std::string>;

/// In the order of element's alternatives.
enum class element_type { boolean, integer, number, string };

/// The member a key is bound to.
struct target {
  virtual ~target() = default;
  virtual std::vector<element> get() const = 0;
  /// Requires: elements of the right type, and exactly as many as a fixed array holds.
  virtual void set(const std::vector<element>& values) = 0;
};

enum class shape { scalar, fixed, any_length };

struct entry {
  std::string key;
  config_info info;
  element_type type = element_type::boolean;
  bool fits_int = false;  // the member is an int: 32 bits
  shape form = shape::scalar;
  std::size_t length = 1;  // of a fixed array
  std::unique_ptr<target> bound;
  std::vector<element> initial;  // the default
  std::string source = "default";
};

/// Numbers whose names the user chooses: keys "key.<name>".
struct named_entry {
  std::string key;
  config_info info;
  std::vector<named_number>* values;
  std::string source = "default";
};

/// A list of sections [[key]].
struct list_entry {
  std::string key, title;
  std::unique_ptr<config_list> list;
  std::string source = "default";
};

struct section_title {
  std::string name, title;
};

/// As in TOML: true, 4, 0.4, "hllc". A double reads back to the same bits.
std::string text_of(const element& e);
/// "0.4" or "[2, 2, 2]".
std::string text_of(const entry& e, const std::vector<element>& values);
/// "number", "array of 3 integers".
std::string type_text(const entry& e);
/// "in (0, 1]", ">= 0", "one of a, b", or "".
std::string range_text(const config_info& info);
/// Checks a value of the right type against bounds and choices; the error does not contain the location.
result<void> check(const entry& e, const element& value);
/// The same for a number of that name below a named_entry.
result<void> check(const named_entry& e, const named_number& value);

}  // namespace plx::config_detail

namespace plx {

struct config_table::state {
  std::vector<config_detail::entry> entries;
  std::vector<config_detail::section_title> sections;
  std::vector<config_detail::named_entry> named;
  std::vector<config_detail::list_entry> lists;

  config_detail::entry* find(std::string_view key);
  config_detail::entry& insert(config_detail::entry e);
};

struct config_detail::access {
  using state = config_table::state;
  static state& state_of(config_table& t) { return *t.state_; }
};

}  // namespace plx
