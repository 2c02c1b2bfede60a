#include "parquet_sweep.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "coalescing_sweep.hpp"
#include "net/action.hpp"
#include "net/archive.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "net/job.hpp"
#include "net/parcels/collector.hpp"
#include "net/team.hpp"
#include "parquet/distribution/rotation_exchange.hpp"
#include "parquet/solver/solver.hpp"
#include "report.hpp"

namespace plx::bench {
namespace {

using namespace parquet;

constexpr double settled_s = 1;  // the time that a setting which tunes itself has to settle

unsigned number_of(const std::string& key, const std::string& text, unsigned least) {
  unsigned n = 0;
  if (!read_number(text, n) || n < least)
    throw std::invalid_argument(key + " is '" + text + "': expected a number from " + std::to_string(least) + " on");
  return n;
}

sweep_options read(std::span<const std::string> words) {
  sweep_options o;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& key = words[i];
    if (i + 1 == words.size()) throw std::invalid_argument(key + ": expected a value after it");
    const std::string& value = words[i + 1];
    if (key == "--part") {
      o.part = value;
    } else if (key == "--csv") {
      o.csv = value;
    } else if (key == "--settings") {
      o.settings = split(value, ' ');
    } else if (key == "--turns") {
      o.turns = number_of(key, value, 1);
    } else if (key == "--first-turn") {
      o.first_turn = number_of(key, value, 0);
    } else if (key == "--iterations") {
      o.iterations = number_of(key, value, 1);
    } else if (key == "--sizes") {
      o.sizes.clear();
      for (const auto& one : split(value, ',')) o.sizes.push_back(number_of(key, one, 16));
    } else {
      throw std::invalid_argument(key +
                                  ": expected --sizes, --settings, --turns, --first-turn, --iterations, --part or "
                                  "--csv");
    }
  }
  for (const unsigned nc : o.sizes)
    if (nc % 8 != 0) throw std::invalid_argument("--sizes " + std::to_string(nc) + ": expected multiples of 8");
  for (const auto& s : o.settings)
    if (const auto parsed = parse_coalescing(s); !parsed) throw std::invalid_argument(parsed.error().message);
  if (o.settings.empty()) throw std::invalid_argument("--settings: expected at least one, as in '128,1000 adaptive'");
  return o;
}

// Changes the setting between two iterations of a run.
class sweep final : public solver_observer {
 public:
  sweep(job& j, const team& members, const sweep_options& o, unsigned nc, std::FILE* out)
      : job_(j), members_(members), options_(o), nc_(nc), out_(out) {
    for (unsigned turn = o.first_turn; turn < o.first_turn + o.turns; ++turn) {
      for (const unsigned s : shuffled(static_cast<unsigned>(o.settings.size()), turn))
        plan_.push_back({turn, o.settings[s]});
    }
  }
  bool stop_requested() override { return at_ > plan_.size(); }
  void iterated(const iteration_report& r) override {
    if (at_ > plan_.size()) return;
    const bool tunes = at_ > 0 && plan_[at_ - 1].setting == "adaptive";
    // The first iteration of a run, and of a setting, does not count.
    if (at_ > 0 && in_block_++ > 0 && (!tunes || monotonic_seconds() - begun_s_ > settled_s)) counted_.push_back(r);
    const bool done = at_ == 0 || counted_.size() >= options_.iterations;
    if (!members_.any(members_.rank() == 0 && done)) return;
    if (at_ > 0 && out_ != nullptr) write();
    if (at_ < plan_.size()) {
      if (plan_[at_].setting == "adaptive") {  // as plx-parquet sets it
        coalesce<&parquet_store_row>(setting_of(rotation_form::adaptive));
      } else {
        const auto set = net::coalesce_as(job_.node(), "plx::parquet::parquet_store_row=" + plan_[at_].setting);
        if (!set) throw std::invalid_argument(set.error().message);
      }
    }
    ++at_;
    in_block_ = 0;
    begun_s_ = monotonic_seconds();
    counted_.clear();
  }

 private:
  template <class F>
  double median_of(F f) const {
    std::vector<double> values;
    for (const auto& r : counted_) values.push_back(static_cast<double>(f(r)));
    return median(std::move(values));
  }
  void write() const {
    const auto& now = plan_[at_ - 1];
    const rotation_work& last = counted_.back().rotation;
    const bool fixed = last.how.way == coalescing_way::fixed;
    std::fprintf(out_, "%s,\"rows\",%u,%u,\"%s\",%u,%g,iteration,%.6f,%.9f,%.6f,%.0f,%.0f,%.0f\n",
                 options_.part.c_str(), nc_, now.turn, now.setting.c_str(), fixed ? last.how.parcels : 0,
                 fixed ? last.how.interval_us : 0, monotonic_seconds() - begun_s_,
                 median_of([](const auto& r) { return r.seconds; }),
                 median_of([](const auto& r) { return r.rotation.overhead; }),
                 median_of([](const auto& r) { return r.rotation.parcels; }),
                 median_of([](const auto& r) { return r.rotation.messages; }),
                 median_of([](const auto& r) { return r.rotation.sent_bytes; }));
    std::fflush(out_);
  }

  struct block {
    unsigned turn;
    std::string setting;
  };
  job& job_;
  const team& members_;
  const sweep_options& options_;
  unsigned nc_;
  std::FILE* out_;  // null: not the root
  std::vector<block> plan_;
  std::size_t at_ = 0;  // the block that runs is at_ - 1
  unsigned in_block_ = 0;
  double begun_s_ = 0;
  std::vector<iteration_report> counted_;
};

}  // namespace

result<sweep_options> read_sweep(std::span<const std::string> words) {
  try {
    return read(words);
  } catch (const std::invalid_argument& e) {
    return error{e.what()};
  }
}

int sweep_parquet(job& j, const sweep_options& o) {
  const team members{communicator("bench_parquet")};
  csv_file out;
  result<void> opened;
  if (members.rank() == 0) {
    if (auto file = open_csv(o.csv))
      out = *std::move(file);
    else
      opened = file.error();
  }
  if (const auto r = members.agree(opened); !r) {  // the message is on the root alone
    if (!r.error().message.empty()) std::fprintf(stderr, "bench_parquet: %s\n", r.error().message.c_str());
    return 2;
  }
  const auto lattice = std::make_shared<const qmc::cluster>(qmc::cluster::named("2x2").value());
  for (const unsigned nc : o.sizes) {
    const int n = static_cast<int>(nc / 8);
    solver_settings s;
    // Vertices that hardly change: the work of an iteration does not depend on them.
    s.damping = 1e-3;
    s.tolerance = 1e-300;
    s.iterations = 1'000'000;
    s.history = 0;
    s.rotation = rotation_form::rows;
    s.sigma_frequencies = std::max(128, 3 * n);
    sweep watch(j, members, o, nc, out.get());
    const auto done =
        solve({lattice, {-4, 0, 0, 4}, 2, 0, 2}, std::make_shared<const vertex_grid>(lattice, n, n), s, watch, members);
    if (!done) throw std::runtime_error(done.error().message);
  }
  return 0;
}

}  // namespace plx::bench
