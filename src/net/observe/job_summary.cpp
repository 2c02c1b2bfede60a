// The summary of a job as tables, as JSON, and as text.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/process.hpp"
#include "base/text.hpp"
#include "net/action.hpp"
#include "net/observe/job_summary.hpp"
#include "net/parcels/network_time.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/text_sink.hpp"

namespace plx::net {

template <>
struct wire_codec<kind_summary> {
  static void write(wire_writer& w, const kind_summary& k) {
    net::write(w, k.name), net::write(w, k.calls), net::write(w, std::array{k.total_s, k.min_s, k.max_s});
  }
  static void read(wire_reader& r, kind_summary& k) {
    std::array<double, 3> times{};
    net::read(r, k.name), net::read(r, k.calls), net::read(r, times);
    k.total_s = times[0], k.min_s = times[1], k.max_s = times[2];
  }
};

template <>
struct wire_codec<locality_summary> {
  using times = std::array<double, 7>;
  using counts = std::array<std::uint64_t, 8>;
  static void write(wire_writer& w, const locality_summary& l) {
    net::write(w, l.locality), net::write(w, l.host), net::write(w, l.kinds);
    net::write(w, times{l.exec_s, l.idle_s, l.overhead_s, l.background_s, l.polling_s, l.sending_s, l.wait_s});
    net::write(w, counts{l.workers, l.tasks, l.parcels_sent, l.parcels_received, l.messages_sent, l.messages_received,
                         l.bytes_sent, l.bytes_received});
  }
  static void read(wire_reader& r, locality_summary& l) {
    times t{};
    counts c{};
    net::read(r, l.locality), net::read(r, l.host), net::read(r, l.kinds), net::read(r, t), net::read(r, c);
    std::tie(l.exec_s, l.idle_s, l.overhead_s, l.background_s, l.polling_s, l.sending_s, l.wait_s) = std::tuple_cat(t);
    std::tie(l.workers, l.tasks, l.parcels_sent, l.parcels_received, l.messages_sent, l.messages_received, l.bytes_sent,
             l.bytes_received) = std::tuple_cat(c);
  }
};

namespace {

locality_summary summary_here() { return summary_of(node_here()); }

}  // namespace

template <>
inline constexpr bool is_control<&summary_here> = true;

double locality_summary::idle_rate() const noexcept {
  const double all = exec_s + idle_s + overhead_s + background_s;
  return all > 0 ? idle_s / all : 0;
}

double locality_summary::network_overhead() const noexcept {
  return network_time_of(exec_s, polling_s, sending_s).share();
}

locality_summary summary_of(node& n) {
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
  for (const probe::task_statistics& t : r.tasks())
    l.kinds.push_back({std::string(t.name), t.calls, t.total_s, t.min_s, t.max_s});
  return l;
}

std::vector<locality_summary> summaries_of_all(node& n, double deadline_s) {
  std::vector<locality_summary> all(n.size());
  all[n.here()] = summary_of(n);
  std::vector<future<locality_summary>> answers(n.size());
  for (locality_id i = 0; i < n.size(); ++i)
    if (i != n.here() && !n.is_lost(i)) answers[i] = async<&summary_here>(i);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(deadline_s);  // for all of them
  for (locality_id i = 0; i < n.size(); ++i) {
    if (i == n.here()) continue;
    all[i].locality = i;
    try {
      if (!answers[i].valid())
        all[i].missing = "it is lost: " + n.why_lost(i);
      else if (answers[i].wait_until(until) != future_status::ready)
        all[i].missing = "it did not answer";
      else
        all[i] = answers[i].get();
    } catch (const std::exception& e) {
      all[i].missing = e.what();
    }
  }
  return all;
}

std::vector<kind_of_job> kinds_of(const std::vector<locality_summary>& all) {
  std::map<std::string, kind_of_job> kinds;
  std::map<std::string, std::size_t> met;
  std::size_t there = 0;
  for (const locality_summary& l : all) {
    there += l.missing.empty();
    for (const kind_summary& k : l.kinds) {
      kind_of_job& j = kinds[k.name];
      const bool first = met[k.name]++ == 0;
      if (k.calls != 0) j.min_s = j.calls == 0 ? k.min_s : std::min(j.min_s, k.min_s);
      j.calls += k.calls;
      j.total_s += k.total_s;
      j.max_s = std::max(j.max_s, k.max_s);
      j.least_s = first ? k.total_s : std::min(j.least_s, k.total_s);
      if (first || k.total_s > j.most_s) j.most_s = k.total_s, j.most_at = l.locality;
    }
  }
  std::vector<kind_of_job> sorted;
  for (auto& [name, j] : kinds) {
    j.name = name;
    if (met[name] < there) j.least_s = 0;
    j.imbalance = j.total_s > 0 ? j.most_s * static_cast<double>(there) / j.total_s : 0;
    sorted.push_back(std::move(j));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const kind_of_job& a, const kind_of_job& b) { return a.total_s > b.total_s; });
  return sorted;
}

namespace {

using probe::csv_field;
using probe::write_measurement;

std::string profile_csv(const std::vector<kind_of_job>& kinds) {
  std::string text = "name,calls,total_s,mean_s,min_s,max_s,least_locality_s,most_locality_s,most_at,imbalance\n";
  for (const kind_of_job& k : kinds)
    fmt::format_to(std::back_inserter(text), "{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{},{:.6g}\n",
                   csv_field(k.name), k.calls, k.total_s, k.calls > 0 ? k.total_s / double(k.calls) : 0, k.min_s,
                   k.max_s, k.least_s, k.most_s, k.most_at, k.imbalance);
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

std::string job_json(const std::vector<locality_summary>& all, const std::vector<kind_of_job>& kinds) {
  std::string text = "{\"localities\":[";
  const auto out = std::back_inserter(text);
  for (const locality_summary& l : all)
    fmt::format_to(out,
                   "{}\n{{\"locality\":{},\"host\":{},\"workers\":{},\"tasks\":{},\"exec_s\":{:.9g},\"idle_s\":{:.9g},"
                   "\"overhead_s\":{:.9g},\"background_s\":{:.9g},\"idle_rate\":{:.6g},\"network_overhead\":{:.6g},"
                   "\"wait_s\":{:.9g},\"parcels_sent\":{},\"parcels_received\":{},\"messages_sent\":{},"
                   "\"messages_received\":{},\"bytes_sent\":{},\"bytes_received\":{},\"missing\":{}}}",
                   &l == all.data() ? "" : ",", l.locality, json_text(l.host), l.workers, l.tasks, l.exec_s, l.idle_s,
                   l.overhead_s, l.background_s, l.idle_rate(), l.network_overhead(), l.wait_s, l.parcels_sent,
                   l.parcels_received, l.messages_sent, l.messages_received, l.bytes_sent, l.bytes_received,
                   json_text(l.missing));
  text += "],\n\"tasks\":[";
  for (const kind_of_job& k : kinds)
    fmt::format_to(out,
                   "{}\n{{\"name\":{},\"calls\":{},\"total_s\":{:.9g},\"min_s\":{:.9g},\"max_s\":{:.9g},"
                   "\"least_locality_s\":{:.9g},\"most_locality_s\":{:.9g},\"most_at\":{},\"imbalance\":{:.6g}}}",
                   &k == kinds.data() ? "" : ",", json_text(k.name), k.calls, k.total_s, k.min_s, k.max_s, k.least_s,
                   k.most_s, k.most_at, k.imbalance);
  return text + "]}\n";
}

}  // namespace

result<void> write_job_summary(const std::vector<locality_summary>& all, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error{fmt::format("cannot create the folder '{}': {}", folder, failed.message())};
  const auto kinds = kinds_of(all);
  if (auto r = write_measurement(folder + "/job_profile.csv", profile_csv(kinds)); !r) return r;
  if (auto r = write_measurement(folder + "/localities.csv", localities_csv(all)); !r) return r;
  return write_measurement(folder + "/job.json", job_json(all, kinds));
}

std::string job_summary_text(const std::vector<locality_summary>& all) {
  constexpr std::size_t most_kinds = 20, widest_name = 40;
  std::string text =
      fmt::format("{:>8} {:>7} {:>10} {:>9} {:>6} {:>8} {:>10} {:>10} {:>10} {:>10}\n", "locality", "workers", "tasks",
                  "exec s", "idle", "network", "sent", "received", "MB sent", "wait s");
  const auto out = std::back_inserter(text);
  for (const locality_summary& l : all)
    if (l.missing.empty())
      fmt::format_to(out, "{:>8} {:>7} {:>10} {:>9.3f} {:>5.1f}% {:>7.2f}% {:>10} {:>10} {:>10.3f} {:>10.3f}\n",
                     l.locality, l.workers, l.tasks, l.exec_s, 100 * l.idle_rate(), 100 * l.network_overhead(),
                     l.parcels_sent, l.parcels_received, 1e-6 * static_cast<double>(l.bytes_sent), l.wait_s);
    else
      fmt::format_to(out, "{:>8} {}\n", l.locality, l.missing);
  const auto kinds = kinds_of(all);
  fmt::format_to(out, "\n{:<40} {:>10} {:>9} {:>10} {:>9} {:>9} {:>9}\n", "tasks of all localities", "calls", "total s",
                 "mean us", "least s", "most s", "most/mean");
  for (std::size_t i = 0; i < std::min(kinds.size(), most_kinds); ++i) {
    const kind_of_job& k = kinds[i];
    fmt::format_to(out, "{:<40} {:>10} {:>9.3f} {:>10.2f} {:>9.3f} {:>9.3f} {:>9.2f}\n", k.name.substr(0, widest_name),
                   k.calls, k.total_s, k.calls > 0 ? 1e6 * k.total_s / double(k.calls) : 0, k.least_s, k.most_s,
                   k.imbalance);
  }
  if (kinds.size() > most_kinds) fmt::format_to(out, "and {} more\n", kinds.size() - most_kinds);
  return text;
}

}  // namespace plx::net
