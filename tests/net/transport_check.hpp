// The parts of transport_check.
#pragma once

#include "net/bootstrap.hpp"
#include "net/transport.hpp"

int check_start(plx::net::bootstrap& job, plx::net::transport& carrier);
int check_pairs(plx::net::bootstrap& job, plx::net::transport& carrier);
int check_death(plx::net::bootstrap& job, plx::net::transport& carrier, plx::locality_id who, bool while_writing);
int measure_rates(plx::net::bootstrap& job, plx::net::transport& carrier);
