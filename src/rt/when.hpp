// when_all, when_any, when_some, when_each, wait_*, dataflow, unwrapping: one future out of many, and waiting for many.
//
// Each has a header of its own; this one includes them. Example: when_test.cpp, when_more_test.cpp.
#pragma once

#include "rt/dataflow.hpp"   // IWYU pragma: export
#include "rt/unwrap.hpp"     // IWYU pragma: export
#include "rt/wait_all.hpp"   // IWYU pragma: export
#include "rt/when_all.hpp"   // IWYU pragma: export
#include "rt/when_any.hpp"   // IWYU pragma: export
#include "rt/when_each.hpp"  // IWYU pragma: export
