#include "probe/export/job_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/file.hpp"
#include "probe/csv.hpp"

namespace plx::probe {
namespace {

struct found_piece {
  const trace_slice* slice;
  unsigned worker;
};

/// In order of their begin.
std::vector<found_piece> pieces_of(const trace_data& data) {
  std::vector<found_piece> all;
  for (unsigned w = 0; w < data.workers.size(); ++w)
    for (const trace_slice& s : data.workers[w]) all.push_back({&s, w});
  std::sort(all.begin(), all.end(),
            [](const found_piece& a, const found_piece& b) { return a.slice->begin < b.slice->begin; });
  return all;
}

/// The `most` in the middle of n.
std::size_t first_of_middle(std::size_t n, std::size_t most) { return n > most ? (n - most) / 2 : 0; }

}  // namespace

result<void> write_job_tables(const job_trace_data& trace, const std::string& folder, std::size_t most) {
  const auto time = [&](ticks t) { return t > trace.data.origin ? seconds(t - trace.data.origin) : 0.0; };
  const std::vector<found_piece> pieces = pieces_of(trace.data);
  std::string text = "locality,worker,name,key,begin_s,end_s\n";
  ticks first = ~ticks{0}, last = 0;
  const std::size_t from = first_of_middle(pieces.size(), most);
  for (std::size_t i = from; i < std::min(pieces.size(), from + most); ++i) {
    const trace_slice& s = *pieces[i].slice;
    const unsigned l = trace.job.locality_of(pieces[i].worker);
    first = std::min(first, s.begin), last = std::max(last, s.end);
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9f},{:.9f}\n", l,
                   pieces[i].worker - trace.job.localities[l].first_worker, csv_field(name_of(s.name)),
                   s.key == no_key ? std::string() : fmt::format("{}", s.key), time(s.begin), time(s.end));
  }
  if (auto r = write_file(folder + "/job_timeline.csv", text); !r) return r;

  std::vector<const trace_message*> parcels;
  for (const trace_message& m : trace.job.messages)
    if (m.received != 0 && m.sent >= first && m.sent <= last) parcels.push_back(&m);
  text = "from,to,name,bytes,sent_s,received_s\n";
  const std::size_t begin = first_of_middle(parcels.size(), most);
  for (std::size_t i = begin; i < std::min(parcels.size(), begin + most); ++i)
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9f},{:.9f}\n", parcels[i]->from, parcels[i]->to,
                   csv_field(name_of(parcels[i]->name)), parcels[i]->bytes, time(parcels[i]->sent),
                   time(parcels[i]->received));
  return write_file(folder + "/job_parcels.csv", text);
}

}  // namespace plx::probe
