// The source of the target that builds the precompiled header of the test programs.
