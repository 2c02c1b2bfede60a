#include "trace/tools/trace_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "probe/record/text_sink.hpp"

namespace plx::probe {
namespace {

using index = trace_graph::index;

constexpr std::uint64_t exact_in_json = 1ull << 53;  // readers that use doubles would round larger numbers
constexpr std::size_t most_parents = 16384, most_arrows = 8;
constexpr std::uint64_t most_arrows_in_all = 1u << 18;
constexpr std::size_t buffered = 1u << 15;

/// Time stamps are microseconds with three decimals: exact nanoseconds.
class json_writer {
  struct place {
    unsigned pid, tid;
  };

 public:
  /// Pids and tids start at 1: some viewers treat 0 as the idle thread.
  json_writer(text_sink& sink, const trace_data& data, const trace_graph& graph, const trace_job* job)
      : sink_(sink), data_(data), graph_(graph), job_(job) {
    for (unsigned w = 0; w < data.workers.size(); ++w) {
      const unsigned l = job == nullptr ? data.locality : job->locality_of(w);
      rows_.push_back({l + 1, w + 1 - (job == nullptr ? 0 : job->localities[l].first_worker)});
    }
  }

  result<void> write() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    rows();
    for (unsigned w = 0; w < data_.workers.size() && done_; ++w)
      for (std::size_t i = 0; i < data_.workers[w].size() && done_; ++i) slice(w, i);
    for (index node = 0; node < graph_.pieces().size() && done_; ++node) arrows(node);
    for (std::size_t i = 0; i < data_.samples.size(); ++i) sample(data_.samples[i], job_ ? job_->sample_at[i] : 0);
    for (std::size_t i = 0; i < data_.marks.size(); ++i) mark(data_.marks[i], job_ ? job_->mark_at[i] : 0);
    if (job_ != nullptr) parcels();
    end();
    flush();
    return done_;
  }

 private:
  auto out() { return std::back_inserter(text_); }

  void flush() {
    if (done_) done_ = sink_.write(text_);
    text_.clear();
  }
  void line_ended() {
    if (text_.size() >= buffered) flush();
  }

  [[nodiscard]] std::uint64_t when(ticks t) const { return nanoseconds_since(data_.origin, t); }

  void time(const char* field, std::uint64_t ns) {
    fmt::format_to(out(), ",\"{}\":{}.{:03}", field, ns / 1000, ns % 1000);
  }

  void rows() {
    for (unsigned w = 0; w < data_.workers.size(); ++w) row(rows_[w], row_name(data_, w, job_));
    for (unsigned l = 0; job_ != nullptr && l < job_->localities.size(); ++l) {
      row(parcel_row(l, true), job_->of_mpi ? "messages sent" : "parcels sent");
      row(parcel_row(l, false), job_->of_mpi ? "messages received" : "parcels received");
    }
  }

  void row(place p, const std::string& name) {
    fmt::format_to(out(),
                   "{{\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"name\":\"thread_name\",\"args\":{{\"name\":{2}}}}},\n"
                   "{{\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{1}"
                   "}}}},\n",
                   p.pid, p.tid, json_text(name));
  }

  void slice(unsigned worker, std::size_t position) {
    const trace_slice& s = data_.workers[worker][position];
    const std::uint64_t begin = when(s.begin);
    const std::uint64_t length = std::max(when(s.end), begin) - begin;  // both are rounded equally: neighbours never
                                                                        // overlap
    fmt::format_to(out(), "{{\"ph\":\"X\",\"pid\":{},\"tid\":{}", rows_[worker].pid, rows_[worker].tid);
    time("ts", begin);
    time("dur", length);
    fmt::format_to(out(), ",\"name\":{}", names_[s.name]);
    if (data_.is_device(worker)) text_ += ",\"cat\":\"device\"";
    arguments(s, graph_.piece_of(worker, position), data_.is_device(worker));
    text_ += "},\n";
    line_ended();
  }

  void number(std::uint64_t n) {
    if (n < exact_in_json)
      fmt::format_to(out(), "{}", n);
    else
      fmt::format_to(out(), "\"{}\"", n);
  }

  void arguments(const trace_slice& s, index node, bool on_device) {
    const std::size_t before = text_.size();
    text_ += ",\"args\":{";
    const std::size_t empty = text_.size();
    if (s.id != 0) text_ += "\"task\":", number(s.id), text_ += ',';
    if (s.key != no_key) text_ += on_device ? "\"bytes\":" : "\"key\":", number(s.key), text_ += ',';
    if (s.id != 0) parents(node);
    if (s.ready != 0) fmt::format_to(out(), "\"wait_us\":{:.3f},", 1e6 * seconds(s.begin - std::min(s.ready, s.begin)));
    if (!s.finished) text_ += "\"ended\":\"suspended\",";
    if (s.resumed) text_ += "\"began\":\"resumed\",";
    if (text_.size() == empty)
      text_.resize(before);
    else
      text_.back() = '}';
  }

  /// Lists the parents of this slice.
  void parents(index node) {
    const auto ids = parents_.of(node);
    if (ids.empty()) return;
    text_ += "\"parents\":[";
    for (const task_id id : ids) number(id), text_ += ',';
    text_.back() = ']';
    text_ += parents_.cut() ? ",\"more_parents\":true," : ",";
  }

  /// An arrow begins within its source slice; at its end it would belong to the next slice.
  void arrows(index node) {
    const trace_graph::piece& to = graph_.pieces()[node];
    if (graph_.links(node).empty()) return;
    for (const trace_graph::link& l : graph_.inputs(node, most_arrows)) {
      if (n_arrows_ == most_arrows_in_all) return void(++left_out_);
      const trace_graph::piece& from = graph_.pieces()[l.from];
      if (from.worker == to.worker && graph_.is_device(to.worker)) continue;  // the previous operation in its row
      const std::uint64_t first = when(from.begin), last = std::max(when(from.end), first + 1) - 1;
      ++n_arrows_;
      arrow('s', rows_[from.worker], std::clamp(when(l.when), first, last), n_arrows_, "waited for");
      arrow('f', rows_[to.worker], when(to.begin), n_arrows_, "waited for");
    }
  }

  void arrow(char kind, place p, std::uint64_t ns, std::uint64_t id, const char* what) {
    fmt::format_to(out(), "{{\"ph\":\"{}\",\"pid\":{},\"tid\":{}", kind, p.pid, p.tid);
    time("ts", ns);
    fmt::format_to(out(), ",\"id\":{0},\"cat\":\"{1}\",\"name\":\"{1}\"{2}}},\n", id, what,
                   kind == 'f' ? ",\"bp\":\"e\"" : "");
    line_ended();
  }

  /// Parcels are shown below the workers.
  [[nodiscard]] place parcel_row(unsigned locality, bool sent) const {
    return {locality + 1, job_->localities[locality].workers + (sent ? 1 : 2)};
  }

  /// Each parcel is a short slice at its sender and one at its receiver, joined by an arrow.
  void parcels() {
    std::vector<std::vector<std::uint32_t>> sent(job_->localities.size()), received(job_->localities.size());
    for (std::uint32_t i = 0; i < job_->messages.size(); ++i) {
      const trace_message& m = job_->messages[i];
      sent.at(m.from).push_back(i);
      if (m.received != 0) received.at(m.to).push_back(i);
    }
    for (unsigned l = 0; l < sent.size() && done_; ++l) {
      std::stable_sort(received[l].begin(), received[l].end(), [&](std::uint32_t a, std::uint32_t b) {
        return job_->messages[a].received < job_->messages[b].received;
      });
      parcels_of(l, sent[l], true);
      parcels_of(l, received[l], false);
    }
  }

  /// In order of time. A slice ends where the next one begins, but after at most a microsecond; slices of the same
  /// nanosecond are placed one after another.
  void parcels_of(unsigned locality, const std::vector<std::uint32_t>& list, bool sent) {
    constexpr std::uint64_t widest_ns = 1000, first_id = 1ull << 40;
    const place at = parcel_row(locality, sent);
    const auto moment = [&](std::size_t i) {
      const trace_message& m = job_->messages[list[i]];
      return when(sent ? m.sent : m.received);
    };
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < list.size() && done_; ++i) {
      const trace_message& m = job_->messages[list[i]];
      begin = std::max(begin, moment(i));
      const std::uint64_t next = i + 1 < list.size() ? moment(i + 1) : begin + widest_ns;
      const std::uint64_t length = std::clamp<std::uint64_t>(next > begin ? next - begin : 0, 1, widest_ns);
      fmt::format_to(out(), "{{\"ph\":\"X\",\"pid\":{},\"tid\":{}", at.pid, at.tid);
      time("ts", begin);
      time("dur", length);
      fmt::format_to(out(), ",\"name\":{},\"cat\":\"parcel\",\"args\":{{\"number\":{},\"{}\":{},\"bytes\":{}",
                     names_[m.name], m.number, sent ? "to" : "from", sent ? m.to : m.from, m.bytes);
      if (m.channel != 0) fmt::format_to(out(), ",\"tag\":{},\"communicator\":{}", m.tag, m.channel);
      text_ += "}},\n";
      if (m.received != 0) arrow(sent ? 's' : 'f', at, begin, first_id + list[i], "parcel");
      line_ended();
      begin += length;
    }
  }

  void sample(const trace_sample& s, unsigned locality) {
    if (!std::isfinite(s.value)) return;  // JSON cannot represent it
    fmt::format_to(out(), "{{\"ph\":\"C\",\"pid\":{}", pid_of(locality));
    time("ts", when(s.when));
    fmt::format_to(out(), ",\"name\":{},\"args\":{{\"value\":{:.9g}}}}},\n", json_text(s.name), s.value);
    line_ended();
  }

  void mark(const trace_mark& m, unsigned locality) {
    fmt::format_to(out(), "{{\"ph\":\"i\",\"s\":\"p\",\"pid\":{},\"tid\":0", pid_of(locality));
    time("ts", when(m.when));
    fmt::format_to(out(), ",\"cat\":{},\"name\":{}}},\n", json_text(m.category), json_text(m.text));
    line_ended();
  }

  [[nodiscard]] unsigned pid_of(unsigned locality) const { return (job_ == nullptr ? data_.locality : locality) + 1; }

  void process(unsigned locality, const std::string& more) {
    fmt::format_to(out(), "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}},\n",
                   locality + 1, json_text(fmt::format("parallax locality {}{}", locality, more)));
  }

  void end() {
    if (job_ == nullptr) process(data_.locality, "");
    for (unsigned l = 0; job_ != nullptr && l < job_->localities.size(); ++l)
      process(l, job_->localities[l].workers == 0 ? " (missing)" : "");
    text_.resize(text_.size() - 2);
    const trace_graph::holes& h = graph_.missing();
    fmt::format_to(out(),
                   "\n],\"otherData\":{{\"records\":{},\"records_lost\":{},\"share\":{:.9g},\"tasks\":{},"
                   "\"arrows\":{},\"pieces_without_arrows\":{},\"pieces_with_more_parents\":{},"
                   "\"edges_with_an_unknown_end\":{}",
                   data_.records, data_.lost, data_.share, graph_.tasks().size(), n_arrows_, left_out_,
                   parents_.pieces_cut(), h.unknown_edges);
    if (job_ != nullptr) localities();
    text_ += "}}\n";
  }

  void localities() {
    fmt::format_to(out(), ",\"parcels\":{},\"edges_against_time\":{},\"localities\":[", job_->messages.size(),
                   graph_.missing().against_time);
    for (const trace_locality& l : job_->localities)
      fmt::format_to(out(),
                     "{}{{\"host\":{},\"clock_offset_s\":{:.9f},\"clock_drift\":{:.3g},\"clock_uncertainty_s\":{:.3g},"
                     "\"parcels_unmatched\":{},\"missing\":{}}}",
                     &l == job_->localities.data() ? "" : ",", json_text(l.host), l.offset_s, l.drift, l.uncertainty_s,
                     l.unmatched, json_text(l.missing));
    text_ += ']';
  }

  text_sink& sink_;
  const trace_data& data_;
  const trace_graph& graph_;
  const trace_job* const job_;  // null: trace of one process
  std::vector<place> rows_;     // by worker
  std::string text_;
  result<void> done_;
  trace_names names_{json_text};
  listed_parents parents_{graph_, most_parents};
  std::uint64_t n_arrows_ = 0, left_out_ = 0;
};

}  // namespace

result<void> write_json_trace(const trace_data& data, const trace_graph& graph, const std::string& path,
                              const trace_job* job) {
  auto sink = text_sink::create(path);
  if (!sink) return sink.error();
  if (auto r = json_writer(**sink, data, graph, job).write(); !r) return r;
  return (*sink)->commit();
}

result<void> write_json_trace(const trace_data& data, const std::string& path) {
  return write_json_trace(data, trace_graph(data), path);
}

}  // namespace plx::probe
