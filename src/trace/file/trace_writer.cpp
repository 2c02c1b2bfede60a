#include "trace/file/trace_writer.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/record/names.hpp"
#include "probe/record/wait_log.hpp"
#include "trace/file/trace_chunk.hpp"

namespace plx::probe {

using namespace detail;

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 16, full_bytes = chunk_bytes - 256;
constexpr double oldest_s = 0.3;

/// All times in [first, last].
struct time_span {
  ticks first = ~ticks{0}, last = 0;

  void add(ticks from, ticks to) noexcept { first = std::min(first, from), last = std::max(last, to); }
};
constexpr time_span any_time{0, ~ticks{0}};

/// A chunk of rows in the making.
struct open_chunk {
  std::unique_ptr<char[]> bytes;  // allocated with the first row
  std::size_t size = 0;
  std::uint32_t count = 0;
  ticks began = 0;
  time_span times;
  bool whole = true;  // the last row does not need the next one

  /// False if there is no memory.
  bool begin(ticks now) {
    if (bytes == nullptr) bytes.reset(new (std::nothrow) char[chunk_bytes]);
    if (count == 0) began = now;
    return bytes != nullptr;
  }
  [[nodiscard]] bool full() const noexcept { return size >= full_bytes + (whole ? 0 : 128); }
};

/// The times of a record; locks, edges and slices have some.
void add_times(time_span& to, const trace_record& r) noexcept {
  if ((r.flags & is_packed) != 0)
    to.add(r.begin - (r.end & low_word), r.begin);
  else if ((r.flags & trace_record::is_edge) != 0)
    to.add(r.key, r.key);
  else if ((r.flags & (trace_record::is_more | trace_record::is_link | trace_record::is_placement)) == 0)
    to.add(r.begin, r.end);
}

template <class Coder>
struct coded_chunk : open_chunk {
  Coder coder;
};

/// Returns the new size.
template <class Coder>
std::size_t put_row(coded_chunk<Coder>& c, const typename Coder::row& words) {
  return static_cast<std::size_t>(c.coder.put(c.bytes.get() + c.size, words, 0) - c.bytes.get());
}

}  // namespace

struct trace_writer::state {
  std::string path;
  int descriptor = -1;
  const pid_t owner = ::getpid();
  std::uint64_t written = 0;
  std::atomic<std::uint64_t> dropped{0};  // relaxed: a count
  std::mutex mutex;                       // guards `failure` against other threads; this one alone changes it
  std::string failure;
  name_id names = 0;  // written so far
  trace_totals last;  // in the file
  trace_totals passed;
  ticks now = 0, totals_at = 0;
  std::vector<std::unique_ptr<coded_chunk<record_coder>>> workers;  // by row; null: no records
  std::vector<std::pair<unsigned, std::unique_ptr<coded_chunk<row_coder<16, 1>>>>> streams;
  struct parcel_chunk {
    chunk_kind kind;
    coded_chunk<row_coder<12, 1>> rows{};
  };
  parcel_chunk sent{chunk_kind::sent}, received{chunk_kind::received};
  parcel_chunk messages_sent{chunk_kind::messages_sent}, messages_received{chunk_kind::messages_received};

  ~state() {
    if (descriptor >= 0) ::close(descriptor);
  }

  [[nodiscard]] bool usable() const noexcept { return failure.empty() && ::getpid() == owner; }

  void fail(int number) {
    {
      const std::lock_guard lock(mutex);
      failure = file_error("write", path, number).message;
    }
    (void)!::ftruncate(descriptor, static_cast<off_t>(written));  // a part of a chunk would be read as damaged
    log_error("{}: the trace ends here, and the program continues", failure);
  }

  void write_chunk(chunk_kind kind, std::uint32_t row, std::uint32_t count, const char* payload, std::size_t n,
                   time_span times) {
    if (!usable()) return;
    chunk_head head{.kind = kind,
                    .row = row,
                    .count = count,
                    .payload_sum = chunk_sum(payload, n),
                    .bytes = static_cast<std::uint32_t>(n),
                    .first = times.first,
                    .last = times.last};
    head.head_sum = head_sum(head);
    write({reinterpret_cast<const char*>(&head), sizeof head}, {payload, n});
  }
  void write_chunk(chunk_kind kind, const byte_writer& b, time_span times = any_time) {
    write_chunk(kind, 0, 1, b.bytes().data(), b.bytes().size(), times);
  }
  /// Both or, on an error, neither.
  void write(std::string_view first, std::string_view second) {
    const std::size_t all = first.size() + second.size();
    while (!first.empty() || !second.empty()) {
      iovec parts[] = {{const_cast<char*>(first.data()), first.size()},
                       {const_cast<char*>(second.data()), second.size()}};
      const ssize_t n = ::writev(descriptor, parts, 2);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail(n == 0 ? ENOSPC : errno);
      const std::size_t of_first = std::min(first.size(), static_cast<std::size_t>(n));
      first.remove_prefix(of_first);
      second.remove_prefix(static_cast<std::size_t>(n) - of_first);
    }
    written += all;
  }

  /// Before each chunk with ids of names: whatever was recorded has a name that was registered before.
  void write_new_names() {
    const name_id n = name_count();
    for (; names < n; ++names) {
      byte_writer b;
      b.number(names);
      b.text(name_of(names));
      write_chunk(chunk_kind::names, b);
    }
  }
  template <class Coder>
  void end(coded_chunk<Coder>& c, chunk_kind kind, unsigned row) {
    if (c.count == 0) return;
    write_new_names();
    const bool timeless = c.times.first > c.times.last;
    write_chunk(kind, row, c.count, c.bytes.get(), c.size, timeless ? any_time : c.times);
    if (!usable()) dropped.fetch_add(c.count, std::memory_order_relaxed);
    c.coder.restart();
    c.size = 0, c.count = 0, c.times = {};
  }
  /// Ends the chunks that began before `limit`.
  void end_older(ticks limit) {
    const auto old = [limit](const open_chunk& c) { return c.began <= limit; };
    for (unsigned w = 0; w < workers.size(); ++w)
      if (workers[w] != nullptr && old(*workers[w])) end(*workers[w], chunk_kind::records, w);
    for (auto& [row, chunk] : streams)
      if (old(*chunk)) end(*chunk, chunk_kind::operations, row);
    for (parcel_chunk* c : {&sent, &received, &messages_sent, &messages_received})
      if (old(c->rows)) end(c->rows, c->kind, 0);
  }
  /// Appends `some`, and ends the chunk whenever it is full. put(chunk, one) returns the new size.
  template <class Coder, class T, class Put>
  void add(coded_chunk<Coder>& c, chunk_kind kind, unsigned row, std::span<const T> some, Put put) {
    if (some.empty()) return;
    if (!usable() || !c.begin(now)) return void(dropped.fetch_add(some.size(), std::memory_order_relaxed));
    for (const T& one : some) {
      c.size = put(c, one);
      ++c.count;
      if (c.full()) end(c, kind, row), c.began = now;
    }
  }
};

trace_writer::trace_writer(std::unique_ptr<state> s) : state_(std::move(s)) {}

trace_writer::~trace_writer() {
  if (state_ != nullptr) flush();
}

result<std::unique_ptr<trace_writer>> trace_writer::create(const std::string& path) {
  auto s = std::make_unique<state>();
  s->path = path;
  s->descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (s->descriptor < 0) return file_error("create", path, errno);
  return std::unique_ptr<trace_writer>(new trace_writer(std::move(s)));
}

void trace_writer::begin(const trace_start& start) {
  state_->write(trace_file_begin, {});
  byte_writer b;
  b.number(start.origin);
  b.real(start.ticks_per_second);
  b.real(start.unix_s);
  for (const std::uint32_t n : {start.locality, start.localities, start.space, start.process}) b.number(n);
  b.text(start.host);
  state_->write_chunk(chunk_kind::start, b);
  state_->now = state_->totals_at = now_ticks();
}

void trace_writer::row(unsigned row, std::string_view name, std::uint32_t device) {
  byte_writer b;
  b.number(row);
  b.number(device);
  b.text(name);
  state_->write_chunk(chunk_kind::row, b);
}

void trace_writer::records(unsigned row, std::span<const trace_record> some) {
  state& s = *state_;
  if (s.workers.size() <= row) s.workers.resize(row + std::size_t{1});
  if (s.workers[row] == nullptr) s.workers[row] = std::make_unique<coded_chunk<record_coder>>();
  s.add(*s.workers[row], chunk_kind::records, row, some, [](auto& c, trace_record r) {
    if ((r.flags & (is_packed | trace_record::is_lock)) == trace_record::is_lock && r.name == unnamed)
      r.name = object_name(reinterpret_cast<const void*>(r.key));
    add_times(c.times, r);
    c.whole = (r.flags & is_packed) != 0 || (r.flags & trace_record::is_link) == 0;
    return c.coder.put(c.bytes.get(), c.size, r);
  });
}

void trace_writer::operations(unsigned row, std::span<const device_operation> some) {
  auto& all = state_->streams;
  auto there = std::find_if(all.begin(), all.end(), [row](const auto& s) { return s.first == row; });
  if (there == all.end()) there = all.insert(all.end(), {row, std::make_unique<coded_chunk<row_coder<16, 1>>>()});
  state_->add(*there->second, chunk_kind::operations, row, some, [](auto& c, const device_operation& o) {
    c.times.add(o.begin, o.end);
    return put_row(c, row_of(o));
  });
}

void trace_writer::sample(const trace_sample& s) {
  byte_writer b;
  b.number(s.when);
  b.real(s.value);
  b.text(s.name);
  state_->write_chunk(chunk_kind::sample, b, {s.when, s.when});
}

void trace_writer::mark(const trace_mark& m) {
  byte_writer b;
  b.number(m.when);
  b.text(m.category);
  b.text(m.text);
  state_->write_chunk(chunk_kind::mark, b, {m.when, m.when});
}

void trace_writer::parcels(bool sent, std::span<const trace_parcel> some) {
  state& s = *state_;
  while (!some.empty()) {  // runs of parcels or of messages
    const bool messages = some.front().channel != 0;
    const auto end = std::find_if(some.begin(), some.end(),
                                  [messages](const trace_parcel& p) { return (p.channel != 0) != messages; });
    const auto n = static_cast<std::size_t>(end - some.begin());
    auto& c = messages ? (sent ? s.messages_sent : s.messages_received) : (sent ? s.sent : s.received);
    s.add(c.rows, c.kind, 0, some.first(n), [](auto& to, const trace_parcel& p) {
      to.times.add(p.when, p.when);
      parcel_row row{};
      std::memcpy(row.data(), &p, sizeof p);
      return put_row(to, row);
    });
    some = some.subspan(n);
  }
}

void trace_writer::clock(unsigned locality, double ticks_per_second, const clock_point& p) {
  byte_writer b;
  b.number(locality);
  b.real(ticks_per_second);
  for (const ticks t : {p.there, p.here, p.uncertainty}) b.number(t);
  state_->write_chunk(chunk_kind::clock, b);
}

const trace_totals& trace_writer::last_totals() const noexcept { return state_->passed; }

void trace_writer::totals(const trace_totals& t) {
  state_->passed = t;
  constexpr double period_s = 0.5;
  state& s = *state_;
  const bool worse = t.lost != s.last.lost || t.share != s.last.share;
  if (!t.ended && !(worse && s.now - s.totals_at > ticks_from(period_s))) return;
  if (t.ended) flush();
  byte_writer b;
  b.number(t.records);
  b.number(t.lost + s.dropped.load(std::memory_order_relaxed));
  b.real(t.share);
  b.number(t.ended ? 1 : 0);
  s.write_chunk(chunk_kind::totals, b);
  s.last = t;
  s.totals_at = s.now;
}

void trace_writer::drained() {
  state_->now = now_ticks();
  state_->end_older(state_->now - ticks_from(oldest_s));
}

void trace_writer::flush() { state_->end_older(~ticks{0}); }

std::string trace_writer::error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}
std::uint64_t trace_writer::dropped() const noexcept { return state_->dropped.load(std::memory_order_relaxed); }

}  // namespace plx::probe
