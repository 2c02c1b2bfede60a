/* Loads libraries one after the other, probably to the same address, and runs a thread in each.
 * Usage: plugins FILE... */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW);
    void* (*const* run)(void*) = library == NULL ? NULL : (void* (*const*)(void*))dlsym(library, "run");
    pthread_t thread;
    if (run == NULL || pthread_create(&thread, NULL, *run, NULL) != 0) return 1;
    pthread_join(thread, NULL);
    dlclose(library);
  }
  printf("done\n");
  return 0;
}
