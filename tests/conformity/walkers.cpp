#include "walkers.hpp"

#include PLX_CONFORMITY_HEADER

namespace conformity::PLX_CONFORMITY_PROGRAM {

walkers_result walkers(const walkers_options& o) { return walkers_run<traits>(o).run(); }

}  // namespace conformity::PLX_CONFORMITY_PROGRAM
