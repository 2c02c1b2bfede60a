#include "probe/live/timeline_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "probe/crash/flight_ring.hpp"
#include "probe/live/live_json.hpp"
#include "probe/record/device_lanes.hpp"

namespace plx::probe {

std::vector<recent_work> recent_lanes(recorder& r, ticks from) {
  r.devices().look();
  std::vector<recent_work> lanes;
  for (recent_operations& o : r.devices().recent(from))
    lanes.push_back({.slices = std::move(o.slices), .known_from = o.known_from, .lane = std::move(o.lane)});
  return lanes;
}

namespace {

/// The short slices of one bin.
class bin_sum {
 public:
  void add(name_id name, ticks begin, ticks length, std::uint64_t count) {
    if (count_ == 0) begin_ = begin;
    time_ += length;
    count_ += count;
    ticks& own = by_name_[name];
    own += length;
    if (own > best_) best_ = own, name_ = name;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] ticks begin() const { return begin_; }
  [[nodiscard]] ticks time() const { return time_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] name_id name() const { return name_; }
  void clear() { *this = {}; }

 private:
  std::map<name_id, ticks> by_name_;
  ticks begin_ = 0, time_ = 0, best_ = 0;
  std::uint64_t count_ = 0;
  name_id name_ = unnamed;
};

/// The time of a group's workers in one bin, by name: a few names, as a rule.
class name_sums {
 public:
  void add(name_id name, double time) {
    const auto it = std::find_if(times_.begin(), times_.end(), [&](const auto& t) { return t.first == name; });
    if (it != times_.end())
      it->second += time;
    else
      times_.emplace_back(name, time);
  }
  /// The name with most time, and the time of all names.
  [[nodiscard]] std::pair<name_id, double> most() const {
    std::pair<name_id, double> best{unnamed, 0};
    double sum = 0, most = -1;
    for (const auto& [name, time] : times_) {
      sum += time;
      if (time > most) most = time, best.first = name;
    }
    best.second = sum;
    return best;
  }

 private:
  std::vector<std::pair<name_id, double>> times_;
};

class timeline_writer {
 public:
  explicit timeline_writer(const timeline_window& w)
      : begin_(w.end - std::min(w.length, w.end)),
        end_(w.end),
        bin_(std::max<ticks>(1, length() / std::max<std::size_t>(1, w.bins))) {}

  [[nodiscard]] ticks length() const { return end_ - begin_; }

  /// Returns the rows so far; further rows form a new group.
  struct group {
    std::string rows, known;
  };
  [[nodiscard]] group take() { return {std::exchange(rows_, {}), std::exchange(known_, {})}; }

  void row(const recent_work& w) {
    begin_row();
    for (const trace_slice& s : w.slices) add(s.name, s.begin, s.end);
    end_row(w.known_from);
  }

  /// The row of a worker: each record goes directly into its bin.
  void row(const flight_ring* ring, const flight_ring::range& slices, std::uint64_t every) {
    begin_row();
    if (ring != nullptr)
      visited_ += ring->sample(slices, bin_, every, [&](const trace_record& t, std::uint64_t n, double weight) {
        if (n == 1 && weight == 1)
          add(t.name, t.begin, t.end);
        else
          add_sample(t, n, weight);
      });
    end_row(ring != nullptr ? ring->known_from() : 0);
  }
  /// A row of several workers.
  void begin_group() { sums_.assign(bins(), {}); }
  void add_to_group(const flight_ring& ring, const flight_ring::range& slices, std::uint64_t every) {
    visited_ += ring.sample(slices, bin_, every, [&](const trace_record& t, std::uint64_t, double weight) {
      const ticks from = std::max(t.begin, begin_), to = std::min(t.end, end_);
      if (from >= to) return;
      const std::size_t first = (from - begin_) / bin_, last = (to - 1 - begin_) / bin_;
      for (std::size_t k = first; k <= last; ++k) {
        const ticks bin_begin = begin_ + k * bin_;
        sums_[k].add(t.name, weight * static_cast<double>(std::min(to, bin_begin + bin_) - std::max(from, bin_begin)));
      }
    });
  }
  void end_group(unsigned workers, ticks known_from) {
    begin_row();
    for (const name_sums& b : sums_) {
      const auto [name, sum] = b.most();
      const double percent = 100 * sum / (static_cast<double>(bin_) * workers);
      if (!std::exchange(first_, false)) rows_ += ',';
      if (percent > 0)
        fmt::format_to(std::back_inserter(rows_), "{},{}", std::clamp(std::lround(percent), 1l, 100l), index(name));
      else
        rows_ += '0';
    }
    end_row(known_from);
  }
  /// Records of flight rings that were read.
  [[nodiscard]] std::uint64_t visited() const { return visited_; }
  /// The number of bins of a row, of which the last one may be shorter.
  [[nodiscard]] std::size_t bins() const { return (length() + bin_ - 1) / bin_; }
  [[nodiscard]] double bin_us() const { return 1e6 * seconds(bin_); }
  [[nodiscard]] ticks begin() const { return begin_; }
  [[nodiscard]] ticks end() const { return end_; }

  [[nodiscard]] std::string names() const {
    std::string names;
    for (const name_id n : names_) {
      if (!names.empty()) names += ',';
      names += json_text(name_of(n));
    }
    return names;
  }

 private:
  void begin_row() {
    if (!rows_.empty()) rows_ += ',';
    rows_ += '[';
    first_ = true;
  }
  void add(name_id name, ticks begin, ticks end) {
    if (end <= begin_ || begin >= end_) return;
    const ticks from = std::max(begin, begin_), to = std::min(end, end_);
    const ticks index = (from - begin_) / bin_;
    if (index != bin_index_) flush(), bin_index_ = index;
    if (to - from < bin_) {
      sum_.add(name, from, to - from, 1);
    } else {
      flush();
      piece(name, from, to - from, 1);
    }
  }
  /// Slices that are shorter than a bin together, and count where the first one begins.
  void add_sample(const trace_record& t, std::uint64_t n, double weight) {
    if (t.end <= begin_ || t.begin >= end_) return;
    const ticks from = std::max(t.begin, begin_), to = std::min(t.end, end_), index = (from - begin_) / bin_;
    if (index != bin_index_) flush(), bin_index_ = index;
    sum_.add(t.name, from, static_cast<ticks>(weight * static_cast<double>(to - from)), n);
  }
  void end_row(ticks known_from) {
    flush();
    rows_ += ']';
    fmt::format_to(std::back_inserter(known_), "{}{:.1f}", known_.empty() ? "" : ",",
                   known_from > begin_ ? seconds(std::min(known_from, end_) - begin_) * 1e6 : 0.0);
  }

  void flush() {
    if (!sum_.empty())  // written before the next slice begins
      piece(sum_.name(), sum_.begin(), std::min(sum_.time(), bin_), sum_.count());
    sum_.clear();
  }
  void piece(name_id name, ticks from, ticks length, std::uint64_t count) {
    fmt::format_to(std::back_inserter(rows_), "{}[{},{:.1f},{:.1f},{}]", first_ ? "" : ",", index(name),
                   seconds(from - begin_) * 1e6, seconds(length) * 1e6, count);
    first_ = false;
  }

  /// In the list of names.
  std::size_t index(name_id name) {
    const auto [it, fresh] = index_of_.try_emplace(name, names_.size());
    if (fresh) names_.push_back(name);
    return it->second;
  }

  ticks begin_, end_, bin_;
  ticks bin_index_ = 0;
  std::uint64_t visited_ = 0;
  bin_sum sum_;
  std::vector<name_sums> sums_;  // by bin of a group
  bool first_ = true;
  std::string rows_, known_;
  std::vector<name_id> names_;
  std::unordered_map<name_id, std::size_t> index_of_;
};

struct worker_rows {
  unsigned of = 0;     // workers of the recorder
  unsigned group = 1;  // per row
  std::uint64_t every = 1;
};

/// Appends the rows of devices after those of the workers.
std::string finished(timeline_writer& writer, const std::vector<recent_work>& lanes, const timeline_window& window,
                     const worker_rows& shown) {
  const timeline_writer::group of_workers = writer.take();
  std::string lane_names;
  for (const recent_work& l : lanes) {
    writer.row(l);
    if (!lane_names.empty()) lane_names += ',';
    lane_names += json_text(l.lane);
  }
  const timeline_writer::group of_lanes = writer.take();
  return fmt::format(
      "{{\"window_s\":{},\"end_s\":{},\"end\":\"{}\",\"first\":{},\"of\":{},\"group\":{},\"bin_us\":{:.3f},\"every\":{}"
      ","
      "\"names\":[{}],\"from\":[{}],\"workers\":[{}],\"lanes\":[{}],\"lane_from\":[{}],\"lane_rows\":[{}]}}",
      json_number(seconds(writer.length())), json_number(window.end_s), window.end, window.first, shown.of, shown.group,
      writer.bin_us(), shown.every, writer.names(), of_workers.known, of_workers.rows, lane_names, of_lanes.known,
      of_lanes.rows);
}

}  // namespace

std::string timeline_json(const std::vector<recent_work>& workers, const std::vector<recent_work>& lanes,
                          const timeline_window& window) {
  timeline_writer writer(window);
  for (const recent_work& w : workers) writer.row(w);
  return finished(writer, lanes, window, {.of = static_cast<unsigned>(workers.size())});
}

std::string timeline_json(const recorder& r, const std::vector<recent_work>& lanes, const timeline_window& window,
                          std::uint64_t* visited) {
  timeline_writer writer(window);
  const unsigned of = r.worker_count(), first = std::min(window.first, of), n = std::min(window.workers, of - first);
  const unsigned rows = std::max(1u, window.rows), group = std::max(1u, (n + rows - 1) / rows);
  struct part {
    const flight_ring* ring = nullptr;
    flight_ring::range slices;
  };
  std::vector<part> parts(n);
  std::size_t found_by = 0;
  std::uint64_t slices = 0;
  for (unsigned i = 0; i < n; ++i) {
    parts[i].ring = r.worker(first + i).flight();
    if (parts[i].ring == nullptr) continue;
    parts[i].slices = parts[i].ring->find(writer.begin(), writer.end(), found_by);
    slices += parts[i].slices.last - parts[i].slices.first;
  }
  // Two records of each block are read.
  const std::uint64_t most = std::max<std::uint64_t>(1, window.records);
  const std::uint64_t every = slices <= most ? 1 : (2 * slices + most - 1) / most;
  for (unsigned i = 0; i < n; i += group) {
    if (group == 1) {
      writer.row(parts[i].ring, parts[i].slices, every);
      continue;
    }
    const unsigned end = std::min(n, i + group);
    ticks known_from = 0;
    writer.begin_group();
    for (unsigned k = i; k < end; ++k) {
      if (parts[k].ring == nullptr) continue;
      writer.add_to_group(*parts[k].ring, parts[k].slices, every);
      known_from = std::max(known_from, parts[k].ring->known_from());
    }
    writer.end_group(end - i, known_from);
  }
  if (visited != nullptr) *visited += found_by + writer.visited();
  return finished(writer, lanes, window, {.of = of, .group = group, .every = every});
}

// ------------------------------------------------------------------------------------------------------- single slices

namespace {

/// As text: a number may exceed those that JavaScript represents.
std::string task_text(task_id id) { return fmt::format("\"{}\"", id); }

struct linked_slice {
  trace_record slice{};
  flight_link link{};
  unsigned worker = 0;
};

/// The link of a slice, which may have none.
flight_link link_of(const worker_log& log, const trace_record& slice) {
  flight_link found;
  if (const flight_ring* links = log.links())
    links->read_between(slice.begin, slice.end, [&](const trace_record& r) {
      if (r.begin == slice.begin && r.end == slice.end) found = flight_link::from(r);
    });
  return found;
}

std::optional<linked_slice> slice_at(const worker_log& log, ticks at) {
  std::optional<linked_slice> found;
  if (const flight_ring* ring = log.flight())
    ring->read_between(at, at + 1, [&](const trace_record& r) { found = {.slice = r, .worker = log.index()}; });
  if (found) found->link = link_of(log, found->slice);
  return found;
}

/// The last slice of a task that begins before `before`.
std::optional<linked_slice> last_slice_of(const recorder& r, task_id id, ticks before) {
  constexpr double longest_s = 10;
  constexpr std::size_t most_records = std::size_t{1} << 20;
  std::optional<linked_slice> found;
  std::size_t visited = 0;
  ticks to = before;
  for (double span_s = 1e-3; span_s <= longest_s && !found && visited < most_records; span_s *= 10) {
    const ticks from = before - std::min(before, ticks_from(span_s));
    for (unsigned i = 0; i < r.worker_count() && visited < most_records; ++i) {
      const worker_log& log = r.worker(i);
      if (log.links() == nullptr) continue;
      visited += log.links()->read_between(from, to, [&](const trace_record& record) {
        if (record.key == id && (!found || record.begin > found->link.begin))
          found = {.link = flight_link::from(record), .worker = i};
      });
    }
    to = from;
  }
  if (!found) return found;
  if (const flight_ring* ring = r.worker(found->worker).flight())
    ring->read_between(found->link.begin, found->link.end, [&](const trace_record& record) {
      if (record.begin == found->link.begin && record.end == found->link.end) found->slice = record;
    });
  return found;
}

}  // namespace

std::string slice_json(const recorder& r, unsigned worker, ticks at, ticks begin) {
  const auto slice = worker < r.worker_count() ? slice_at(r.worker(worker), at) : std::nullopt;
  if (!slice) return "{\"slice\":null}";
  const auto us = [](ticks t) { return seconds(t) * 1e6; };
  const auto since = [&](ticks t) { return t >= begin ? us(t - begin) : -us(begin - t); };
  std::string text =
      fmt::format("{{\"slice\":{{\"task\":{},\"name\":{},\"key\":{},\"length\":{:.3f}}}",
                  slice->link.id != 0 ? task_text(slice->link.id) : "null", json_text(name_of(slice->slice.name)),
                  slice->slice.key != no_key ? fmt::format("{}", slice->slice.key) : "null",
                  us(slice->slice.end - slice->slice.begin));
  const task_id cause = slice->link.cause & ~last_input_bit;
  fmt::format_to(std::back_inserter(text), ",\"several\":{},\"join\":{}", cause != slice->link.cause, is_join(cause));
  if (cause == 0 || is_join(cause)) return text += ",\"parent\":null}";
  fmt::format_to(std::back_inserter(text), ",\"parent\":{{\"task\":{}", task_text(cause));
  const auto parent = last_slice_of(r, cause, slice->slice.begin);
  if (!parent || parent->slice.end == 0) return text += ",\"name\":null}}";
  fmt::format_to(std::back_inserter(text), ",\"name\":{},\"worker\":{},\"begin\":{:.3f},\"length\":{:.3f}}}}}",
                 json_text(name_of(parent->slice.name)), parent->worker, since(parent->slice.begin),
                 us(parent->slice.end - parent->slice.begin));
  return text;
}

}  // namespace plx::probe
