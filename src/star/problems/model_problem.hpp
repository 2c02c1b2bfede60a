// The common part of problems whose initial state is a model of stars in equilibrium (star/models/self_consistent.hpp):
// computed at the start of the run, or read from a file of plx-star make-model.
//
// Where the cells of the run are those of the model, their densities are the ones with which the model has found its
// potential, so the run starts in the equilibrium of its own solver of gravity.
//
// Thread safety: as problem; build() by one task at a time. Cost: build() some seconds to minutes; at() about 1 us.
// Example: star/problems/test/model_problems_test.cpp
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "star/models/model.hpp"
#include "star/models/self_consistent.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

/// Do images of the gas attract it (gravity.self in a periodic box)? Then bodies in equilibrium on their own are a
/// start without an exact solution.
bool has_images(const problem_setting& s);

class model_problem : public problem {
 public:
  result<void> build() const final;
  std::vector<std::string> notes() const final;
  result<double> frame_velocity() const final;
  result<double> orbital_period() const final;
  /// The model. Errors: std::invalid_argument, thrown, if build() fails.
  const models::model& stars() const;
  /// The options that a model in a file must share: lines "key = value".
  std::string identity() const;

  int species_count() const override { return static_cast<int>(star_of_species().size()); }
  std::vector<int> star_of_species() const override;
  int star_count() const override { return static_cast<int>(kinds().size()); }
  int star_at(const vector& x) const override;
  primitive at(const vector& x, double t) const override;
  std::vector<named_value> references(double t) const override;

 protected:
  explicit model_problem(std::string section) : section_(std::move(section)) {}
  /// Binds the options that all models have.
  void describe_model(config_table& t, bool species);
  result<void> do_prepare() override;
  std::array<int, 3> samples(const cell&, double) const override { return {1, 1, 1}; }

  /// The request of the options; mesh, gravity and accuracy are set by the caller. Errors: one line about an option.
  virtual result<models::request> make_request() const = 0;
  /// The kinds of matter, before prepare().
  virtual std::vector<models::matter_kind> kinds() const = 0;
  /// Errors: one line: no matter of this kind with the equation of state of the run.
  result<void> set_kind(models::matter& m, const std::string& kind, const std::string& key) const;

 private:
  result<models::model> make() const;
  models::model::state state_at(const vector& x) const;

  std::string section_, file_;
  std::int64_t level_ = -1;
  double atmosphere_ = 1e-6, atmosphere_heat_ = 0.0, tolerance_ = 1e-6, thermal_ = 1e-3;
  bool species_ = false;
  models::request request_;
  mutable std::once_flag once_;
  mutable std::optional<models::model> model_;
  mutable double outer_density_ = 0.0, outer_pressure_ = 0.0;  // of the atmosphere
  mutable std::string failure_;
};

}  // namespace plx::star
