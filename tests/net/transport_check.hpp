// The modes of transport_check.
#pragma once

#include "net/start/bootstrap.hpp"
#include "net/transport/transport.hpp"

int check_start(plx::net::bootstrap& job, plx::net::transport& carrier);
int check_pairs(plx::net::bootstrap& job, plx::net::transport& carrier);
int check_death(plx::net::bootstrap& job, plx::net::transport& carrier, plx::locality_id who, bool while_writing);
int check_last_heads(plx::net::bootstrap& job, plx::net::transport& carrier, plx::locality_id who);
/// Called after stop(): 0 if the transport has returned all memory.
int check_given_back(plx::locality_id here);
int measure_rates(plx::net::bootstrap& job, plx::net::transport& carrier);
