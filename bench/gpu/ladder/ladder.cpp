// The ladder: a step of the scheme full3d on 512 blocks of 8^3 (RK3); each rung adds one more feature that a runtime
// provides for many small kernels. All give the same bits, which is checked.
//
//   bench_gpu_ladder [--backend NAME] [--workers N,...] [--blocks N] [--seconds S] [--quick] [--csv FILE] [--json FILE]
//
// Without --backend the first device of the best backend; if only the cpu is available, one line says so, and there are
// no rows. --blocks: along each axis, 8. --workers: 1,4,8,16. --seconds: per number, 0.25.
//
// rung      a step (docs/gpu.md)
// cpu       no device: as many tasks as workers take blocks
// anew      a task per block and stage creates a stream and two buffers, launches two kernels, waits; words: ok
// buffers   buffers are recycled
// streams   streams are recycled, too: all tasks share one, by the executor
// streams16 the executor distributes launches over 16 streams
// slices16  the aggregating executor: up to 16 blocks are one launch
// futures   as slices16, but no task waits: a block's kernel is launched when those whose values it reads have ended
// graph     as in a run: two launches per stage for all blocks, as a graph (device_gas)
//
// Rows: gpu/ladder/RUNG/wN (ms per step, median of the steps in that time), and gpu/sedov/way/WAY/wN: `futures` with
// completion by poll, callback and flag.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "block_steps.hpp"
#include "gpu_program.hpp"
#include "mesh/between/gather.hpp"
#include "report.hpp"
#include "rt/async.hpp"
#include "rt/future.hpp"
#include "rt/runtime.hpp"
#include "star/device/test/gas_cases_test.hpp"
#include "star/device/test/reference_stepper_test.hpp"
#include "star/hydro/stage.hpp"

namespace plx::bench {
namespace {

// Steps of a gas with the CPU's kernels as tasks: the first rung of the ladder.
class cpu_steps {
 public:
  /// Requires: a mesh of one level; fluxes are used for the outflow only.
  cpu_steps(const mesh::block_mesh& mesh, const star::device::gas_options& o, unsigned workers);
  ~cpu_steps();
  /// Called in a task. Every worker takes blocks until none are left, once per stage.
  void step();

  mesh::arena now;
  double dt = 1e-5;

 private:
  struct hand;
  void advance(hand& mine, int stage, mesh::slot_id slot);

  const mesh::block_mesh& mesh_;
  const star::device::gas_options o_;
  mesh::arena a_, b_;
  std::vector<std::unique_ptr<hand>> hands_;
};

using namespace plx::star;

struct cpu_steps::hand {
  hand(const hydro_parameters& p, int n, int n_var) {
    scratch = std::aligned_alloc(64, (stage_scratch_bytes(p, n) + 63) / 64 * 64);
    for (auto& f : face) f.resize(static_cast<std::size_t>(n_var) * n * n);
  }
  ~hand() { std::free(scratch); }
  hand(const hand&) = delete;
  hand& operator=(const hand&) = delete;
  mesh::tile_scratch tile;
  void* scratch;
  std::vector<double> face[mesh::face_count];
  double largest_rate = 0;
};

cpu_steps::cpu_steps(const mesh::block_mesh& mesh, const device::gas_options& o, unsigned workers)
    : now(fields_of({}), mesh.block_size()),
      mesh_(mesh),
      o_(o),
      a_(fields_of({}), mesh.block_size()),
      b_(fields_of({}), mesh.block_size()) {
  for (mesh::arena* a : {&now, &a_, &b_}) a->resize(mesh.slot_count());
  for (unsigned i = 0; i < workers; ++i)
    hands_.push_back(std::make_unique<hand>(o.hydro, mesh.block_size(), now.variable_count()));
}
cpu_steps::~cpu_steps() = default;

void cpu_steps::advance(hand& mine, int stage, mesh::slot_id slot) {
  const mesh::arena& source = stage == 0 ? now : stage == 1 ? a_ : b_;
  mesh::arena& target = stage == 1 ? b_ : a_;
  stage_input in;
  in.tile = mesh::gather_tile(mesh_, source, slot, o_.sides, mine.tile, mesh::reach::full);
  in.u_old = now.block(slot);
  in.n = mesh_.block_size();
  in.place = mesh_.cell_width(slot);
  in.dt = dt;
  in.weight = o_.scheme.weight[stage];
  stage_output out;
  out.u_new = target.block(slot);
  for (int f = 0; f < mesh::face_count; ++f) out.face_flux[f] = mine.face[f].data();
  advance_block(o_.hydro, in, out, mine.scratch);
  if (stage + 1 == o_.scheme.stages) mine.largest_rate = std::max(mine.largest_rate, out.max_signal_rate);
}

void cpu_steps::step() {
  const auto& blocks = mesh_.blocks();
  for (auto& h : hands_) h->largest_rate = 0;
  for (int stage = 0; stage < o_.scheme.stages; ++stage) {
    std::atomic<std::size_t> next{0};
    std::vector<plx::future<void>> all;
    for (auto& h : hands_)
      all.push_back(plx::async([&, mine = h.get()] {
        for (std::size_t i = next++; i < blocks.size(); i = next++) advance(*mine, stage, blocks[i]);
      }));
    for (auto& f : all) f.get();
  }
  std::swap(now, o_.scheme.stages == 2 ? b_ : a_);
  double rate = 0;
  for (const auto& h : hands_) rate = std::max(rate, h->largest_rate);
  dt = o_.cfl / rate;
}

}  // namespace
}  // namespace plx::bench

namespace {

using namespace plx;
using namespace plx::star::device;

struct settings {
  std::string backend, csv;
  std::vector<unsigned> workers = {1, 4, 8, 16};
  int blocks = 8;
  double seconds = 0.25;
};

template <class T>
T number_of(const std::string& option, const std::string& text) {
  T value{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size() || !(value > 0))
    throw std::runtime_error(option + " is '" + text + "': expected a number above 0");
  return value;
}

settings read(const std::vector<std::string>& words) {
  settings s;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&] { return i + 1 < words.size() ? words[++i] : std::string(); };
    if (words[i] == "--backend") {
      s.backend = value();
    } else if (words[i] == "--csv") {
      s.csv = value();
    } else if (words[i] == "--blocks") {
      s.blocks = number_of<int>("--blocks", value());
    } else if (words[i] == "--seconds") {
      s.seconds = number_of<double>("--seconds", value());
    } else if (words[i] == "--quick") {
      s.workers = {1, 2}, s.blocks = 2, s.seconds = 1e-3;
    } else if (words[i] == "--workers") {
      s.workers.clear();
      std::string all = value() + ',';
      for (std::size_t at = 0; at < all.size(); at = all.find(',', at) + 1)
        s.workers.push_back(number_of<unsigned>("--workers", all.substr(at, all.find(',', at) - at)));
    } else {
      throw std::runtime_error("'" + words[i] +
                               "': expected --backend NAME, --workers N,..., --blocks N, --seconds S, " +
                               "--quick, --csv FILE or --json FILE");
    }
  }
  return s;
}

/// One way to execute a step on a device.
struct rung {
  const char* name;
  gpu::device_options options;
  unsigned most;  // items per launch; 0: executor
  std::function<void(block_steps&, const gpu::executor&, const gpu::aggregating_executor&)> step;  // empty: graph
};

constexpr unsigned slices = 16;
const auto by_futures = [](block_steps& s, const gpu::executor&, const gpu::aggregating_executor& on) {
  s.step_by_futures(on);
};
const auto in_tasks = [](block_steps& s, const gpu::executor& on, const gpu::aggregating_executor&) {
  s.step_in_tasks(on);
};
const auto in_streams = [](block_steps& s, const gpu::executor&, const gpu::aggregating_executor&) {
  s.step_in_streams();
};

const rung rungs[] = {
    {"anew", {.recycle_streams = false, .recycle_buffers = false}, 1, in_streams},  // words: ok
    {"buffers", {.recycle_streams = false}, 1, in_streams},
    {"streams", {.streams = 1}, 1, in_tasks},
    {"streams16", {.streams = 16}, 1, in_tasks},
    {"slices16",
     {.streams = 16},
     slices,
     [](block_steps& s, const gpu::executor&, const gpu::aggregating_executor& on) { s.step_in_tasks(on); }},
    {"futures", {.streams = 16}, slices, by_futures},
    {"graph", {}, 1, {}},
};

class ladder {
 public:
  ladder(const gpu::backend& b, const settings& s)
      : table_(b), s_(s), mesh_(cube_of(s.blocks, 8, mesh::boundary::outflow)) {
    o_.hydro.reconstruct = star::reconstruction::ppm;
    o_.hydro.riemann = star::riemann_solver::hll;
    o_.hydro.scheme = star::hydro_scheme::full3d;
    o_.scheme = star::ssp_rk3;
    start_ = std::make_unique<reference_stepper>(mesh_, o_);
    fill_blast(mesh_, o_, start_->now, 0.0);
  }

  /// Milliseconds per step without a device.
  double on_cpu(unsigned workers) {
    plx::runtime rt({.workers = workers});
    bench::cpu_steps gas(mesh_, o_, workers);
    std::copy_n(start_->now.base(), mesh_.slot_count() * gas.now.stride(), gas.now.base());
    std::vector<double> all;
    rt.run([&] {
      for (int i = 0; i < checked_steps; ++i) gas.step();
      keep_or_compare("cpu", gas.now);
      all = times([&] { gas.step(); }, [] {});
    });
    return 1e3 * bench::median(all);
  }

  /// The same on the device.
  double by(const rung& r, unsigned workers) {
    plx::runtime rt({.workers = workers});
    gpu::device d(rt, table_, 0, r.options);
    machine on(d);
    device_gas gas(on, o_);
    gas.adopt(mesh_);
    gas.upload(start_->now);
    step_control c;
    c.rule.cfl = o_.cfl, c.rule.t_end = 1e9, c.dt = first_dt;
    gas.begin(c);
    const gpu::executor each(d);
    const gpu::aggregating_executor together(d, {.most = r.most});
    std::vector<double> all;
    rt.run([&] {
      block_steps steps(gas, mesh_);
      const auto step = [&] { r.step ? r.step(steps, each, together) : gas.step(); };
      const auto wait = [&] { c = gas.wait(); };
      for (int i = 0; i < checked_steps; ++i) step();
      wait();
      mesh::arena here(star::fields_of({}), 8);
      here.resize(mesh_.slot_count());
      gas.download(here);
      keep_or_compare(r.name, here);
      all = times(step, wait);
    });
    if (c.stopped != 0) throw std::runtime_error(std::string(r.name) + ": the integration has stopped");
    const gpu::aggregation_counts n = together.counts();
    if (n.launches > 0)
      std::printf("#   %.1f items per launch\n", static_cast<double>(n.items) / static_cast<double>(n.launches));
    return 1e3 * bench::median(all);
  }

  int different() const { return different_; }

 private:
  static constexpr int checked_steps = 2;  // which include one-time initialization
  static constexpr double first_dt = 1e-5;

  /// Seconds per step, by turn: each turn runs as many steps as fit into a tenth of the time, and waits for the device.
  template <class Step, class Wait>
  std::vector<double> times(Step&& step, Wait&& wait) {
    double now = monotonic_seconds();
    const auto turn = [&](int steps) {
      for (int i = 0; i < steps; ++i) step();
      wait();
      const double end = monotonic_seconds();
      return (end - std::exchange(now, end)) / steps;
    };
    const int steps = std::clamp(static_cast<int>(0.1 * s_.seconds / turn(1)), 1, device_gas::steps_kept - 1);
    const double begin = now;
    std::vector<double> all;
    do all.push_back(turn(steps));
    while (now - begin < s_.seconds && all.size() < 300);
    return all;
  }
  void keep_or_compare(const char* name, const mesh::arena& values) {
    std::vector<double> now;
    for (const mesh::slot_id slot : mesh_.blocks())
      now.insert(now.end(), values.block(slot), values.block(slot) + values.stride());
    if (first_.empty()) first_ = now;
    if (std::memcmp(first_.data(), now.data(), now.size() * sizeof(double)) == 0) return;
    ++different_;
    std::printf("# DIFFERENT: %s differs from the first rung\n", name);
  }

  const gpu::backend& table_;
  const settings& s_;
  mesh::block_mesh mesh_;
  gas_options o_;
  std::unique_ptr<reference_stepper> start_;
  std::vector<double> first_;
  int different_ = 0;
};

struct line {
  std::string rung;
  unsigned workers;
  double ms;
};

void write_csv(const std::string& path, const std::vector<line>& lines) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr)
    throw std::runtime_error("cannot write " + path + ": expected a path of a file that can be created");
  std::fputs("rung,workers,ms_per_step\n", file);
  for (const line& l : lines) std::fprintf(file, "%s,%u,%.6g\n", l.rung.c_str(), l.workers, l.ms);
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

int run(bench::report& out) {
  const settings s = read(out.rest());
  const gpu::backend* b = bench::chosen_backend(s.backend, "gpu/ladder/*");
  if (b == nullptr) return 0;
  ladder of(*b, s);
  std::vector<line> lines;
  const auto add = [&](const std::string& name, unsigned workers, double ms) {
    out.add("gpu/ladder/" + name + "/w" + std::to_string(workers), ms, "ms/step", bench::lower);
    lines.push_back({name, workers, ms});
  };
  for (const unsigned workers : s.workers) {
    add("cpu", workers, of.on_cpu(workers));
    for (const rung& r : rungs) add(r.name, workers, of.by(r, workers));
  }
  const unsigned workers = s.workers[s.workers.size() / 2];
  constexpr std::pair<gpu::completion_way, const char*> ways[] = {{gpu::completion_way::poll, "poll"},
                                                                  {gpu::completion_way::callback, "callback"},
                                                                  {gpu::completion_way::flag, "flag"}};
  for (const auto& [way, name] : ways) {
    const double ms = of.by({name, {.way = way, .streams = 16}, slices, by_futures}, workers);
    out.add(std::string("gpu/sedov/way/") + name + "/w" + std::to_string(workers), ms, "ms/step", bench::lower);
  }
  if (!s.csv.empty()) write_csv(s.csv, lines);
  std::printf("# every rung has the bits of the first one: %s\n", of.different() == 0 ? "yes" : "NO");
  return of.different();
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("bench_gpu_ladder", argc, argv, run); }
