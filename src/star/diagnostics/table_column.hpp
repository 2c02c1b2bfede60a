// A column of a table of diagnostics, as <table>_columns.csv describes it.
#pragma once

#include <string>

namespace plx::star {

/// Values times `factor` are in `unit`. `help` contains no commas.
struct table_column {
  std::string name, unit, help;
  double factor = 1.0;
};

}  // namespace plx::star
