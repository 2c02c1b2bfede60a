#include "trace/tools/what_if.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/text.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/profile.hpp"

namespace plx::probe {
namespace {

bool name_matches(const std::string& pattern, std::string_view name) {
  return pattern == name || ::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
}

struct question {
  std::string text;
  replay_changes changes;
};

void join_changes(replay_changes& to, const replay_changes& from) {
  if (from.workers != 0) to.workers = from.workers;
  to.no_messages = to.no_messages || from.no_messages;
  to.factors.resize(std::max(to.factors.size(), from.factors.size()), 1.0);
  for (std::size_t i = 0; i < from.factors.size(); ++i) to.factors[i] *= from.factors[i];
  to.no_lock.resize(std::max(to.no_lock.size(), from.no_lock.size()));
  for (std::size_t i = 0; i < from.no_lock.size(); ++i)
    if (from.no_lock[i]) to.no_lock[i] = true;
  to.priorities.resize(std::max(to.priorities.size(), from.priorities.size()), -1);
  for (std::size_t i = 0; i < from.priorities.size(); ++i)
    if (from.priorities[i] >= 0) to.priorities[i] = from.priorities[i];
}

std::string factor_text(double factor) {
  if (factor == 0.5) return "half";
  if (factor == 2) return "twice";
  return fmt::format("{:g} times", factor);
}

/// A line with breaks between words where it would exceed what what_if_text() promises.
std::string wrapped(std::string line) {
  constexpr std::size_t most = 110;
  for (std::size_t begin = 0; line.size() - begin > most;) {
    const std::size_t space = line.rfind(' ', begin + most);
    if (space == std::string::npos || space < begin) break;
    line[space] = '\n';
    begin = space + 1;
  }
  return line;
}

class predictor {
 public:
  predictor(const loaded_trace& run, const what_if_request& request, std::size_t most)
      : run_(run),
        request_(request),
        most_(most),
        graph_(run.trace.data),
        model_(graph_, run.trace.data, run.trace.job.localities.empty() ? nullptr : &run.trace.job) {
    for (const trace_graph::task& t : graph_.tasks()) totals_[t.name] += static_cast<double>(graph_.length_of(t));
    for (std::size_t l = 0; l < model_.locks().size(); ++l) locks_[lock_name(l)].push_back(l);
  }

  result<what_if_report> report() {
    if (auto r = add_questions(); !r) return r.error();
    describe();
    r_.refusal = reason_to_refuse();
    if (!r_.refusal.empty()) return r_;
    for (const question& q : questions_) r_.predictions.push_back(predict(q));
    if (request_.empty())
      std::stable_sort(r_.predictions.begin(), r_.predictions.end(),
                       [](const prediction& a, const prediction& b) { return a.time_s < b.time_s; });
    return r_;
  }

 private:
  [[nodiscard]] double in_s(double t) const { return t / run_.ticks_per_second; }

  [[nodiscard]] std::string lock_name(std::size_t l) const {
    const replay_model::lock& lock = model_.locks()[l];
    return lock.name != unnamed ? std::string(name_of(lock.name)) : fmt::format("{:#x}", lock.object);
  }

  result<void> add_questions() {
    if (request_.empty()) return add_default_questions(), result<void>();
    if (request_.workers != 0) add_workers(request_.workers);
    for (const auto& [pattern, factor] : request_.scales)
      if (auto r = add_scale(pattern, factor); !r) return r;
    for (const std::string& pattern : request_.locks)
      if (auto r = add_lock(pattern); !r) return r;
    for (const auto& [pattern, level] : request_.priorities)
      if (auto r = add_priority(pattern, level); !r) return r;
    if (request_.no_messages) {
      if (!model_.has_messages())
        return error{"the trace has no messages between localities: expected that of a job of several processes"};
      questions_.push_back({"messages take no time", {.no_messages = true}});
    }
    if (questions_.size() > 1) {
      question all{"all of these", {}};
      for (const question& q : questions_) join_changes(all.changes, q.changes);
      questions_.push_back(std::move(all));
    }
    return {};
  }

  void add_workers(unsigned n) {
    const char* each = model_.workers().size() > 1 ? " per locality" : "";
    questions_.push_back({plural(n, "worker") + each, {.workers = n}});
  }

  result<void> add_scale(const std::string& pattern, double factor) {
    if (!(factor > 0) || !std::isfinite(factor))
      return error{fmt::format("'{}={:g}': expected a factor above 0", pattern, factor)};
    const auto types = types_of(pattern);
    if (!types) return types.error();
    question q{fmt::format("{} the time of \"{}\"", factor_text(factor), pattern), {}};
    for (const name_id name : *types) {
      q.changes.factors.resize(std::max<std::size_t>(q.changes.factors.size(), name + std::size_t{1}), 1.0);
      q.changes.factors[name] = factor;
    }
    questions_.push_back(std::move(q));
    return {};
  }

  result<void> add_priority(const std::string& pattern, const std::string& level) {
    const std::vector<std::string> levels{"normal", "high", "low"};
    const auto at = std::find(levels.begin(), levels.end(), level);
    if (at == levels.end())
      return error{fmt::format("'{}={}': expected a priority of high, normal, low", pattern, level)};
    const auto types = types_of(pattern);
    if (!types) return types.error();
    question q{fmt::format("priority {} for \"{}\"", level, pattern), {}};
    for (const name_id name : *types) {
      q.changes.priorities.resize(std::max<std::size_t>(q.changes.priorities.size(), name + std::size_t{1}), -1);
      q.changes.priorities[name] = static_cast<int>(at - levels.begin());
    }
    questions_.push_back(std::move(q));
    return {};
  }

  result<void> add_lock(const std::string& pattern) {
    if (locks_.empty())
      return error{"the trace has no locks: expected a program whose tasks use plx::mutex while a trace is recorded"};
    question q{pattern == "*" ? "no waits for locks" : fmt::format("no waits for the lock \"{}\"", pattern), {}};
    q.changes.no_lock.resize(model_.locks().size());
    bool any = false;
    std::vector<std::string> known;
    for (const auto& [name, which] : locks_) {
      known.push_back(name);
      if (!name_matches(pattern, name)) continue;
      any = true;
      for (const std::size_t l : which) q.changes.no_lock[l] = true;
    }
    if (!any) return error{unknown("lock", pattern, known)};
    questions_.push_back(std::move(q));
    return {};
  }

  [[nodiscard]] bool same_workers() const {
    const std::vector<unsigned>& all = model_.workers();
    return all.front() != 0 && std::all_of(all.begin(), all.end(), [&](unsigned n) { return n == all.front(); });
  }

  void add_default_questions() {
    std::vector<std::pair<double, name_id>> types;
    for (const auto& [name, total] : totals_) types.emplace_back(total, name);
    std::sort(types.begin(), types.end(), std::greater<>());
    for (std::size_t i = 0; i < std::min(types.size(), most_); ++i)
      (void)add_scale(std::string(name_of(types[i].second)), 0.5);
    if (same_workers()) add_workers(2 * model_.workers().front());
    std::vector<std::pair<std::uint64_t, std::string>> waited;
    for (const auto& [name, which] : locks_) {
      std::uint64_t waits = 0;
      for (const std::size_t l : which) waits += model_.locks()[l].waits;
      if (waits > 0) waited.emplace_back(waits, name);
    }
    std::sort(waited.begin(), waited.end(), std::greater<>());
    constexpr std::size_t most_locks = 5;
    for (std::size_t i = 0; i < std::min(waited.size(), most_locks); ++i) (void)add_lock(waited[i].second);
    if (waited.size() > 1) (void)add_lock("*");
    if (model_.has_messages()) questions_.push_back({"messages take no time", {.no_messages = true}});
  }

  result<std::vector<name_id>> types_of(const std::string& pattern) const {
    std::vector<name_id> found;
    std::vector<std::string> known;
    for (const auto& [name, total] : totals_) {
      known.emplace_back(name_of(name));
      if (name_matches(pattern, known.back())) found.push_back(name);
    }
    if (found.empty()) return error{unknown("task type", pattern, known)};
    return found;
  }

  static std::string unknown(const char* what, const std::string& pattern, const std::vector<std::string>& known) {
    const std::string near = did_you_mean(pattern, known);
    std::string text = fmt::format("the run has no {} '{}'{}", what, pattern, near);
    if (!near.empty()) return text;
    constexpr std::size_t most_listed = 8;
    text += "; expected one of ";
    for (std::size_t i = 0; i < std::min(known.size(), most_listed); ++i)
      fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ", ", known[i]);
    return text + (known.size() > most_listed ? ", ..." : "");
  }

  void describe() {
    const replayed now = model_.run();
    base_ = now.time;
    unfinished_ = now.unfinished;
    r_.tasks = graph_.tasks().size();
    r_.slices = graph_.pieces().size();
    r_.localities = model_.workers().size();
    r_.workers = graph_.worker_count();
    r_.recorded_s = in_s(model_.recorded());
    r_.replayed_s = in_s(now.time);
    r_.work_s = in_s(now.work), r_.span_s = in_s(now.span);
    r_.lower_s = in_s(now.lower), r_.upper_s = in_s(now.upper);
  }

  [[nodiscard]] std::string reason_to_refuse() const {
    const trace_data& d = run_.trace.data;
    const trace_graph::holes& h = graph_.missing();
    if (graph_.pieces().empty()) return "the trace has no tasks";
    std::size_t unknown = 0;
    for (const trace_graph::task& t : graph_.tasks()) unknown += t.id == 0;
    if (2 * unknown > graph_.tasks().size())
      return "the trace has no dependencies between tasks: expected that of a program that uses the runtime";
    if (d.share < 1)
      return fmt::format("only a share of {} of some task types was traced; record without trace-budget",
                         share_text(d.share));
    constexpr double most_lost = 0.01;
    if (static_cast<double>(d.lost) > most_lost * static_cast<double>(d.records))
      return fmt::format("{} of {} trace records were dropped; raise trace-records", count_text(d.lost),
                         count_text(d.records + d.lost));
    if (unfinished_ != 0)
      return fmt::format("never ready in the replay: {}; without a recorded begin: {}", plural(unfinished_, "slice"),
                         plural(h.headless, "task"));
    if (std::abs(r_.error()) > what_if_report::largest_error)
      return fmt::format(
          "the replay is off by more than {:.0f} %: something that it does not model limits the run "
          "(workers without a core, waits for shared mutexes, memory)",
          100 * what_if_report::largest_error);
    return {};
  }

  [[nodiscard]] prediction predict(const question& q) const {
    const replayed then = model_.run(q.changes);
    prediction p{.change = q.text};
    if (then.unfinished != 0) p.failure = fmt::format("{} slices never become ready", count_text(then.unfinished));
    p.lower_s = in_s(then.lower), p.upper_s = in_s(then.upper), p.span_s = in_s(then.span);
    const double base =
        q.changes.workers != 0 && same_workers() ? model_.run({.workers = model_.workers().front()}).time : base_;
    // The scaling, which makes up for what the replay does not model, may not contradict the bounds.
    p.time_s = base > 0 ? std::clamp(r_.recorded_s * then.time / base, p.lower_s, p.upper_s) : 0;
    return p;
  }

  const loaded_trace& run_;
  const what_if_request& request_;
  const std::size_t most_;
  const trace_graph graph_;
  const replay_model model_;
  std::map<name_id, double> totals_;                       // time of each task type, in ticks
  std::map<std::string, std::vector<std::size_t>> locks_;  // by name
  std::vector<question> questions_;
  what_if_report r_;
  double base_ = 0;
  std::uint64_t unfinished_ = 0;
};

}  // namespace

result<what_if_report> predict_changes(const loaded_trace& run, const what_if_request& request, std::size_t most) {
  return predictor(run, request, most).report();
}

std::string what_if_text(const what_if_report& r) {
  std::string text =
      fmt::format("{} {} in {} {} on {}{}: {}, work {}, critical path {}\n", count_text(r.tasks), noun(r.tasks, "task"),
                  count_text(r.slices), noun(r.slices, "slice"), plural(r.workers, "worker"),
                  r.localities > 1 ? " of " + plural(static_cast<std::uint64_t>(r.localities), "locality") : "",
                  time_text(r.recorded_s), time_text(r.work_s), time_text(r.span_s));
  text += fmt::format("replayed without a change: {} ({:+.1f} %)\n", time_text(r.replayed_s), 100 * r.error());
  if (!r.refusal.empty()) text += wrapped(fmt::format("no predictions: {}", r.refusal)) + '\n';
  std::size_t width = 12;
  for (const prediction& p : r.predictions) width = std::max(width, std::min<std::size_t>(p.change.size(), 56));
  text += fmt::format("\n{} {:>10} {:>9}   {}\n", padded("what if", width), "run", "change", "bounds of the run");
  const auto bounds = [](double lower, double upper) {
    return fmt::format("{} to {}", time_text(lower), time_text(upper));
  };
  text += fmt::format("{} {} {:>9}   {}\n", padded("as recorded", width), right(time_text(r.recorded_s), 10), "",
                      bounds(r.lower_s, r.upper_s));
  for (const prediction& p : r.predictions) {
    const std::string change = padded(shortened(p.change, width), width);
    if (!p.failure.empty())
      text += fmt::format("{} no prediction: {}\n", change, p.failure);
    else
      text += fmt::format("{} {} {:>9}   {}\n", change, right(time_text(p.time_s), 10),
                          fmt::format("{:+.1f} %", 100 * (p.time_s / r.recorded_s - 1)), bounds(p.lower_s, p.upper_s));
  }
  return text;
}

std::string what_if_json(const what_if_report& r) {
  std::string text = fmt::format(
      "{{\"tasks\":{},\"slices\":{},\"localities\":{},\"workers\":{},\"recorded_s\":{:.9g},\"replayed_s\":{:.9g},"
      "\"error\":{:.6g},\"work_s\":{:.9g},\"span_s\":{:.9g},\"lower_s\":{:.9g},\"upper_s\":{:.9g},\"refusal\":{},\n"
      "\"predictions\":[",
      r.tasks, r.slices, r.localities, r.workers, r.recorded_s, r.replayed_s, r.error(), r.work_s, r.span_s, r.lower_s,
      r.upper_s, r.refusal.empty() ? "null" : json_text(r.refusal));
  for (const prediction& p : r.predictions)
    fmt::format_to(std::back_inserter(text),
                   "{}\n{{\"change\":{},\"time_s\":{:.9g},\"span_s\":{:.9g},\"lower_s\":{:.9g},\"upper_s\":{:.9g}{}}}",
                   &p == r.predictions.data() ? "" : ",", json_text(p.change), p.time_s, p.span_s, p.lower_s, p.upper_s,
                   p.failure.empty() ? "" : fmt::format(",\"failure\":{}", json_text(p.failure)));
  return text + "]}\n";
}

}  // namespace plx::probe
