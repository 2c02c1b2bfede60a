#include "probe/export/critical_path_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/file.hpp"
#include "base/json_text.hpp"
#include "probe/csv.hpp"
#include "probe/export/trace_text.hpp"
#include "probe/export/units.hpp"

namespace plx::probe {
namespace {

double in_seconds(double t) { return t / ticks_per_second(); }
double share(double part, double all) { return all > 0 ? part / all : 0.0; }

const what_if* answer_for(const critical_path_report& r, name_id name) {
  const auto at = std::find_if(r.half.begin(), r.half.end(), [&](const what_if& w) { return w.name == name; });
  return at == r.half.end() ? nullptr : &*at;
}

std::string summary(const critical_path_report& r) {
  const critical_path& c = r.path;
  std::string text = fmt::format(
      "critical path {} of {} ({}), {} pieces; they waited {} to begin\n"
      "work {}: on average {:.2f} workers could have been kept busy, {:.2f} of {} were\n",
      time_text(in_seconds(c.span)), time_text(in_seconds(c.wall)), share_text(share(c.span, c.wall)),
      count_text(c.path.size()), time_text(in_seconds(c.path_delay)), time_text(in_seconds(c.work)), c.parallelism(),
      share(c.work, c.wall), r.workers);
  if (r.missing.any())
    text += fmt::format("the graph has holes ({} records lost, {} tasks without a beginning): the path may be longer\n",
                        count_text(r.missing.lost_records), count_text(r.missing.headless));
  return text;
}

}  // namespace

critical_path_report report_critical_path(const trace_graph& g, std::size_t most_asked) {
  critical_path_report r{
      .path = find_critical_path(g), .half = {}, .workers = g.worker_count(), .missing = g.missing()};
  std::vector<name_id> names;
  for (const path_kind& k : r.path.kinds)
    if (names.size() < most_asked && k.path > 0) names.push_back(k.name);
  r.half = ask_what_if(g, names, 0.5);
  return r;
}

std::string critical_path_text(const critical_path_report& r, std::size_t rows) {
  std::string text = summary(r);
  if (r.path.kinds.empty()) return text;
  std::size_t width = 12;
  for (const path_kind& k : r.path.kinds) width = std::max(width, std::min<std::size_t>(name_of(k.name).size(), 38));
  text += fmt::format("{} {:>8} {:>7} {:>9} {:>8} {:>8}   {}\n", padded("task", width), "on path", "share", "pieces",
                      "work", "delay", "if it took half: path, run");
  std::size_t shown = 0;
  for (const path_kind& k : r.path.kinds) {
    if (shown == rows || k.path <= 0) break;
    ++shown;
    text += fmt::format("{} {} {} {} {} {}", padded(shortened(name_of(k.name), 38), width),
                        right(time_text(in_seconds(k.path)), 8), right(share_text(share(k.path, r.path.span)), 7),
                        right(count_text(k.on_path), 9), right(time_text(in_seconds(k.work)), 8),
                        right(time_text(in_seconds(k.path_delay)), 8));
    if (const what_if* w = answer_for(r, k.name); w != nullptr)
      text += fmt::format("   {:+.1f} %, {:+.1f} %", 100 * (share(w->span, r.path.span) - 1),
                          100 * (share(w->wall, r.path.wall) - 1));
    text += '\n';
  }
  if (shown < r.path.kinds.size())
    text += fmt::format("and {} kinds that are not on the path, or hardly\n", r.path.kinds.size() - shown);
  return text;
}

result<void> write_critical_path_csv(const critical_path_report& r, const std::string& path) {
  std::string text = "name,tasks,work_s,on_path,path_s,path_share,delay_s,path_delay_s,half_span_s,half_wall_s\n";
  const auto out = std::back_inserter(text);
  for (const path_kind& k : r.path.kinds) {
    fmt::format_to(out, "{},{},{:.9g},{},{:.9g},{:.6f},{:.9g},{:.9g},", csv_field(name_of(k.name)), k.tasks,
                   in_seconds(k.work), k.on_path, in_seconds(k.path), share(k.path, r.path.span), in_seconds(k.delay),
                   in_seconds(k.path_delay));
    if (const what_if* w = answer_for(r, k.name); w != nullptr)
      fmt::format_to(out, "{:.9g},{:.9g}\n", in_seconds(w->span), in_seconds(w->wall));
    else
      text += ",\n";
  }
  return write_file(path, text);
}

result<void> write_critical_path_json(const critical_path_report& r, const std::string& path) {
  const critical_path& c = r.path;
  std::string text = fmt::format(
      "{{\"wall_s\":{:.9g},\"work_s\":{:.9g},\"span_s\":{:.9g},\"parallelism\":{:.9g},\"workers\":{},\"delay_s\":{:.9g}"
      ","
      "\"path_delay_s\":{:.9g},\"path_pieces\":{},\n\"missing\":{{\"records\":{},\"headless_tasks\":{},"
      "\"unfinished_tasks\":{},\"edges_with_an_unknown_end\":{},\"edges_against_time\":{}}},\n\"kinds\":[",
      in_seconds(c.wall), in_seconds(c.work), in_seconds(c.span), c.parallelism(), r.workers, in_seconds(c.delay),
      in_seconds(c.path_delay), c.path.size(), r.missing.lost_records, r.missing.headless, r.missing.unfinished,
      r.missing.unknown_edges, r.missing.against_time);
  const auto out = std::back_inserter(text);
  for (const path_kind& k : c.kinds) {
    fmt::format_to(
        out,
        "\n{{\"name\":{},\"tasks\":{},\"work_s\":{:.9g},\"on_path\":{},\"path_s\":{:.9g},\"path_share\":{:.6f},"
        "\"delay_s\":{:.9g},\"path_delay_s\":{:.9g}",
        json_text(name_of(k.name)), k.tasks, in_seconds(k.work), k.on_path, in_seconds(k.path), share(k.path, c.span),
        in_seconds(k.delay), in_seconds(k.path_delay));
    if (const what_if* w = answer_for(r, k.name); w != nullptr)
      fmt::format_to(out, ",\"if_half\":{{\"span_s\":{:.9g},\"wall_s\":{:.9g}}}", in_seconds(w->span),
                     in_seconds(w->wall));
    text += "},";
  }
  if (text.back() == ',') text.pop_back();
  return write_file(path, text + "]}\n");
}

}  // namespace plx::probe
