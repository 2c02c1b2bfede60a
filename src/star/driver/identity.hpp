// The options that a run must share with the checkpoint it continues, as text: those that affect the physics.
//
// Thread safety: pure. Cost: some KB of text. Example: star/driver/test/options_test.cpp
#pragma once

#include <string>

namespace plx {
class config_table;
}

namespace plx::star {

/// One line "key = value" for each key for which may_change_on_resume() is false.
std::string identity_of(const config_table& table);

}  // namespace plx::star
