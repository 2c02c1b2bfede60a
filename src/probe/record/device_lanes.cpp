#include "probe/record/device_lanes.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.hpp"
#include "probe/record/trace_ring.hpp"
#include "probe/record/trace_sink.hpp"

namespace plx::probe {
namespace {

constexpr unsigned most_lanes = 1u << 15;
constexpr double looked_s = 10;
constexpr std::size_t piece_records = std::size_t{1} << 12;  // so that growth never copies

}  // namespace

std::string_view text_of(device_work w) noexcept {
  constexpr std::string_view texts[] = {"kernel", "copy", "fill", "graph"};
  return texts[static_cast<unsigned>(w) & 3];
}

// ------------------------------------------------------------------------------------------------------------ one lane

bool device_lane::sums::add(const device_operation& o) {
  const ticks length = o.end - o.begin;
  const bool new_call = !o.part || o.number != newest;
  if (new_call) {
    ++calls;
    items += o.items;
    failed += o.failed ? 1 : 0;
    bytes += o.bytes;
    newest = o.part ? o.number : 0;
    so_far = 0;
    shortest_before = shortest;
  }
  so_far += length;
  total += length;
  shortest = std::min(shortest_before, so_far);
  longest = std::max(longest, so_far);
  return new_call;
}

void device_lane::add(const device_operation& given) {
  device_operation o = given;
  o.end = std::max(o.begin, o.end);  // a device's clock may step back
  const std::lock_guard guard(lock_);
  const bool new_call = by_name_[std::uint64_t{o.name} << 8 | static_cast<unsigned>(o.kind)].add(o);
  const device_lanes::destinations to = home_.note(device_, o, new_call);
  if (to.show) {
    if (recent_.size() < most_recent) recent_.emplace_back();
    recent_[n_recent_++ % most_recent] = {.begin = o.begin, .end = o.end, .ready = o.submitted, .name = o.name};
  }
  if (!to.keep) return;
  if (kept_.empty() || kept_.back().size() == piece_records) kept_.emplace_back().reserve(piece_records);
  kept_.back().push_back(o);
}

recent_operations device_lane::recent(ticks from) const {
  recent_operations r{.lane = name_, .slices = {}};
  const std::lock_guard guard(lock_);
  const std::uint64_t n = recent_.size();
  if (n == 0) return r;
  r.known_from = n_recent_ > n ? recent_[n_recent_ % n].begin : 1;
  for (std::uint64_t i = n_recent_ - n; i < n_recent_; ++i)
    if (const trace_slice& s = recent_[i % n]; s.end > from) r.slices.push_back(s);
  std::stable_sort(r.slices.begin(), r.slices.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  ticks last = 0;
  for (trace_slice& s : r.slices) {
    s.begin = std::max(s.begin, last);
    last = s.end = std::max(s.end, s.begin);
  }
  return r;
}

void device_lane::lose(std::uint64_t n) {
  home_.lost_.fetch_add(n, std::memory_order_relaxed);
  const std::lock_guard guard(home_.lock_);
  home_.devices_[device_]->lost += n;
}

// ------------------------------------------------------------------------------------------------------------ all
// lanes

void device_lanes::set_library(std::string file) {
  const std::lock_guard guard(lock_);
  library_ = std::move(file);
}

std::string device_lanes::library() const {
  const std::lock_guard guard(lock_);
  return library_;
}

void device_lanes::add_flush(void (*f)(void*), void* arg) {
  const std::lock_guard guard(flush_lock_);
  flushes_.emplace_back(f, arg);
}

void device_lanes::remove_flush(void* arg) {
  const std::lock_guard guard(flush_lock_);
  std::erase_if(flushes_, [arg](const auto& f) { return f.second == arg; });
}

void device_lanes::flush() const {
  const std::lock_guard guard(flush_lock_);
  for (const auto& [f, arg] : flushes_) f(arg);
}

void device_lanes::set(unsigned bit, bool on) {
  if (!on) flush();
  const std::lock_guard guard(lock_);
  if (bit == tracing && on && (wanted_ & tracing) == 0) traced_from_ = now_ticks();
  wanted_ = on ? wanted_ | bit : wanted_ & ~bit;
  publish();
}

void device_lanes::set_source(source s) {
  const std::lock_guard guard(lock_);
  source_.store(s, std::memory_order_relaxed);
  publish();
}

void device_lanes::publish() { mode_.store(get_source() == source::none ? 0 : wanted_, std::memory_order_relaxed); }

device_lane* device_lanes::take(std::string_view device_name, std::string_view lane) {
  const std::lock_guard guard(lock_);
  const std::string name = std::string(device_name) + ", " + std::string(lane);
  for (const auto& l : lanes_) {
    bool taken = false;
    if (l->name_ == name && l->taken_.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) return l.get();
  }
  if (lanes_.size() == most_lanes) return nullptr;
  const auto there =
      std::find_if(devices_.begin(), devices_.end(), [&](const auto& d) { return d->name == device_name; });
  const auto number = static_cast<unsigned>(there - devices_.begin());
  if (there == devices_.end()) devices_.emplace_back(std::make_unique<device>())->name = device_name;
  const unsigned row = first_row_ + static_cast<unsigned>(lanes_.size());
  lanes_.push_back(std::make_unique<device_lane>(*this, number, name, detail::first_id_of(row, space_)));
  return lanes_.back().get();
}

// The lock of a record collection may be held here, so nothing is flushed when look() expires.
device_lanes::destinations device_lanes::note(unsigned number, const device_operation& o, bool new_call) {
  const std::lock_guard guard(lock_);
  device& d = *devices_[number];
  d.operations += new_call ? 1 : 0;
  d.first = std::min(d.first, o.submitted != 0 ? o.submitted : o.begin);
  d.last = std::max(d.last, o.end);
  d.busy.add(o.begin, o.end);
  if ((wanted_ & watching) != 0 && now_ticks() > watched_until_) {
    wanted_ &= ~watching;
    publish();
  }
  destinations w{.show = (wanted_ & watching) != 0};
  // An operation submitted before tracing began belongs to no trace, or to an earlier one.
  if ((wanted_ & tracing) == 0 || o.submitted < traced_from_) return w;
  if (kept_.load(std::memory_order_relaxed) >= most_kept) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return w;
  }
  kept_.fetch_add(1, std::memory_order_relaxed);
  w.keep = true;
  return w;
}

void device_lanes::look() {
  const ticks now = now_ticks();
  const std::lock_guard guard(lock_);
  if ((wanted_ & watching) == 0) watched_from_ = now;
  watched_until_ = now + ticks_from(looked_s);
  wanted_ |= watching;
  publish();
}

std::vector<recent_operations> device_lanes::recent(ticks from) const {
  flush();
  std::vector<const device_lane*> lanes;
  ticks since = 0;
  {
    const std::lock_guard guard(lock_);
    for (const auto& l : lanes_) lanes.push_back(l.get());
    since = watched_from_;
  }
  std::stable_sort(lanes.begin(), lanes.end(), [](const auto* a, const auto* b) { return a->device_ < b->device_; });
  std::vector<recent_operations> all;
  for (const device_lane* l : lanes) {
    recent_operations r = l->recent(from);
    if (r.known_from == 0 && r.slices.empty()) continue;
    r.known_from = std::max(r.known_from, since);
    all.push_back(std::move(r));
  }
  return all;
}

std::vector<device_statistics> device_lanes::work() const {
  flush();
  std::map<std::pair<unsigned, std::uint64_t>, device_lane::sums> all;
  std::vector<device_lane*> lanes;
  std::vector<std::string> names;
  {
    const std::lock_guard guard(lock_);
    for (const auto& l : lanes_) lanes.push_back(l.get());
    for (const auto& d : devices_) names.push_back(d->name);
  }
  for (device_lane* l : lanes) {
    const std::lock_guard guard(l->lock_);
    for (const auto& [key, s] : l->by_name_) {
      device_lane::sums& sum = all[{l->device_, key}];
      sum.calls += s.calls;
      sum.items += s.items;
      sum.failed += s.failed;
      sum.bytes += s.bytes;
      sum.total += s.total;
      sum.shortest = std::min(sum.shortest, s.shortest);
      sum.longest = std::max(sum.longest, s.longest);
    }
  }
  std::vector<device_statistics> rows;
  for (const auto& [key, s] : all) {
    const auto id = static_cast<name_id>(key.second >> 8);
    rows.push_back({.device = names[key.first],
                    .id = id,
                    .name = name_of(id),
                    .kind = static_cast<device_work>(key.second & 0xff),
                    .calls = s.calls,
                    .items = s.items,
                    .failed = s.failed,
                    .bytes = s.bytes,
                    .total_s = seconds(s.total),
                    .min_s = seconds(s.shortest),
                    .max_s = seconds(s.longest)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.total_s > b.total_s; });
  return rows;
}

std::vector<device_times> device_lanes::times() const {
  flush();
  std::vector<device_times> all;
  const std::lock_guard guard(lock_);
  for (const auto& d : devices_)
    all.push_back({.device = d->name,
                   .lanes = 0,
                   .operations = d->operations,
                   .lost = d->lost,
                   .busy_s = seconds(d->busy.sum()),
                   .known_s = d->last > d->first ? seconds(d->last - d->first) : 0});
  for (const auto& l : lanes_) ++all[l->device_].lanes;
  return all;
}

// -------------------------------------------------------------------------------------------------------- in the trace

void device_lanes::forget() {
  std::vector<device_lane*> lanes;
  {
    const std::lock_guard guard(lock_);
    for (const auto& l : lanes_) lanes.push_back(l.get());
  }
  for (device_lane* l : lanes) {
    const std::lock_guard guard(l->lock_);
    std::uint64_t n = 0;
    for (const auto& piece : l->kept_) n += piece.size();
    l->kept_.clear();
    kept_.fetch_sub(n, std::memory_order_relaxed);
  }
}

// An operation depends on the submitting task and on the operation before it in its stream.
void device_lanes::collect(trace_data& into) const {
  flush();
  std::vector<device_lane*> lanes;
  {
    const std::lock_guard guard(lock_);
    for (const auto& l : lanes_) lanes.push_back(l.get());
  }
  if (lanes.empty()) return;
  into.workers.resize(first_row_ + lanes.size());
  into.worker_names.resize(into.workers.size());
  into.devices.resize(into.workers.size(), 0);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    device_lane& l = *lanes[i];
    auto& row = into.workers[first_row_ + i];
    into.worker_names[first_row_ + i] = l.name_;
    into.devices[first_row_ + i] = l.device_ + 1;
    std::vector<device_operation> all;
    {
      const std::lock_guard guard(l.lock_);
      for (const auto& piece : l.kept_) all.insert(all.end(), piece.begin(), piece.end());
    }
    put_row(l.first_, std::move(all), row, into.edges);
  }
  into.records += kept();
}

std::uint64_t device_lanes::drain(trace_sink& to, bool flush_first, std::vector<bool>& named) {
  if (flush_first) flush();
  std::vector<device_lane*> lanes;
  {
    const std::lock_guard guard(lock_);
    for (const auto& l : lanes_) lanes.push_back(l.get());
  }
  named.resize(lanes.size());
  std::uint64_t drained = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    device_lane& l = *lanes[i];
    std::vector<std::vector<device_operation>> all;
    {
      const std::lock_guard guard(l.lock_);
      all.swap(l.kept_);
    }
    const unsigned row = first_row_ + static_cast<unsigned>(i);
    if (!all.empty() && !named[i]) to.row(row, l.name_, l.device_ + 1), named[i] = true;
    for (const auto& some : all) {
      to.operations(row, some);
      kept_.fetch_sub(some.size(), std::memory_order_relaxed);
      drained += some.size();
    }
  }
  return drained;
}

void device_lanes::put_row(task_id first, std::vector<device_operation> all, std::vector<trace_slice>& row,
                           std::vector<trace_edge>& edges) {
  const auto earlier = [](const device_operation& a, const device_operation& b) { return a.begin < b.begin; };
  if (!std::is_sorted(all.begin(), all.end(), earlier)) std::stable_sort(all.begin(), all.end(), earlier);
  constexpr std::uint64_t low_word = 0xffffffff;           // as device_lane::id_of()
  constexpr std::uint64_t extra = std::uint64_t{1} << 31;  // numbers of operations that share one, except the last
  row.reserve(all.size());
  std::uint64_t n_extra = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const device_operation& o = all[i];
    const bool shares = i + 1 < all.size() && all[i + 1].number == o.number;
    const task_id id = first + ((shares ? extra | ++n_extra : o.number) & low_word);
    const ticks begin = std::max(o.begin, row.empty() ? 0 : row.back().end);
    if (o.from != 0 && same_recorder(o.from, id)) edges.push_back({.from = o.from, .to = id, .when = o.submitted});
    if (!row.empty()) edges.push_back({.from = row.back().id, .to = id, .when = row.back().end});
    row.push_back({.begin = begin,
                   .end = std::max(o.end, begin),
                   .key = o.bytes != 0 ? o.bytes : no_key,
                   .id = id,
                   .ready = o.submitted,
                   .name = o.name});
  }
}

// ---------------------------------------------------------------------------------------------------------- busy times

void device_lanes::busy_time::add(ticks begin, ticks end) {
  constexpr std::size_t most = 512;
  begin = std::max(begin, closed_until_);
  if (end <= begin) return;
  auto first = std::lower_bound(spans_.begin(), spans_.end(), begin, [](const span& s, ticks t) { return s.end < t; });
  auto last = first;
  for (; last != spans_.end() && last->begin <= end; ++last) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
  }
  if (first != last) {
    *first = {begin, end};
    spans_.erase(std::next(first), last);
  } else {
    spans_.insert(first, {begin, end});
  }
  if (spans_.size() < most) return;
  const auto middle = spans_.begin() + static_cast<std::ptrdiff_t>(most / 2);
  for (auto s = spans_.begin(); s != middle; ++s) closed_ += s->end - s->begin;
  closed_until_ = std::prev(middle)->end;
  spans_.erase(spans_.begin(), middle);
}

ticks device_lanes::busy_time::sum() const {
  ticks all = closed_;
  for (const span& s : spans_) all += s.end - s.begin;
  return all;
}

}  // namespace plx::probe
