#include "star/output/run_summary.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "star/hydro/isa.hpp"

namespace plx::star {

namespace {

std::string number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

}  // namespace

std::string run_summary::json(const run_request& r) const {
  std::string known;
  for (const named_value& v : references)
    known += fmt::format("{}{}: {}", known.empty() ? "" : ", ", json_text(v.name), number(v.value));
  std::string sizes;
  if (code_units.known)
    sizes = fmt::format("\"length_cm\": {}, \"mass_g\": {}, \"time_s\": {}", number(code_units.length_cm),
                        number(code_units.mass_g), number(code_units.time_s));
  return fmt::format(
      "{{\n  \"program\": \"plx-star\",\n  \"version\": {},\n  \"problem\": {},\n"
      "  \"build\": {{\"compiler\": {}, \"type\": {}, \"git\": {}, \"isa\": {}}},\n"
      "  \"machine\": {},\n  \"process\": {},\n"
      "  \"localities\": {},\n  \"workers\": {},\n  \"status\": {},\n  \"message\": {},\n  \"started\": {},\n"
      "  \"wall_s\": {},\n  \"simulation_s\": {},\n  \"steps\": {},\n  \"time\": {},\n  \"cells\": {},\n"
      "  \"blocks\": {},\n  \"cell_updates\": {},\n  \"resumed_at_step\": {},\n  \"measurement_cost_percent\": {},\n"
      "  \"units\": {{{}}},\n  \"references\": {{{}}},\n  \"changed_options\": {},\n  {}\n}}\n",
      json_text(r.version), json_text(problem), json_text(r.compiler), json_text(r.build_type), json_text(r.git),
      json_text(std::string(name_of(active_isa()))), json_of(machine), json_of(process), localities, workers,
      json_text(status), json_text(message), json_text(started), number(wall_s), number(simulation_s), steps,
      number(time), cells, blocks, cell_updates,
      resumed_at_step < 0 ? std::string("null") : fmt::format("{}", resumed_at_step), number(measurement_cost_percent),
      sizes, known, r.changed_options, conservation);
}

}  // namespace plx::star
