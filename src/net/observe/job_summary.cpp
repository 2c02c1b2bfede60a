// The summary of a job as tables, as JSON, and as text.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/process.hpp"
#include "base/text.hpp"
#include "net/action.hpp"
#include "net/core/sender.hpp"
#include "net/locality.hpp"
#include "net/observe/job_summary.hpp"
#include "net/observe/tree_gather.hpp"
#include "net/parcels/network_time.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/text_sink.hpp"

namespace plx::net {

template <>
struct wire_codec<kind_of_job> {
  static void write(wire_writer& w, const kind_of_job& k) {
    net::write(w, k.name), net::write(w, k.localities), net::write(w, k.calls), net::write(w, k.most_at);
    net::write(w, std::array{k.total_s, k.min_s, k.max_s, k.least_s, k.most_s});
  }
  static void read(wire_reader& r, kind_of_job& k) {
    std::array<double, 5> times{};
    net::read(r, k.name), net::read(r, k.localities), net::read(r, k.calls), net::read(r, k.most_at);
    net::read(r, times);
    std::tie(k.total_s, k.min_s, k.max_s, k.least_s, k.most_s) = std::tuple_cat(times);
  }
};

template <>
struct wire_codec<locality_summary> {
  using times = std::array<double, 7>;
  using counts = std::array<std::uint64_t, 8>;
  static void write(wire_writer& w, const locality_summary& l) {
    net::write(w, l.locality), net::write(w, l.host);
    net::write(w, times{l.exec_s, l.idle_s, l.overhead_s, l.background_s, l.polling_s, l.sending_s, l.wait_s});
    net::write(w, counts{l.workers, l.tasks, l.parcels_sent, l.parcels_received, l.messages_sent, l.messages_received,
                         l.bytes_sent, l.bytes_received});
  }
  static void read(wire_reader& r, locality_summary& l) {
    times t{};
    counts c{};
    net::read(r, l.locality), net::read(r, l.host), net::read(r, t), net::read(r, c);
    std::tie(l.exec_s, l.idle_s, l.overhead_s, l.background_s, l.polling_s, l.sending_s, l.wait_s) = std::tuple_cat(t);
    std::tie(l.workers, l.tasks, l.parcels_sent, l.parcels_received, l.messages_sent, l.messages_received, l.bytes_sent,
             l.bytes_received) = std::tuple_cat(c);
  }
};

template <>
struct wire_codec<job_summary> {
  static void write(wire_writer& w, const job_summary& j) { net::write(w, j.localities), net::write(w, j.kinds); }
  static void read(wire_reader& r, job_summary& j) { net::read(r, j.localities), net::read(r, j.kinds); }
};

namespace {

void summaries_requested(sender from, std::uint64_t round, double timeout_s, std::uint8_t direct,
                         std::vector<locality_id> without);
void summaries_found(sender from, std::uint64_t round, const std::vector<locality_id>& silent, job_summary found);

}  // namespace

template <>
inline constexpr bool is_control<&summaries_requested> = true;
template <>
inline constexpr bool is_control<&summaries_found> = true;

namespace {

/// The summary of a subtree.
struct summary_part {
  job_summary job;

  static summary_part make(node& n, locality_id, double) { return {summary_of(n)}; }
  void add(summary_part&& other) { job.add(std::move(other.job)); }
  static void request(locality_id to, const gather_request& q) {
    post<&summaries_requested>(to, sender{find_here()}, q.round, q.timeout_s, q.direct, q.without);
  }
  static void reply(locality_id to, std::uint64_t round, const std::vector<locality_id>& silent,
                    const summary_part& p) {
    post<&summaries_found>(to, sender{find_here()}, round, silent, p.job);
  }
};

void summaries_requested(sender from, std::uint64_t round, double timeout_s, std::uint8_t direct,
                         std::vector<locality_id> without) {
  node_here().get<tree_gather<summary_part>>().take_request(from.who, {round, timeout_s, direct, std::move(without)});
}
void summaries_found(sender from, std::uint64_t round, const std::vector<locality_id>& silent, job_summary found) {
  node_here().get<tree_gather<summary_part>>().take_reply(from.who, round, silent, {std::move(found)});
}

}  // namespace

double locality_summary::idle_rate() const noexcept {
  const double all = exec_s + idle_s + overhead_s + background_s;
  return all > 0 ? idle_s / all : 0;
}

double locality_summary::network_overhead() const noexcept {
  return network_time_of(exec_s, polling_s, sending_s).share();
}

job_summary summary_of(node& n) {
  locality_summary l;
  l.locality = n.here();
  l.host = host_name();
  const port_counts c = n.port().counts();  // read before this function's caller sends anything
  l.parcels_sent = c.parcels_sent, l.parcels_received = c.parcels_received;
  l.messages_sent = c.messages_sent, l.messages_received = c.messages_received;
  l.bytes_sent = c.bytes_sent, l.bytes_received = c.bytes_received;
  l.polling_s = n.port().polling_s(), l.sending_s = n.port().sending_s();
  const probe::recorder& r = n.home().recorder();
  l.workers = r.worker_count();
  for (unsigned w = 0; w < r.worker_count(); ++w) {
    const probe::worker_times t = r.times(w);
    l.exec_s += t.exec_s, l.idle_s += t.idle_s, l.overhead_s += t.overhead_s, l.background_s += t.background_s;
    l.tasks += t.tasks;
  }
  for (const probe::wait_statistics& w : r.waits()) l.wait_s += w.total_s;
  std::vector<kind_summary> kinds;
  for (const probe::task_statistics& t : r.tasks())
    kinds.push_back({std::string(t.name), t.calls, t.total_s, t.min_s, t.max_s});
  return summary_of(l, kinds);
}

namespace {
bool by_name(const kind_of_job& a, const kind_of_job& b) { return a.name < b.name; }
}  // namespace

job_summary summary_of(const locality_summary& row, const std::vector<kind_summary>& kinds) {
  job_summary j;
  j.localities.push_back(row);
  for (const kind_summary& k : kinds) {
    kind_of_job one{k.name, 1, k.calls, k.total_s, k.min_s, k.max_s, k.total_s, k.total_s, row.locality};
    if (k.calls == 0) one.min_s = 0;
    j.kinds.push_back(std::move(one));
  }
  std::sort(j.kinds.begin(), j.kinds.end(), by_name);
  return j;
}

void job_summary::add(job_summary&& other) {
  localities.insert(localities.end(), std::make_move_iterator(other.localities.begin()),
                    std::make_move_iterator(other.localities.end()));
  std::vector<kind_of_job> both;
  both.reserve(kinds.size() + other.kinds.size());
  std::merge(std::make_move_iterator(kinds.begin()), std::make_move_iterator(kinds.end()),
             std::make_move_iterator(other.kinds.begin()), std::make_move_iterator(other.kinds.end()),
             std::back_inserter(both), by_name);
  kinds.clear();
  for (kind_of_job& k : both) {
    if (kinds.empty() || kinds.back().name != k.name) {
      kinds.push_back(std::move(k));
      continue;
    }
    kind_of_job& to = kinds.back();
    if (k.calls != 0) to.min_s = to.calls == 0 ? k.min_s : std::min(to.min_s, k.min_s);
    if (k.most_s > to.most_s || (k.most_s == to.most_s && k.most_at < to.most_at))
      to.most_s = k.most_s, to.most_at = k.most_at;
    to.localities += k.localities, to.calls += k.calls, to.total_s += k.total_s;
    to.max_s = std::max(to.max_s, k.max_s), to.least_s = std::min(to.least_s, k.least_s);
  }
}

std::uint64_t job_summary::present() const noexcept {
  return static_cast<std::uint64_t>(
      std::count_if(localities.begin(), localities.end(), [](const auto& l) { return l.missing.empty(); }));
}

double job_summary::imbalance(const kind_of_job& k) const noexcept {
  return k.total_s > 0 ? k.most_s * static_cast<double>(present()) / k.total_s : 0;
}

double job_summary::least_s(const kind_of_job& k) const noexcept { return k.localities < present() ? 0 : k.least_s; }

std::vector<kind_of_job> job_summary::kinds_by_total() const {
  std::vector<kind_of_job> sorted = kinds;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const kind_of_job& a, const kind_of_job& b) { return a.total_s > b.total_s; });
  return sorted;
}

job_summary summary_of_all(node& n, double deadline_s) {
  job_summary all = summary_of(n);
  all.add(std::move(n.get<tree_gather<summary_part>>().gather(deadline_s).job));
  std::vector<locality_summary> rows(n.size());
  std::vector<char> found(n.size());
  for (locality_summary& l : all.localities)
    if (l.locality < n.size() && std::exchange(found[l.locality], 1) == 0) rows[l.locality] = std::move(l);
  for (locality_id i = 0; i < n.size(); ++i) {
    rows[i].locality = i;
    if (found[i] == 0) rows[i].missing = n.is_lost(i) ? "it is lost: " + n.why_lost(i) : "it did not answer";
  }
  all.localities = std::move(rows);
  return all;
}

namespace {

using probe::csv_field;
using probe::write_measurement;

std::string profile_csv(const job_summary& job) {
  std::string text = "name,calls,total_s,mean_s,min_s,max_s,least_locality_s,most_locality_s,most_at,imbalance\n";
  for (const kind_of_job& k : job.kinds_by_total())
    fmt::format_to(std::back_inserter(text), "{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{},{:.6g}\n",
                   csv_field(k.name), k.calls, k.total_s, k.calls > 0 ? k.total_s / double(k.calls) : 0, k.min_s,
                   k.max_s, job.least_s(k), k.most_s, k.most_at, job.imbalance(k));
  return text;
}

std::string localities_csv(const std::vector<locality_summary>& all) {
  std::string text =
      "locality,host,workers,tasks,exec_s,idle_s,overhead_s,background_s,idle_rate,network_overhead,polling_s,"
      "sending_s,wait_s,parcels_sent,parcels_received,messages_sent,messages_received,bytes_sent,bytes_received,"
      "missing\n";
  for (const locality_summary& l : all)
    fmt::format_to(std::back_inserter(text),
                   "{},{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.6g},{:.6g},{:.9g},{:.9g},{:.9g},{},{},{},{},{},{},{}\n",
                   l.locality, csv_field(l.host), l.workers, l.tasks, l.exec_s, l.idle_s, l.overhead_s, l.background_s,
                   l.idle_rate(), l.network_overhead(), l.polling_s, l.sending_s, l.wait_s, l.parcels_sent,
                   l.parcels_received, l.messages_sent, l.messages_received, l.bytes_sent, l.bytes_received,
                   csv_field(l.missing));
  return text;
}

std::string job_json(const job_summary& job) {
  std::string text = "{\"localities\":[";
  const auto out = std::back_inserter(text);
  for (const locality_summary& l : job.localities)
    fmt::format_to(out,
                   "{}\n{{\"locality\":{},\"host\":{},\"workers\":{},\"tasks\":{},\"exec_s\":{:.9g},\"idle_s\":{:.9g},"
                   "\"overhead_s\":{:.9g},\"background_s\":{:.9g},\"idle_rate\":{:.6g},\"network_overhead\":{:.6g},"
                   "\"wait_s\":{:.9g},\"parcels_sent\":{},\"parcels_received\":{},\"messages_sent\":{},"
                   "\"messages_received\":{},\"bytes_sent\":{},\"bytes_received\":{},\"missing\":{}}}",
                   &l == job.localities.data() ? "" : ",", l.locality, json_text(l.host), l.workers, l.tasks, l.exec_s,
                   l.idle_s, l.overhead_s, l.background_s, l.idle_rate(), l.network_overhead(), l.wait_s,
                   l.parcels_sent, l.parcels_received, l.messages_sent, l.messages_received, l.bytes_sent,
                   l.bytes_received, json_text(l.missing));
  text += "],\n\"tasks\":[";
  const auto kinds = job.kinds_by_total();
  for (const kind_of_job& k : kinds)
    fmt::format_to(out,
                   "{}\n{{\"name\":{},\"calls\":{},\"total_s\":{:.9g},\"min_s\":{:.9g},\"max_s\":{:.9g},"
                   "\"least_locality_s\":{:.9g},\"most_locality_s\":{:.9g},\"most_at\":{},\"imbalance\":{:.6g}}}",
                   &k == kinds.data() ? "" : ",", json_text(k.name), k.calls, k.total_s, k.min_s, k.max_s,
                   job.least_s(k), k.most_s, k.most_at, job.imbalance(k));
  return text + "]}\n";
}

}  // namespace

result<void> write_job_summary(const job_summary& job, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error{fmt::format("cannot create the folder '{}': {}", folder, failed.message())};
  if (auto r = write_measurement(folder + "/job_profile.csv", profile_csv(job)); !r) return r;
  if (auto r = write_measurement(folder + "/localities.csv", localities_csv(job.localities)); !r) return r;
  return write_measurement(folder + "/job.json", job_json(job));
}

std::string job_summary_text(const job_summary& job) {
  constexpr std::size_t most_kinds = 20, widest_name = 40;
  std::string text =
      fmt::format("{:>8} {:>7} {:>10} {:>9} {:>6} {:>8} {:>10} {:>10} {:>10} {:>10}\n", "locality", "workers", "tasks",
                  "exec s", "idle", "network", "sent", "received", "MB sent", "wait s");
  const auto out = std::back_inserter(text);
  for (const locality_summary& l : job.localities)
    if (l.missing.empty())
      fmt::format_to(out, "{:>8} {:>7} {:>10} {:>9.3f} {:>5.1f}% {:>7.2f}% {:>10} {:>10} {:>10.3f} {:>10.3f}\n",
                     l.locality, l.workers, l.tasks, l.exec_s, 100 * l.idle_rate(), 100 * l.network_overhead(),
                     l.parcels_sent, l.parcels_received, 1e-6 * static_cast<double>(l.bytes_sent), l.wait_s);
    else
      fmt::format_to(out, "{:>8} {}\n", l.locality, l.missing);
  const auto kinds = job.kinds_by_total();
  fmt::format_to(out, "\n{:<40} {:>10} {:>9} {:>10} {:>9} {:>9} {:>9}\n", "tasks of all localities", "calls", "total s",
                 "mean us", "least s", "most s", "most/mean");
  for (std::size_t i = 0; i < std::min(kinds.size(), most_kinds); ++i) {
    const kind_of_job& k = kinds[i];
    fmt::format_to(out, "{:<40} {:>10} {:>9.3f} {:>10.2f} {:>9.3f} {:>9.3f} {:>9.2f}\n", k.name.substr(0, widest_name),
                   k.calls, k.total_s, k.calls > 0 ? 1e6 * k.total_s / double(k.calls) : 0, job.least_s(k), k.most_s,
                   job.imbalance(k));
  }
  if (kinds.size() > most_kinds) fmt::format_to(out, "and {} more\n", kinds.size() - most_kinds);
  return text;
}

}  // namespace plx::net
