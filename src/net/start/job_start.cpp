#include "net/start/job_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/process.hpp"
#include "base/text.hpp"
#include "net/core/action_entry.hpp"
#include "net/job.hpp"
#include "net/start/job_info.hpp"
#include "rt/core/topology.hpp"

namespace plx::net {

using detail::append_field;
using detail::take_field;

std::string locality_properties::bytes() const {
  std::string all;
  for (const std::string* field : {&program, &cores, &measures}) append_field(all, *field);
  append_field(all, std::to_string(spares));
  append_field(all, printable(problem));
  return all;
}

locality_properties locality_properties::read(std::string_view bytes) {
  locality_properties p;
  for (std::string* field : {&p.program, &p.cores, &p.measures}) *field = take_field(bytes).value_or("");
  const std::string_view spares = take_field(bytes).value_or("0");
  std::from_chars(spares.data(), spares.data() + spares.size(), p.spares);
  p.problem = take_field(bytes).value_or("");
  return p;
}

locality_properties properties_here(std::string measures, std::string problem, unsigned spares) {
  return {fmt::format("{} {:x}", PLX_NET_VERSION, fnv1a(describe_actions())),
          fmt::format("{} {}", host_name(), fmt::join(plx::detail::allowed_cores(), ",")), std::move(measures),
          std::move(problem), spares};
}

namespace {

// Called by all localities, of which one reports the problem. A launcher ends all processes as soon as one has failed:
// so the others wait until that one has destroyed its exception, after the report. If one of them is missing by then,
// it may be that one: each of the others reports the problem as well. They exchange data for that, because the fence of
// PMIx may succeed without a process that has been killed, whose data are then missing.
[[noreturn]] void end_start(std::unique_ptr<bootstrap> peers, const std::string& problem, bool reports,
                            double deadline_s) {
  std::shared_ptr<bootstrap> all = std::move(peers);
  const auto wait_for_all = [all, deadline_s](const void* = nullptr) noexcept {
    try {
      return static_cast<bool>(all->exchange("ended", deadline_s));
    } catch (...) {  // out of memory
      return false;
    }
  };
  if (reports) throw job_error(problem, true, std::shared_ptr<const void>(nullptr, wait_for_all));
  const bool is_reported = wait_for_all();
  throw job_error(problem, !is_reported);
}

// Throws if any locality has an invalid argument. The first of them reports it.
void compare_arguments(std::unique_ptr<bootstrap>& peers, const std::vector<locality_properties>& all,
                       double deadline_s) {
  const auto wrong = std::find_if(all.begin(), all.end(), [](const auto& one) { return !one.problem.empty(); });
  if (wrong == all.end()) return;
  const bool reports = static_cast<locality_id>(wrong - all.begin()) == peers->here();
  end_start(std::move(peers), wrong->problem, reports, deadline_s);
}

// Throws if any locality differs from the root, which reports it.
void compare_programs(std::unique_ptr<bootstrap>& peers, const std::vector<locality_properties>& all,
                      double deadline_s) {
  const auto same = [&all](const locality_properties& one) { return one.program == all[0].program; };
  const auto other = std::find_if_not(all.begin(), all.end(), same) - all.begin();
  if (static_cast<std::size_t>(other) == all.size()) return;
  const auto programs = peers->exchange(describe_actions(), deadline_s);
  if (!programs) throw job_error(programs.error().message, true);
  std::string how = difference_of_actions((*programs)[0], (*programs)[static_cast<std::size_t>(other)]);
  const std::string problem =
      fmt::format("localities 0 and {} run different programs: {} (here: locality 0); start the same binary everywhere",
                  other, how.empty() ? "their layouts differ" : how);
  const bool reports = peers->here() == 0;
  end_start(std::move(peers), problem, reports, deadline_s);
}

}  // namespace

job_start start_together(std::string_view transport, std::unique_ptr<bootstrap>& peers, const locality_properties& mine,
                         double deadline_s) {
  auto job = detail::exchange_job_info(*peers, mine.bytes(), deadline_s);
  if (!job) throw job_error(mine.problem.empty() ? job.error().message : mine.problem, true);
  job_start start;
  for (const std::string& bytes : job->properties) start.properties.push_back(locality_properties::read(bytes));
  compare_arguments(peers, start.properties, deadline_s);
  compare_programs(peers, start.properties, deadline_s);
  start.hosts = job->hosts;
  if (peers->size() == 1) return start;
  auto found = find_transport(transport, *peers, std::move(job).value(), deadline_s);
  if (!found) throw job_error(found.error().message, true);
  start.carrier = std::move(found).value();
  return start;
}

}  // namespace plx::net
