#include "net/parcels/collector.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/text.hpp"
#include "net/core/node.hpp"
#include "net/parcels/adaptive/adaptive_coalescing.hpp"

namespace plx {
namespace {

/// The text before the first `by`; removed from `s` together with the `by`.
std::string_view split(std::string_view& s, char by) {
  const std::size_t end = std::min(s.find(by), s.size());
  const std::string_view part = trimmed(s.substr(0, end));
  s.remove_prefix(std::min(end + 1, s.size()));
  return part;
}

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  return done.ec == std::errc() && done.ptr == text.data() + text.size();
}

result<coalescing> parse_one(std::string_view text) {
  if (text == "off") return no_coalescing;
  if (text == "self") return self_clocking;
  if (text == "adaptive") return adaptive;
  coalescing c;
  std::string_view rest = text;
  bool good = read_number(split(rest, ','), c.parcels) && c.parcels > 0;
  good = good && read_number(split(rest, ','), c.interval_us) && c.interval_us >= 0 && c.interval_us <= 1e9;
  if (good && trimmed(rest) != "strict" && !rest.empty()) good = read_number(split(rest, ','), c.bytes);
  if (good && !rest.empty()) good = c.strict = trimmed(rest) == "strict";
  if (!good)
    return error{
        fmt::format("coalesce: expected self, off, adaptive, or parcels,microseconds as in 128,1000 (and ,bytes and "
                    ",strict), with at least 1 parcel, found '{}'",
                    text)};
  return c;
}

}  // namespace

result<std::vector<coalescing_setting>> parse_coalescing(std::string_view text) {
  std::vector<coalescing_setting> settings;
  while (!trimmed(text).empty()) {
    const std::string_view part = split(text, ';');
    if (part.empty()) continue;
    // A function's type may contain '=' only as operator==; a setting contains none.
    const std::size_t equals = part.rfind('=');
    const bool named = equals != std::string_view::npos;
    const auto how = parse_one(trimmed(named ? part.substr(equals + 1) : part));
    if (!how) return how.error();
    settings.push_back({std::string(named ? trimmed(part.substr(0, equals)) : ""), *how});
  }
  return settings;
}

std::string describe(const coalescing& c) {
  if (c.way == coalescing_way::adaptive) return "adaptive";
  if (c.way == coalescing_way::self_clocking) return "self";
  if (c == no_coalescing) return "off";
  std::string text = fmt::format("{},{}", c.parcels, c.interval_us);
  if (c.bytes != 0) text += fmt::format(",{}", c.bytes);
  return c.strict ? text + ",strict" : text;
}

void coalesce_all(const coalescing& how) { net::collect_as(net::node_here(), 0, how); }
void flush_parcels() { net::node_here().port().flush_all(); }

namespace net {

namespace detail {
void coalesce_action(const action_entry& e, const coalescing& how) { collect_as(node_here(), e.index, how); }
}  // namespace detail

namespace {

// "f" of "mine::f<a::b>".
std::string_view last_part(std::string_view name) {
  const std::size_t colons = name.substr(0, name.find('<')).rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

}  // namespace

result<const action_entry*> find_action(std::string_view name) {
  const action_entry* found = nullptr;
  std::vector<std::string> known;
  for (const action_entry* e : all_actions()) {
    if (e == nullptr || e->control) continue;
    const std::string_view full = function_of(*e);
    if (full == name) return e;
    known.emplace_back(full);
    known.emplace_back(last_part(full));
    if (last_part(full) != name) continue;
    if (found != nullptr)
      return error{fmt::format("the action name '{}' is ambiguous: {} and {}", name, function_of(*found), full)};
    found = e;
  }
  if (found == nullptr) return error{fmt::format("there is no action '{}'{}", name, did_you_mean(name, known))};
  return found;
}

result<void> coalesce_as(node& n, std::string_view text) {
  const auto settings = parse_coalescing(text);
  if (!settings) return settings.error();
  for (const coalescing_setting& s : *settings) {
    std::uint16_t action = 0;
    if (!s.action.empty()) {
      const auto found = find_action(s.action);
      if (!found) return error{fmt::format("coalesce: {}", found.error().message)};
      action = (*found)->index;
    }
    collect_as(n, action, s.how);
  }
  return {};
}

}  // namespace net
}  // namespace plx
