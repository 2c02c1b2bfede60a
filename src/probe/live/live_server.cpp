#include "probe/live/live_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "probe/live/timeline_json.hpp"
#include "probe/settings.hpp"

namespace plx::probe {
namespace {

// Per worker, 32 bytes each; used unless the flight recorder is enabled already.
constexpr std::size_t timeline_records = std::size_t{1} << 14;

/// Creates a file that only its owner can read at any time, and that exists completely or not at all.
result<void> write_secret(const std::string& path, const std::string& text) {
  const std::string fresh = fmt::format("{}.{}.new", path, getpid());
  ::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return file_error("write", path, errno);
  const bool whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int number = whole ? 0 : errno;
  if (::close(fd) != 0 && number == 0) number = errno;
  if (number == 0 && ::rename(fresh.c_str(), path.c_str()) == 0) return {};
  if (number == 0) number = errno;
  ::unlink(fresh.c_str());
  return file_error("write", path, number);
}

/// A browser cannot open the address "any"; the machine's name replaces it.
live_address reachable(live_address a) {
  const std::string name = host_name();
  if ((a.host == "0.0.0.0" || a.host == "::") && !name.empty()) a.host = name;
  return a;
}

/// The same for clients on this machine.
live_address local(live_address a) {
  if (a.host == "0.0.0.0") a.host = "127.0.0.1";
  if (a.host == "::") a.host = "::1";
  return a;
}

}  // namespace

struct live_server::state {
  state(recorder& r, counter_registry& c, live_options o)
      : counters(c), options(std::move(o)), pages(r, c, options.stacks) {}

  counter_registry& counters;
  const live_options options;
  live_pages pages;
  std::unique_ptr<http_server> server;  // uses pages
  std::string url, file;
  bool made_folder = false;
  std::optional<flight_use> timelines;
  std::vector<registration> registrations;  // use the server and the pages

  void add_counters();
  void write_file();
  [[nodiscard]] std::string url_at(const live_address& a) const {
    return fmt::format("http://{}/?token={}", a.text(), pages.token().text());
  }
};

void live_server::state::add_counters() {
  const auto add = [this](const char* name, const char* unit, const char* help, bool monotonic, const auto& from) {
    registrations.push_back(counters.add({fmt::format("/live/{}", name), unit, help, monotonic},
                                         [&from] { return from.load(std::memory_order_relaxed); }));
  };
  const http_counts& http = server->counts();
  const live_refusals& refused = pages.refusals();
  add("requests/answered", "1", "Requests of the live page that were answered", true, http.answered);
  add("requests/refused", "1", "Requests of the live page that were refused, for any reason", true, http.refused);
  add("refused/malformed", "1", "Refused requests that are invalid, too large, or use a method other than GET", true,
      http.malformed);
  add("refused/token", "1", "Refused requests without the token, or with a wrong one", true, refused.token);
  add("refused/host", "1", "Refused requests for a host name that is not this machine's", true, refused.host);
  add("refused/path", "1", "Refused requests for a nonexistent path", true, refused.path);
  add("connections/open", "1", "Open connections to the live page", false, http.open);
  add("connections/timed-out", "1", "Connections closed because the client did not send or read in time", true,
      http.timed_out);
  add("connections/turned-away", "1", "Connections closed because there were too many, or no file descriptors left",
      true, http.turned_away);
  add("bytes/sent", "bytes", "Bytes sent to clients of the live page", true, http.bytes_sent);
  add("timeline/records", "1", "Records of the flight recorder that were read for timelines", true,
      pages.timeline_records());
  add("time/cpu", "s", "Processor time of the thread that serves the live page", true, http.cpu_s);
}

void live_server::state::write_file() {
  if (options.folder.empty()) return;
  std::error_code failed;
  made_folder = std::filesystem::create_directories(options.folder, failed);  // if this fails, so does the next line
  file = options.folder + "/live.url";
  if (auto r = write_secret(file, url + "\n"); !r) {
    log_warning("{}; the live page is served nevertheless", r.error().message);
    file.clear();
  }
}

live_server::live_server(std::unique_ptr<state> s) : state_(std::move(s)) {}

result<std::unique_ptr<live_server>> live_server::start(recorder& r, counter_registry& counters, live_options options) {
  const auto where = parse_live_address(options.serve, options.beyond_loopback);
  if (!where) return error{"serve: " + where.error().message};
  auto s = std::make_unique<state>(r, counters, std::move(options));
  s->timelines.emplace(r, timeline_records);  // before the first request
  auto server = http_server::start(*where, s->pages);
  if (!server) return server.error();
  s->server = *std::move(server);
  s->url = s->url_at(reachable(s->server->where()));
  s->add_counters();
  s->write_file();
  return std::unique_ptr<live_server>(new live_server(std::move(s)));
}

live_server::~live_server() {
  state_->pages.end();
  // The last answers are made before the counters are removed, so that they contain the same list; the counts stay
  // until then.
  state_->server->stop();
  state_->registrations.clear();
  state_->timelines.reset();
  // Another run in the same folder may have written its own file since.
  if (!state_->file.empty())
    if (const auto text = read_file(state_->file); text && *text == state_->url + "\n") ::unlink(state_->file.c_str());
  if (state_->made_folder) ::rmdir(state_->options.folder.c_str());  // stays if it is not empty
}

const std::string& live_server::url() const noexcept { return state_->url; }
std::string live_server::local_url() const { return state_->url_at(local(state_->server->where())); }
picture_board& live_server::pictures() noexcept { return state_->pages.pictures(); }

// --------------------------------------------------------------------------------------------------------------- pages

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
constexpr double stacks_s = 10;  // the span of the sampled stacks that are shown
/// Nodes of a tree whose counts are kept, 8 bytes each, some ten times; larger trees show the whole run.
constexpr std::size_t most_counts = std::size_t{1} << 18;
constexpr double least_window_s = 1e-5, most_window_s = 60;
constexpr double parents_s = 10;  // without a timeline; a page asks every second
constexpr const char* json_type = "application/json";

std::shared_ptr<const std::string> shared(std::string s) { return std::make_shared<const std::string>(std::move(s)); }

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
  if (number_field(request, "parents", 0) != 0) look_at_parents();
  if (path == "/") return page();
  if (path == "/counters.json") return counters(request);
  if (path == "/metrics") return made(request, "text/plain; version=0.0.4; charset=utf-8", &live_pages::metrics);
  if (path == "/tasks.json") return made(request, json_type, &live_pages::tasks);
  if (path == "/timeline.json") return made(request, json_type, &live_pages::timeline);
  if (path == "/slice.json") return {.type = json_type, .body = slice(request)};
  if (path == "/mesh.json") return made(request, json_type, &live_pages::mesh);
  if (path == "/stacks.json") return made(request, json_type, &live_pages::stacks);
  if (path != "/poll.json") return refuse(404, "no such page", refusals_.path);
  // All waiting clients are answered at the same full second, with the same answer.
  if (!again && request.field("wait") && !ended_.load(std::memory_order_relaxed)) {
    const double t = now_s() - begin_s_;
    return {.later_s = std::floor(t) + 1 - t};
  }
  http_reply r = made(request, json_type, &live_pages::poll, again);
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

/// The answer prepared for another client a moment ago, or a new one. `waited`: that for another client that has
/// waited, until the next full second, however long the answers to all of them take.
http_reply live_pages::made(const http_request& request, const char* type,
                            text (live_pages::*make)(const http_request&), bool waited) {
  std::string key(request.path);
  for (const char* field :
       {"parts", "catalog", "mesh", "window_s", "from_s", "to_s", "first", "count", "rows", "each"}) {
    const std::string value(request.field(field).value_or(""));
    key += fmt::format("&{}={}:{}", field, value.size(), value);
  }
  constexpr std::size_t longest_key = 512;
  const double now = now_s(), second = std::floor(now - begin_s_);
  begun_s_ = now;
  if (key.size() > longest_key) return {.type = type, .body = (this->*make)(request)};
  const bool ended = ended_.load(std::memory_order_relaxed);
  if (ended) key += "ended";
  if (waited) key += fmt::format("&second={}", second);
  std::erase_if(kept_, [&](const auto& k) { return k.second.second != second && now - k.second.made_s > keep_s; });
  auto it = kept_.find(key);
  if (it == kept_.end()) {
    if (kept_.size() >= keep_count) kept_.clear();
    it = kept_.emplace(std::move(key), kept{now, waited ? second : -1, (this->*make)(request)}).first;
  }
  return {.type = type, .body = it->second.body};
}

http_reply live_pages::counters(const http_request& request) {
  const std::string pattern = request.field("pattern").value_or("/*{*}/*@*");
  auto json = counters_json(counters_, pattern, now_s() - begin_s_);
  if (!json) return refuse(404, json.error().message, refusals_.path);
  return {.type = json_type, .body = shared(*std::move(json))};
}

live_pages::text live_pages::metrics(const http_request&) { return shared(metrics_text(counters_, recorder_)); }
live_pages::text live_pages::tasks(const http_request&) {
  return shared(fmt::format("{{\"tasks\":{}}}\n", tasks_json(recorder_.tasks())));
}
live_pages::text live_pages::timeline(const http_request& r) { return shared(timeline_of(r) + "\n"); }
live_pages::text live_pages::mesh(const http_request&) {
  const auto newest = pictures_.look();
  return shared(newest.picture ? picture_json(*newest.picture, newest.number) + "\n" : "null\n");
}

live_pages::text live_pages::stacks(const http_request&) { return shared(newest_stacks() + "\n"); }

/// The samples of the last `stacks_s` seconds if a client has asked that long ago, otherwise of the whole run; null
/// without a sampler.
std::string live_pages::newest_stacks() {
  if (sampler_ == nullptr) return "null";
  const double now = now_s() - begin_s_;
  const sample_tree tree = sampler_->tree();
  while (stacks_then_.size() > 1 && stacks_then_[1].at_s <= now - stacks_s) stacks_then_.pop_front();
  if (!stacks_then_.empty() && stacks_then_.front().at_s < now - 2 * stacks_s) stacks_then_.pop_front();
  const bool recent = !stacks_then_.empty() && stacks_then_.front().at_s <= now - stacks_s;
  std::string json =
      recent ? stacks_json(tree.since(stacks_then_.front().counts), sampler_->hz(), now - stacks_then_.front().at_s)
             : stacks_json(tree, sampler_->hz(), now);
  std::vector<std::uint64_t> counts = tree.counts();
  const bool due = stacks_then_.empty() || now - stacks_then_.back().at_s >= stacks_s / 10;
  if (due && counts.size() <= most_counts) stacks_then_.push_back({now, std::move(counts)});
  return json;
}

/// The last window_s seconds or, with from_s or to_s, a part of the run, at most most_window_s before to_s: these get
/// more bins, since they are not sent every second. The workers are `count` from `first` on, in at most `rows`.
std::string live_pages::timeline_of(const http_request& request) {
  const ticks now = now_ticks();
  const double passed_s = now_s() - begin_s_;
  timeline_window w{.end = now, .end_s = passed_s};
  std::size_t least_bins = 50, most_bins = 800, all_bins = 3200;
  double length_s = std::clamp(number_field(request, "window_s", 2), 1e-3, most_window_s);
  const double from_s = number_field(request, "from_s", NAN), to_s = number_field(request, "to_s", NAN);
  if (std::isfinite(from_s) || std::isfinite(to_s)) {
    w.end_s = std::isfinite(to_s) ? std::clamp(to_s, 0.0, passed_s) : passed_s;
    if (std::isfinite(from_s)) length_s = std::clamp(w.end_s - from_s, least_window_s, most_window_s);
    const ticks ago = ticks_from(passed_s - w.end_s);
    w.end = now - std::min(now, ago);
    least_bins = 200, most_bins = 1600, all_bins = 12800;
  }
  w.length = ticks_from(length_s);
  const unsigned workers = recorder_.worker_count();
  const auto count_field = [&](const char* name, double otherwise, double least, double most) {
    return static_cast<unsigned>(std::clamp(number_field(request, name, otherwise), least, std::max(least, most)));
  };
  w.first = count_field("first", 0, 0, workers - 1.0);
  w.workers = count_field("count", workers, 1, workers);
  w.rows = count_field("rows", workers, 1, workers);
  const auto lanes = recent_lanes(recorder_, w.end - std::min(w.end, w.length));
  const unsigned shown = std::min(w.workers, workers - w.first);
  const std::size_t rows = std::min(w.rows, shown) + lanes.size();
  if (w.rows < shown) all_bins *= 2;  // those of groups take few bytes
  w.bins = std::clamp(all_bins / std::max<std::size_t>(1, rows), least_bins, most_bins);
  std::uint64_t visited = 0;
  std::string json = timeline_json(recorder_, lanes, w, &visited);
  timeline_records_.fetch_add(visited, std::memory_order_relaxed);
  return json;
}

/// From now on, and until no request wants them for some seconds, tasks and their parents are recorded.
void live_pages::look_at_parents() {
  if (parents_until_s_ == 0) recorder_.flight_links(true);
  parents_until_s_ = now_s() + parents_s;
}

double live_pages::between(double now) noexcept {
  if (parents_until_s_ == 0) return INFINITY;
  if (now < parents_until_s_) return parents_until_s_;
  recorder_.flight_links(false);
  parents_until_s_ = 0;
  return INFINITY;
}

/// The slice of `worker` at `before_us` before `end`, the end of a timeline, which is `window_us` long.
live_pages::text live_pages::slice(const http_request& request) {
  look_at_parents();
  const std::string end_text(request.field("end").value_or(""));
  const ticks end = std::strtoull(end_text.c_str(), nullptr, 10);
  const auto before = [&](const char* field) {
    return end -
           std::min(end, ticks_from(1e-6 * std::clamp(number_field(request, field, 0), 0.0, 1e6 * most_window_s)));
  };
  const double worker = std::clamp(number_field(request, "worker", 0), 0.0, 1e9);
  return shared(slice_json(recorder_, static_cast<unsigned>(worker), before("before_us"), before("window_us")) + "\n");
}

std::string live_pages::status_fields() const {
  return fmt::format(
      "\"state\":\"{}\",\"time_s\":{:.6f},\"workers\":{},\"pid\":{},\"program\":{},\"host\":{},\"measurement_cost\":{:."
      "6f},\"sample_stacks_hz\":{}",
      ended_.load(std::memory_order_relaxed) ? "ended" : "running", begun_s_ - begin_s_, recorder_.worker_count(),
      getpid(), json_text(program_name()), json_text(host_name()), recorder_.measurement_cost(),
      json_number(sampler_ != nullptr ? sampler_->hz() : 0));
}

live_pages::text live_pages::poll(const http_request& request) {
  std::string json = fmt::format("{{{}", status_fields());
  if (asks_for(request, "counters")) {
    const counter_catalog c = catalog_of(counters_, number_field(request, "each", 1) != 0);
    json += fmt::format(",\"catalog\":{},\"values\":{}", c.number, c.values);
    if (number_field(request, "catalog", -1) != c.number) json += ",\"list\":" + c.list;
  }
  if (asks_for(request, "tasks")) json += ",\"tasks\":" + tasks_json(recorder_.tasks());
  if (asks_for(request, "stacks")) json += ",\"stacks\":" + newest_stacks();
  if (asks_for(request, "timeline")) json += ",\"timeline\":" + timeline_of(request);
  if (asks_for(request, "mesh")) {
    const auto newest = pictures_.look();
    if (newest.picture && number_field(request, "mesh", -1) != static_cast<double>(newest.number))
      json += ",\"mesh\":" + picture_json(*newest.picture, newest.number);
  }
  return shared(json + "}\n");
}

}  // namespace plx::probe
