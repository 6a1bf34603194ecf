/*
 * Preloaded into a program under test: makes chosen system calls on chosen files fail. SALTWORKS_FAULTS names a file whose lines are
 * `CALL PART SKIP COUNT KIND`: of the calls to CALL (write, pwrite, sync, or head: a pwrite into the first 8 KiB) on files whose path holds PART, SKIP succeed and then COUNT fail. KIND is
 * EIO or ENOSPC, `short` for a write of half, or `lost` for a sync that fails with EIO and loses what was written since the one before it:
 * zeros stand there afterwards, as after a loss of power. Each call that fails adds its `CALL PART KIND` as a line to that file's name with `.hits`
 * behind it, so that a test sees which rules came to act.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { rules_max = 16, spans_max = 64, fds_max = 1024 };
struct rule { char call[16], part[128], kind[16]; long skip, count; int error; };
static struct rule rules[rules_max];
static int rule_count;
static struct timespec rules_time;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct span { off_t at; size_t bytes; };
static struct span written[fds_max][spans_max];
static int written_count[fds_max];
static __thread int inside;

static void *next_of(const char *name) { return dlsym(RTLD_NEXT, name); }

static void read_rules(void) {
  const char *file = getenv("SALTWORKS_FAULTS");
  struct stat now;
  if (file == NULL || stat(file, &now) != 0) return;
  if (now.st_mtim.tv_sec == rules_time.tv_sec && now.st_mtim.tv_nsec == rules_time.tv_nsec) return;
  rules_time = now.st_mtim;
  rule_count = 0;
  FILE *in = fopen(file, "r");
  if (in == NULL) return;
  while (rule_count < rules_max) {
    struct rule *rule = &rules[rule_count];
    if (fscanf(in, "%15s %127s %ld %ld %15s", rule->call, rule->part, &rule->skip, &rule->count, rule->kind) != 5) break;
    rule->error = strcmp(rule->kind, "short") == 0 || strcmp(rule->kind, "lost") == 0 ? -1 : strcmp(rule->kind, "ENOSPC") == 0 ? ENOSPC : EIO;
    rule_count += 1;
  }
  fclose(in);
}

static void note_hit(const struct rule *rule) {
  ssize_t (*put)(int, const void *, size_t) = next_of("write");
  char file[PATH_MAX], line[256];
  snprintf(file, sizeof file, "%s.hits", getenv("SALTWORKS_FAULTS"));
  int out = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (out < 0) return;
  int length = snprintf(line, sizeof line, "%s %s %s\n", rule->call, rule->part, rule->kind);
  if (put(out, line, (size_t)length) != length) abort();
  close(out);
}

/* 0: the call goes on; -1: half of it is written, or all of it is lost; otherwise an errno */
static int fault_of(const char *call, int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  read_rules();
  for (int i = 0; i < rule_count; i += 1) {
    struct rule *rule = &rules[i];
    if (strcmp(rule->call, call) != 0 || strstr(path, rule->part) == NULL) continue;
    if (rule->skip > 0) { rule->skip -= 1; continue; }
    if (rule->count > 0) { rule->count -= 1; note_hit(rule); return rule->error; }
  }
  return 0;
}

static int decide(const char *call, int fd) {
  if (inside) return 0;
  int saved = errno;
  inside = 1;
  pthread_mutex_lock(&lock);
  int fault = fault_of(call, fd);
  pthread_mutex_unlock(&lock);
  inside = 0;
  errno = saved;
  return fault;
}

static void note(int fd, off_t at, ssize_t bytes) {
  if (bytes <= 0 || fd < 0 || fd >= fds_max) return;
  pthread_mutex_lock(&lock);
  if (written_count[fd] < spans_max) written[fd][written_count[fd]++] = (struct span){at, (size_t)bytes};
  pthread_mutex_unlock(&lock);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at) {
  ssize_t (*call)(int, const void *, size_t, off_t) = next_of("pwrite64");
  int fault = decide(at < 8192 ? "head" : "pwrite", fd);
  if (fault > 0) { errno = fault; return -1; }
  ssize_t done = call(fd, bytes, fault < 0 && count > 1 ? count / 2 : count, at);
  note(fd, at, done);
  return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
  ssize_t (*call)(int, const struct iovec *, int) = next_of("writev");
  int fault = decide("pwrite", fd);
  if (fault > 0) { errno = fault; return -1; }
  off_t at = lseek(fd, 0, SEEK_CUR);
  ssize_t done = call(fd, parts, fault < 0 && count > 1 ? count / 2 : count);
  if (at >= 0) note(fd, at, done);
  return done;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  ssize_t (*call)(int, const void *, size_t) = next_of("write");
  int fault = fd > 2 ? decide("write", fd) : 0;
  if (fault > 0) { errno = fault; return -1; }
  return call(fd, bytes, fault < 0 && count > 1 ? count / 2 : count);
}

static int synced(const char *name, int fd) {
  int (*call)(int) = next_of(name);
  int fault = decide("sync", fd);
  if (fd < 0 || fd >= fds_max) return call(fd);
  if (fault < 0) {
    static const char zeros[1 << 20];
    ssize_t (*put)(int, const void *, size_t, off_t) = next_of("pwrite64");
    for (int i = 0; i < written_count[fd]; i += 1)
      for (size_t done = 0; done < written[fd][i].bytes;) {
        size_t left = written[fd][i].bytes - done;
        ssize_t got = put(fd, zeros, left < sizeof zeros ? left : sizeof zeros, written[fd][i].at + (off_t)done);
        if (got <= 0) break;
        done += (size_t)got;
      }
  }
  written_count[fd] = 0;
  if (fault == 0) return call(fd);
  errno = fault < 0 ? EIO : fault;
  return -1;
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }
