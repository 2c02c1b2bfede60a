// Cost of measurement: of a record, a task, a counter read, and a whole application. `--app`, `--app-16` or `--tasks`
// run that part only.
#include <algorithm>

#include "parts.hpp"

int main(int argc, char** argv) {
  plx::bench::report report(argc, argv);
  const auto wants = [&](const char* part) {
    return report.rest().empty() || std::find(report.rest().begin(), report.rest().end(), part) != report.rest().end();
  };
  if (wants("--tasks")) {
    measure_record(report);
    measure_task(report);
  }
  if (wants("--app")) measure_app(report, "probe/app", 8, 8);
  if (wants("--app") || wants("--app-16")) measure_app(report, "probe/app/16", 4, 16);
  return report.finish();
}
