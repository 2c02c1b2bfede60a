#include "probe/export/json_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "probe/export/trace_text.hpp"
#include "probe/text_sink.hpp"

namespace plx::probe {
namespace {

using index = trace_graph::index;

constexpr std::uint64_t exact_in_json = 1ull << 53;  // a reader with doubles would round larger numbers
constexpr std::size_t most_parents = 16, most_arrows = 8;
constexpr std::uint64_t most_arrows_in_all = 1u << 18;
constexpr std::size_t buffered = 1u << 15;

/// Time stamps are microseconds with three decimals: exact nanoseconds.
class json_writer {
 public:
  json_writer(text_sink& sink, const trace_data& data, const trace_graph& graph)
      : sink_(sink), data_(data), graph_(graph), pid_(data.locality + 1) {}

  result<void> write() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    rows();
    for (unsigned w = 0; w < data_.workers.size() && done_; ++w)
      for (std::size_t i = 0; i < data_.workers[w].size() && done_; ++i) slice(w, i);
    for (index node = 0; node < graph_.pieces().size() && done_; ++node) arrows(node);
    for (const trace_sample& s : data_.samples) sample(s);
    for (const trace_mark& m : data_.marks) mark(m);
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

  /// Row 0 is the idle thread to some viewers.
  void rows() {
    for (unsigned w = 0; w < data_.workers.size(); ++w) {
      fmt::format_to(
          out(),
          "{{\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"name\":\"thread_name\",\"args\":{{\"name\":{2}}}}},\n"
          "{{\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{1}"
          "}}}},\n",
          pid_, w + 1, json_text(row_name(data_, w)));
    }
  }

  void slice(unsigned worker, std::size_t position) {
    const trace_slice& s = data_.workers[worker][position];
    const std::uint64_t begin = when(s.begin);
    const std::uint64_t length = std::max(when(s.end), begin) - begin;  // both rounded alike: neighbours never overlap
    fmt::format_to(out(), "{{\"ph\":\"X\",\"pid\":{},\"tid\":{}", pid_, worker + 1);
    time("ts", begin);
    time("dur", length);
    fmt::format_to(out(), ",\"name\":{}", names_[s.name]);
    arguments(s, graph_.piece_of(worker, position));
    text_ += "},\n";
    line_ended();
  }

  void number(std::uint64_t n) {
    if (n < exact_in_json)
      fmt::format_to(out(), "{}", n);
    else
      fmt::format_to(out(), "\"{}\"", n);
  }

  void arguments(const trace_slice& s, index node) {
    const std::size_t before = text_.size();
    text_ += ",\"args\":{";
    const std::size_t empty = text_.size();
    if (s.id != 0) text_ += "\"task\":", number(s.id), text_ += ',';
    if (s.key != no_key) text_ += "\"key\":", number(s.key), text_ += ',';
    if (s.id != 0) parents(node);
    if (s.ready != 0) fmt::format_to(out(), "\"wait_us\":{:.3f},", 1e6 * seconds(s.begin - std::min(s.ready, s.begin)));
    if (!s.finished) text_ += "\"ended\":\"suspended\",";
    if (s.resumed) text_ += "\"began\":\"resumed\",";
    if (text_.size() == empty)
      text_.resize(before);
    else
      text_.back() = '}';
  }

  /// Each piece names what it waited for itself.
  void parents(index node) {
    std::vector<task_id> ids;
    for (const trace_graph::link& l : graph_.inputs(node, most_parents + 1))
      ids.push_back(graph_.tasks()[graph_.pieces()[l.from].task].id);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    if (ids.empty()) return;
    const bool more = ids.size() > most_parents;
    if (more) ids.resize(most_parents);
    text_ += "\"parents\":[";
    for (const task_id id : ids) number(id), text_ += ',';
    text_.back() = ']';
    text_ += more ? ",\"more_parents\":true," : ",";
  }

  /// An arrow begins within the slice of its source: at its end it would belong to the slice behind.
  void arrows(index node) {
    const trace_graph::piece& to = graph_.pieces()[node];
    if (graph_.links(node).empty()) return;
    for (const trace_graph::link& l : graph_.inputs(node, most_arrows)) {
      if (n_arrows_ == most_arrows_in_all) return void(++left_out_);
      const trace_graph::piece& from = graph_.pieces()[l.from];
      const std::uint64_t first = when(from.begin), last = std::max(when(from.end), first + 1) - 1;
      arrow('s', from.worker, std::clamp(when(l.when), first, last));
      arrow('f', to.worker, when(to.begin));
      ++n_arrows_;
    }
  }

  void arrow(char kind, unsigned worker, std::uint64_t ns) {
    fmt::format_to(out(), "{{\"ph\":\"{}\",\"pid\":{},\"tid\":{}", kind, pid_, worker + 1);
    time("ts", ns);
    fmt::format_to(out(), ",\"id\":{},\"cat\":\"waited for\",\"name\":\"waited for\"{}}},\n", n_arrows_ + 1,
                   kind == 'f' ? ",\"bp\":\"e\"" : "");
    line_ended();
  }

  void sample(const trace_sample& s) {
    if (!std::isfinite(s.value)) return;  // JSON has no such number
    fmt::format_to(out(), "{{\"ph\":\"C\",\"pid\":{}", pid_);
    time("ts", when(s.when));
    fmt::format_to(out(), ",\"name\":{},\"args\":{{\"value\":{:.9g}}}}},\n", json_text(s.name), s.value);
    line_ended();
  }

  void mark(const trace_mark& m) {
    fmt::format_to(out(), "{{\"ph\":\"i\",\"s\":\"p\",\"pid\":{},\"tid\":0", pid_);
    time("ts", when(m.when));
    fmt::format_to(out(), ",\"cat\":{},\"name\":{}}},\n", json_text(m.category), json_text(m.text));
    line_ended();
  }

  void end() {
    const trace_graph::holes& h = graph_.missing();
    fmt::format_to(out(),
                   "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":\"parallax locality "
                   "{}\"}}}}\n],\"otherData\":{{\"records\":{},\"records_lost\":{},\"share\":{:.9g},\"tasks\":{},"
                   "\"arrows\":{},\"pieces_without_arrows\":{},\"edges_with_an_unknown_end\":{}}}}}\n",
                   pid_, data_.locality, data_.records, data_.lost, data_.share, graph_.tasks().size(), n_arrows_,
                   left_out_, h.unknown_edges);
  }

  text_sink& sink_;
  const trace_data& data_;
  const trace_graph& graph_;
  const unsigned pid_;
  std::string text_;
  result<void> done_;
  trace_names names_{json_text};
  std::uint64_t n_arrows_ = 0, left_out_ = 0;
};

}  // namespace

result<void> write_json_trace(const trace_data& data, const trace_graph& graph, const std::string& path) {
  auto sink = text_sink::create(path);
  if (!sink) return sink.error();
  if (auto r = json_writer(**sink, data, graph).write(); !r) return r;
  return (*sink)->commit();
}

result<void> write_json_trace(const trace_data& data, const std::string& path) {
  return write_json_trace(data, trace_graph(data), path);
}

}  // namespace plx::probe
