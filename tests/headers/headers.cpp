// The source of the target whose precompiled header the test programs use.
