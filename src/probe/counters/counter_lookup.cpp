// The parts of counters' names and their patterns; finds counters by name, suggests the nearest name, and calls
// periodic functions.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "probe/counters/counter_registry_detail.hpp"

namespace plx::probe {

// --------------------------------------------------------------------------------------------------------------- names

namespace {

constexpr std::size_t none = std::string_view::npos;

/// The position of the brace that closes the one at `open`.
std::size_t matching_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return none;
}

/// A list element without the enclosing braces.
std::string_view unquoted(std::string_view element) {
  element = trimmed(element);
  while (!element.empty() && element.front() == '{' && matching_brace(element, 0) == element.size() - 1)
    element = trimmed(element.substr(1, element.size() - 2));
  return element;
}

bool is_number(std::string_view s) { return !s.empty() && s.find_first_not_of("0123456789") == none; }

}  // namespace

std::optional<counter_name> counter_name::parse(std::string_view text) {
  if (text.empty() || text[0] != '/') return std::nullopt;
  text.remove_prefix(1);
  counter_name parts;
  const std::size_t object_end = text.find_first_of("{}/");
  if (object_end == 0 || object_end == none) return std::nullopt;
  parts.object = text.substr(0, object_end);
  text.remove_prefix(object_end);
  if (text[0] == '{') {
    const std::size_t close = matching_brace(text, 0);
    if (close == none || close == 1) return std::nullopt;
    parts.instance = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
  }
  if (text.empty() || text[0] != '/') return std::nullopt;
  text.remove_prefix(1);
  const std::size_t at = text.find('@');
  parts.name = text.substr(0, at);
  if (at != none) parts.parameters = text.substr(at + 1);
  if (parts.name.empty() || parts.name.find_first_of("{}") != none) return std::nullopt;
  return parts;
}

std::string_view counter_name::locality() const {
  constexpr std::string_view word = "locality#";
  return instance.starts_with(word) ? instance.substr(word.size(), instance.find('/') - word.size())
                                    : std::string_view{};
}

std::optional<std::vector<std::string>> split_counters(std::string_view list) {
  std::vector<std::string> elements;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '{') ++depth;
    if (c == '}' && --depth < 0) return std::nullopt;
    if (i == list.size() && depth != 0) return std::nullopt;
    if (c != ',' || depth != 0) continue;
    const auto element = unquoted(list.substr(begin, i - begin));
    if (is_number(element) && !elements.empty())
      (elements.back() += ',') += element;  // the second parameter of the element before
    else if (!element.empty())
      elements.emplace_back(element);
    begin = i + 1;
  }
  return elements;
}

/// Greedy with one-step backtracking: on a mismatch the last '*' takes one more letter.
bool wildcard_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches(const counter_name& pattern, const counter_name& name) {
  const bool instance = pattern.instance.empty()
                            ? name.instance.empty() || name.instance == "total" || name.instance.ends_with("/total")
                            : wildcard_match(pattern.instance, name.instance);
  return instance && wildcard_match(pattern.object, name.object) && wildcard_match(pattern.name, name.name) &&
         wildcard_match(pattern.parameters, name.parameters);
}

}  // namespace plx::probe

namespace plx::probe::detail {

// ------------------------------------------------------------------------------------------------------------- look-up

error malformed(std::string_view pattern) {
  return error{fmt::format("'{}' is not a counter name: expected /object{{instance}}/name@parameters", pattern)};
}

entry_ptr registry_state::find_exact(std::string_view name) const {
  const std::lock_guard lock(mutex);
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

std::vector<entry_ptr> registry_state::matching(const counter_name& wanted) const {
  std::vector<entry_ptr> found;
  for (const entry_ptr& e : entries)
    if (matches(wanted, e->parts)) found.push_back(e);
  return found;
}

result<std::vector<entry_ptr>> registry_state::resolve(std::string_view pattern) {
  if (auto exact = find_exact(pattern)) return std::vector<entry_ptr>{std::move(exact)};
  const auto wanted = counter_name::parse(pattern);
  if (!wanted) return malformed(pattern);
  if (is_derived(*wanted)) return derived(*this, pattern, *wanted);
  {
    const std::lock_guard lock(mutex);
    auto found = matching(*wanted);
    if (!found.empty()) return found;
  }
  auto found = made(*wanted);
  if (!found || !found->empty()) return found;
  const std::lock_guard lock(mutex);
  return no_match(pattern, *wanted);
}

result<std::vector<entry_ptr>> registry_state::made(const counter_name& wanted) {
  if (wanted.parameters.find('*') != std::string_view::npos) return std::vector<entry_ptr>{};
  entry_ptr family;
  {
    counter_name any = wanted;
    any.parameters = {};
    const std::lock_guard lock(mutex);
    for (const entry_ptr& e : families)
      if (matches(any, e->parts)) family = e;
  }
  if (family == nullptr) return std::vector<entry_ptr>{};
  if (auto done = family->make(wanted.parameters); !done) return done.error();
  const std::string several = fmt::format("{},*", wanted.parameters);
  counter_name with_more = wanted;
  with_more.parameters = several;
  const std::lock_guard lock(mutex);
  auto found = matching(wanted);
  if (found.empty()) found = matching(with_more);
  return found;
}

result<std::vector<entry_ptr>> registry_state::existing(std::string_view pattern) const {
  if (auto exact = find_exact(pattern)) return std::vector<entry_ptr>{std::move(exact)};
  const auto wanted = counter_name::parse(pattern);
  if (!wanted) return malformed(pattern);
  const std::lock_guard lock(mutex);
  auto found = matching(*wanted);
  if (!found.empty()) return found;
  if (is_derived(*wanted))
    return error{
        fmt::format("'{}' does not exist, and a read-only query does not create it; request it in the program, or with "
                    "--plx:print-counter",
                    pattern)};
  return no_match(pattern, *wanted);
}

void registry_state::insert(const entry_ptr& e) {
  entries.push_back(e);
  by_name.emplace(e->about->name, e);
  if (added != nullptr) added(added_arg, *e->about);
}

// ------------------------------------------------------------------------------------------------------------- nearest

namespace {

/// Assembles a name from its parts.
std::string name_of(std::string_view object, std::string_view instance, std::string_view name,
                    std::string_view parameters) {
  std::string text = fmt::format("/{}", object);
  if (!instance.empty()) text += fmt::format("{{{}}}", instance);
  text += fmt::format("/{}", name);
  if (!parameters.empty()) text += fmt::format("@{}", parameters);
  return text;
}

std::vector<std::string> as_list(const std::set<std::string, std::less<>>& words) {
  return {words.begin(), words.end()};
}

}  // namespace

/// The first part that matches no counter is the wrong one: the object, then the name, then the instance.
error registry_state::no_match(std::string_view pattern, const counter_name& wanted) const {
  std::set<std::string, std::less<>> objects, names, instances;
  bool object_fits = false, name_fits = false;
  for (const entry_ptr& e : entries) {
    objects.emplace(e->parts.object);
    if (!wildcard_match(wanted.object, e->parts.object)) continue;
    object_fits = true;
    names.emplace(e->parts.name);
    if (!wildcard_match(wanted.name, e->parts.name)) continue;
    name_fits = true;
    if (!e->parts.instance.empty()) instances.emplace(e->parts.instance);
  }
  const std::string start = fmt::format("no counter matches '{}'", pattern);
  for (const entry_ptr& e : entries) {
    counter_name other = wanted;
    other.parameters = "*";
    if (matches(other, e->parts)) return error{fmt::format("{}; did you mean '{}'?", start, e->about->name)};
  }
  if (name_fits && instances.empty())
    return error{fmt::format("{}; did you mean '{}'?", start, name_of(wanted.object, "", wanted.name, ""))};
  if (name_fits) {
    std::vector<std::string> some = as_list(instances);
    const bool more = some.size() > 4;
    if (more) some.resize(4);
    return error{fmt::format("{}; its instances are {{{}}}{}", start, fmt::join(some, "}, {"), more ? ", ..." : "")};
  }
  std::string object(wanted.object);
  if (!object_fits) {
    object = nearest(wanted.object, as_list(objects));
    for (const entry_ptr& e : entries)
      if (e->parts.object == object) names.emplace(e->parts.name);
  }
  const bool fits =
      std::any_of(names.begin(), names.end(), [&](const auto& n) { return wildcard_match(wanted.name, n); });
  const std::string name = fits ? std::string(wanted.name) : nearest(wanted.name, as_list(names));
  if (object.empty() || name.empty()) return error{start + "; --plx:list-counters lists them all"};
  return error{fmt::format("{}; did you mean '{}'?", start, name_of(object, wanted.instance, name, wanted.parameters))};
}

// ------------------------------------------------------------------------------------------------------------ sampling

periodic_thread& sampling::chosen() {
  if (given_ != nullptr) return *given_;
  if (own_ == nullptr) own_ = std::make_unique<periodic_thread>();
  return *own_;
}

void sampling::begin(entry& e) {
  e.on = &chosen();
  e.id_there = e.on->every(e.period_s, [f = e.f] { (void)f->pull(); });
}

std::uint64_t sampling::every(double period_s, function f) {
  const std::lock_guard lock(mutex_);
  if (ended_) return 0;
  entries_.push_back({++last_id_, period_s, std::move(f), nullptr, 0});
  begin(entries_.back());
  return last_id_;
}

// periodic_thread::remove() waits for the function in progress, which may lock mutex_: it is called without the lock.
void sampling::remove(std::uint64_t id) {
  entry gone{};
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(entries_.begin(), entries_.end(), [id](const entry& e) { return e.id == id; });
    if (it == entries_.end()) return;
    gone = std::move(*it);
    entries_.erase(it);
  }
  gone.on->remove(gone.id_there);
}

void sampling::use(periodic_thread* other) {
  std::vector<entry> before;
  {
    const std::lock_guard lock(mutex_);
    if (given_ == other) return;
    given_ = other;
    before = entries_;
    for (entry& e : entries_) begin(e);
  }
  for (const entry& e : before) e.on->remove(e.id_there);
}

void sampling::end() {
  std::vector<entry> before;
  std::unique_ptr<periodic_thread> own;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    before.swap(entries_);
    own = std::move(own_);
  }
  for (const entry& e : before) e.on->remove(e.id_there);
}

}  // namespace plx::probe::detail
