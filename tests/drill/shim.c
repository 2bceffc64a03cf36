/* Loaded in front of libc: ends a process at its n-th operation on files, or lets its disk be full.

   DRILL_UNDER    operations on files below this folder count
   DRILL_SOCKETS  if set, what is sent to other processes counts too
   DRILL_COUNT    a file of one 64-bit number: the operations so far
   DRILL_KILL_AT  SIGKILL instead of the n-th operation
   DRILL_FULL_AT  from the n-th operation on there is no space left on the device: a write that is
                  the n-th one writes half of what it was given

   The environment is read at the first operation, so that a process that was forked before it was
   given its environment is watched too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static const char *under;
static int sockets;
static long kill_at, full_at;
static long *count;
static int ready;

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static void forget(void) { ready = 0; }

__attribute__((constructor)) static void at_start(void) { pthread_atfork(NULL, NULL, forget); }

static long number(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : -1;
}

static int watching(void) {
    if (ready) return 1;
    const char *folder = getenv("DRILL_UNDER"), *file = getenv("DRILL_COUNT");
    if (!folder || !file) return 0;
    int (*real_open)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    int handle = real_open(file, O_RDWR | O_CLOEXEC);
    if (handle < 0) abort();
    void *mapped = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    close(handle);
    if (mapped == MAP_FAILED) abort();
    count = mapped;
    under = strdup(folder);
    sockets = getenv("DRILL_SOCKETS") != NULL;
    kill_at = number("DRILL_KILL_AT");
    full_at = number("DRILL_FULL_AT");
    ready = 1;
    return 1;
}

static int below(const char *path) {
    size_t length = strlen(under);
    return !strncmp(path, under, length) && (path[length] == '/' || !path[length]);
}

static int concerns_path(int folder, const char *path) {
    char whole[PATH_MAX * 2] = "";
    if (!path || !watching()) return 0;
    if (path[0] != '/') {
        if (folder == AT_FDCWD) {
            if (!getcwd(whole, PATH_MAX)) return 0;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t length = readlink(link, whole, PATH_MAX);
            if (length < 0) return 0;
            whole[length] = 0;
        }
        strncat(whole, "/", sizeof whole - strlen(whole) - 1);
    }
    strncat(whole, path, sizeof whole - strlen(whole) - 1);
    return below(whole);
}

static int concerns(int handle) {
    char link[64], path[PATH_MAX];
    if (!watching()) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (path[0] == '/') return below(path);
    if (!sockets || strncmp(path, "socket:", 7)) return 0;
    struct sockaddr_un peer;  /* a pair that a process keeps for itself has no name */
    socklen_t size = sizeof peer;
    return !getpeername(handle, (struct sockaddr *)&peer, &size) && size > sizeof(sa_family_t);
}

static long operation(void) {
    long now = __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    if (now == kill_at) kill(getpid(), SIGKILL);
    return now;
}

static int full(long now) {
    if (full_at < 0 || now < full_at) return 0;
    errno = ENOSPC;
    return 1;
}

#define WRITES(name, parameters, arguments, handle, wanted) \
    ssize_t name parameters { \
        REAL(name); \
        if (!concerns(handle)) return real arguments; \
        long now = operation(); \
        if (now == full_at && wanted > 1) wanted /= 2; \
        else if (full(now)) return -1; \
        return real arguments; \
    }

WRITES(write, (int handle, const void *from, size_t size), (handle, from, size), handle, size)
WRITES(pwrite, (int handle, const void *from, size_t size, off_t at), (handle, from, size, at), handle, size)
WRITES(pwrite64, (int handle, const void *from, size_t size, off64_t at), (handle, from, size, at), handle, size)
WRITES(sendfile, (int handle, int from, off_t *at, size_t size), (handle, from, at, size), handle, size)
WRITES(sendfile64, (int handle, int from, off64_t *at, size_t size), (handle, from, at, size), handle, size)
WRITES(copy_file_range,
       (int from, off64_t *from_at, int handle, off64_t *at, size_t size, unsigned flags),
       (from, from_at, handle, at, size, flags), handle, size)

/* All of the parts, or none. */
#define WRITES_PARTS(name, parameters, arguments) \
    ssize_t name parameters { \
        REAL(name); \
        if (!concerns(handle)) return real arguments; \
        if (full(operation())) return -1; \
        return real arguments; \
    }

WRITES_PARTS(writev, (int handle, const struct iovec *parts, int parts_count), (handle, parts, parts_count))
WRITES_PARTS(pwritev, (int handle, const struct iovec *parts, int parts_count, off_t at), (handle, parts, parts_count, at))
WRITES_PARTS(pwritev64, (int handle, const struct iovec *parts, int parts_count, off64_t at), (handle, parts, parts_count, at))

/* What makes a name needs room, and so does what sets blocks aside. */
#define MAKES(name, parameters, arguments, concern, needs_room) \
    int name parameters { \
        REAL(name); \
        if (!(concern)) return real arguments; \
        long now = operation(); \
        if ((needs_room) && full(now)) return -1; \
        return real arguments; \
    }

MAKES(rename, (const char *a, const char *b), (a, b), concerns_path(AT_FDCWD, b), 0)
MAKES(renameat, (int f, const char *a, int g, const char *b), (f, a, g, b), concerns_path(g, b), 0)
MAKES(renameat2, (int f, const char *a, int g, const char *b, unsigned o), (f, a, g, b, o), concerns_path(g, b), 0)
MAKES(unlink, (const char *a), (a), concerns_path(AT_FDCWD, a), 0)
MAKES(unlinkat, (int f, const char *a, int o), (f, a, o), concerns_path(f, a), 0)
MAKES(rmdir, (const char *a), (a), concerns_path(AT_FDCWD, a), 0)
MAKES(mkdir, (const char *a, mode_t m), (a, m), concerns_path(AT_FDCWD, a), 1)
MAKES(mkdirat, (int f, const char *a, mode_t m), (f, a, m), concerns_path(f, a), 1)
MAKES(link, (const char *a, const char *b), (a, b), concerns_path(AT_FDCWD, b), 1)
MAKES(linkat, (int f, const char *a, int g, const char *b, int o), (f, a, g, b, o), concerns_path(g, b), 1)
MAKES(symlink, (const char *a, const char *b), (a, b), concerns_path(AT_FDCWD, b), 1)
MAKES(symlinkat, (const char *a, int g, const char *b), (a, g, b), concerns_path(g, b), 1)
MAKES(ftruncate, (int h, off_t n), (h, n), concerns(h), 0)
MAKES(ftruncate64, (int h, off64_t n), (h, n), concerns(h), 0)
MAKES(fsync, (int h), (h), concerns(h), 0)
MAKES(fdatasync, (int h), (h), concerns(h), 0)
MAKES(fallocate, (int h, int m, off_t at, off_t n), (h, m, at, n), concerns(h), 1)
MAKES(fallocate64, (int h, int m, off64_t at, off64_t n), (h, m, at, n), concerns(h), 1)

/* These return the error's number. */
#define SETS_ASIDE(name, offset) \
    int name(int handle, offset at, offset size) { \
        REAL(name); \
        return concerns(handle) && full(operation()) ? ENOSPC : real(handle, at, size); \
    }

SETS_ASIDE(posix_fallocate, off_t)
SETS_ASIDE(posix_fallocate64, off64_t)

#define OPENS(name, parameters, folder, arguments) \
    int name parameters { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { \
            va_list more; \
            va_start(more, flags); \
            mode = va_arg(more, mode_t); \
            va_end(more); \
        } \
        if ((flags & (O_CREAT | O_TRUNC)) && concerns_path(folder, path)) { \
            long now = operation(); \
            if ((flags & O_CREAT) && full(now)) return -1; \
        } \
        return real arguments; \
    }

OPENS(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPENS(openat, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode))
OPENS(openat64, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode))

#define SENDS(name, parameters, arguments) \
    ssize_t name parameters { \
        REAL(name); \
        if (concerns(handle)) operation(); \
        return real arguments; \
    }

SENDS(send, (int handle, const void *from, size_t size, int flags), (handle, from, size, flags))
SENDS(sendmsg, (int handle, const struct msghdr *message, int flags), (handle, message, flags))
SENDS(sendto, (int handle, const void *from, size_t size, int flags, const struct sockaddr *to, socklen_t length),
      (handle, from, size, flags, to, length))
