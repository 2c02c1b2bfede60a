#include "net/observe/trace_gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/log.hpp"
#include "base/process.hpp"
#include "net/action.hpp"
#include "net/core/sender.hpp"
#include "net/observe/clock_offsets.hpp"
#include "probe/record/recorder.hpp"

namespace plx {
namespace net {

/// The wire format of a counter value.
struct sample_point {
  ticks when = 0;
  double value = 0;
  std::uint64_t series = 0;
};

/// The wire format of a task's slice. The upper half of the flags is the sampling interval of its name.
struct travelling_slice {
  enum bits : std::uint32_t { finished = 1, resumed = 2 };
  static constexpr unsigned every_shift = 16;
  ticks begin = 0, end = 0;
  std::uint64_t key = 0;
  probe::task_id id = 0;
  ticks ready = 0;
  probe::name_id name = 0;
  std::uint32_t flags = 0;
};

/// Describes the trace of a locality: its sizes and small lists.
struct trace_gather::head {
  ticks origin = 0;
  double share = 1;
  std::uint64_t records = 0, lost = 0, lost_parcels = 0;
  std::uint64_t traced = 0;  // whether anything was traced
  std::string host;
  std::vector<std::string> worker_names, series;
  std::vector<std::uint64_t> slices;   // by worker
  std::vector<std::uint32_t> devices;  // by worker
  std::uint64_t edges = 0, locks = 0, placements = 0, samples = 0, sent = 0, received = 0;
  std::vector<std::pair<std::uint32_t, std::string>> names;
  std::vector<std::tuple<ticks, std::string, std::string>> marks;
};

struct trace_gather::own_trace {
  probe::trace_data data;
  message_log::records parcels;
  std::vector<std::string> series;
  std::vector<sample_point> samples;
};

template <>
struct wire_codec<trace_gather::head> {
  template <class W, class H>
  static void each(W& w, H& h) {
    const auto all = [&w](auto&... x) {
      if constexpr (std::is_const_v<H>)
        (net::write(w, x), ...);
      else
        (net::read(w, x), ...);
    };
    all(h.origin, h.share, h.records, h.lost, h.lost_parcels, h.traced, h.host, h.worker_names, h.series, h.slices,
        h.devices, h.edges, h.locks, h.placements, h.samples, h.sent, h.received, h.names, h.marks);
  }
  static void write(wire_writer& w, const trace_gather::head& h) { each(w, h); }
  static void read(wire_reader& r, trace_gather::head& h) { each(r, h); }
};

}  // namespace net
template <>
inline constexpr bool is_bitwise<net::travelling_slice> = true;
template <>
inline constexpr bool is_bitwise<probe::trace_edge> = true;
template <>
inline constexpr bool is_bitwise<probe::trace_lock> = true;
template <>
inline constexpr bool is_bitwise<probe::trace_placement> = true;
template <>
inline constexpr bool is_bitwise<net::sample_point> = true;

namespace net {
namespace {

constexpr std::size_t piece_records = std::size_t{1} << 15;  // 1.5 MB of slices
constexpr auto trace_deadline = std::chrono::seconds(20);

trace_gather::own_trace collect(node& n) {
  trace_gather::own_trace own;
  own.data = n.home().recorder().collect_trace();
  own.parcels = n.port().messages().collect();
  std::unordered_map<std::string, std::uint64_t> known;
  for (const probe::trace_sample& s : own.data.samples) {
    const auto [there, fresh] = known.try_emplace(s.name, own.series.size());
    if (fresh) own.series.push_back(s.name);
    own.samples.push_back({s.when, s.value, there->second});
  }
  own.data.samples = {};
  return own;
}

trace_gather& here() { return node_here().get<trace_gather>(); }

template <class T>
std::vector<T> piece(const std::vector<T>& all, std::uint64_t first) {
  if (first >= all.size()) return {};
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::min<std::size_t>(piece_records, all.size() - first))};
}

trace_gather::head trace_head() {
  const auto held = here().collected();
  const trace_gather::own_trace& own = *held;
  const probe::trace_data& d = own.data;
  trace_gather::head h;
  h.origin = d.origin, h.share = d.share, h.records = d.records, h.lost = d.lost, h.lost_parcels = own.parcels.lost;
  h.host = host_name();
  h.worker_names = d.worker_names, h.series = own.series, h.devices = d.devices;
  std::vector<bool> used(probe::name_count());
  for (const auto& w : d.workers) {
    h.slices.push_back(w.size());
    for (const probe::trace_slice& s : w) used.at(s.name) = true;
  }
  for (const probe::trace_lock& l : d.locks) used.at(l.name) = true;
  for (const message_record& r : own.parcels.sent) used.at(r.name) = true;
  for (std::uint32_t i = 0; i < used.size(); ++i)
    if (used[i]) h.names.emplace_back(i, probe::name_of(i));
  h.edges = d.edges.size(), h.locks = d.locks.size(), h.placements = d.placements.size();
  h.samples = own.samples.size();
  h.sent = own.parcels.sent.size(), h.received = own.parcels.received.size();
  for (const probe::trace_mark& m : d.marks) h.marks.emplace_back(m.when, m.category, m.text);
  return h;
}
std::vector<travelling_slice> trace_slices(std::uint32_t worker, std::uint64_t first) {
  std::vector<travelling_slice> some;
  const auto own = here().collected();
  for (const probe::trace_slice& s : piece(own->data.workers.at(worker), first))
    some.push_back({s.begin, s.end, s.key, s.id, s.ready, s.name,
                    (s.finished ? travelling_slice::finished : 0u) | (s.resumed ? travelling_slice::resumed : 0u) |
                        std::uint32_t{s.every} << travelling_slice::every_shift});
  return some;
}
std::vector<probe::trace_edge> trace_edges(std::uint64_t first) {
  const auto own = here().collected();
  return piece(own->data.edges, first);
}
std::vector<probe::trace_lock> trace_locks(std::uint64_t first) {
  const auto own = here().collected();
  return piece(own->data.locks, first);
}
std::vector<probe::trace_placement> trace_placements(std::uint64_t first) {
  const auto own = here().collected();
  return piece(own->data.placements, first);
}
std::vector<sample_point> trace_samples(std::uint64_t first) {
  const auto own = here().collected();
  return piece(own->samples, first);
}
std::vector<message_record> trace_sent(std::uint64_t first) {
  const auto own = here().collected();
  return piece(own->parcels.sent, first);
}
std::vector<message_record> trace_received(std::uint64_t first) {
  const auto own = here().collected();
  return piece(own->parcels.received, first);
}
void gather_frozen(sender s) { here().note_frozen(s.who); }
void gather_left(sender s) { here().note_left(s.who); }
void gather_begun(sender s) {
  if (s.who != 0) return node_here().refuse(s.who, "it gathers traces but is not the root");
  here().note_begun();
}
void gather_done(sender s, bool taken) {
  if (s.who != 0) return node_here().refuse(s.who, "it has gathered traces but is not the root");
  here().note_done(taken);
}

template <auto F, class... A>
auto ask(locality_id from, A... arguments) {
  auto answer = async<F>(from, arguments...);
  if (answer.wait_for(trace_deadline) != future_status::ready)
    throw std::runtime_error(fmt::format("it did not answer within {} s", trace_deadline.count()));
  return answer.get();
}

/// Fetches a list of `count` records in chunks.
template <auto F, class T, class... A>
void fetch(locality_id from, std::vector<T>& into, std::uint64_t count, A... which) {
  into.reserve(count);
  while (into.size() < count) {
    const auto more = ask<F>(from, which..., std::uint64_t{into.size()});
    if (more.empty()) throw std::runtime_error("it sent fewer records than announced");
    into.insert(into.end(), more.begin(), more.end());
  }
}

/// Maps the numbers of names on another locality to those of this one.
class name_table {
 public:
  explicit name_table(const std::vector<std::pair<std::uint32_t, std::string>>& names) {
    for (const auto& [id, text] : names) here_[id] = id == probe::unnamed ? probe::unnamed : probe::register_name(text);
  }
  void translate(probe::name_id& id) const {
    const auto found = here_.find(id);
    id = found == here_.end() ? probe::unnamed : found->second;
  }

 private:
  std::unordered_map<std::uint32_t, probe::name_id> here_;
};

}  // namespace

template <>
inline constexpr bool is_control<&trace_head> = true;
template <>
inline constexpr bool is_control<&trace_slices> = true;
template <>
inline constexpr bool is_control<&trace_edges> = true;
template <>
inline constexpr bool is_control<&trace_locks> = true;
template <>
inline constexpr bool is_control<&trace_placements> = true;
template <>
inline constexpr bool is_control<&trace_samples> = true;
template <>
inline constexpr bool is_control<&trace_sent> = true;
template <>
inline constexpr bool is_control<&trace_received> = true;
template <>
inline constexpr bool is_control<&gather_frozen> = true;
template <>
inline constexpr bool is_control<&gather_begun> = true;
template <>
inline constexpr bool is_control<&gather_done> = true;
template <>
inline constexpr bool is_control<&gather_left> = true;

trace_gather::trace_gather(node& n) : node_(n), frozen_(n.size()), was_taken_(n.size()), left_(n.size()) {}
trace_gather::~trace_gather() = default;

void trace_gather::freeze() {
  node_.port().messages().stop();
  node_.home().recorder().trace(false);
  if (node_.here() != 0) post<&gather_frozen>(locality_id{0}, sender{node_.here()});
}

void trace_gather::note_frozen(locality_id which) {
  const std::lock_guard guard(lock_);
  frozen_.at(which) = true;
  changed_.notify_all();
}

void trace_gather::wait_until_frozen(double timeout_s) {
  std::unique_lock guard(lock_);
  changed_.wait_for(guard, std::chrono::duration<double>(timeout_s), [this] {
    for (locality_id i = 1; i < node_.size(); ++i)
      if (!frozen_[i] && !left_[i] && !node_.is_lost(i)) return false;
    return true;
  });
}

std::shared_ptr<const trace_gather::own_trace> trace_gather::collected() {
  const std::lock_guard guard(lock_);
  if (own_ == nullptr) own_ = std::make_shared<const own_trace>(collect(node_));
  return own_;
}

void trace_gather::note_begun() {
  const std::lock_guard guard(lock_);
  begun_ = true;
  changed_.notify_all();
}

void trace_gather::note_done(bool taken) {
  const std::lock_guard guard(lock_);
  done_ = true;
  taken_ = taken;
  changed_.notify_all();
}

void trace_gather::peer_lost(locality_id) {
  const std::lock_guard guard(lock_);
  changed_.notify_all();
}

bool trace_gather::wait_until_taken(double deadline_s) {
  std::unique_lock guard(lock_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(deadline_s);
  while (!done_ && !node_.is_lost(0)) {
    if (begun_)
      changed_.wait(guard);
    else if (changed_.wait_until(guard, deadline) == cv_status::timeout)
      break;
  }
  own_.reset();
  const bool served = done_, taken = done_ && taken_;
  guard.unlock();
  if (!served && !node_.is_lost(0)) post<&gather_left>(locality_id{0}, sender{node_.here()});
  return taken;
}

void trace_gather::let_go(bool whole) {
  for (locality_id i = 1; i < node_.size(); ++i)
    if (!node_.is_lost(i) && !left(i)) post<&gather_done>(i, sender{node_.here()}, whole && was_taken_[i]);
}

void trace_gather::note_left(locality_id which) {
  const std::lock_guard guard(lock_);
  left_[which] = true;
  changed_.notify_all();
}

bool trace_gather::left(locality_id which) {
  const std::lock_guard guard(lock_);
  return left_[which];
}

bool trace_gather::take(locality_id from, job_trace& into, std::uint64_t& room) {
  const head h = ask<&trace_head>(from);
  std::vector<std::uint64_t> lists = h.slices;
  lists.insert(lists.end(), {h.edges, h.locks, h.placements, h.samples, h.sent, h.received});
  std::uint64_t records = 0;  // saturates, so that a sum above `room` cannot overflow
  for (const std::uint64_t n : lists) records += std::min(n, most_records + 1);
  if (records > room) {
    into.missing(from, fmt::format("its {} records exceed the remaining capacity of {}: it writes its own files",
                                   records, room));
    return false;
  }
  probe::trace_data d;
  d.origin = h.origin, d.share = h.share, d.records = h.records, d.lost = h.lost;
  d.worker_names = h.worker_names, d.devices = h.devices;
  const name_table names(h.names);
  for (std::uint32_t w = 0; w < h.slices.size(); ++w) {
    auto& slices = d.workers.emplace_back();
    std::vector<travelling_slice> came;
    fetch<&trace_slices>(from, came, h.slices[w], w);
    slices.reserve(came.size());
    for (const travelling_slice& s : came) {
      slices.push_back({.begin = s.begin,
                        .end = s.end,
                        .key = s.key,
                        .id = s.id,
                        .ready = s.ready,
                        .name = s.name,
                        .finished = (s.flags & travelling_slice::finished) != 0,
                        .resumed = (s.flags & travelling_slice::resumed) != 0,
                        .every = static_cast<std::uint16_t>(std::max(s.flags >> travelling_slice::every_shift, 1u))});
      names.translate(slices.back().name);
    }
  }
  fetch<&trace_edges>(from, d.edges, h.edges);
  fetch<&trace_locks>(from, d.locks, h.locks);
  for (probe::trace_lock& l : d.locks) names.translate(l.name);
  fetch<&trace_placements>(from, d.placements, h.placements);
  std::vector<sample_point> samples;
  fetch<&trace_samples>(from, samples, h.samples);
  for (const sample_point& s : samples) d.samples.push_back({s.when, h.series.at(s.series), s.value});
  for (const auto& [when, category, text] : h.marks) d.marks.push_back({when, category, text});
  message_log::records parcels;
  fetch<&trace_sent>(from, parcels.sent, h.sent);
  fetch<&trace_received>(from, parcels.received, h.received);
  parcels.lost = h.lost_parcels;
  for (message_record& r : parcels.sent) names.translate(r.name);
  if (!into.add(from, h.host, std::move(d), std::move(parcels), node_.get<clock_offsets>().of(from))) return false;
  room -= records;
  return true;
}

probe::job_trace_data trace_gather::gather(double timeout_s) {
  wait_until_frozen(timeout_s);
  for (locality_id i = 1; i < node_.size(); ++i)
    if (!node_.is_lost(i)) post<&gather_begun>(i, sender{node_.here()});
  std::vector<bool> without;
  {
    const std::lock_guard guard(lock_);
    without = left_;
  }
  node_.get<clock_offsets>().measure(clock_offsets::deadline_s, without);
  job_trace whole(node_.size());
  own_trace own = collect(node_);
  std::uint64_t room = most_records - std::min<std::uint64_t>(most_records, own.data.records);
  for (const sample_point& s : own.samples) own.data.samples.push_back({s.when, own.series.at(s.series), s.value});
  whole.add(0, host_name(), std::move(own.data), std::move(own.parcels), {});
  for (locality_id i = 1; i < node_.size(); ++i) {
    bool taken = false;
    if (node_.is_lost(i)) {
      whole.missing(i, fmt::format("it is lost: {}", node_.why_lost(i)));
    } else if (left(i)) {
      whole.missing(i, "it left before the root requested its trace: it has written its own files");
    } else {
      try {
        taken = take(i, whole, room);
      } catch (const std::exception& e) {
        whole.missing(i, fmt::format("its trace could not be fetched: {}", e.what()));
      }
      was_taken_[i] = taken;
    }
  }
  probe::job_trace_data all = whole.finish();
  for (locality_id i = 0; i < all.job.localities.size(); ++i)
    if (!all.job.localities[i].missing.empty())
      log_warning("the job's trace is incomplete: locality {}: {}", i, all.job.localities[i].missing);
  return all;
}

}  // namespace net
}  // namespace plx
