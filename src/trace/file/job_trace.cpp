#include "trace/file/job_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.hpp"

namespace plx::probe {
namespace {

/// The number of a task in the job's trace, if its locality's first worker has row `first`.
task_id of_job(task_id id, unsigned first) noexcept {
  constexpr unsigned shift = 40;
  constexpr task_id serial = (task_id{1} << shift) - 1, worker = 0xffff;
  const task_id row = id >> shift & worker;  // from 1 on
  if (row == 0) return 0;
  return (id & join_bit) | (row + first) << shift | (id & serial);
}

template <class T, class M>
void append(std::vector<T>& to, std::vector<T>&& from, M change) {
  for (T& x : from) change(x);
  if (to.empty())
    to = std::move(from);
  else
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from = {};
}

/// Sorts `all` together with the locality of each record.
template <class T>
void sort_by_time(std::vector<T>& all, std::vector<unsigned>& at) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return all[a].when < all[b].when; });
  std::vector<T> sorted;
  std::vector<unsigned> from;
  for (const std::size_t i : order) sorted.push_back(std::move(all[i])), from.push_back(at[i]);
  all = std::move(sorted), at = std::move(from);
}

}  // namespace

void job_trace::missing(unsigned which, const std::string& why) {
  std::string& text = job().localities.at(which).missing;
  text += (text.empty() ? "" : "; ") + why;
}

bool job_trace::add(unsigned which, const std::string& host, trace_data&& part, trace_parcels&& parcels,
                    const clock_map& clock) {
  trace_locality& l = job().localities.at(which);
  const auto first = static_cast<unsigned>(whole_.data.workers.size());
  if (first + part.workers.size() > most_workers) {
    missing(which, fmt::format("one trace holds at most {} workers", most_workers));
    return false;
  }
  l.host = host;
  l.first_worker = first;
  l.workers = static_cast<unsigned>(part.workers.size());
  l.uncertainty_s = clock.uncertainty_s();
  l.offset_s = clock.offset_s();
  l.drift = clock.drift();
  if (part.lost != 0) missing(which, fmt::format("dropped {} (buffer full)", plural(part.lost, "record")));
  const ticks origin = clock(part.origin);
  whole_.data.origin = first == 0 ? origin : std::min(whole_.data.origin, origin);
  whole_.data.records += part.records;
  whole_.data.lost += part.lost;
  whole_.data.share = std::min(whole_.data.share, part.share);
  part.worker_names.resize(part.workers.size());
  part.devices.resize(part.workers.size());
  append(whole_.data.devices, std::move(part.devices), [](std::uint32_t&) {});
  append(whole_.data.worker_names, std::move(part.worker_names), [](std::string&) {});
  for (auto& worker : part.workers)
    append(whole_.data.workers.emplace_back(), std::move(worker), [&](trace_slice& s) {
      s.begin = clock(s.begin), s.end = clock(s.end), s.id = of_job(s.id, first);
      if (s.ready != 0) s.ready = clock(s.ready);
    });
  append(whole_.data.edges, std::move(part.edges), [&](trace_edge& e) {
    e = {of_job(e.from, first), of_job(e.to, first), clock(e.when)};
  });
  append(whole_.data.locks, std::move(part.locks), [&](trace_lock& k) {
    constexpr unsigned address_bits = 47;
    k.task = of_job(k.task, first), k.taken = clock(k.taken), k.released = clock(k.released);
    k.object ^= std::uint64_t{which} << address_bits;
  });
  append(whole_.data.placements, std::move(part.placements),
         [&](trace_placement& p) { p.task = of_job(p.task, first); });
  append(whole_.data.samples, std::move(part.samples), [&](trace_sample& s) { s.when = clock(s.when); });
  append(whole_.data.marks, std::move(part.marks), [&](trace_mark& m) { m.when = clock(m.when); });
  job().sample_at.resize(whole_.data.samples.size(), which);
  job().mark_at.resize(whole_.data.marks.size(), which);
  const auto take = [&](std::vector<parcel>& to, std::vector<trace_parcel>& from) {
    for (trace_parcel& r : from) {
      r.when = clock(r.when), r.task = of_job(r.task, first);
      to.push_back({r, which});
    }
    from = {};
  };
  take(sent_, parcels.sent);
  take(received_, parcels.received);
  return true;
}

/// Sorts both lists by what identifies a parcel: each occurs at most once in each.
void job_trace::match() {
  const auto id = [](unsigned from, unsigned to, const trace_parcel& r) {
    return std::tuple(from, r.channel, to, r.tag, r.number);
  };
  const auto sender = [&](const parcel& p) { return id(p.r.peer, p.at, p.r); };
  const auto own = [&](const parcel& p) { return id(p.at, p.r.peer, p.r); };
  std::sort(sent_.begin(), sent_.end(), [&](const parcel& a, const parcel& b) { return own(a) < own(b); });
  std::sort(received_.begin(), received_.end(),
            [&](const parcel& a, const parcel& b) { return sender(a) < sender(b); });
  auto came = received_.begin();
  const auto count_unmatched = [&] { ++job().localities[(came++)->at].unmatched; };
  for (const parcel& s : sent_) {
    while (came != received_.end() && sender(*came) < own(s)) count_unmatched();
    trace_message m{.sent = s.r.when,
                    .number = s.r.number,
                    .bytes = s.r.bytes,
                    .from = s.at,
                    .to = s.r.peer,
                    .name = s.r.name,
                    .channel = s.r.channel,
                    .tag = s.r.tag};
    job().of_mpi |= m.channel != 0;
    const bool same = came != received_.end() && sender(*came) == own(s);
    if (same && (s.r.channel == 0 || came->r.bytes == s.r.bytes)) {  // both ends of a message have its size
      m.received = came->r.when;
      if (s.r.task != 0 && came->r.task != 0)
        whole_.data.edges.push_back({.from = s.r.task, .to = came->r.task, .when = s.r.when});
      ++came;
    } else {
      ++job().localities[s.at].unmatched;
    }
    job().messages.push_back(m);
  }
  while (came != received_.end()) count_unmatched();
  sent_ = {}, received_ = {};
}

job_trace_data job_trace::finish() {
  match();
  sort_by_time(whole_.data.samples, job().sample_at);
  sort_by_time(whole_.data.marks, job().mark_at);
  std::sort(job().messages.begin(), job().messages.end(), [](const trace_message& a, const trace_message& b) {
    return std::tie(a.sent, a.from, a.number) < std::tie(b.sent, b.from, b.number);
  });
  return std::move(whole_);
}

}  // namespace plx::probe
