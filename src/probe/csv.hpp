// One field of a CSV file. Thread safety: everything. Example: probe/csv_test.cpp
#pragma once

#include <string>
#include <string_view>

namespace plx::probe {

/// The text as it is, or in quotes with inner quotes doubled when it holds a comma, a quote or a line break (RFC 4180).
std::string csv_field(std::string_view text);

}  // namespace plx::probe
