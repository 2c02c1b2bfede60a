#include "probe/export/scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "probe/csv.hpp"
#include "probe/export/trace_text.hpp"
#include "probe/text_sink.hpp"

namespace plx::probe {
namespace {

/// A number in [0, 1) that looks random but is always the same for the same task (splitmix64's mixing).
double draw(std::uint64_t n) {
  n += 0x9e3779b97f4a7c15ull;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ull;
  n = (n ^ n >> 27) * 0x94d049bb133111ebull;
  return static_cast<double>((n ^ n >> 31) >> 11) * 0x1p-53;
}

double since(ticks origin, ticks t) { return t > origin ? seconds(t - origin) : 0; }

}  // namespace

result<void> write_scatter_csv(const trace_data& data, const trace_graph& graph, double share,
                               const std::string& path) {
  auto sink = text_sink::create(path);
  if (!sink) return sink.error();
  result<void> done = (*sink)->write("kind,name,begin_s,value,id,key,worker,wait_s\n");
  std::unordered_map<name_id, std::uint32_t> sparsest;
  for (const trace_graph::task& t : graph.tasks()) sparsest[t.name] = std::max(sparsest[t.name], t.every);
  trace_names names(csv_field);
  std::string line;
  for (std::size_t i = 0; i < graph.tasks().size() && done; ++i) {
    const trace_graph::task& t = graph.tasks()[i];
    const double of_all = std::min(share, 1.0 / sparsest[t.name]);
    if (draw(t.id != 0 ? t.id : i) >= of_all * t.every) continue;
    const trace_graph::piece& first = graph.pieces_of(t)[0];
    line.clear();
    const auto out = std::back_inserter(line);
    fmt::format_to(out, "{},{},{:.9f},{:.9f},", graph.is_device(first.worker) ? "device" : "task", names[t.name],
                   since(data.origin, first.begin), seconds(graph.length_of(t)));
    if (t.id != 0) fmt::format_to(out, "{}", t.id);
    line += ',';
    if (t.key != no_key) fmt::format_to(out, "{}", t.key);
    fmt::format_to(out, ",{},", first.worker);
    if (first.ready != 0) fmt::format_to(out, "{:.9f}", since(first.ready, first.begin));
    line += '\n';
    done = (*sink)->write(line);
  }
  for (const trace_sample& s : data.samples)
    if (done)
      done = (*sink)->write(
          fmt::format("counter,{},{:.9f},{:.9g},,,,\n", csv_field(s.name), since(data.origin, s.when), s.value));
  return done ? (*sink)->commit() : done;
}

}  // namespace plx::probe
