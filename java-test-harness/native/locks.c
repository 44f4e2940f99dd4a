/* Locks of NativeLocks.java: known numbers of waits, of known lengths. No header of JNI is needed. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MUTEX, READ, WRITE, TIMED_MUTEX, TIMED_READ, TIMED_WRITE, THREADS = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int waiters[THREADS];
static atomic_int waiting;
static atomic_int wrong;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* A moment that no wait reaches. */
static const struct timespec never = {1LL << 40, 0};
/* A moment that is over. */
static const struct timespec past = {1, 0};

static int is_mutex(int kind) {
    return kind == MUTEX || kind == TIMED_MUTEX;
}

static int take(int kind) {
    switch (kind) {
    case TIMED_MUTEX: return pthread_mutex_timedlock(&mutex, &never);
    case TIMED_READ: return pthread_rwlock_timedrdlock(&rwlock, &never);
    case TIMED_WRITE: return pthread_rwlock_timedwrlock(&rwlock, &never);
    case MUTEX: return pthread_mutex_lock(&mutex);
    case READ: return pthread_rwlock_rdlock(&rwlock);
    default: return pthread_rwlock_wrlock(&rwlock);
    }
}

static void give(int kind) {
    if (is_mutex(kind)) pthread_mutex_unlock(&mutex);
    else pthread_rwlock_unlock(&rwlock);
}

/* Returns the nanoseconds that the lock took. */
static long long waits(int kind, int index) {
    waiters[index] = (int) syscall(SYS_gettid);
    waiting++;
    errno = 77;
    long long before = now();
    int code = take(kind);
    long long nanos = now() - before;
    if (code != 0 || errno != 77) wrong++;
    waiting--;
    give(kind);
    return nanos;
}

long long Java_NativeLocks_waitsForMutex(void *env, void *type, int index) {
    return waits(MUTEX, index);
}

long long Java_NativeLocks_waitsToRead(void *env, void *type, int index) {
    return waits(READ, index);
}

long long Java_NativeLocks_waitsToWrite(void *env, void *type, int index) {
    return waits(WRITE, index);
}

long long Java_NativeLocks_waitsForMutexWithLimit(void *env, void *type, int index) {
    return waits(TIMED_MUTEX, index);
}

long long Java_NativeLocks_waitsToReadWithLimit(void *env, void *type, int index) {
    return waits(TIMED_READ, index);
}

long long Java_NativeLocks_waitsToWriteWithLimit(void *env, void *type, int index) {
    return waits(TIMED_WRITE, index);
}

static int sleeps(int thread) {
    char name[64], text[256];
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(name, "r");
    if (file == NULL) return 0;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    char *end = NULL;
    for (char *at = text; *at != 0; at++) {
        if (*at == ')') end = at;
    }
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}

/* Takes the lock that others will wait for. */
void Java_NativeLocks_take(void *env, void *type, int kind) {
    if (is_mutex(kind)) pthread_mutex_lock(&mutex);
    else pthread_rwlock_wrlock(&rwlock);
}

void Java_NativeLocks_give(void *env, void *type, int kind) {
    give(kind);
}

/* Tries often to get a lock that another thread has, up to a moment that is over. */
void Java_NativeLocks_triesFor(void *env, void *type, int times) {
    errno = 77;
    for (int i = 0; i < times; i++) {
        if (pthread_mutex_timedlock(&mutex, &past) != ETIMEDOUT || errno != 77) wrong++;
    }
}

/* Holds it for a time from the moment on at which all threads sleep in their waits. Returns that time in nanoseconds. */
long long Java_NativeLocks_holds(void *env, void *type, int kind, int threads, int millis) {
    struct timespec millisecond = {0, 1000000};
    for (int quiet = 0; quiet < 3;) {
        int all = waiting == threads;
        for (int index = 0; all && index < threads; index++) all = sleeps(waiters[index]);
        quiet = all ? quiet + 1 : 0;
        nanosleep(&millisecond, NULL);
    }
    long long before = now();
    struct timespec time = {millis / 1000, millis % 1000 * 1000000L};
    nanosleep(&time, NULL);
    long long nanos = now() - before;
    give(kind);
    return nanos;
}

/* Locks that no other thread has. */
void Java_NativeLocks_passes(void *env, void *type, int rounds) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < rounds; i++) {
        if (pthread_mutex_lock(&own) != 0) wrong++;
        pthread_mutex_unlock(&own);
    }
}

static void *dies(void *robust) {
    pthread_mutex_lock(robust);
    return NULL;
}

/* The results of the functions where a lock is not simply taken. Returns the number of those that are not as they must be. */
int Java_NativeLocks_checks(void *env, void *type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_t checked;
    pthread_mutex_init(&checked, &attributes);
    if (pthread_mutex_lock(&checked) != 0) wrong++;
    if (pthread_mutex_lock(&checked) != EDEADLK) wrong++;
    pthread_mutex_unlock(&checked);

    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_t recursive;
    pthread_mutex_init(&recursive, &attributes);
    for (int i = 0; i < 3; i++) {
        if (pthread_mutex_lock(&recursive) != 0) wrong++;
    }
    for (int i = 0; i < 3; i++) pthread_mutex_unlock(&recursive);

    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    static pthread_mutex_t robust;
    pthread_mutex_init(&robust, &attributes);
    pthread_t thread;
    pthread_create(&thread, NULL, dies, &robust);
    pthread_join(thread, NULL);
    if (pthread_mutex_lock(&robust) != EOWNERDEAD) wrong++;
    pthread_mutex_unlock(&robust);
    /* Twice: each call says so, and none leaves it locked. */
    if (pthread_mutex_lock(&robust) != ENOTRECOVERABLE) wrong++;
    if (pthread_mutex_lock(&robust) != ENOTRECOVERABLE) wrong++;

    pthread_rwlock_t own = PTHREAD_RWLOCK_INITIALIZER;
    if (pthread_rwlock_wrlock(&own) != 0) wrong++;
    if (pthread_rwlock_wrlock(&own) != EDEADLK || pthread_rwlock_rdlock(&own) != EDEADLK) wrong++;
    pthread_rwlock_unlock(&own);
    return wrong;
}
