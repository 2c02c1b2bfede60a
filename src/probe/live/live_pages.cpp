
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/live/live_json.hpp"
#include "probe/live/live_pages.hpp"
#include "probe/live/live_timeline.hpp"
#include "probe/live/metrics_text.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

std::string random_hex() {
  std::random_device device;  // the generator of the operating system or the processor
  std::string text;
  for (int i = 0; i < 32; ++i) text += "0123456789abcdef"[device() % 16];
  return text;
}

access_token::access_token() : text_(random_hex()) {}

bool access_token::equals(std::string_view other) const noexcept {
  if (other.size() != text_.size()) return false;  // the length is not secret
  unsigned difference = 0;
  for (std::size_t i = 0; i < text_.size(); ++i)
    difference |= static_cast<unsigned char>(text_[i]) ^ static_cast<unsigned char>(other[i]);
  return difference == 0;
}

namespace {

constexpr double keep_s = 0.2;  // the maximum age of an answer that is reused for another client
constexpr std::size_t keep_count = 16;
constexpr const char* json_type = "application/json";

std::shared_ptr<const std::string> shared(std::string s) { return std::make_shared<const std::string>(std::move(s)); }

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string program_name() {
#if defined(__GLIBC__)
  return program_invocation_short_name;
#else
  return "";
#endif
}

double number_field(const http_request& r, std::string_view name, double otherwise) {
  const auto text = r.field(name);
  if (!text || text->empty()) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  return *end == '\0' && std::isfinite(value) ? value : otherwise;
}

bool asks_for(const http_request& r, std::string_view part) {
  return has_word(r.field("parts").value_or("counters,tasks,timeline,mesh"), part);
}

}  // namespace

double live_pages::now_s() noexcept { return monotonic_seconds(); }

http_reply live_pages::answer(const http_request& request, bool again) noexcept {
  try {
    return answer_or_throw(request, again);
  } catch (...) {  // out of memory, or a counter of the program threw: the client retries
    return {.status = 503};
  }
}

http_reply live_pages::answer_or_throw(const http_request& request, bool again) {
  if (!trusted_host(request.host))
    return refuse(403, "unknown host name: use the address that the program printed", refusals_.host);
  if (!may_read(request))
    return refuse(403, "the token is missing or wrong: use the whole URL that the program printed", refusals_.token);
  const std::string_view path = request.path;
  if (path == "/") return page();
  if (path == "/counters.json") return counters(request);
  if (path == "/metrics") return made(request, "text/plain; version=0.0.4; charset=utf-8", &live_pages::metrics);
  if (path == "/tasks.json") return made(request, json_type, &live_pages::tasks);
  if (path == "/timeline.json") return made(request, json_type, &live_pages::timeline);
  if (path == "/mesh.json") return made(request, json_type, &live_pages::mesh);
  if (path != "/poll.json") return refuse(404, "no such page", refusals_.path);
  // All waiting clients are answered at the same full second, with the same answer.
  if (!again && request.field("wait") && !ended_.load(std::memory_order_relaxed)) {
    const double t = now_s() - begin_s_;
    return {.later_s = std::floor(t) + 1 - t};
  }
  http_reply r = made(request, json_type, &live_pages::poll);
  r.follows = true;
  return r;
}

bool live_pages::may_read(const http_request& request) const {
  constexpr std::string_view bearer = "Bearer ";
  if (request.authorization.starts_with(bearer)) return token_.equals(request.authorization.substr(bearer.size()));
  const auto field = request.field("token");
  return field && token_.equals(*field);
}

http_reply live_pages::refuse(int status, std::string line, std::atomic<std::uint64_t>& count) {
  count.fetch_add(1, std::memory_order_relaxed);
  return {.status = status, .body = shared(line + "\n")};
}

/// The page may run its own script and query this server; it cannot load anything else, and cannot be framed.
http_reply live_pages::page() {
  const std::string nonce = random_hex();
  std::string html(live_page_html());
  constexpr std::string_view mark = "PLX-NONCE";
  for (std::size_t at = html.find(mark); at != std::string::npos; at = html.find(mark, at))
    html.replace(at, mark.size(), nonce);
  http_reply r{.type = "text/html; charset=utf-8", .body = shared(std::move(html))};
  r.headers = fmt::format(
      "Content-Security-Policy: default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
      "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
      nonce);
  return r;
}

/// The answer prepared for another client a moment ago, or a new one.
http_reply live_pages::made(const http_request& request, const char* type,
                            text (live_pages::*make)(const http_request&)) {
  std::string key;
  for (const char* field : {"parts", "catalog", "mesh", "window_s"})
    key += fmt::format("{}={}&", field, request.field(field).value_or(""));
  key = fmt::format("{}?{}", request.path, key.substr(0, 256));
  const double now = now_s();
  const bool ended = ended_.load(std::memory_order_relaxed);
  if (ended) key += "ended";
  std::erase_if(kept_, [&](const auto& k) { return now - k.second.made_s > keep_s; });
  auto it = kept_.find(key);
  if (it == kept_.end()) {
    if (kept_.size() >= keep_count) kept_.clear();
    it = kept_.emplace(std::move(key), kept{now, (this->*make)(request)}).first;
  }
  return {.type = type, .body = it->second.body};
}

http_reply live_pages::counters(const http_request& request) {
  const std::string pattern = request.field("pattern").value_or("/*{*}/*@*");
  auto json = counters_json(counters_, pattern, now_s() - begin_s_);
  if (!json) return refuse(404, json.error().message, refusals_.path);
  return {.type = json_type, .body = shared(*std::move(json))};
}

live_pages::text live_pages::metrics(const http_request&) { return shared(metrics_text(counters_)); }
live_pages::text live_pages::tasks(const http_request&) {
  return shared(fmt::format("{{\"tasks\":{}}}\n", tasks_json(recorder_.tasks())));
}
live_pages::text live_pages::timeline(const http_request& r) { return shared(timeline_of(r) + "\n"); }
live_pages::text live_pages::mesh(const http_request&) {
  const auto newest = pictures_.look();
  return shared(newest.picture ? picture_json(*newest.picture, newest.number) + "\n" : "null\n");
}

std::string live_pages::timeline_of(const http_request& request) {
  const double window_s = std::clamp(number_field(request, "window_s", 2), 1e-3, 60.0);
  const ticks now = now_ticks(), window = ticks_from(window_s), from = now - std::min(now, window);
  const auto lanes = recent_lanes(recorder_, from);
  const std::size_t bins = std::clamp<std::size_t>(6400 / (recorder_.worker_count() + lanes.size()), 50, 800);
  return timeline_json(recorder_, lanes, now, window, bins);
}

std::string live_pages::status_fields() const {
  return fmt::format(
      "\"state\":\"{}\",\"time_s\":{:.6f},\"workers\":{},\"pid\":{},\"program\":{},\"host\":{},\"measurement_cost\":{:."
      "6f}",
      ended_.load(std::memory_order_relaxed) ? "ended" : "running", now_s() - begin_s_, recorder_.worker_count(),
      getpid(), json_text(program_name()), json_text(host_name()), recorder_.measurement_cost());
}

live_pages::text live_pages::poll(const http_request& request) {
  std::string json = fmt::format("{{{}", status_fields());
  if (asks_for(request, "counters")) {
    const counter_catalog c = catalog_of(counters_);
    json += fmt::format(",\"catalog\":{},\"values\":{}", c.number, c.values);
    if (number_field(request, "catalog", -1) != c.number) json += ",\"list\":" + c.list;
  }
  if (asks_for(request, "tasks")) json += ",\"tasks\":" + tasks_json(recorder_.tasks());
  if (asks_for(request, "timeline")) json += ",\"timeline\":" + timeline_of(request);
  if (asks_for(request, "mesh")) {
    const auto newest = pictures_.look();
    if (newest.picture && number_field(request, "mesh", -1) != static_cast<double>(newest.number))
      json += ",\"mesh\":" + picture_json(*newest.picture, newest.number);
  }
  return shared(json + "}\n");
}

}  // namespace plx::probe
