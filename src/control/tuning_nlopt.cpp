// NLopt's strategies. NLopt calls the objective function itself, whereas a session is asked for the next place and
// receives the value later. So for each place the search is rerun from the start with the known values until it
// requests an unknown one. The algorithms used here draw no random numbers, so each rerun takes the same path.
#include "control/tuning_search.hpp"

#if PLX_HAVE_NLOPT
#include <nlopt.h>

#include <algorithm>
#include <limits>

namespace plx::probe::detail {
namespace {

class nlopt_search final : public search {
 public:
  nlopt_search(const tuning_options& o, nlopt_algorithm algorithm)
      : space_(o.space), algorithm_(algorithm), budget_(o.budget) {}

  std::optional<places> next() override {
    replayed_ = 0;
    asked_.clear();
    nlopt_opt opt = nlopt_create(algorithm_, static_cast<unsigned>(space_.size()));
    if (opt == nullptr) return std::nullopt;
    places low, high, step, tolerance, x = start_of(space_);
    for (const parameter& p : space_) {
      const bool real = p.what == parameter::kind::real;
      // Integers are rounded; each one, including the ends, gets an interval of the same length.
      low.push_back(real ? 0 : -0.499);
      high.push_back(real ? 1 : most_place(p) + 0.499);
      step.push_back(real ? 0.25 : std::max(1.0, most_place(p) / 4));
      tolerance.push_back(real ? 1e-5 : 0.2);
    }
    nlopt_set_lower_bounds(opt, low.data());
    nlopt_set_upper_bounds(opt, high.data());
    nlopt_set_initial_step(opt, step.data());
    nlopt_set_xtol_abs(opt, tolerance.data());
    nlopt_set_maxeval(opt, static_cast<int>(std::min<std::int64_t>(2 * budget_, std::numeric_limits<int>::max())));
    nlopt_set_min_objective(opt, &nlopt_search::value_at, this);
    opt_ = opt;
    double value = 0;
    nlopt_optimize(opt, x.data(), &value);
    opt_ = nullptr;
    nlopt_destroy(opt);
    if (asked_.empty()) return std::nullopt;  // it converged on the known values
    return asked_;
  }

  // NLopt computes with the values, so the worst one must be finite.
  void told(double value) override { known_.push_back(std::isfinite(value) ? value : 1e300); }

 private:
  static double value_at(unsigned n, const double* x, double*, void* self) {
    auto& me = *static_cast<nlopt_search*>(self);
    if (me.replayed_ < me.known_.size()) return me.known_[me.replayed_++];
    if (me.asked_.empty()) {
      for (unsigned i = 0; i < n; ++i) {
        const parameter& p = me.space_[i];
        me.asked_.push_back(p.place_of(p.value_at(x[i])));
      }
    }
    nlopt_force_stop(me.opt_);
    return std::numeric_limits<double>::max();
  }

  const parameters space_;
  const nlopt_algorithm algorithm_;
  const std::int64_t budget_;
  nlopt_opt opt_ = nullptr;
  std::vector<double> known_;  // in the order of the requests
  std::size_t replayed_ = 0;
  places asked_;
};

}  // namespace

std::unique_ptr<search> make_nlopt(const tuning_options& o) {
  switch (o.how) {
    case strategy::nelder_mead:
      return std::make_unique<nlopt_search>(o, NLOPT_LN_NELDERMEAD);
    case strategy::subplex:
      return std::make_unique<nlopt_search>(o, NLOPT_LN_SBPLX);
    case strategy::bobyqa:
      return std::make_unique<nlopt_search>(o, NLOPT_LN_BOBYQA);
    case strategy::direct:
      return std::make_unique<nlopt_search>(o, NLOPT_GN_DIRECT_L);
    default:
      return nullptr;
  }
}

}  // namespace plx::probe::detail

#else

namespace plx::probe::detail {
std::unique_ptr<search> make_nlopt(const tuning_options&) { return nullptr; }
}  // namespace plx::probe::detail

#endif
