// The parts of the benchmark of measurement itself.
#pragma once

#include "report.hpp"

void measure_record(plx::bench::report& report);
void measure_task(plx::bench::report& report);
/// `blocks`: along each side of the mesh, of 8^3 cells.
void measure_app(plx::bench::report& report, int blocks);
