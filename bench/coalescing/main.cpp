// The experiments on coalescing of parcels, one line of CSV per measurement: see parts.hpp for the options, and
// docs/coalescing.md for the results. bench/harness/bench_coalescing.py runs all parts and draws the plots.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "coalescing_sweep.hpp"
#include "net/job.hpp"
#include "net/parcels/collector.hpp"
#include "parts.hpp"

namespace plx::bench {
namespace {

bool sizes_of(const std::string& text, std::vector<unsigned>& sizes) {
  sizes.clear();
  for (const std::string& part : split(text, ','))
    if (!read_number(part, sizes.emplace_back()) || sizes.back() < 4 || sizes.back() > 1024) return false;
  return !sizes.empty();
}

bool set(options& o, std::string_view name, const std::string& value) {
  if (name == "--csv") return o.csv = value, !value.empty();
  if (name == "--settings") return o.settings = split(value, ' '), !o.settings.empty();
  if (name == "--traffic") return o.traffic = value, value == "toy" || value == "rotation";
  if (name == "--variants") return o.variants = split(value, ','), !o.variants.empty();
  if (name == "--sizes") return sizes_of(value, o.sizes);
  if (name == "--parcels") return read_number(value, o.parcels) && o.parcels >= 4;
  if (name == "--phase-s") return read_number(value, o.phase_s) && o.phase_s >= 0 && o.phase_s <= 60;
  if (name == "--long-phase-s")
    return read_number(value, o.long_phase_s) && o.long_phase_s >= 0 && o.long_phase_s <= 60;
  if (name == "--turns") return read_number(value, o.turns) && o.turns > 0;
  if (name == "--first-turn") return read_number(value, o.first_turn);
  return false;
}

result<void> check(const options& o) {
  bool known = false;
  for (const char* part : {"toy", "change", "rotation", "phases", "repeats", "carrier"}) known |= o.part == part;
  if (!known) return error{fmt::format("'{}' is not a part; {}", o.part, usage())};
  for (const std::string& v : o.variants)
    if (v != "rows" && v != "packed") return error{fmt::format("--variants: expected rows or packed, found '{}'", v)};
  for (const std::string& s : o.settings) {
    const auto read = parse_coalescing(s);
    if (!read) return read.error();
    if (read->size() != 1 || !read->front().action.empty())
      return error{fmt::format("--settings: expected one for all actions as in self or 128,1000; found '{}'", s)};
  }
  const bool needs_settings = o.part != "carrier" && (o.part != "rotation" || o.variants.front() == "rows");
  if (needs_settings && o.settings.empty())
    return error{"expected --settings 'A B ...' with settings as in self or 128,1000"};
  if (o.part == "change" && o.settings.size() != 4)
    return error{fmt::format("change: expected four settings, one for each phase; found {}", o.settings.size())};
  return {};
}

}  // namespace

const char* usage() {
  return "expected: mpirun -n N bench_coalescing toy|change|rotation|phases|repeats|carrier [--settings 'A B ...'] "
         "[--csv FILE] [--parcels N] [--sizes N,...] [--variants rows,packed] [--traffic toy|rotation] [--phase-s S] "
         "[--long-phase-s S] [--turns N] [--first-turn N]; ./plx bench coalescing runs all of it";
}

result<options> read_options(int argc, char** argv) {
  options o;
  if (argc < 2) return error{usage()};
  o.part = argv[1];
  for (int i = 2; i < argc; i += 2) {
    if (i + 1 == argc) return error{fmt::format("{}: expected a value after it", argv[i])};
    if (!set(o, argv[i], argv[i + 1])) return error{fmt::format("'{} {}': {}", argv[i], argv[i + 1], usage())};
  }
  if (auto checked = check(o); !checked) return checked.error();
  return o;
}

}  // namespace plx::bench

namespace {

void run_part(plx::job& job, const plx::bench::options& o) {
  using namespace plx::bench;
  if (o.part == "toy") sweep_toy(job, o);
  if (o.part == "change") change_toy(job, o);
  if (o.part == "rotation") sweep_rotation(job, o);
  if (o.part == "phases" || o.part == "repeats") run_phases(job, o);
}

// The reason why this number of localities does not fit the part; null if it does.
const char* misfit(const plx::bench::options& o, unsigned localities) {
  const bool phases = o.part == "phases" || o.part == "repeats";
  const bool toy = o.part == "toy" || o.part == "change" || (phases && o.traffic == "toy");
  if (toy && localities != 2) return "this part needs two localities: mpirun -n 2 bench_coalescing ...";
  if (localities < 2) return "this part needs several localities: mpirun -n 4 bench_coalescing ...";
  for (const unsigned nc : o.sizes)
    if (!toy && nc % localities != 0) return "--sizes: expected multiples of the number of localities";
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = plx::bench::read_options(argc, argv);
  if (!options) return std::fprintf(stderr, "bench_coalescing: %s\n", options.error().message.c_str()), 2;
  if (options->part == "carrier") return plx::bench::measure_carrier(*options);
  try {
    plx::job job(plx::job_options{.runtime = {.workers = 1}});
    if (const char* why = misfit(*options, job.size())) {
      if (job.here() == 0) std::fprintf(stderr, "bench_coalescing: %s\n", why);
      job.run([] {});
      return 2;
    }
    job.run([&] { run_part(job, *options); });
  } catch (const plx::job_error& e) {
    return e.report("bench_coalescing");
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "bench_coalescing: %s\n", e.what()), 1;
  }
  return 0;
}
