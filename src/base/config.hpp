// Configuration: one plain struct per component, a table that binds its members to keys, and TOML files.
//
// Defaults, units, help, ranges and choices are given once, in the struct's describe(); files, --set, --list-options,
// --print-config and the documentation use them. The table keeps pointers: the structs must outlive it.
// Thread safety: none; a table belongs to one thread. Cost: reading a small file, once at start.
// Errors: one line with file:line:column, what was expected, what was found, and the nearest known key. A file or an
// assignment with an error changes nothing.
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

/// Properties of a key. Bounds and choices apply to each element of an array.
struct config_info {
  std::string unit = {};
  std::string help = {};
  double min = -std::numeric_limits<double>::infinity();    // value >= min
  double max = std::numeric_limits<double>::infinity();     // value <= max
  double above = -std::numeric_limits<double>::infinity();  // value > above
  std::vector<std::string> choices = {};
  bool takes_number = false;  // a string key: a number without quotes is read as its text
};

/// A number with a name that the user has chosen.
struct named_number {
  std::string name;
  double value = 0.0;
  bool operator==(const named_number&) const = default;
};

class config_table;
namespace config_detail {
struct access;
}

/// The items of a list of sections, [[key]] in a file; each item has a table of its own, whose keys begin with the
/// list's key. New items are staged until the whole file is known to be right.
class config_list {
 public:
  virtual ~config_list() = default;
  virtual void discard() = 0;                     ///< the staged items
  virtual config_table& stage() = 0;              ///< adds an item with default values
  virtual void commit() = 0;                      ///< replaces the items by the staged ones
  virtual std::vector<config_table> items() = 0;  ///< tables of the present items
  virtual config_table of_defaults() = 0;         ///< the table of an item, for lists of options
};
template <class Item>
class config_list_of;  // below

/// Keys and the variables they set, read from text, files and the command line.
class config_table {
 public:
  config_table();
  ~config_table();
  config_table(config_table&&) noexcept;
  config_table& operator=(config_table&&) noexcept;

  /// A heading for the keys "name.*".
  void section(std::string_view name, std::string_view title);

  /// Binds a key to a member, whose present value is the default. A vector accepts any length, a std::array its own.
  /// Requires: the key is not yet bound; the default is within its bounds and choices.
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

  /// Numbers with names that the user chooses: each key "key.<name>" sets one. A name consists of letters, digits and _
  /// and begins with a letter. Requires: no name at first.
  void add_names(std::string_view key, std::vector<named_number>& values, config_info info = {});

  /// A list of sections: a file has any number of [[key]], --set a list of inline tables. A file without the list
  /// leaves it unchanged. Requires: Item has a default constructor, is copyable, and has describe(config_table&), which
  /// binds keys "key.<member>".
  template <class Item>
  void add_list(std::string_view key, std::vector<Item>& items, std::string_view title) {
    add_list(key, std::make_unique<config_list_of<Item>>(items), title);
  }

  /// Sets the members from a TOML file.
  result<void> load_file(const std::string& path);
  /// The same for text; messages refer to it as `name`.
  result<void> load_text(std::string_view text, const std::string& name);
  /// Sets one member from "key=value", with the value as in TOML; a string needs no quotes. `source` is shown by
  /// text_effective().
  result<void> set(std::string_view assignment, std::string_view source = "--set");

  /// One line per key for a person to read: key, type, default, unit, range or choices, help.
  std::string text_options() const;
  /// The same, as Markdown tables.
  std::string markdown() const;
  /// "key = value  # source" for each key, where source is "default", file:line or the argument of set().
  std::string text_effective() const;
  /// All values as TOML that loads back to the same values, doubles to the last bit.
  std::string toml() const;

  /// Whether the key exists.
  bool knows(std::string_view key) const;
  /// The origin of the value. Requires: knows(key).
  const std::string& source(std::string_view key) const;
  /// All keys, in the order of add().
  std::vector<std::string> keys() const;

 private:
  void add_list(std::string_view key, std::unique_ptr<config_list> list, std::string_view title);
  void add_elements(std::string_view key, bool* values, std::size_t n, config_info info);
  void add_elements(std::string_view key, int* values, std::size_t n, config_info info);
  void add_elements(std::string_view key, std::int64_t* values, std::size_t n, config_info info);
  void add_elements(std::string_view key, double* values, std::size_t n, config_info info);
  void add_elements(std::string_view key, std::string* values, std::size_t n, config_info info);

  friend struct config_detail::access;
  struct state;
  std::unique_ptr<state> state_;
};

/// The items of a std::vector, for config_table::add_list().
template <class Item>
class config_list_of final : public config_list {
 public:
  explicit config_list_of(std::vector<Item>& items) : items_(items) {}
  void discard() override { staged_.clear(); }
  config_table& stage() override {
    staged_.push_back(std::make_unique<one>());
    return staged_.back()->table;
  }
  void commit() override {
    items_.clear();
    for (const auto& s : staged_) items_.push_back(s->item);
    staged_.clear();
  }
  std::vector<config_table> items() override {
    std::vector<config_table> all;
    for (Item& i : items_) i.describe(all.emplace_back());
    return all;
  }
  config_table of_defaults() override {
    Item item;  // its table keeps the defaults as values of its own
    config_table t;
    item.describe(t);
    return t;
  }

 private:
  struct one {
    Item item;
    config_table table;
    one() { item.describe(table); }
  };
  std::vector<Item>& items_;
  std::vector<std::unique_ptr<one>> staged_;
};

/// One string of a TOML file without a table, "" if the key is absent: for a key that decides which others exist.
result<std::string> peek_string(const std::string& path, std::string_view key);
/// The same for text; messages refer to it as `name`.
result<std::string> peek_string_in_text(std::string_view text, const std::string& name, std::string_view key);

}  // namespace plx
