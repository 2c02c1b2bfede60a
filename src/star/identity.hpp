// What a run must share with the checkpoint it continues: the options that decide about the physics, as text.
//
// Thread safety: pure. Cost: some KB of text. Example: star/options_test.cpp
#pragma once

#include <string>

namespace plx {
class config_table;
}

namespace plx::star {

/// One line "key = value" for each key that may_change_on_resume() does not let go.
std::string identity_of(const config_table& table);

}  // namespace plx::star
