// The parts of transport_check.
#pragma once

#include "net/start/bootstrap.hpp"
#include "net/transport/transport.hpp"

int check_start(plx::net::bootstrap& job, plx::net::transport& carrier);
int check_pairs(plx::net::bootstrap& job, plx::net::transport& carrier);
int check_death(plx::net::bootstrap& job, plx::net::transport& carrier, plx::locality_id who, bool while_writing);
/// After stop(): 0 when all memory that the transport was given was given back.
int check_given_back(plx::locality_id here);
int measure_rates(plx::net::bootstrap& job, plx::net::transport& carrier);
