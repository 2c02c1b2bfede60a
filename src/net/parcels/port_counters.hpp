// The counters of a port: traffic, coalescing, and the time that workers spend on the network.
//
//   /parcels/count/{sent,received}  /messages/count/{sent,received,refused}  /data/{sent,received,under-way}
//   /coalescing/count/{parcels,messages,average-parcels-per-message}    of all actions; with @ACTION of one
//   /coalescing/time/average-parcel-arrival                             the same
//   /coalescing/time/parcel-arrival-histogram@ACTION,MIN,MAX,BUCKETS    MIN and MAX in us; without ACTION: all actions
//   /network/time/{polling,sending}  /network/overhead
//
// Thread safety: everything. Cost: none until they are queried; a histogram then costs each parcel of its action an
// atomic increment. Example: net/parcels/test/port_counters_test.cpp
#pragma once

#include <vector>

#include "probe/counters/counter_registry.hpp"

namespace plx::probe {
class recorder;
}
namespace plx::net {

class parcel_port;

/// Registers the counters. Requires: port and recorder live as long as the registrations.
std::vector<probe::registration> add_port_counters(probe::counter_registry& r, parcel_port& port,
                                                   const probe::recorder& workers);

}  // namespace plx::net
