// The ledger of a run: the change of mass, momentum, angular momentum, energy and species since the start, its known
// parts (boundaries, floors, sources, regrids), and the remainder: what the scheme has lost.
//
// Thread safety: values. Cost: some additions per row of history.csv. Example: star/output/test/ledger_test.cpp
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "num/running_sum.hpp"
#include "star/driver/options.hpp"

namespace plx::star {

struct ledger_row {
  /// How far the scheme conserves the quantity.
  enum class rule {
    exact,  ///< to rounding
    order,  ///< to the order of the scheme
    open    ///< not at all, or parts of the change are not known; the note says why
  };

  std::string quantity;
  double start = 0.0, change = 0.0;  ///< since the start
  /// Known parts of the change.
  double boundaries = 0.0, floors = 0.0, sources = 0.0, regrids = 0.0;
  double scale = 1.0;            ///< of the relative remainder, above 0
  std::string_view relative_to;  ///< what the scale is
  rule conserved = rule::exact;
  std::string note;  ///< "" if the row needs none

  /// The change that has no known source; an unknown flow through boundaries (NaN) is in it.
  double remainder() const { return change - (std::isnan(boundaries) ? 0.0 : boundaries) - floors - sources - regrids; }
  double relative() const { return remainder() / scale; }
  /// The part of the change that makes the state another one than that of the problem: what floors have added, and the
  /// remainder if the scheme conserves the quantity to rounding.
  double relative_error() const {
    return (std::abs(floors) + (conserved == rule::exact ? std::abs(remainder()) : 0.0)) / scale;
  }
};

class ledger {
 public:
  /// Totals after a step, and what has happened until then.
  struct values {
    std::int64_t step = 0;
    std::vector<double> totals;          ///< simulation::totals()
    std::vector<double> left;            ///< outflow by variable
    std::array<std::int64_t, 3> floors;  ///< applied to density, pressure, input
    std::vector<double> added;           ///< by floors, by variable: floor_amounts
  };

  /// Requires: s = in.prepare(); both outlive the ledger.
  ledger(const input& in, const setup& s);

  bool has_start() const { return !start_.totals.empty(); }
  /// The first call sets the start. The potential energy that regrids have changed is known if there is a call after
  /// each step.
  void take(const values& v);
  /// Angular momentum of the velocities about the z axis. The first call sets the start.
  void take_rotation(double z);
  bool has_rotation() const { return !std::isnan(rotation_[0]); }

  /// The rows at the last call of take(), those of mass and energy among them. Requires: has_start().
  std::vector<ledger_row> rows() const;
  /// Floors applied since the start: density, pressure, input.
  std::array<std::int64_t, 3> floors() const;
  /// rows() as lines of text, and as the members "floors" and "conservation" of a JSON object; "" and empty ones
  /// without a start.
  std::string text() const;
  std::string json() const;

  /// For a checkpoint. False if these are the numbers of a run with other quantities; the ledger is then unchanged.
  std::vector<double> state() const;
  bool restore(std::span<const double> state);

 private:
  /// The total energy from which changes count: it is known when the potential energy is.
  struct energy_start {
    double gas = 0.0, potential = 0.0, left = 0.0, sources = 0.0, step = -1.0, added = 0.0;
  };
  int sum_at(std::string_view name) const;
  double sum_of(const values& v, std::string_view name) const;
  double potential(const values& v) const;
  double driven_energy(const values& v) const;
  double energy_scale() const;
  double momentum_scale() const;
  ledger_row row_of(int field, double scale, std::string_view relative_to) const;
  ledger_row momentum_row(int axis) const;
  ledger_row energy_row() const;
  ledger_row rotation_row() const;
  ledger_row spin_row(int axis) const;
  std::string why_open(int axis, bool turns) const;

  const input& in_;
  const setup& setup_;
  std::vector<mesh::field_info> fields_;
  std::vector<std::string> sums_;  // names
  bool has_gravity_, has_point_mass_;
  values start_, now_;
  energy_start energy_;
  running_sum regrids_;
  double last_gravity_ = 0.0, last_step_ = -1.0;
  bool all_regrids_known_ = true;
  std::array<double, 2> rotation_;  // at the start and now
};

}  // namespace plx::star
