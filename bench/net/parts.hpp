// The parts of this program; those that need several processes run in processes that it starts itself.
#pragma once

#include "report.hpp"

namespace plx {
class job;
struct coalescing;
}  // namespace plx
namespace plx::bench {

void cost(report& r, bool quick);
void rates_inside(job& j, const coalescing& how, int turns);
void round_trips_inside(job& j, int turns);

}  // namespace plx::bench
