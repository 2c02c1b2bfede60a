// The counters of a port: what was sent and received, how parcels collect, and what the network takes of the workers.
//
//   /parcels/count/{sent,received}  /messages/count/{sent,received,refused}  /data/{sent,received,under-way}
//   /coalescing/count/{parcels,messages,average-parcels-per-message}    of all; with @ACTION of one
//   /coalescing/time/average-parcel-arrival                             the same
//   /coalescing/time/parcel-arrival-histogram@ACTION,MIN,MAX,BUCKETS    MIN and MAX in us; without ACTION: of all
//   /network/time/{polling,sending}  /network/overhead
//
// Thread safety: everything. Cost: none until they are asked for; a histogram then costs every parcel of its action an
// atomic increment. Example: net/parcels/test/port_counters_test.cpp
#pragma once

#include <vector>

#include "probe/counters/counter_registry.hpp"

namespace plx::probe {
class recorder;
}
namespace plx::net {

class parcel_port;

/// Registers them. Requires: port and recorder live as long as the registrations.
std::vector<probe::registration> add_port_counters(probe::counter_registry& r, parcel_port& port,
                                                   const probe::recorder& workers);

}  // namespace plx::net
