#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "probe/counters/counter_printer.hpp"
#include "probe/live/live_json.hpp"

namespace plx::probe {
namespace {

constexpr double looking_s = 5;  // a visible page polls every second, a hidden one does not
constexpr double period_s = 1;

}  // namespace

bool picture_board::wanted() const noexcept {
  const double now = now_s_();
  return now - looked_s_.load(std::memory_order_relaxed) < looking_s &&
         now - published_s_.load(std::memory_order_relaxed) >= period_s;
}

void picture_board::publish(live_picture picture) {
  PLX_ASSERT(picture.width > 0 && picture.height > 0 && picture.width <= 512 && picture.height <= 512, picture.width,
             picture.height);
  PLX_ASSERT_EQ(picture.values.size(),
                static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height));
  auto shared = std::make_shared<const live_picture>(std::move(picture));
  published_s_.store(now_s_(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  newest_.picture.swap(shared);  // the old one is freed after the lock is released
  ++newest_.number;
}

picture_board::numbered picture_board::look() noexcept {
  looked_s_.store(now_s_(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  return newest_;
}

namespace {

std::string base64(const std::vector<unsigned char>& bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    const unsigned word = unsigned{bytes[i]} << 16 | (left > 1 ? unsigned{bytes[i + 1]} << 8 : 0u) |
                          (left > 2 ? unsigned{bytes[i + 2]} : 0u);
    for (std::size_t d = 0; d < 4; ++d) text += d <= left ? digits[word >> (18 - 6 * d) & 63u] : '=';
  }
  return text;
}

}  // namespace

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

result<std::string> counters_json(const counter_registry& counters, std::string_view pattern, double time_s) {
  const auto values = counters.query(pattern, after_reading::keep, making::never);
  if (!values) return values.error();
  return counters_as_json(*values, time_s) + "\n";
}

counter_catalog catalog_of(const counter_registry& counters, bool each) {
  counter_catalog c{.list = "[", .values = "["};
  const auto values = counters.query(each ? "/*{*}/*@*" : "/*/*@*");
  for (const counter_value& v : values ? *values : std::vector<counter_value>{}) {
    if (c.list.back() != '[') c.list += ',', c.values += ',';
    fmt::format_to(std::back_inserter(c.list), "{{\"name\":{},\"unit\":{},\"help\":{},\"monotonic\":{}}}",
                   json_text(v.name), json_text(v.unit), json_text(v.about->help), v.about->monotonic);
    c.values += json_number(v.value);
  }
  c.list += ']', c.values += ']';
  c.number = static_cast<std::uint32_t>(std::hash<std::string_view>{}(c.list));
  return c;
}

std::string tasks_json(const std::vector<task_statistics>& tasks) {
  double sum_s = 0;
  for (const task_statistics& t : tasks) sum_s += t.total_s;
  std::string text = "[";
  for (std::size_t i = 0; i < std::min<std::size_t>(tasks.size(), 500); ++i) {
    const task_statistics& t = tasks[i];
    fmt::format_to(
        std::back_inserter(text),
        "{}{{\"name\":{},\"calls\":{},\"total_s\":{:.6g},\"mean_s\":{:.4g},\"min_s\":{:.4g},\"max_s\":{:.4g},"
        "\"stddev_s\":{:.4g},\"p50_s\":{:.4g},\"p99_s\":{:.4g},\"share\":{:.5f},\"idle_blame_s\":{:.6g},"
        "\"lock_blame_s\":{:.6g}}}",
        i == 0 ? "" : ",\n", json_text(t.name), t.calls, t.total_s, t.mean_s, t.min_s, t.max_s, t.stddev_s, t.p50_s,
        t.p99_s, sum_s > 0 ? t.total_s / sum_s : 0.0, t.blamed_s, t.lock_waits_s);
  }
  return text += ']';
}

std::string stacks_json(const sample_tree& tree, double hz, double seconds) {
  std::string calls;
  std::vector<std::int64_t> number;  // of those that are written; -1: omitted
  std::int64_t written = 0;
  for (const sampled_call& c : tree.calls()) {
    const bool shown = 1000 * c.below >= tree.total();
    number.push_back(shown ? written++ : -1);
    if (!shown) continue;
    fmt::format_to(std::back_inserter(calls), "{}[{},{},{},{}]", calls.empty() ? "" : ",\n",
                   c.parent == sampled_call::none ? -1 : number[c.parent], c.own, c.below, json_text(c.name));
  }
  return fmt::format("{{\"hz\":{},\"seconds\":{:.3f},\"total\":{},\"calls\":[{}]}}", json_number(hz), seconds,
                     tree.total(), calls);
}

std::string picture_json(const live_picture& p, std::uint64_t number) {
  float low = INFINITY, high = -INFINITY;
  for (const float v : p.values)
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  const bool any = low <= high, logarithmic = any && low > 0 && high > 20 * low;
  const auto scaled = [&](float v) { return logarithmic ? std::log(v) : v; };
  const float from = any ? scaled(low) : 0, span = any ? scaled(high) - from : 0;
  std::vector<unsigned char> bytes;
  bytes.reserve(2 * p.values.size());
  for (const float v : p.values) {
    unsigned level = 65535;
    if (std::isfinite(v)) level = span > 0 ? static_cast<unsigned>((scaled(v) - from) / span * 65534 + 0.5f) : 0;
    bytes.push_back(static_cast<unsigned char>(level & 255u)), bytes.push_back(static_cast<unsigned char>(level >> 8));
  }
  std::string text = fmt::format(
      "{{\"number\":{},\"title\":{},\"unit\":{},\"step\":{},\"time\":{},\"lower\":[{},{}],\"upper\":[{},{}],\"width\":{"
      "},"
      "\"height\":{},\"low\":{},\"high\":{},\"log\":{},\"values\":\"{}\",\"blocks\":[",
      number, json_text(p.title), json_text(p.unit), p.step, json_number(p.time), json_number(p.lower[0]),
      json_number(p.lower[1]), json_number(p.upper[0]), json_number(p.upper[1]), p.width, p.height,
      json_number(any ? double{low} : NAN), json_number(any ? double{high} : NAN), logarithmic, base64(bytes));
  for (const live_picture::block& b : p.blocks) {
    if (text.back() != '[') text += ',';
    fmt::format_to(std::back_inserter(text), "[{:.6g},{:.6g},{:.6g},{:.6g},{},{},{}]", b.x, b.y, b.width, b.height,
                   std::isfinite(b.cost_s) ? fmt::format("{:.4g}", b.cost_s) : "null", b.level, b.worker);
  }
  return text += "]}";
}

}  // namespace plx::probe
