// The reports of the programs: lines of text that must be equal for std and plx.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace conformity {

/// "what: values", separated by blanks. Constructed with braces, so that the values are evaluated from left to right.
struct line {
  template <class... V>
  line(const char* what, const V&... values) {  // NOLINT: implicit on purpose
    std::ostringstream out;
    out << std::boolalpha << what << ':';
    ((out << ' ' << values), ...);
    text = out.str();
  }
  std::string text;
};

class report {
 public:
  void add(line l) { lines_.push_back(std::move(l.text)); }
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// Walkers generate configurations and accumulators measure them, as in a Monte Carlo solver.
struct walkers_options {
  unsigned walkers = 4;
  unsigned accumulators = 2;
  unsigned measurements = 6000;
};
struct walkers_result {
  std::uint64_t sum = 0;
  std::uint64_t measured = 0;
};

namespace with_std {
void futures(report& r);
void locks(report& r);
void threads(report& r);
void timed_waits(report& r);
walkers_result walkers(const walkers_options& o);
}  // namespace with_std
namespace with_plx {
void futures(report& r);
void locks(report& r);
void threads(report& r);
void timed_waits(report& r);
walkers_result walkers(const walkers_options& o);
}  // namespace with_plx

}  // namespace conformity
