/*
 * Fault injector of the torture tests: an LD_PRELOAD library that numbers the file operations of one process below one
 * folder and disturbs the operation with a given number.
 *
 * The variables are read and removed when the library is loaded. So are LD_PRELOAD and with it the injector: programs
 * that the process starts are not disturbed.
 *
 *   INJECT_DIR    absolute path without symbolic links; only operations below it are counted
 *   INJECT_OPS    the kinds that are counted, separated by commas: open (for reading), create (open for writing),
 *                 read, write, sync, truncate, rename, link, unlink, mkdir, rmdir, chmod
 *   INJECT_LOG    file to which each counted operation is appended: number, kind, path
 *   INJECT_AT     number of the operation to disturb, from 1; 0: none
 *   INJECT_MODE   kill   SIGKILL instead of the operation
 *                 tear   half of a write, or another operation as a whole, and then SIGKILL
 *                 once   the operation fails with INJECT_ERRNO
 *                 on     this operation and every later one fail with INJECT_ERRNO
 *                 short  a write stores only half of its bytes
 *   INJECT_ERRNO  number of the error
 *
 * It works on the level of libc, so it covers SQLite as well as libuv. It does not see system calls that bypass libc:
 * io_uring (off by default in libuv) and copy_file_range (used by copyFile only).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define PATH_BYTES (PATH_MAX + 64)

enum action { PASS, FAIL, SHORT, TEAR };

static char folder[PATH_BYTES], kinds[256], log_path[PATH_BYTES], mode[16];
static size_t folder_length;
static long at;
static int error_number;
static long count;

static void take(const char *name, char *to, size_t size) {
  const char *value = getenv(name);
  snprintf(to, size, "%s", value == NULL ? "" : value);
  unsetenv(name);
}

__attribute__((constructor)) static void setup(void) {
  char number[32];
  take("INJECT_DIR", folder, sizeof folder);
  take("INJECT_LOG", log_path, sizeof log_path);
  take("INJECT_MODE", mode, sizeof mode);
  take("INJECT_AT", number, sizeof number);
  at = atol(number);
  take("INJECT_ERRNO", number, sizeof number);
  error_number = atoi(number);
  kinds[0] = ',';
  take("INJECT_OPS", kinds + 1, sizeof kinds - 2);
  strcat(kinds, ",");
  folder_length = strlen(folder);
  unsetenv("LD_PRELOAD");
}

static int below(const char *path) {
  return strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == 0);
}

static int path_of(int fd, char *out) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, out, PATH_MAX);
  if (length <= 0) return 0;
  out[length] = 0;
  return 1;
}

/* Whether `path`, relative to the folder `at_fd`, is below the folder; its absolute form is written to `out`. */
static int seen_at(int at_fd, const char *path, char *out) {
  if (folder_length == 0 || path == NULL) return 0;
  if (path[0] == '/') snprintf(out, PATH_BYTES, "%s", path);
  else {
    if (at_fd == AT_FDCWD ? getcwd(out, PATH_MAX) == NULL : !path_of(at_fd, out)) return 0;
    size_t length = strlen(out);
    snprintf(out + length, PATH_BYTES - length, "/%s", path);
  }
  return below(out);
}

static int seen_fd(int fd, char *out) {
  return folder_length > 0 && path_of(fd, out) && below(out);
}

static void note(long number, const char *kind, const char *path, int disturbed) {
  char line[PATH_BYTES + 64];
  int length = snprintf(line, sizeof line, "%ld %s %s%s\n", number, kind, path, disturbed ? " DISTURBED" : "");
  int fd = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  syscall(SYS_write, fd, line, length);
  syscall(SYS_close, fd);
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

/* Counts one operation and decides what to do with it; sets errno when it fails. */
static enum action decide(const char *kind, const char *path) {
  char word[32];
  snprintf(word, sizeof word, ",%s,", kind);
  if (strstr(kinds, word) == NULL) return PASS;
  long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  int on = strcmp(mode, "on") == 0;
  int disturbed = at > 0 && (number == at || (on && number > at));
  if (log_path[0] != 0) note(number, kind, path, disturbed);
  if (!disturbed) return PASS;
  if (strcmp(mode, "kill") == 0) die();
  if (strcmp(mode, "tear") == 0) return TEAR;
  if (strcmp(mode, "short") == 0) return SHORT;
  errno = error_number;
  return FAIL;
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* For operations that happen completely or not at all. */
#define WHOLE(seen, kind, path, call) \
  do { \
    int saved = errno; \
    enum action action = (seen) ? decide(kind, path) : PASS; \
    if (action == FAIL) return -1; \
    errno = saved; \
    if (action != TEAR) return call; \
    (void)!(call); \
    die(); \
    return -1; \
  } while (0)

/* For writes: `half` stores the first half. */
#define WRITE(fd, bytes, call, half) \
  do { \
    char path[PATH_BYTES]; \
    int saved = errno; \
    enum action action = seen_fd(fd, path) ? decide("write", path) : PASS; \
    if (action == FAIL) return -1; \
    errno = saved; \
    if (action == TEAR) { \
      if ((bytes) > 1) (void)!(half); \
      die(); \
    } \
    return action == SHORT && (bytes) > 1 ? (half) : (call); \
  } while (0)

#define READ(fd, call) \
  do { \
    char path[PATH_BYTES]; \
    WHOLE(seen_fd(fd, path), "read", path, call); \
  } while (0)

ssize_t read(int fd, void *data, size_t bytes) {
  REAL(read);
  READ(fd, real(fd, data, bytes));
}

ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset) {
  REAL(pread64);
  READ(fd, real(fd, data, bytes, offset));
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset) {
  REAL(pread);
  READ(fd, real(fd, data, bytes, offset));
}

ssize_t readv(int fd, const struct iovec *parts, int parts_count) {
  REAL(readv);
  READ(fd, real(fd, parts, parts_count));
}

ssize_t preadv64(int fd, const struct iovec *parts, int parts_count, off64_t offset) {
  REAL(preadv64);
  READ(fd, real(fd, parts, parts_count, offset));
}

ssize_t preadv(int fd, const struct iovec *parts, int parts_count, off_t offset) {
  REAL(preadv);
  READ(fd, real(fd, parts, parts_count, offset));
}

ssize_t write(int fd, const void *data, size_t bytes) {
  REAL(write);
  WRITE(fd, bytes, real(fd, data, bytes), real(fd, data, bytes / 2));
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
  REAL(pwrite64);
  WRITE(fd, bytes, real(fd, data, bytes, offset), real(fd, data, bytes / 2, offset));
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
  REAL(pwrite);
  WRITE(fd, bytes, real(fd, data, bytes, offset), real(fd, data, bytes / 2, offset));
}

static ssize_t half_of(int fd, const struct iovec *parts, off64_t offset) {
  size_t bytes = parts[0].iov_len / 2;
  return offset < 0 ? syscall(SYS_write, fd, parts[0].iov_base, bytes)
                    : syscall(SYS_pwrite64, fd, parts[0].iov_base, bytes, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int parts_count) {
  REAL(writev);
  size_t bytes = parts_count > 0 ? parts[0].iov_len : 0;
  WRITE(fd, bytes, real(fd, parts, parts_count), half_of(fd, parts, -1));
}

ssize_t pwritev64(int fd, const struct iovec *parts, int parts_count, off64_t offset) {
  REAL(pwritev64);
  size_t bytes = parts_count > 0 ? parts[0].iov_len : 0;
  WRITE(fd, bytes, real(fd, parts, parts_count, offset), half_of(fd, parts, offset));
}

ssize_t pwritev(int fd, const struct iovec *parts, int parts_count, off_t offset) {
  REAL(pwritev);
  size_t bytes = parts_count > 0 ? parts[0].iov_len : 0;
  WRITE(fd, bytes, real(fd, parts, parts_count, offset), half_of(fd, parts, offset));
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t bytes) {
  REAL(sendfile64);
  WRITE(to, bytes, real(to, from, offset, bytes), real(to, from, offset, bytes / 2));
}

ssize_t sendfile(int to, int from, off_t *offset, size_t bytes) {
  REAL(sendfile);
  WRITE(to, bytes, real(to, from, offset, bytes), real(to, from, offset, bytes / 2));
}

int fsync(int fd) {
  REAL(fsync);
  char path[PATH_BYTES];
  WHOLE(seen_fd(fd, path), "sync", path, real(fd));
}

int fdatasync(int fd) {
  REAL(fdatasync);
  char path[PATH_BYTES];
  WHOLE(seen_fd(fd, path), "sync", path, real(fd));
}

int ftruncate64(int fd, off64_t bytes) {
  REAL(ftruncate64);
  char path[PATH_BYTES];
  WHOLE(seen_fd(fd, path), "truncate", path, real(fd, bytes));
}

int ftruncate(int fd, off_t bytes) {
  REAL(ftruncate);
  char path[PATH_BYTES];
  WHOLE(seen_fd(fd, path), "truncate", path, real(fd, bytes));
}

int truncate(const char *name, off_t bytes) {
  REAL(truncate);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, name, path), "truncate", path, real(name, bytes));
}

int rename(const char *from, const char *to) {
  REAL(rename);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, to, path) || seen_at(AT_FDCWD, from, path), "rename", path, real(from, to));
}

int link(const char *from, const char *to) {
  REAL(link);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, to, path), "link", path, real(from, to));
}

int symlink(const char *from, const char *to) {
  REAL(symlink);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, to, path), "link", path, real(from, to));
}

int unlink(const char *name) {
  REAL(unlink);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, name, path), "unlink", path, real(name));
}

int unlinkat(int at_fd, const char *name, int flags) {
  REAL(unlinkat);
  char path[PATH_BYTES];
  const char *kind = flags & AT_REMOVEDIR ? "rmdir" : "unlink";
  WHOLE(seen_at(at_fd, name, path), kind, path, real(at_fd, name, flags));
}

int remove(const char *name) {
  REAL(remove);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, name, path), "unlink", path, real(name));
}

int mkdir(const char *name, mode_t bits) {
  REAL(mkdir);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, name, path), "mkdir", path, real(name, bits));
}

int rmdir(const char *name) {
  REAL(rmdir);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, name, path), "rmdir", path, real(name));
}

int chmod(const char *name, mode_t bits) {
  REAL(chmod);
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, name, path), "chmod", path, real(name, bits));
}

int fchmod(int fd, mode_t bits) {
  REAL(fchmod);
  char path[PATH_BYTES];
  WHOLE(seen_fd(fd, path), "chmod", path, real(fd, bits));
}

static const char *kind_of(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) ? "create" : "open";
}

#define BITS \
  mode_t bits = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    bits = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *name, int flags, ...) {
  REAL(open);
  BITS
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, name, path), kind_of(flags), path, real(name, flags, bits));
}

int open64(const char *name, int flags, ...) {
  REAL(open64);
  BITS
  char path[PATH_BYTES];
  WHOLE(seen_at(AT_FDCWD, name, path), kind_of(flags), path, real(name, flags, bits));
}

int openat(int at_fd, const char *name, int flags, ...) {
  REAL(openat);
  BITS
  char path[PATH_BYTES];
  WHOLE(seen_at(at_fd, name, path), kind_of(flags), path, real(at_fd, name, flags, bits));
}
