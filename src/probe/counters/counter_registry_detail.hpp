// Internal: the data of a registry. For counter_registry.cpp, counter_lookup.cpp and derived_counters.cpp.
//
// Thread safety and locks: registry_state::mutex guards the members below it and is never held while a pull function
// runs or a beat is used. An entry's mutex is held while its function runs, which may read other entries. Lock order:
// an entry's, the state's, that of sampling.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "probe/counters/beat.hpp"
#include "probe/counters/counter_name.hpp"
#include "probe/counters/counter_registry.hpp"

namespace plx::probe::detail {

struct reading {
  double value = 0;
  std::string problem = {};
};

struct counter_entry {
  counter_entry(counter_info i, std::unique_ptr<pull_base> p)
      : about(std::make_shared<const counter_info>(std::move(i))),
        parts(*counter_name::parse(about->name)),
        pull(std::move(p)) {}

  const std::shared_ptr<const counter_info> about;
  const counter_name parts;  // views into about->name
  std::mutex mutex;
  std::atomic<const void*> owner{nullptr};  // identifies the thread that holds `mutex` in read()
  std::unique_ptr<pull_base> pull;          // null: no longer registered
  double base = 0;                          // set by the last reset

  reading read(after_reading then);
  reading read_locked(after_reading then);
  result<void> make(std::string_view parameters);
  void end();
};
using entry_ptr = std::shared_ptr<counter_entry>;

/// The periodic functions, on the beat currently in use.
class sampling {
 public:
  using function = std::shared_ptr<pull_base>;
  std::uint64_t every(double period_s, function f);
  void remove(std::uint64_t id);
  /// null: a beat of its own. After it returns, no function runs on the previous beat.
  void use(beat* other);
  /// Ends all calls.
  void end();

 private:
  struct entry {
    std::uint64_t id;
    double period_s;
    function f;
    beat* on;
    std::uint64_t id_there;
  };
  beat& chosen();  // requires: mutex_ held
  void begin(entry& e);

  std::mutex mutex_;
  std::vector<entry> entries_;
  std::uint64_t last_id_ = 0;
  beat* given_ = nullptr;
  std::unique_ptr<beat> own_;
  bool ended_ = false;
};

class sample_series;

struct registry_state {
  explicit registry_state(unsigned l) : locality(l) {}

  const unsigned locality;
  mutable std::mutex mutex;
  std::vector<entry_ptr> entries;  // in the order of registration
  std::vector<entry_ptr> families;
  std::unordered_map<std::string_view, entry_ptr> by_name;
  std::map<std::string, std::weak_ptr<sample_series>> series;  // of derived_counters.cpp
  std::size_t n_derived = 0;
  std::shared_ptr<counter_source> source;
  std::vector<std::string> kept_patterns;  // counters that match them keep their last value
  std::map<std::string, counter_value> last_values;
  void (*added)(void*, const counter_info&) = nullptr;
  void* added_arg = nullptr;
  sampling sampler;

  /// Matching counters of this locality, created if derived; an error with the nearest name if none matches.
  result<std::vector<entry_ptr>> resolve(std::string_view pattern);
  /// The same, without creating any.
  [[nodiscard]] result<std::vector<entry_ptr>> existing(std::string_view pattern) const;
  static counter_handle handle(entry_ptr e) { return counter_handle(std::move(e)); }
  entry_ptr find_exact(std::string_view name) const;
  /// Requires: mutex held.
  [[nodiscard]] std::vector<entry_ptr> matching(const counter_name& wanted) const;
  /// Matching counters of a family, created if needed; none if the family does not exist.
  result<std::vector<entry_ptr>> made(const counter_name& wanted);
  void insert(const entry_ptr& e);  // requires: mutex held
  /// Keeps the last value if the name matches a kept pattern. Requires: the counter is still registered.
  void keep_last_value(counter_entry& e);
  [[nodiscard]] error no_match(std::string_view pattern, const counter_name& wanted) const;
};

/// "'x' is not a counter name: expected ...".
error malformed(std::string_view pattern);

/// Whether the name is that of a derived counter.
bool is_derived(const counter_name& name);
/// Finds or creates derived counters.
result<std::vector<entry_ptr>> derived(registry_state& state, std::string_view text, const counter_name& wanted);

}  // namespace plx::probe::detail
