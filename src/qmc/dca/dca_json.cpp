#include "qmc/dca/dca_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.hpp"
#include "qmc/dca/dca_json_text.hpp"

namespace plx::qmc {
namespace {

using nlohmann::json;

// Keys of DCA++'s inputs that set options here.
constexpr const char* used_paths[] = {
    "physics/beta",
    "physics/density",
    "physics/chemical-potential",
    "physics/adjust-chemical-potential",
    "single-band-Hubbard-model/t",
    "single-band-Hubbard-model/t-prime",
    "single-band-Hubbard-model/U",
    "single-band-Hubbard-model/V",
    "single-band-Hubbard-model/V-prime",
    "DCA/initial-self-energy",
    "DCA/iterations",
    "DCA/self-energy-mixing-factor",
    "DCA/interacting-orbitals",
    "DCA/do-finite-size-QMC",
    "DCA/do-not-update-Sigma",
    "DCA/DCA+/do-DCA+",
    "domains/real-space-grids/cluster",
    "domains/imaginary-frequency/sp-fermionic-frequencies",
    "domains/imaginary-frequency/four-point-fermionic-frequencies",
    "Monte-Carlo-integration/seed",
    "Monte-Carlo-integration/warm-up-sweeps",
    "Monte-Carlo-integration/sweeps-per-measurement",
    "Monte-Carlo-integration/measurements",
    "Monte-Carlo-integration/measurements-per-process-and-accumulator",
    "Monte-Carlo-integration/threaded-solver/walkers",
    "Monte-Carlo-integration/threaded-solver/accumulators",
    "CT-AUX/expansion-parameter-K",
    "CT-AUX/submatrix-size",
    "CT-AUX/max-submatrix-size",
    "four-point/type",
    "four-point/channels",
    "four-point/momentum-transfer",
    "four-point/frequency-transfer",
    "four-point/compute-all-transfers",
};

// Keys without a counterpart. A path that ends in / is a group whose keys are not examined.
constexpr const char* unused_paths[] = {
    "output/",
    "DCA/accuracy",
    "DCA/do-simple-q-points-summation",
    "DCA/do-post-interpolation",
    "DCA/coarse-graining/",
    "DCA/DCA+/deconvolution-iterations",
    "DCA/DCA+/deconvolution-tolerance",
    "DCA/DCA+/HTS-approximation",
    "DCA/DCA+/HTS-threads",
    "domains/real-space-grids/sp-host",
    "domains/real-space-grids/tp-host",
    "domains/imaginary-time/",
    "domains/imaginary-frequency/HTS-bosonic-frequencies",
    "domains/real-frequency/",
    "Monte-Carlo-integration/Sigma-file",
    "Monte-Carlo-integration/error-computation-type",
    "Monte-Carlo-integration/store-configuration",
    "Monte-Carlo-integration/stamping-period",
    "Monte-Carlo-integration/time-correlation-window",
    "Monte-Carlo-integration/compute-G-correlation",
    "Monte-Carlo-integration/per-measurement-MFunction",
    "Monte-Carlo-integration/per-measurement-MFunction-time",
    "Monte-Carlo-integration/threaded-solver/additional-steps",
    "Monte-Carlo-integration/threaded-solver/shared-walk-and-accumulation-thread",
    "Monte-Carlo-integration/threaded-solver/shared-walker-and-accumulator-thread",
    "Monte-Carlo-integration/threaded-solver/fix-meas-per-walker",
    "Monte-Carlo-integration/threaded-solver/g4-distribution",
    "Monte-Carlo-integration/threaded-solver/distributed-g4-enabled",
    "CT-AUX/initial-configuration-size",
    "CT-AUX/initial-matrix-size",
    "CT-AUX/neglect-Bennett-updates",
    "CT-AUX/additional-time-measurements",
    "CT-INT/",
    "SS-CT-HYB/",
    "four-point/bin-measurements-every",
    "analysis/",
    "ED/",
    "double-counting/",
};

constexpr const char* model_group = "single-band-Hubbard-model";

// The group of a model, of which an input may have several.
bool is_model(std::string_view path) { return path.find('/') == path.npos && path.ends_with("-model"); }

class reader {
 public:
  reader(json root, std::string name) : root_(std::move(root)), name_(std::move(name)) {}

  result<dca_json> read() {
    if (!root_.is_object()) return wrong("", "an object of groups", root_);
    if (auto r = check_names(root_, ""); !r) return r.error();
    for (const auto step : {&reader::model, &reader::loop, &reader::domains, &reader::monte_carlo, &reader::four_point})
      if (auto r = (this->*step)(); !r) return r.error();
    if (!unused_.empty()) out_.notes.push_back(fmt::format("without effect on the run: {}", fmt::join(unused_, ", ")));
    return std::move(out_);
  }

 private:
  // All names are known. Adds those without a counterpart to unused_.
  result<void> check_names(const json& group, const std::string& prefix) {
    for (const auto& [key, value] : group.items()) {
      const std::string path = prefix + key;
      bool is_key = false, is_unused = is_model(path) && path != model_group, is_group = false;
      std::vector<std::string> siblings;
      const auto compare = [&](const std::string& known, bool used) {
        is_key = is_key || (used && known == path);
        is_unused = is_unused || (!used && (known == path || known == path + "/"));
        is_group = is_group || known.starts_with(path + "/");
        if (known.starts_with(prefix))
          siblings.push_back(known.substr(prefix.size(), known.find('/', prefix.size()) - prefix.size()));
      };
      for (const char* known : used_paths) compare(known, true);
      for (const char* known : unused_paths) compare(known, false);
      if (is_unused) unused_.push_back(path);
      if (is_key || is_unused) continue;
      if (!is_group) return unknown(path, key, siblings, prefix.empty() ? "group" : "key");
      if (!value.is_object()) return wrong(path, "a group", value);
      if (auto r = check_names(value, path + "/"); !r) return r;
    }
    return {};
  }

  error unknown(const std::string& path, const std::string& key, std::vector<std::string> siblings,
                const char* what) const {
    std::sort(siblings.begin(), siblings.end());
    siblings.erase(std::unique(siblings.begin(), siblings.end()), siblings.end());
    const std::string near = nearest(key, siblings);
    const std::string advice = near.empty() ? fmt::format("expected one of {}", fmt::join(siblings, ", "))
                                            : fmt::format("expected '{}'?", near);
    return error{fmt::format("{}: unknown {} '{}'; {}", name_, what, path, advice)};
  }

  error wrong(const std::string& path, const std::string& expected, const json& found) const {
    std::string text = found.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 60) + "...";
    return error{fmt::format("{}: {}: expected {}, found {}", name_, path.empty() ? "the file" : path, expected, text)};
  }

  const json* find(const std::string& path) const {
    const json* at = &root_;
    for (std::size_t i = 0; i < path.size();) {
      const auto end = std::min(path.find('/', i), path.size());
      const auto next = at->find(path.substr(i, end - i));
      if (next == at->end()) return nullptr;
      at = &*next;
      i = end + 1;
    }
    return at;
  }

  result<double> number(const std::string& path, std::optional<double> missing = {}) const {
    return number_in(find(path), path, missing);
  }
  result<double> number_in(const json* j, const std::string& path, std::optional<double> missing) const {
    if (j == nullptr && missing) return *missing;
    if (j == nullptr) return error{fmt::format("{}: expected the key {}, found none", name_, path)};
    if (!j->is_number()) return wrong(path, "a number", *j);
    return j->get<double>();
  }
  // A value that DCA++ reads for all iterations, or as a list with one for each, of which the last holds for all later
  // ones. Here the last holds for all.
  const json* last_of(const std::string& path) {
    const json* j = find(path);
    if (j == nullptr || !j->is_array() || j->empty()) return j;
    if (std::any_of(j->begin(), j->end(), [&](const json& x) { return x != j->back(); }))
      out_.notes.push_back(
          fmt::format("{}: all iterations use the last number of the list, {}", path, j->back().dump()));
    return &j->back();
  }
  result<bool> flag(const std::string& path, bool missing) const {
    const json* j = find(path);
    if (j == nullptr) return missing;
    if (!j->is_boolean()) return wrong(path, "true or false", *j);
    return j->get<bool>();
  }
  result<std::int64_t> integer(const std::string& path, std::int64_t missing) const {
    const json* j = find(path);
    if (j == nullptr) return missing;
    if (!j->is_number_integer()) return wrong(path, "an integer", *j);
    return j->get<std::int64_t>();
  }
  // Requires a value that has one meaning here.
  result<void> only(const std::string& path, const json& value, const char* why) const {
    const json* j = find(path);
    if (j == nullptr || *j == value) return {};
    return wrong(path, value.dump() + fmt::format(" ({})", why), *j);
  }

  template <class T>
  void set(const char* key, const T& value) {
    out_.assignments.push_back(fmt::format("{}={}", key, value));
  }

  result<void> model() {
    const std::string group = model_group;
    if (find(group) == nullptr) {
      std::vector<std::string> others;
      std::copy_if(unused_.begin(), unused_.end(), std::back_inserter(others), is_model);
      return error{fmt::format("{}: expected the group '{}', found {}; plx-dca has no other model", name_, group,
                               others.empty() ? "none" : fmt::format("'{}'", fmt::join(others, "', '")))};
    }
    const auto t = number(group + "/t", 0.0), t_prime = number(group + "/t-prime", 0.0), u = number(group + "/U", 0.0),
               beta = number("physics/beta", 1.0), density = number("physics/density", 1.0),
               mu = number("physics/chemical-potential", 0.0);
    const auto adjust = flag("physics/adjust-chemical-potential", true);
    for (const auto* r : {&t, &t_prime, &u, &beta, &density, &mu})
      if (!*r) return r->error();
    if (!adjust) return adjust.error();
    if (const json* given = find(group + "/t"); !(*t > 0)) {
      const std::string expected = "a hopping above 0, because energies are divided by it";
      if (given != nullptr) return wrong(group + "/t", expected, *given);
      return error{fmt::format("{}: {}/t: expected {}, found none", name_, group, expected)};
    }
    if (!(*beta > 0)) return wrong("physics/beta", "an inverse temperature above 0", *find("physics/beta"));
    for (const char* v : {"/V", "/V-prime"})
      if (const auto r = number(group + v, 0.0); !r || *r != 0)
        return r ? wrong(group + v, "0 (there is no interaction between sites)", *find(group + v)) : r.error();
    if (*adjust && find("physics/density") == nullptr)
      out_.notes.push_back(
          "physics/density: none is given; mu is adjusted to that of DCA++, 1 (\"adjust-chemical-potential\": false "
          "fixes mu)");
    beta_ = *beta * *t;
    u_ = *u / *t;
    set("model.u", u_);
    set("model.t_prime", *t_prime / *t);
    set("model.density", *density);
    set("model.adjust_mu", *adjust);
    if (!*adjust) set("model.mu", *mu / *t);
    set("loop.temperatures", fmt::format("[{}]", 1 / beta_));
    return {};
  }

  result<void> loop() {
    const auto iterations = integer("DCA/iterations", 1);
    const auto mixing = number("DCA/self-energy-mixing-factor", 1.0);
    const auto finite = flag("DCA/do-finite-size-QMC", false);
    if (!iterations) return iterations.error();
    if (!mixing) return mixing.error();
    if (!finite) return finite.error();
    if (auto r = only("DCA/DCA+/do-DCA+", false, "only DCA without interpolation"); !r) return r;
    if (auto r = only("DCA/do-not-update-Sigma", false, "each iteration has a new self-energy"); !r) return r;
    if (auto r = only("DCA/interacting-orbitals", json::array({0}), "there is one orbital"); !r) return r;
    set("loop.first_iterations", *iterations);
    set("loop.iterations", *iterations);
    set("loop.mixing", *mixing);
    set("cluster.lattice", !*finite);
    if (const json* from = find("DCA/initial-self-energy"); from != nullptr && *from != "zero")
      out_.notes.push_back(
          "DCA/initial-self-energy: the run begins without a self-energy; give all temperatures of the cool-down with "
          "--set loop.temperatures=[...]");
    return {};
  }

  result<void> domains() {
    const std::string path = "domains/real-space-grids/cluster";
    const json* c = find(path);
    if (c == nullptr) return error{fmt::format("{}: expected the key {}, found none", name_, path)};
    std::vector<std::int64_t> v;
    if (c->is_array() && c->size() == 2)
      for (const auto& row : *c)
        for (const auto& x : row)
          if (row.is_array() && row.size() == 2 && x.is_number_integer()) v.push_back(x.get<std::int64_t>());
    if (v.size() != 4) return wrong(path, "two vectors of two integers, as [[2, 0], [0, 2]]", *c);
    vectors_ = v;
    set("cluster.vectors", fmt::format("[{}]", fmt::join(v, ", ")));
    const std::string key = "domains/imaginary-frequency/sp-fermionic-frequencies";
    const auto n = integer(key, 256);
    if (!n) return n.error();
    if (*n > 0 && *n < least_frequencies)
      out_.notes.push_back(fmt::format("{}: the run has {}, which is the least", key, least_frequencies));
    set("loop.frequencies", *n > 0 ? std::max<std::int64_t>(*n, least_frequencies) : *n);
    return {};
  }

  result<void> monte_carlo() {
    const std::string group = "Monte-Carlo-integration/";
    const std::string between = group + "sweeps-per-measurement";
    const auto warm_up = number(group + "warm-up-sweeps", 20.0), sweeps = number_in(last_of(between), between, 1.0),
               k = number("CT-AUX/expansion-parameter-K", 1.0);
    for (const auto* r : {&warm_up, &sweeps, &k})
      if (!*r) return r->error();
    const auto walkers = integer(group + "threaded-solver/walkers", 1),
               accumulators = integer(group + "threaded-solver/accumulators", 1),
               batch = integer(
                   find("CT-AUX/max-submatrix-size") != nullptr ? "CT-AUX/max-submatrix-size" : "CT-AUX/submatrix-size",
                   128),
               each = integer(group + "measurements-per-process-and-accumulator", 100);
    for (const auto* r : {&walkers, &accumulators, &batch, &each})
      if (!*r) return r->error();
    std::int64_t measurements = *each * *accumulators;
    if (const json* m = last_of(group + "measurements"); m != nullptr) {
      if (!m->is_number_integer()) return wrong(group + "measurements", "an integer", *m);
      measurements = m->get<std::int64_t>();
    }
    if (const json* seed = find(group + "seed"); seed != nullptr) {
      if (seed->is_number_integer())
        set("solver.seed", seed->get<std::int64_t>());
      else
        out_.notes.push_back(fmt::format("{}seed: not a number; the run has the seed 1", group));
    }
    // The warm-up is given in moves here. A sweep has as many moves as the mean order, about beta U Nc 0.4.
    const double sites = std::abs(static_cast<double>(vectors_[0] * vectors_[3] - vectors_[1] * vectors_[2]));
    const double moves = *warm_up * std::max(1.0, *k + 0.4 * beta_ * u_ * sites);
    set("solver.warm_up", static_cast<std::int64_t>(std::min(moves, 1e9)));
    set("solver.walkers", *walkers);
    set("solver.sweeps", *sweeps);
    set("solver.measurements", measurements);
    set("solver.expansion_k", *k);
    set("solver.batch", *batch);
    return {};
  }

  result<void> four_point() {
    std::vector<std::string> channels;
    if (const json* type = find("four-point/type"); type != nullptr) {
      if (!type->is_string()) return wrong("four-point/type", "a name", *type);
      channels.push_back(type->get<std::string>());
    }
    if (const json* list = find("four-point/channels"); list != nullptr) {
      if (!list->is_array()) return wrong("four-point/channels", "a list of names", *list);
      for (const auto& c : *list) channels.push_back(c.is_string() ? c.get<std::string>() : c.dump());
    }
    constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"PARTICLE_PARTICLE_UP_DOWN", "particle_particle"},
        {"PARTICLE_HOLE_MAGNETIC", "magnetic"},
        {"PARTICLE_HOLE_CHARGE", "charge"},
        {"PARTICLE_HOLE_TRANSVERSE", "transverse"}};
    std::vector<std::string> names;
    for (const auto& c : channels) {
      if (c == "NONE") continue;
      const auto at = std::find_if(std::begin(known), std::end(known), [&](const auto& k) { return k.first == c; });
      if (at == std::end(known))
        return error{
            fmt::format("{}: four-point: expected the channels PARTICLE_PARTICLE_UP_DOWN, PARTICLE_HOLE_MAGNETIC, "
                        "PARTICLE_HOLE_CHARGE, PARTICLE_HOLE_TRANSVERSE or NONE, found {}",
                        name_, c)};
      if (std::find(names.begin(), names.end(), at->second) == names.end()) names.emplace_back(at->second);
    }
    const auto n = integer(four_point_key, 1);
    const auto transfer = integer("four-point/frequency-transfer", 0);
    const auto all = flag("four-point/compute-all-transfers", false);
    if (!n) return n.error();
    if (!transfer) return transfer.error();
    if (!all) return all.error();
    double q[2] = {0, 0};
    if (const json* given = find("four-point/momentum-transfer"); given != nullptr) {
      if (!given->is_array() || given->size() != 2 || !(*given)[0].is_number() || !(*given)[1].is_number())
        return wrong("four-point/momentum-transfer", "two components, as [0, 3.14159]", *given);
      for (int i = 0; i < 2; ++i) q[i] = (*given)[i].get<double>() / M_PI;
    }
    // Pairs at zero transfer have an equation of their own, with d-waves.
    const auto pair = std::find(names.begin(), names.end(), "particle_particle");
    const bool pairs = pair != names.end() && (*all || (q[0] == 0 && q[1] == 0 && *transfer == 0));
    if (pairs && !*all) names.erase(pair);
    if (auto r = check_frequencies(*n, pairs, !names.empty()); !r) return r;
    set("pairing.frequencies", pairs ? *n : 0);
    if (names.empty()) return {};
    // Numbers such as 3.1416 mean the momentum next to them, a multiple of 2 pi / N.
    const double sites = std::abs(static_cast<double>(vectors_[0] * vectors_[3] - vectors_[1] * vectors_[2]));
    for (double& x : q)
      if (const double near = std::round(x * sites / 2) * 2 / sites; std::abs(near - x) < 1e-3) x = near;
    set("four_point.channels", fmt::format("[\"{}\"]", fmt::join(names, "\", \"")));
    set("four_point.momentum", fmt::format("[{}, {}]", q[0], q[1]));
    if (*transfer < 0)
      out_.notes.push_back(fmt::format(
          "four-point/frequency-transfer: the transfer {} is measured; functions at {} are its complex conjugates",
          -*transfer, *transfer));
    set("four_point.frequency", std::abs(*transfer));
    set("four_point.all_transfers", *all);
    set("four_point.frequencies", *n);
    return {};
  }

  // The pair function needs an even number, and DCA++'s default is 1.
  result<void> check_frequencies(std::int64_t n, bool pairs, bool others) {
    const json* given = find(four_point_key);
    if (pairs && given == nullptr)
      return error{
          fmt::format("{}: expected the key {}, found none: pairs at zero transfer (PARTICLE_PARTICLE_UP_DOWN) need an "
                      "even number of positive frequencies, e.g. 16; without functions of two particles, use the "
                      "channel NONE",
                      name_, four_point_key)};
    if (pairs && n % 2 != 0)
      return wrong(four_point_key, "an even number, for pairs at zero transfer (PARTICLE_PARTICLE_UP_DOWN)", *given);
    if (others && given == nullptr)
      out_.notes.push_back(
          fmt::format("{}: none is given; functions of two particles have that of DCA++, 1", four_point_key));
    return {};
  }

  static constexpr const char* four_point_key = "domains/imaginary-frequency/four-point-fermionic-frequencies";
  static constexpr std::int64_t least_frequencies = 32;  // of loop.frequencies
  json root_;
  std::string name_;
  std::vector<std::string> unused_;  // paths in the input that have no effect
  dca_json out_;
  double beta_ = 1, u_ = 0;
  std::vector<std::int64_t> vectors_;
};

}  // namespace

result<dca_json> read_dca_json(std::string_view text, const std::string& name) {
  auto root = parse_dca_json(text, name);
  if (!root) return root.error();
  return reader(*std::move(root), name).read();
}

}  // namespace plx::qmc
