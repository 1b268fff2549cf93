/* A model of a power cut, loaded with LD_PRELOAD.
 *
 * For each file under CUT_ROOT it keeps, in the folder CUT_IMAGE, the bytes as of the file's last
 * successful fsync or fdatasync: what a disk that loses its write cache would still have. A rename
 * or unlink moves or removes the image at once, as a journalling file system does in order.
 * Every write, sync, rename, truncation and unlink under the root counts as one event; at event
 * CUT_AT the process is killed before that event happens. Without CUT_IMAGE nothing is kept. With CUT_LOG each sync is written there
 * as one line, the name of the file. Raw system calls are not seen.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static const char *root, *image, *log_path;
static size_t root_length;
static long cut_at = -1;
static atomic_long events;
static pthread_mutex_t image_lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void set_up(void) {
    root = getenv("CUT_ROOT");
    image = getenv("CUT_IMAGE");
    log_path = getenv("CUT_LOG");
    root_length = root ? strlen(root) : 0;
    const char *at = getenv("CUT_AT");
    if (at) cut_at = atol(at);
}

static int is_ours(const char *path) {
    return root && strncmp(path, root, root_length) == 0 && path[root_length] == '/';
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_ours(path);
}

static void event(void) {
    if (atomic_fetch_add(&events, 1) == cut_at) kill(getpid(), SIGKILL);
}

/* The image of ROOT/a/b is IMAGE/a@b. */
static void image_name(const char *path, char *name) {
    size_t start = (size_t)snprintf(name, PATH_MAX, "%s/", image);
    snprintf(name + start, PATH_MAX - start, "%s", path + root_length + 1);
    for (char *c = name + start; *c; c++)
        if (*c == '/') *c = '@';
}

static void keep(int fd, const char *path) {
    struct stat status;
    if (!image) return;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (strstr(path, " (deleted)")) return;
    char name[PATH_MAX], partial[PATH_MAX + 8], block[1 << 16];
    image_name(path, name);
    snprintf(partial, sizeof partial, "%s.tmp", name);
    pthread_mutex_lock(&image_lock);
    /* Opened through /proc, so that closing it is not a close of this process's own lock holder
       by path; the copy itself goes through raw system calls that the wrappers do not count. */
    int out = open(partial, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (out >= 0) {
        REAL(pwrite);
        off_t offset = 0;
        ssize_t got;
        /* Files of the index are open for writing only; no lock is on them that a close drops. */
        int source = fd;
        if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
            source = open(path, O_RDONLY | O_CLOEXEC);
            if (source < 0) abort();
        }
        while ((got = pread(source, block, sizeof block, offset)) > 0) {
            if (real(out, block, (size_t)got, offset) != got) abort();
            offset += got;
        }
        close(out);
        if (source != fd) close(source);
        if (got == 0) {
            __typeof__(&rename) real_rename = (__typeof__(&rename))dlsym(RTLD_NEXT, "rename");
            real_rename(partial, name);
        } else {
            abort(); /* The descriptor can't be read: the model would be wrong. */
        }
    }
    pthread_mutex_unlock(&image_lock);
}

static int synced(int fd, int (*real)(int)) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return real(fd);
    event();
    int result = real(fd);
    if (result == 0) {
        keep(fd, path);
        if (log_path) {
            int out = open(log_path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
            if (out >= 0) {
                dprintf(out, "%s\n", path + root_length + 1);
                close(out);
            }
        }
    }
    return result;
}

int fsync(int fd) {
    REAL(fsync);
    return synced(fd, real);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    return synced(fd, real);
}

#define COUNTED(fd)                              \
    do {                                         \
        char path[PATH_MAX];                     \
        if ((fd) > 2 && path_of(fd, path)) event(); \
    } while (0)

ssize_t write(int fd, const void *bytes, size_t size) {
    REAL(write);
    COUNTED(fd);
    return real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
    REAL(pwrite);
    COUNTED(fd);
    return real(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) {
    REAL(pwrite64);
    COUNTED(fd);
    return real(fd, bytes, size, offset);
}

int ftruncate(int fd, off_t size) {
    REAL(ftruncate);
    COUNTED(fd);
    return real(fd, size);
}

int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64);
    COUNTED(fd);
    return real(fd, size);
}

/* Moves the images of all files under a folder that was renamed. */
static void move_images(const char *old, const char *new, int (*real)(const char *, const char *)) {
    DIR *folder = opendir(image);
    if (!folder) return;
    const char *prefix = strrchr(old, '/') + 1;
    size_t length = strlen(prefix);
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (strncmp(entry->d_name, prefix, length) != 0 || entry->d_name[length] != '@') continue;
        char source[PATH_MAX + 300], target[PATH_MAX + 300];
        snprintf(source, sizeof source, "%s/%s", image, entry->d_name);
        snprintf(target, sizeof target, "%s%s", new, entry->d_name + length);
        real(source, target);
    }
    closedir(folder);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    int ours = is_ours(from) && is_ours(to);
    if (ours) event();
    int result = real(from, to);
    if (result == 0 && ours && image) {
        char old[PATH_MAX], new[PATH_MAX];
        image_name(from, old);
        image_name(to, new);
        if (real(old, new) != 0) move_images(old, new, real);
    }
    return result;
}

int unlink(const char *path) {
    REAL(unlink);
    int ours = is_ours(path);
    if (ours) event();
    int result = real(path);
    if (result == 0 && ours && image) {
        char name[PATH_MAX];
        image_name(path, name);
        real(name);
    }
    return result;
}
