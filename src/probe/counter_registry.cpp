#include "probe/counter_registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/file.hpp"
#include "base/nearest.hpp"
#include "probe/counter_name.hpp"
#include "probe/csv.hpp"

namespace plx::probe {

struct detail::registry_state {
  struct counter {
    counter_info info;
    std::unique_ptr<pull_base> pull;
    double base = 0;  // of the last reset
  };

  mutable std::mutex mutex;
  std::vector<counter> counters;

  /// Calls visit(counter) for each that matches, or tells why none does. Requires: mutex held.
  template <class Visitor>
  result<void> for_each_match(std::string_view pattern, Visitor&& visit) {
    const auto wanted = counter_name::parse(pattern);
    if (!wanted)
      return error{fmt::format("'{}' is no counter name: expected /object{{instance}}/name@parameters", pattern)};
    bool any = false;
    for (counter& c : counters) {
      if (!matches(*wanted, *counter_name::parse(c.info.name))) continue;
      visit(c);
      any = true;
    }
    if (any) return {};
    std::vector<std::string> names;
    for (const counter& c : counters) names.push_back(c.info.name);
    return error{fmt::format("no counter matches '{}'{}", pattern, did_you_mean(pattern, names))};
  }
};

registration::registration(std::shared_ptr<detail::registry_state> state, std::string name)
    : state_(std::move(state)), name_(std::move(name)) {}
registration::registration(registration&&) noexcept = default;
registration& registration::operator=(registration&& other) noexcept {
  if (this != &other) {
    remove();
    state_ = std::move(other.state_);
    name_ = std::move(other.name_);
  }
  return *this;
}
registration::~registration() { remove(); }

void registration::remove() noexcept {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->counters, [&](const auto& c) { return c.info.name == name_; });
}

counter_registry::counter_registry() : state_(std::make_shared<detail::registry_state>()) {}
counter_registry::~counter_registry() = default;

registration counter_registry::add_pull(counter_info info, std::unique_ptr<detail::pull_base> pull) {
  PLX_ASSERT(counter_name::parse(info.name).has_value() && info.name.find('*') == std::string::npos, info.name);
  const std::lock_guard lock(state_->mutex);
  const bool taken = std::any_of(state_->counters.begin(), state_->counters.end(),
                                 [&](const auto& c) { return c.info.name == info.name; });
  PLX_ASSERT(!taken, info.name);
  std::string name = info.name;
  state_->counters.push_back({std::move(info), std::move(pull)});
  return {state_, std::move(name)};
}

result<std::vector<counter_value>> counter_registry::query(std::string_view pattern) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<counter_value> values;
  auto found = state_->for_each_match(pattern, [&](auto& c) {
    values.push_back({c.info.name, c.pull->pull() - c.base, c.info.unit});
  });
  if (!found) return found.error();
  return values;
}

std::vector<counter_info> counter_registry::list(std::string_view pattern) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<counter_info> infos;
  (void)state_->for_each_match(pattern, [&](auto& c) { infos.push_back(c.info); });
  return infos;
}

result<void> counter_registry::reset(std::string_view pattern) {
  const std::lock_guard lock(state_->mutex);
  return state_->for_each_match(pattern, [](auto& c) {
    if (c.info.monotonic) c.base = c.pull->pull();
  });
}

result<void> counter_registry::append_csv(const std::string& path, double time_s, std::string_view pattern) const {
  auto values = query(pattern);
  if (!values) return values.error();
  std::string text;
  for (const counter_value& v : *values)
    fmt::format_to(std::back_inserter(text), "{:.6f},{},{:.12g},{}\n", time_s, csv_field(v.name), v.value,
                   csv_field(v.unit));
  return append_file(path, "time_s,name,value,unit\n", text);
}

}  // namespace plx::probe
