// Measurements of all localities together, one line of CSV for each.
//
// A measurement lasts from a barrier to the end of the last locality. Its overhead is /network/overhead over that time,
// averaged over the localities; parcels, messages and bytes are sums over all localities, answers included.
// Thread safety: used by one task of each locality, with the same calls in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coalescing_sweep.hpp"
#include "net/collectives.hpp"
#include "net/parcels/parcel_port.hpp"
#include "parts.hpp"
#include "probe/counters/counter_registry.hpp"

namespace plx {
class job;
}
namespace plx::bench {

/// The subject of a measurement: the first columns of a line.
struct label {
  std::string_view part, variant;
  unsigned size = 0;  ///< Nc
  unsigned turn = 0;
  std::string_view setting;  ///< as given in the options
  std::string phase;
};

struct sample {
  double time_s = 0;    ///< of the slowest locality
  double overhead = 0;  ///< 0 to 1
  double parcels = 0, messages = 0, bytes = 0;
};

class series {
 public:
  /// `action`: the action whose parcels are configured; its setting appears in each line.
  series(job& j, const options& o, std::string_view action);

  /// Sets how this locality coalesces parcels of the action; the others have to do the same.
  void set(std::string_view setting) const;

  /// Runs f() between a barrier and the end of the last locality. f may return the seconds to count; otherwise all
  /// count.
  template <class F>
  sample measure(F f) {
    const double begin = start();
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      f();
      return end(-1, begin);
    } else {
      const double counted_s = f();
      return end(counted_s, begin);
    }
  }
  /// Writes one line, by the root. `at_s`: the time of the measurement in a series.
  void write(const label& l, double at_s, const sample& s) const;

  [[nodiscard]] const communicator& all() const noexcept { return all_; }
  [[nodiscard]] double elapsed_s() const;  ///< since this object was created

 private:
  double start();
  sample end(double counted_s, double begin);

  job& job_;
  communicator all_;
  std::string action_;
  std::uint16_t action_index_ = 0;
  probe::counter_handle overhead_;
  net::port_counts before_;
  double made_s_ = 0;
  csv_file out_;  // used by the root
};

/// Checks the exchanged data: a difference ends the job with one line that says what was expected and found.
void expect_same(bool same, std::string_view what);

}  // namespace plx::bench
