/*
 * Preloaded into a program under test: sets its wall clock, at run time. SALTWORKS_CLOCK names a file of eight bytes, the seconds (signed,
 * little-endian) by which the clock differs from the machine's. The monotonic clock is left alone, as it is when a clock is set.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*real_clock)(clockid_t, struct timespec *);
static const volatile int64_t *offset;

__attribute__((constructor)) static void open_offset(void) {
  real_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const char *path = getenv("SALTWORKS_CLOCK");
  if (path == NULL) return;
  int file = open(path, O_RDONLY);
  if (file < 0) return;
  void *at = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (at != MAP_FAILED) offset = at;
}

int clock_gettime(clockid_t id, struct timespec *now) {
  if (real_clock == NULL) real_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real_clock(id, now);
  if (result == 0 && offset != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset;
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *into) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (into != NULL) *into = exact.tv_sec;
  return exact.tv_sec;
}
