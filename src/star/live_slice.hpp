// The density in the plane through the middle of the box, with the blocks it cuts and what they cost: for the live
// page.
//
// Thread safety: between steps, by the thread that steps. Cost: nothing while nobody looks; else, at most once a
// second, one pass over the blocks' costs and at most 256^2 cells. It changes nothing. Example:
// star/live_slice_test.cpp
#pragma once

#include "probe/live/live_json.hpp"

namespace plx::star {

class simulation;

/// The picture as the simulation stands now: the whole, on all localities, which all call it. Errors: locality_lost.
probe::live_picture live_slice(simulation& sim);
/// A page is served here, somebody looks, and the newest picture is a second old.
bool picture_wanted(simulation& sim);
/// Draws it for the page, where one is served here. All localities call it.
void show_slice(simulation& sim);

}  // namespace plx::star
