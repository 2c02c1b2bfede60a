#include "trace/tools/perfetto_trace.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/file/run_files.hpp"
#include "trace/tools/slice_sink.hpp"
#include "trace/tools/trace_arrows.hpp"
#include "trace/tools/trace_export.hpp"

namespace plx::probe {
namespace {

/// A message in protobuf's wire format.
class wire_message {
 public:
  void number(unsigned field, std::uint64_t n) {
    varint(field << 3);
    varint(n);
  }
  void fixed(unsigned field, std::uint64_t n) {
    varint(field << 3 | 1);
    for (unsigned shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(n >> shift);
  }
  void real(unsigned field, double x) { fixed(field, std::bit_cast<std::uint64_t>(x)); }
  void text(unsigned field, std::string_view t) {
    varint(field << 3 | 2);
    varint(t.size());
    bytes_ += t;
  }
  void part(unsigned field, const wire_message& m) { text(field, m.bytes_); }

  void clear() noexcept { bytes_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  void varint(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) bytes_ += static_cast<char>(n | 0x80);
    bytes_ += static_cast<char>(n);
  }
  std::string bytes_;
};

// Numbers of fields, by message.
namespace packet_field {
constexpr unsigned timestamp = 8, sequence = 10, event = 11, interned = 12, sequence_flags = 13, track = 60;
}
namespace event_field {
constexpr unsigned annotation = 4, type = 9, name_iid = 10, track = 11, category = 22, name = 23, real_value = 44,
                   flow = 47, last_flow = 48;
enum value_of_type : std::uint64_t { begin = 1, end = 2, instant = 3, counter = 4 };
}  // namespace event_field
namespace interned_field {
constexpr unsigned event_name = 2, annotation_name = 3, iid = 1, name = 2;
}
namespace annotation_field {
constexpr unsigned name_iid = 1, truth = 2, number = 3;
}
namespace track_field {
constexpr unsigned uuid = 1, name = 2, process = 3, parent = 5, counter = 8, ordering = 11, rank = 12;
constexpr unsigned pid = 1, process_name = 6;  // of the process
constexpr std::uint64_t by_rank = 3;
}  // namespace track_field

constexpr std::string_view argument_names[] = {"task", "key",          "bytes",     "wait_ns", "ready_by",
                                               "tag",  "communicator", "suspended", "resumed"};
enum class argument : std::uint64_t { task = 1, key, bytes, wait_ns, ready_by, tag, communicator, suspended, resumed };

/// Packets of the file, with names interned at their first use.
class packet_writer {
 public:
  explicit packet_writer(text_sink& sink) : sink_(sink) {
    wire_message first, names;
    for (std::uint64_t i = 0; i < std::size(argument_names); ++i) {
      wire_message one;
      one.number(interned_field::iid, i + 1);
      one.text(interned_field::name, argument_names[i]);
      names.part(interned_field::annotation_name, one);
    }
    first.number(packet_field::sequence, 1);
    first.number(packet_field::sequence_flags, 1);  // the interned names begin here
    first.part(packet_field::interned, names);
    put(first);
  }

  void describe(const wire_message& m) {
    wire_message p;
    p.number(packet_field::sequence, 1);
    p.part(packet_field::track, m);
    put(p);
  }
  void event(std::uint64_t ns, const wire_message& e) {
    packet_.clear();
    packet_.number(packet_field::timestamp, ns);
    packet_.number(packet_field::sequence, 1);
    packet_.number(packet_field::sequence_flags, 2);  // uses the interned names
    if (!new_names_.empty()) packet_.part(packet_field::interned, new_names_), new_names_.clear();
    packet_.part(packet_field::event, e);
    put(packet_);
  }
  /// The number of a name in events; the next event contains the name if it is new.
  std::uint64_t name(name_id id) {
    if (id >= named_.size()) named_.resize(id + std::size_t{1});
    if (!named_[id]) {
      wire_message one;
      one.number(interned_field::iid, id + std::uint64_t{1});
      one.text(interned_field::name, name_of(id));
      new_names_.part(interned_field::event_name, one);
      named_[id] = true;
    }
    return id + std::uint64_t{1};
  }
  result<void> flush() {
    if (done_) done_ = sink_.write(text_.bytes());
    text_.clear();
    return done_;
  }
  [[nodiscard]] bool failed() const noexcept { return !done_; }

 private:
  void put(const wire_message& p) {
    constexpr unsigned packet_of_trace = 1;
    text_.part(packet_of_trace, p);
    if (text_.bytes().size() >= 1u << 15) (void)flush();
  }

  text_sink& sink_;
  wire_message text_, packet_, new_names_;
  std::vector<bool> named_;
  result<void> done_;
};

struct row_label {
  std::string name;
  bool device = false;
};

/// The first reading: dependencies, and names of rows.
class arrow_reader final : public slice_sink {
 public:
  arrow_reader(const tick_window& window, trace_arrows& arrows, std::map<unsigned, row_label>& rows)
      : slice_sink(window), arrows_(arrows), rows_(rows) {}
  void row(unsigned row, std::string_view name, std::uint32_t device) override {
    rows_[row] = {std::string(name), device != 0};
  }
  void slice(unsigned row, const trace_slice&, std::span<const trace_edge> edges) override {
    rows_.try_emplace(row);
    for (const trace_edge& e : edges) arrows_.add(e);
  }

 private:
  trace_arrows& arrows_;
  std::map<unsigned, row_label>& rows_;
};

/// The second one: the slices at the ends of the arrows.
class arrow_placer final : public slice_sink {
 public:
  arrow_placer(const tick_window& window, trace_arrows& arrows) : slice_sink(window, false), arrows_(arrows) {}
  void slice(unsigned, const trace_slice& s, std::span<const trace_edge>) override { arrows_.place(s); }

 private:
  trace_arrows& arrows_;
};

/// The third one: writes everything.
class slice_writer final : public slice_sink {
 public:
  slice_writer(const tick_window& window, const run_file& file, ticks origin, const trace_arrows& arrows,
               const std::map<unsigned, row_label>& rows, packet_writer& out, perfetto_summary& summary)
      : slice_sink(window), file_(file), origin_(origin), arrows_(arrows), rows_(rows), out_(out), summary_(summary) {
    process();
    for (const auto& [row, label] : rows)
      describe(uuid(of_row, row), label.name.empty() ? fmt::format("worker {}", row) : label.name, row);
  }

  void slice(unsigned row, const trace_slice& s, std::span<const trace_edge> edges) override {
    if (out_.failed()) return;
    const auto label = rows_.find(row);
    const bool device = label != rows_.end() && label->second.device;
    ++summary_.slices;
    std::uint64_t begin = when(s.begin), end = std::max(when(s.end), begin);
    if (device) begin = std::max(begin, device_end_[row]), end = device_end_[row] = std::max(begin, end);
    event_.clear();
    event_.number(event_field::type, event_field::begin);
    event_.number(event_field::track, uuid(of_row, row));
    event_.number(event_field::name_iid, out_.name(s.name));
    if (s.id != 0) add(argument::task, s.id);
    if (s.key != no_key) add(device ? argument::bytes : argument::key, s.key);
    if (s.ready != 0) add(argument::wait_ns, begin - std::min(when(s.ready), begin));
    for (const trace_edge& e : edges)
      if (e.to == s.id && !is_join(e.from)) add(argument::ready_by, e.from);
    if (!s.finished) add(argument::suspended, 1);
    if (s.resumed) add(argument::resumed, 1);
    arrows_.arrows_of(s, [this](std::size_t number, bool enters) {
      event_.fixed(enters ? event_field::last_flow : event_field::flow, uuid(of_arrow, number + 1));
      summary_.arrows += enters ? 1 : 0;
    });
    out_.event(begin, event_);
    event_.clear();
    event_.number(event_field::type, event_field::end);
    event_.number(event_field::track, uuid(of_row, row));
    out_.event(end, event_);
  }

  void sample(const trace_sample& s) override {
    if (!std::isfinite(s.value)) return;
    const auto [counter, is_new] = counters_.try_emplace(s.name, counters_.size());
    if (is_new) describe(uuid(of_counter, counter->second), s.name, 1u << 20, true);
    event_.clear();
    event_.number(event_field::type, event_field::counter);
    event_.number(event_field::track, uuid(of_counter, counter->second));
    event_.real(event_field::real_value, s.value);
    out_.event(when(s.when), event_);
  }

  void mark(const trace_mark& m) override {
    event_.clear();
    event_.number(event_field::type, event_field::instant);
    event_.number(event_field::track, uuid(of_process, 0));
    event_.text(event_field::category, m.category);
    event_.text(event_field::name, m.text);
    out_.event(when(m.when), event_);
  }

  /// Moments on a track of their own; an arrow joins both ends of a parcel.
  void parcels(bool sent, std::span<const trace_parcel> some) override {
    const std::uint64_t at = uuid(of_parcels, sent ? 0 : 1);
    for (const trace_parcel& p : some) {
      if (!window().overlaps(p.when, p.when)) continue;
      if (!std::exchange(has_parcels_[sent ? 0 : 1], true))
        describe(at, fmt::format("{} {}", p.channel != 0 ? "messages" : "parcels", sent ? "sent" : "received"),
                 (1u << 19) + (sent ? 0 : 1));
      event_.clear();
      event_.number(event_field::type, event_field::instant);
      event_.number(event_field::track, at);
      if (p.name == unnamed)
        event_.text(event_field::name, "reply");
      else
        event_.number(event_field::name_iid, out_.name(p.name));
      add(argument::bytes, p.bytes);
      if (p.channel != 0) {
        add(argument::tag, static_cast<std::uint64_t>(p.tag));
        add(argument::communicator, p.channel);
      }
      event_.fixed(sent ? event_field::flow : event_field::last_flow, flow_of(p, sent));
      out_.event(when(p.when), event_);
    }
  }

 private:
  enum track_kind : std::uint64_t { of_process, of_row, of_counter, of_parcels, of_arrow };

  [[nodiscard]] std::uint64_t uuid(track_kind kind, std::uint64_t number) const noexcept {
    return (std::uint64_t{file_.start.locality} + 1) << 40 | kind << 32 | number;
  }
  [[nodiscard]] std::uint64_t when(ticks t) const { return nanoseconds_since(origin_, file_.clock(t)); }

  /// The number of the arrow from a parcel's sender to its receiver, the same at both ends.
  [[nodiscard]] std::uint64_t flow_of(const trace_parcel& p, bool sent) const noexcept {
    const std::uint32_t own = file_.start.locality, sender = sent ? own : p.peer, receiver = sent ? p.peer : own;
    std::uint64_t flow = p.number * 0x9e3779b97f4a7c15 ^ (std::uint64_t{sender} + 1) * 0xff51afd7ed558ccd;
    if (p.channel != 0)  // parcels are numbered by their sender alone
      for (const std::uint32_t part : {receiver, p.channel, static_cast<std::uint32_t>(p.tag)})
        flow = (flow ^ flow >> 32 ^ part) * 0x9e3779b97f4a7c15;
    return flow | std::uint64_t{1} << 63;
  }

  void add(argument a, std::uint64_t value) {
    argument_.clear();
    argument_.number(annotation_field::name_iid, static_cast<std::uint64_t>(a));
    argument_.number(a >= argument::suspended ? annotation_field::truth : annotation_field::number, value);
    event_.part(event_field::annotation, argument_);
  }
  void process() {
    wire_message p, t;
    p.number(track_field::pid, std::uint64_t{file_.start.locality} + 1);
    p.text(track_field::process_name,
           fmt::format("parallax locality {} on {}", file_.start.locality, file_.start.host));
    t.number(track_field::uuid, uuid(of_process, 0));
    t.part(track_field::process, p);
    t.number(track_field::ordering, track_field::by_rank);
    out_.describe(t);
  }
  void describe(std::uint64_t id, std::string_view name, std::uint64_t rank, bool counter = false) {
    wire_message t;
    t.number(track_field::uuid, id);
    t.number(track_field::parent, uuid(of_process, 0));
    t.text(track_field::name, name);
    t.number(track_field::rank, rank);
    if (counter) t.part(track_field::counter, wire_message());
    out_.describe(t);
  }

  const run_file& file_;
  const ticks origin_;
  const trace_arrows& arrows_;
  const std::map<unsigned, row_label>& rows_;
  packet_writer& out_;
  perfetto_summary& summary_;
  wire_message event_, argument_;
  std::map<std::string, std::uint64_t> counters_;
  std::map<unsigned, std::uint64_t> device_end_;
  bool has_parcels_[2] = {};
};

result<void> write_one(const run_file& file, const std::vector<run_file>& run, const time_range& range,
                       packet_writer& out, perfetto_summary& summary) {
  const tick_window window = window_of(run, file, range);
  const ticks origin = run.front().clock(run.front().start.origin);
  trace_arrows arrows;
  std::map<unsigned, row_label> rows;
  arrow_reader first(window, arrows, rows);
  const auto read = read_trace(file.path, first, window);
  if (!read) return read.error();
  for (std::string& line : read->warnings(file.path)) summary.warnings.push_back(std::move(line));
  if (arrows.cut())
    summary.warnings.push_back(
        fmt::format("'{}': the first {} of {} dependencies have arrows; --from and --to select others", file.path,
                    trace_arrows::most, arrows.edges()));
  arrows.resolve();
  arrow_placer second(window, arrows);
  if (auto again = read_trace(file.path, second, window); !again) return again.error();
  slice_writer third(window, file, origin, arrows, rows, out, summary);
  if (auto again = read_trace(file.path, third, window); !again) return again.error();
  return out.flush();
}

}  // namespace

result<perfetto_summary> write_perfetto_trace(const std::vector<std::string>& files, const std::string& path,
                                              const time_range& range) {
  perfetto_summary summary;
  const auto run = run_files(files, summary.warnings);
  if (!run) return run.error();
  auto sink = text_sink::create(path);
  if (!sink) return sink.error();
  packet_writer out(**sink);
  for (const run_file& file : *run)
    if (auto r = write_one(file, *run, range, out, summary); !r) return r.error();
  if (auto r = (*sink)->commit(); !r) return r.error();
  return summary;
}

}  // namespace plx::probe
