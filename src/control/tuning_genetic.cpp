// Generations of places: the better of two random places becomes a parent; a child takes each parameter from one parent
// or from between, and sometimes one parameter is changed. The best place of a generation survives.
#include <algorithm>
#include <cmath>
#include <limits>

#include "control/tuning_search.hpp"

namespace plx::probe::detail {
namespace {

class genetic final : public search {
 public:
  explicit genetic(const tuning_options& o)
      : space_(o.space),
        random_(o.seed),
        size_(static_cast<std::size_t>(std::clamp<std::int64_t>(o.budget / 12, 6, 40))),
        generations_(std::max<std::int64_t>(o.budget / static_cast<std::int64_t>(size_), 1)) {
    waiting_.push_back(start_of(space_));
    while (waiting_.size() < size_) waiting_.push_back(anywhere(space_, random_));
  }

  std::optional<places> next() override {
    if (waiting_.empty()) breed();
    return waiting_.back();
  }

  void told(double value) override {
    living_.push_back({std::move(waiting_.back()), value});
    waiting_.pop_back();
  }

 private:
  struct individual {
    places at;
    double value;
  };
  const individual& pick() {
    const individual& a = parents_[random_.below(parents_.size())];
    const individual& b = parents_[random_.below(parents_.size())];
    return b.value < a.value ? b : a;
  }
  places child() {
    const places& a = pick().at;
    places c = pick().at;
    for (std::size_t i = 0; i < space_.size(); ++i) {
      const double way = random_.uniform();
      if (space_[i].what == parameter::kind::choice || way < 0.5) {
        if (random_.uniform() < 0.5) c[i] = a[i];
      } else {
        c[i] += (way * 4 - 2.5) * (a[i] - c[i]);  // between the two, and half as far beyond either
        if (space_[i].what == parameter::kind::integer) c[i] = std::round(c[i]);
        c[i] = std::clamp(c[i], 0.0, most_place(space_[i]));
      }
    }
    if (random_.uniform() < 0.4) c = nearby(space_, c, reach(), random_);
    return c;
  }
  [[nodiscard]] double reach() const noexcept {
    return std::max(0.25 * (1 - static_cast<double>(generation_) / static_cast<double>(generations_)), 0.01);
  }
  void breed() {
    ++generation_;
    const auto best = std::min_element(living_.begin(), living_.end(),
                                       [](const individual& x, const individual& y) { return x.value < y.value; });
    std::iter_swap(living_.begin(), best);
    parents_ = std::move(living_);
    living_.clear();
    living_.push_back(parents_.front());
    while (waiting_.size() + 1 < size_) waiting_.push_back(child());
  }

  const parameters space_;
  tuning_random random_;
  const std::size_t size_;
  const std::int64_t generations_;
  std::int64_t generation_ = 0;
  std::vector<places> waiting_;  // not yet measured
  std::vector<individual> living_, parents_;
};

}  // namespace

std::unique_ptr<search> make_genetic(const tuning_options& o) { return std::make_unique<genetic>(o); }

}  // namespace plx::probe::detail
