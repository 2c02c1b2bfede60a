// Texts in JSON.
//
// Thread safety: everything. Cost: O(length), one allocation. Example: base/json_text_test.cpp
#pragma once

#include <string>
#include <string_view>

namespace plx {

/// In quotes, with what JSON wants escaped. Bytes that are no UTF-8 become U+FFFD, because readers refuse a whole file
/// for one. Also safe inside an HTML script: '<' is escaped.
std::string json_text(std::string_view text);

}  // namespace plx
