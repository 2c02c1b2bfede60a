/* Ranges and marks of NVTX: nested ones, of a domain, of two threads, and with all kinds of texts. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static void sleep_ms(long n) {
  const struct timespec t = {0, n * 1000000};
  nanosleep(&t, NULL);
}

static nvtxEventAttributes_t about(void) {
  nvtxEventAttributes_t e = {0};
  e.version = NVTX_VERSION;
  e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return e;
}

static nvtxRangeId_t begun;

static void* other(void* argument) {
  int i;
  (void)argument;
  for (i = 0; i < 3; ++i) {
    nvtxRangePushA("of the thread");
    nvtxRangePop();
  }
  nvtxRangeEnd(begun); /* begun by another thread */
  return NULL;
}

int main(void) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
  const nvtxStringHandle_t sweep = nvtxDomainRegisterStringA(domain, "sweep");
  pthread_t thread;
  int i, levels;
  nvtxEventAttributes_t e = about();
  levels = nvtxRangePushA("step");
  for (i = 0; i < 7; ++i) {
    levels += nvtxRangePushA("flux");
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = sweep;
    levels += 10 * nvtxDomainRangePushEx(domain, &e); /* levels of each domain are its own */
    nvtxDomainRangePop(domain);
    nvtxRangePop();
  }
  nvtxRangePushW(L"gr\u00f6\u00dfe");
  nvtxRangePop();
  e.messageType = NVTX_MESSAGE_TYPE_ASCII;
  e.message.ascii = "plain";
  nvtxDomainRangePushEx(domain, &e);
  sleep_ms(20);
  nvtxDomainRangePop(domain);
  nvtxRangePop(); /* step */
  nvtxMarkA("here");
  begun = nvtxRangeStartA("request");
  sleep_ms(10);
  pthread_create(&thread, NULL, other, NULL);
  pthread_join(thread, NULL);
  e.message.ascii = "order";
  nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &e));
  nvtxRangeEnd(12345); /* no such range */
  for (i = 0; i < 200; ++i) nvtxRangePushA("deep");
  for (i = 0; i < 200; ++i) nvtxRangePop();
  printf("levels %d, empty %d\n", levels, nvtxRangePop() < 0);
  return 0;
}
