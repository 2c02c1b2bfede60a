// The parts of the benchmark of measurement.
#pragma once

#include <string>

#include "report.hpp"

void measure_record(plx::bench::report& report);
void measure_task(plx::bench::report& report);
/// `blocks`: number along each axis of the mesh, of `cells`^3 cells each.
void measure_app(plx::bench::report& report, const std::string& name, int blocks, int cells);
