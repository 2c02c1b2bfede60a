/* A library with one function of the name NAME, for a thread. */
void* NAME(void* unused) { return unused; }
void* (*const run)(void*) = &NAME;
