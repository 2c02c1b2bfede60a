#include "trace/tools/slice_sink.hpp"

#include <algorithm>

#include "probe/record/slice_reader.hpp"

namespace plx::probe {

struct slice_sink::row_data {
  explicit row_data(task_id first) : reader{slices, all, first} {}
  std::vector<trace_slice> slices;
  trace_data all;
  detail::slice_reader reader;
};

slice_sink::slice_sink(const tick_window& window, bool with_edges) : window_(window), with_edges_(with_edges) {}
slice_sink::~slice_sink() = default;

void slice_sink::records(unsigned row, std::span<const trace_record> some) {
  row_data& r = at(row);
  const std::uint32_t skipped = trace_record::is_lock | trace_record::is_placement |
                                (with_edges_ ? 0u : trace_record::is_edge | trace_record::is_more);
  for (const trace_record& one : some) {
    if ((one.flags & detail::is_packed) == 0 && (one.flags & skipped) != 0) continue;
    r.reader.take(one);
    if (r.slices.empty()) continue;
    const trace_slice& s = r.slices.back();
    if (window_.overlaps(s.begin, s.end)) slice(row, s, r.all.edges);
    r.slices.clear(), r.all.edges.clear();
  }
}

void slice_sink::operations(unsigned row, std::span<const device_operation> some) {
  row_data& r = at(row);
  std::vector<device_operation> sorted(some.begin(), some.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (const device_operation& o : sorted) {
    if (!window_.overlaps(o.begin, o.end)) continue;
    const task_id id = r.reader.first + (o.number & detail::low_word);  // as device_lane::id_of()
    const trace_edge from{.from = o.from, .to = id, .when = o.submitted};
    slice(row,
          {.begin = o.begin,
           .end = std::max(o.begin, o.end),
           .key = o.bytes != 0 ? o.bytes : no_key,
           .id = id,
           .ready = o.submitted,
           .name = o.name},
          {&from, o.from != 0 && same_recorder(o.from, id) ? 1u : 0u});
  }
}

slice_sink::row_data& slice_sink::at(unsigned row) {
  if (row >= rows_.size()) rows_.resize(row + std::size_t{1});
  if (rows_[row] == nullptr) rows_[row] = std::make_unique<row_data>(detail::first_id_of(row, space_));
  return *rows_[row];
}

}  // namespace plx::probe
