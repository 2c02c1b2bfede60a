#include "net/observe/job_counters.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <tuple>
#include <utility>

#include "net/action.hpp"
#include "net/error.hpp"
#include "net/group/membership.hpp"
#include "probe/counters/gauge.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::net {
namespace {

constexpr auto answer_deadline = std::chrono::seconds(5);

using sent_info = std::tuple<std::string, std::string, std::string, bool>;  // name, unit, help, monotonic
using sent_value = std::tuple<sent_info, double, std::string>;              // value, problem
/// The answer of a locality: values, or an error.
using sent_values = std::pair<std::vector<sent_value>, std::string>;

sent_info sent_form(const probe::counter_info& i) { return {i.name, i.unit, i.help, i.monotonic}; }
probe::counter_info info_of(const sent_info& t) {
  return {std::get<0>(t), std::get<1>(t), std::get<2>(t), std::get<3>(t)};
}

sent_values read_counters(const std::string& pattern, bool reset) {
  const auto found =
      node_here().home().counters().query(pattern, reset ? probe::after_reading::reset : probe::after_reading::keep);
  if (!found) return {{}, found.error().message};
  sent_values all;
  for (const probe::counter_value& v : *found) all.first.emplace_back(sent_form(*v.about), v.value, v.problem);
  return all;
}
std::vector<sent_info> list_counters(const std::string& pattern) {
  std::vector<sent_info> all;
  for (const auto& i : node_here().home().counters().list(pattern)) all.push_back(sent_form(i));
  return all;
}
std::string reset_counters(const std::string& pattern) {
  const auto r = node_here().home().counters().reset(pattern);
  return r ? std::string() : r.error().message;
}

// Restricts the pattern to one locality, which must not query others in turn.
std::string narrowed(std::string_view pattern, locality_id to) {
  constexpr std::string_view key = "locality#";
  const std::size_t at = pattern.find(key);
  if (at == std::string_view::npos) return std::string(pattern);
  const std::size_t end = std::min(pattern.find_first_of("/}", at), pattern.size());
  return fmt::format("{}{}{}{}", pattern.substr(0, at), key, to, pattern.substr(end));
}

}  // namespace

template <>
inline constexpr bool is_control<&read_counters> = true;
template <>
inline constexpr bool is_control<&list_counters> = true;
template <>
inline constexpr bool is_control<&reset_counters> = true;

class job_counters::source final : public probe::counter_source {
 public:
  explicit source(node& n) : node_(n) {}

  std::vector<unsigned> localities() override {
    std::vector<unsigned> others;
    for (locality_id i = 0; i < node_.size(); ++i)
      if (i != node_.here() && !node_.is_lost(i)) others.push_back(i);
    return others;
  }
  result<std::vector<probe::counter_value>> query(unsigned from, std::string_view pattern,
                                                  probe::after_reading then) override {
    auto answer = ask<&read_counters>(from, narrowed(pattern, from), then == probe::after_reading::reset);
    if (!answer) return answer.error();
    if (!answer->second.empty()) return error{answer->second};
    std::vector<probe::counter_value> values;
    for (const auto& [about, value, problem] : answer->first) {
      auto info = std::make_shared<const probe::counter_info>(info_of(about));
      values.push_back({info->name, value, info->unit, problem, info});
    }
    return values;
  }
  result<std::vector<probe::counter_info>> list(unsigned from, std::string_view pattern) override {
    auto answer = ask<&list_counters>(from, narrowed(pattern, from));
    if (!answer) return answer.error();
    std::vector<probe::counter_info> all;
    for (const sent_info& t : *answer) all.push_back(info_of(t));
    return all;
  }
  result<void> reset(unsigned from, std::string_view pattern) override {
    auto answer = ask<&reset_counters>(from, narrowed(pattern, from));
    if (!answer) return answer.error();
    if (!answer->empty()) return error{*answer};
    return {};
  }

 private:
  template <auto F, class... A>
  auto ask(locality_id to, A... arguments) -> result<detail::result_of<F>> {
    const auto call = [&]() -> result<detail::result_of<F>> {
      try {
        auto answer = async<F>(to, arguments...);
        if (answer.wait_for(answer_deadline) == future_status::ready) return answer.get();
        return error{fmt::format("locality#{} did not answer within {} s", to, answer_deadline.count())};
      } catch (const std::exception& e) {
        return error{fmt::format("locality#{} cannot be queried: {}", to, e.what())};
      }
    };
    // In a task of this node, because node_here() may be another node elsewhere.
    return plx::detail::this_worker() != nullptr ? call() : node_.home().run(call);
  }
  node& node_;
};

job_counters::job_counters(node& n) : node_(n), source_(std::make_shared<source>(n)) {
  probe::counter_registry& all = n.home().counters();
  const std::string here = fmt::format("{{{}/total}}", all.locality_name());
  registered_.push_back(all.add(
      {fmt::format("/localities{}/count/all", here), "1", "Localities of the job, including lost ones and spares"},
      [&n] { return double(n.size()); }));
  registered_.push_back(
      all.add({fmt::format("/localities{}/count/lost", here), "1", "Localities that were lost"}, [&n] {
        unsigned lost = 0;
        for (locality_id i = 0; i < n.size(); ++i) lost += n.is_lost(i);
        return double(lost);
      }));
  registered_.push_back(
      all.add({fmt::format("/localities{}/count/spares", here), "1", "Living spares that have not been taken"}, [&n] {
        unsigned spares = 0;
        for (locality_id i = n.first_spare(); i < n.size(); ++i)
          spares += !n.is_lost(i) && !n.get<membership>().is_member(i);
        return double(spares);
      }));
  if (n.size() > 1) all.set_source(source_);
}

job_counters::~job_counters() { registered_.clear(); }

}  // namespace plx::net
