// An initial state that the input gives as expressions of place and time.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/problems/expression.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

const std::vector<std::string> variables{"x", "y", "z", "r", "t"};

/// All expressions of a problem. An object belongs to one thread at a time.
using field_set = std::vector<expression>;

class expressions_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("expressions", "Initial state as expressions of x, y, z, r (distance from the centre) and t (time)");
    t.add("expressions.density", density_, {.unit = "code", .help = "such as \"1 + 0.1*sin(2*pi*x)\""});
    for (int a = 0; a < 3; ++a)
      t.add(fmt::format("expressions.velocity_{}", "xyz"[a]), velocity_[static_cast<std::size_t>(a)],
            {.unit = "code", .help = a == 0 ? "components of the velocity" : ""});
    t.add("expressions.pressure", pressure_, {.unit = "code"});
    t.add("expressions.species", species_, {.unit = "1", .help = "mass fractions, whose sum is one; one per species"});
    t.add_names("expressions.constants", constants_, {.help = "constants that the expressions may use"});
    t.add("expressions.centre", centre_, {.unit = "code", .help = "from which r is measured"});
    t.add("expressions.samples", samples_,
          {.help = "points per cell and axis over which averages are taken: 1, 2, 4, 8 or 16; more for sharp edges",
           .min = 1,
           .max = 16});
    t.add("expressions.exact", exact_,
          {.help = "the expressions are the solution at all times t: for errors, and boundaries \"problem\""});
  }

  int species_count() const override { return static_cast<int>(species_.size()); }
  bool has_exact(double t) const override { return exact_ || t == 0; }

  primitive at(const vector& x, double t) const override {
    const double r = std::sqrt(symmetric_norm2(x[0] - centre_[0], x[1] - centre_[1], x[2] - centre_[2]));
    const double values[] = {x[0], x[1], x[2], r, t};
    std::unique_ptr<field_set> fields = take();
    primitive w;
    w.density = (*fields)[0].at(values);
    for (std::size_t a = 0; a < 3; ++a) w.velocity[a] = (*fields)[1 + a].at(values);
    w.pressure = (*fields)[4].at(values);
    double sum = 0.0;
    for (std::size_t s = 0; s < species_.size(); ++s) sum += w.fraction[s] = (*fields)[5 + s].at(values);
    give_back(std::move(fields));
    if (!species_.empty() && !(std::abs(sum - 1.0) < 1e-9))
      throw std::invalid_argument(
          fmt::format("expressions.species: expected fractions whose sum is 1, found {:.12g} at "
                      "({:.6g}, {:.6g}, {:.6g})",
                      sum, x[0], x[1], x[2]));
    return w;
  }

 protected:
  result<void> do_prepare() override {
    if (species_.size() > max_species)
      return error{fmt::format("expressions.species: expected at most {}, found {}", max_species, species_.size())};
    if ((samples_ & (samples_ - 1)) != 0)
      return error{fmt::format("expressions.samples: expected 1, 2, 4, 8 or 16, found {}", samples_)};
    auto first = compile();
    if (!first) return first.error();
    idle_.push_back(*std::move(first));
    return {};
  }

  std::array<int, 3> samples(const cell&, double) const override { return {samples_, samples_, samples_}; }

 private:
  result<std::unique_ptr<field_set>> compile() const {
    auto all = std::make_unique<field_set>();
    const auto add = [&](const std::string& key, const std::string& text) -> result<void> {
      auto compiled = expression::compile(text, variables, constants_);
      if (!compiled) return error{fmt::format("expressions.{}: {}", key, compiled.error().message)};
      all->push_back(*std::move(compiled));
      return {};
    };
    if (auto r = add("density", density_); !r) return r.error();
    for (std::size_t a = 0; a < 3; ++a)
      if (auto r = add(fmt::format("velocity_{}", "xyz"[a]), velocity_[a]); !r) return r.error();
    if (auto r = add("pressure", pressure_); !r) return r.error();
    for (std::size_t s = 0; s < species_.size(); ++s)
      if (auto r = add(fmt::format("species[{}]", s), species_[s]); !r) return r.error();
    return all;
  }

  /// A set for this thread: one that no other uses, or another one.
  std::unique_ptr<field_set> take() const {
    {
      const std::lock_guard guard(lock_);
      if (!idle_.empty()) {
        auto set = std::move(idle_.back());
        idle_.pop_back();
        return set;
      }
    }
    return compile().value();  // do_prepare() has compiled the same texts
  }
  void give_back(std::unique_ptr<field_set> set) const {
    const std::lock_guard guard(lock_);
    idle_.push_back(std::move(set));
  }

  std::string density_ = "1", pressure_ = "1";
  std::array<std::string, 3> velocity_{"0", "0", "0"};
  std::vector<std::string> species_;
  std::vector<named_number> constants_;
  vector centre_{0, 0, 0};
  int samples_ = 2;
  bool exact_ = false;
  mutable std::mutex lock_;
  mutable std::vector<std::unique_ptr<field_set>> idle_;
};

}  // namespace

std::unique_ptr<problem> make_expressions() { return std::make_unique<expressions_problem>(); }

}  // namespace plx::star
