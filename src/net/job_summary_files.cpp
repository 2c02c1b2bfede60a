// The summary of a job as tables, as JSON, and as text.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/file.hpp"
#include "base/json_text.hpp"
#include "net/job_summary.hpp"
#include "probe/csv.hpp"

namespace plx::net {
namespace {

using probe::csv_field;

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
  if (failed) return error{fmt::format("cannot make the folder '{}': {}", folder, failed.message())};
  const auto kinds = kinds_of(all);
  if (auto r = write_file(folder + "/job_profile.csv", profile_csv(kinds)); !r) return r;
  if (auto r = write_file(folder + "/localities.csv", localities_csv(all)); !r) return r;
  return write_file(folder + "/job.json", job_json(all, kinds));
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
