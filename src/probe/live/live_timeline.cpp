// The timeline of live_json.hpp: long slices individually, short ones merged by bin.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "probe/crash/flight_ring.hpp"
#include "probe/live/live_json.hpp"
#include "probe/live/live_timeline.hpp"
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
  void add(name_id name, ticks begin, ticks length) {
    if (count_ == 0) begin_ = begin;
    time_ += length;
    ++count_;
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

class timeline_writer {
 public:
  timeline_writer(ticks begin, ticks window, std::size_t bins)
      : begin_(begin), end_(begin + window), bin_(std::max<ticks>(1, window / std::max<std::size_t>(1, bins))) {}

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
  void row(const flight_ring* ring) {
    begin_row();
    ticks known_from = 0;
    if (ring != nullptr) {
      bool first = ring->pushed() > ring->capacity();  // older slices have been overwritten
      ring->read([&](const trace_record& t) {
        if (std::exchange(first, false)) known_from = t.begin;
        add(t.name, t.begin, t.end);
      });
    }
    end_row(known_from);
  }

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
      sum_.add(name, from, to - from);
    } else {
      flush();
      piece(name, from, to - from, 1);
    }
  }
  void end_row(ticks known_from) {
    flush();
    rows_ += ']';
    fmt::format_to(std::back_inserter(known_), "{}{:.1f}", known_.empty() ? "" : ",",
                   known_from > begin_ ? seconds(std::min(known_from, end_) - begin_) * 1e6 : 0.0);
  }

  void flush() {
    if (!sum_.empty())
      piece(sum_.name(), sum_.begin(), sum_.time(), sum_.count());  // written before the next slice
                                                                    // begins
    sum_.clear();
  }
  void piece(name_id name, ticks from, ticks length, std::uint64_t count) {
    const auto [it, fresh] = index_of_.try_emplace(name, names_.size());
    if (fresh) names_.push_back(name);
    fmt::format_to(std::back_inserter(rows_), "{}[{},{:.1f},{:.1f},{}]", first_ ? "" : ",", it->second,
                   seconds(from - begin_) * 1e6, seconds(length) * 1e6, count);
    first_ = false;
  }

  ticks begin_, end_, bin_;
  ticks bin_index_ = 0;
  bin_sum sum_;
  bool first_ = true;
  std::string rows_, known_;
  std::vector<name_id> names_;
  std::unordered_map<name_id, std::size_t> index_of_;
};

/// Appends the rows of devices after those of the workers.
std::string finished(timeline_writer& writer, const std::vector<recent_work>& lanes, ticks window) {
  const timeline_writer::group of_workers = writer.take();
  std::string lane_names;
  for (const recent_work& l : lanes) {
    writer.row(l);
    if (!lane_names.empty()) lane_names += ',';
    lane_names += json_text(l.lane);
  }
  const timeline_writer::group of_lanes = writer.take();
  return fmt::format(
      "{{\"window_s\":{},\"names\":[{}],\"from\":[{}],\"workers\":[{}],\"lanes\":[{}],\"lane_from\":[{}],"
      "\"lane_rows\":[{}]}}",
      json_number(seconds(window)), writer.names(), of_workers.known, of_workers.rows, lane_names, of_lanes.known,
      of_lanes.rows);
}

}  // namespace

std::string timeline_json(const std::vector<recent_work>& workers, const std::vector<recent_work>& lanes, ticks end,
                          ticks window, std::size_t bins) {
  window = std::min(window, end);
  timeline_writer writer(end - window, window, bins);
  for (const recent_work& w : workers) writer.row(w);
  return finished(writer, lanes, window);
}

std::string timeline_json(const recorder& r, const std::vector<recent_work>& lanes, ticks end, ticks window,
                          std::size_t bins) {
  window = std::min(window, end);
  timeline_writer writer(end - window, window, bins);
  for (unsigned i = 0; i < r.worker_count(); ++i) writer.row(r.worker(i).flight());
  return finished(writer, lanes, window);
}

}  // namespace plx::probe
