// The picture of the live page: the density in the plane through the middle of the box, with the outlines and costs of
// blocks.
//
// Thread safety: called between steps, by the thread that steps. Cost: none while the page has no viewer; otherwise, at
// most once a second, one pass over the blocks' costs and at most 256^2 cells. Example:
// star/output/test/live_slice_test.cpp
#pragma once

namespace plx::probe {
struct live_picture;
}

namespace plx::star {

class simulation;

/// The picture of the current state, complete on all localities, which all call it. Errors: locality_lost.
probe::live_picture live_slice(simulation& sim);
/// Is a page served here, does it have a viewer, and is the last picture at least a second old?
bool picture_wanted(simulation& sim);
/// Draws the picture for the page if one is served here. All localities call it.
void show_slice(simulation& sim);

}  // namespace plx::star
