// The format: a line with its name and version, then integers of seven bits per byte, lowest first (LEB128). Numbers
// that lie close to an earlier one are stored as the difference to it.
#include "trace/trace_file.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace plx::probe {
namespace {

constexpr std::string_view file_begin = "parallax what-if trace 1\n";

constexpr std::uint64_t bit_finished = 1, bit_resumed = 2;  // of a slice; its name follows

class byte_writer {
 public:
  explicit byte_writer(atomic_file& to) : to_(to) { text_ = file_begin; }

  void number(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) text_ += static_cast<char>(n | 0x80);
    text_ += static_cast<char>(n);
  }
  void numbers(std::initializer_list<std::uint64_t> all) {
    for (const std::uint64_t n : all) number(n);
  }
  /// `n` relative to `base`: small if they are close.
  void near(std::uint64_t n, std::uint64_t base) {
    const auto d = static_cast<std::int64_t>(n - base);
    number(static_cast<std::uint64_t>(d) << 1 ^ static_cast<std::uint64_t>(d >> 63));
  }
  void real(double x) { number(std::bit_cast<std::uint64_t>(x)); }
  void text(std::string_view t) {
    number(t.size());
    text_ += t;
  }
  void record_ended() {
    constexpr std::size_t buffered = std::size_t{1} << 16;
    if (text_.size() >= buffered) (void)flush();  // the last flush() returns the first error
  }
  result<void> flush() {
    if (done_) done_ = to_.write(text_);
    text_.clear();
    return done_;
  }

 private:
  atomic_file& to_;
  std::string text_;
  result<void> done_;
};

/// Numbers beyond the end are 0, and make the file invalid.
class byte_reader {
 public:
  explicit byte_reader(std::string_view text) : text_(text) {}

  std::uint64_t number() {
    std::uint64_t n = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == text_.size()) break;
      const auto byte = static_cast<unsigned char>(text_[at_++]);
      n |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return n;
    }
    valid_ = false;
    return 0;
  }
  std::uint64_t near(std::uint64_t base) {
    const std::uint64_t n = number();
    return base + (n >> 1 ^ (0 - (n & 1)));
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string text() {
    const std::uint64_t n = count(1);
    std::string t(text_.substr(at_, n));
    at_ += n;
    return t;
  }
  /// A number of things of at least `bytes` bytes each.
  std::size_t count(std::size_t bytes) {
    const std::uint64_t n = number();
    if (n <= (text_.size() - at_) / bytes) return n;
    valid_ = false;
    return 0;
  }
  template <class T>
  T limited() {
    const std::uint64_t n = number();
    if (n <= std::numeric_limits<T>::max()) return static_cast<T>(n);
    valid_ = false;
    return 0;
  }
  void require(bool condition) { valid_ = valid_ && condition; }
  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool valid_ = true;
};

void write_names(byte_writer& out, const trace_data& d) {
  std::vector<bool> used(name_count());
  for (const auto& w : d.workers)
    for (const trace_slice& s : w) used.at(s.name) = true;
  for (const trace_lock& l : d.locks) used.at(l.name) = true;
  std::uint64_t n = 0;
  for (const bool u : used) n += u;
  out.number(n);
  for (name_id id = 0; id < used.size(); ++id)
    if (used[id]) out.number(id), out.text(name_of(id));
}

void write_slices(byte_writer& out, const std::vector<trace_slice>& slices, ticks origin) {
  out.number(slices.size());
  ticks last_end = origin;
  task_id last_id = 0;
  for (const trace_slice& s : slices) {
    out.number((s.finished ? bit_finished : 0u) | (s.resumed ? bit_resumed : 0u) | std::uint64_t{s.name} << 2);
    out.near(s.begin, last_end);
    out.near(s.end, s.begin);
    out.near(s.id, last_id);
    out.number(s.ready == 0 ? 0 : 1);
    if (s.ready != 0) out.near(s.ready, s.begin);
    last_end = s.end, last_id = s.id;
    out.record_ended();
  }
}

void write_edges(byte_writer& out, const trace_data& d) {
  out.number(d.edges.size());
  trace_edge last{.from = 0, .to = 0, .when = d.origin};
  for (const trace_edge& e : d.edges) {
    out.near(e.from, last.from);
    out.near(e.to, last.to);
    out.near(e.when, last.when);
    last = e;
    out.record_ended();
  }
}

void write_locks(byte_writer& out, const trace_data& d) {
  out.number(d.locks.size());
  for (const trace_lock& l : d.locks) {
    out.numbers({l.task, l.object, l.name, l.waits});
    out.near(l.taken, d.origin);
    out.near(l.released, l.taken);
    out.record_ended();
  }
  out.number(d.placements.size());
  for (const trace_placement& p : d.placements) {
    out.numbers({p.task, p.worker, p.priority});
    out.record_ended();
  }
}

/// Ids of names in the file, as ids of this process.
class read_names {
 public:
  explicit read_names(byte_reader& in) {
    for (std::size_t n = in.count(2); n > 0 && in.valid(); --n) {
      const auto id = in.limited<name_id>();
      const std::string text = in.text();
      in.require(id < max_names);
      if (!in.valid()) return;
      if (id >= here_.size()) here_.resize(id + std::size_t{1}, unnamed);
      here_[id] = id == unnamed ? unnamed : register_name(text);
    }
  }
  [[nodiscard]] name_id of(byte_reader& in, std::uint64_t id) const {
    in.require(id == unnamed || id < here_.size());
    return id < here_.size() ? here_[id] : unnamed;
  }

 private:
  std::vector<name_id> here_;
};

std::vector<trace_slice> read_slices(byte_reader& in, const read_names& names, ticks origin) {
  std::vector<trace_slice> slices(in.count(5));
  ticks last_end = origin;
  task_id last_id = 0;
  for (trace_slice& s : slices) {
    if (!in.valid()) break;
    const std::uint64_t bits = in.number();
    s.finished = (bits & bit_finished) != 0, s.resumed = (bits & bit_resumed) != 0;
    s.name = names.of(in, bits >> 2);
    s.begin = in.near(last_end);
    s.end = in.near(s.begin);
    s.id = in.near(last_id);
    if (in.number() != 0) s.ready = in.near(s.begin);
    last_end = s.end, last_id = s.id;
  }
  return slices;
}

void read_edges(byte_reader& in, trace_data& d) {
  d.edges.resize(in.count(3));
  trace_edge last{.from = 0, .to = 0, .when = d.origin};
  for (trace_edge& e : d.edges) {
    if (!in.valid()) break;
    e.from = in.near(last.from);
    e.to = in.near(last.to);
    e.when = in.near(last.when);
    last = e;
  }
}

void read_locks(byte_reader& in, const read_names& names, trace_data& d) {
  d.locks.resize(in.count(6));
  for (trace_lock& l : d.locks) {
    if (!in.valid()) break;
    l.task = in.number(), l.object = in.number();
    l.name = names.of(in, in.number());
    l.waits = in.limited<std::uint32_t>();
    l.taken = in.near(d.origin);
    l.released = in.near(l.taken);
  }
  d.placements.resize(in.count(3));
  for (trace_placement& p : d.placements) {
    if (!in.valid()) break;
    p.task = in.number();
    p.worker = in.limited<std::uint32_t>();
    p.priority = in.limited<std::uint32_t>();
  }
}

void write_rows(byte_writer& out, const trace_data& data, const trace_job* job) {
  out.number(job == nullptr ? 0 : job->localities.size());
  if (job != nullptr)
    for (const trace_locality& l : job->localities) out.numbers({l.first_worker, l.workers});
  out.number(data.workers.size());
  for (std::size_t w = 0; w < data.workers.size(); ++w) {
    out.number(data.is_device(w) ? data.devices[w] : 0);
    write_slices(out, data.workers[w], data.origin);
  }
}

void read_rows(byte_reader& in, const read_names& names, job_trace_data& t) {
  t.job.localities.resize(in.count(2));
  std::uint64_t rows = 0;
  for (trace_locality& l : t.job.localities) {
    l.first_worker = in.limited<unsigned>();
    l.workers = in.limited<unsigned>();
    in.require(l.first_worker == rows);
    rows += l.workers;
  }
  const std::size_t n = in.count(2);
  in.require(t.job.localities.empty() || rows == n);
  for (std::size_t w = 0; w < n && in.valid(); ++w) {
    t.data.devices.push_back(in.limited<std::uint32_t>());
    t.data.workers.push_back(read_slices(in, names, t.data.origin));
  }
}

}  // namespace

result<void> write_what_if_trace(const trace_data& data, const std::string& path, const trace_job* job) {
  auto file = atomic_file::create(path);
  if (!file) return file.error();
  byte_writer out(*file);
  out.real(ticks_per_second());
  out.real(data.share);
  out.numbers({data.origin, data.records, data.lost});
  write_names(out, data);
  write_rows(out, data, job);
  write_edges(out, data);
  write_locks(out, data);
  if (auto r = out.flush(); !r) return r;
  return file->commit();
}

result<stored_trace> read_what_if_trace(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  if (!text->starts_with(file_begin))
    return error{fmt::format("'{}': expected a file that begins with \"{}\", as PLX_TRACE=what-if writes it", path,
                             file_begin.substr(0, file_begin.size() - 1))};
  byte_reader in(std::string_view(*text).substr(file_begin.size()));
  stored_trace stored;
  trace_data& d = stored.trace.data;
  stored.ticks_per_second = in.real();
  in.require(stored.ticks_per_second > 0);
  d.share = in.real();
  d.origin = in.number(), d.records = in.number(), d.lost = in.number();
  const read_names names(in);
  read_rows(in, names, stored.trace);
  read_edges(in, d);
  read_locks(in, names, d);
  if (!in.valid() || !in.at_end())
    return error{fmt::format("'{}' is damaged: expected {}; record the run again", path,
                             in.valid() ? "its end after the last record" : "valid records up to its end")};
  return stored;
}

}  // namespace plx::probe
