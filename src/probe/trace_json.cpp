// The trace as Trace Event JSON: one complete event ("X") per piece of a task, on one row per worker.
#include <fmt/format.h>

#include <cmath>

#include "probe/recorder_detail.hpp"
#include "probe/text_sink.hpp"

namespace plx::probe {
namespace {

constexpr std::uint64_t exact_in_json = 1ull << 53;  // a reader with doubles would round larger numbers

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (quoted += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      fmt::format_to(std::back_inserter(quoted), "\\u{:04x}", int{c});
    else
      quoted += c;
  }
  return quoted += '"';
}

class event_writer {
 public:
  event_writer(text_sink& sink, ticks origin) : sink_(sink), origin_(origin) {}

  result<void> metadata(unsigned row, std::string_view name) {
    return sink_.write(fmt::format(
        "{{\"ph\":\"M\",\"pid\":1,\"tid\":{0},\"name\":\"thread_name\",\"args\":{{\"name\":{1}}}}},\n"
        "{{\"ph\":\"M\",\"pid\":1,\"tid\":{0},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{0}}}}},\n",
        row, json_text(name)));
  }

  result<void> slice(unsigned row, const trace_record& r) {
    line_.clear();
    const std::uint64_t begin = nanoseconds(r.begin);
    const std::uint64_t length = nanoseconds(r.end) - begin;  // both rounded alike: neighbours never overlap
    auto out = std::back_inserter(line_);
    fmt::format_to(out, "{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{}.{:03},\"dur\":{}.{:03},\"name\":{}", row,
                   begin / 1000, begin % 1000, length / 1000, length % 1000, quoted_name(r.name));
    arguments(r);
    line_ += "},\n";
    return sink_.write(line_);
  }

  result<void> sample(const counter_sample& s) {
    const std::uint64_t when = nanoseconds(s.when);
    return sink_.write(
        fmt::format("{{\"ph\":\"C\",\"pid\":1,\"ts\":{}.{:03},\"name\":{},\"args\":{{\"value\":{:.9g}}}}},\n",
                    when / 1000, when % 1000, json_text(s.name), s.value));
  }

 private:
  std::uint64_t nanoseconds(ticks t) const {
    return t > origin_ ? static_cast<std::uint64_t>(seconds(t - origin_) * 1e9 + 0.5) : 0;
  }

  void arguments(const trace_record& r) {
    auto out = std::back_inserter(line_);
    const bool suspended = (r.flags & 1u) == 0;
    const bool resumed = (r.flags & 2u) != 0;
    if (r.key == no_key && !suspended && !resumed) return;
    line_ += ",\"args\":{";
    if (r.key != no_key && r.key < exact_in_json) fmt::format_to(out, "\"key\":{},", r.key);
    if (r.key != no_key && r.key >= exact_in_json) fmt::format_to(out, "\"key\":\"{}\",", r.key);
    if (suspended) line_ += "\"ended\":\"suspended\",";
    if (resumed) line_ += "\"began\":\"resumed\",";
    line_.back() = '}';
  }

  const std::string& quoted_name(name_id id) {
    if (id >= names_.size()) names_.resize(id + 1);
    if (names_[id].empty()) names_[id] = json_text(name_of(id));
    return names_[id];
  }

  text_sink& sink_;
  ticks origin_;
  std::string line_;
  std::vector<std::string> names_;
};

}  // namespace

result<void> recorder::write_trace_json(std::string_view path) {
  const std::lock_guard lock(state_->mutex);
  state_->drain_locked();
  auto sink = text_sink::create(std::string(path));
  if (!sink) return sink.error();
  event_writer events(**sink, state_->origin);
  result<void> r = (*sink)->write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  for (unsigned i = 0; r && i < worker_count(); ++i) {
    const worker_trace& w = *state_->workers[i];
    r = events.metadata(i + 1, fmt::format("worker {}", i));  // row 0 is the idle thread to some viewers
    for (const auto& piece : w.kept) {
      for (const trace_record& t : piece) {
        if (r) r = events.slice(i + 1, t);
      }
    }
  }
  for (const counter_sample& s : state_->samples) {
    if (r) r = events.sample(s);
  }
  if (r) {
    r = (*sink)->write(
        fmt::format("{{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{{\"name\":\"parallax\"}}}}\n],"
                    "\"otherData\":{{\"records\":{},\"records_lost\":{}}}}}\n",
                    state_->kept, state_->lost_locked()));
  }
  return r ? (*sink)->commit() : r;
}

void recorder::trace_counter(std::string_view name, double value) {
  if (!std::isfinite(value)) return;  // JSON has no such number
  const ticks now = now_ticks();
  const std::lock_guard lock(state_->mutex);
  if (state_->workers.empty() || (state_->workers[0]->log.mode() & worker_log::tracing) == 0) return;
  state_->samples.push_back({now, std::string(name), value});
}

}  // namespace plx::probe
