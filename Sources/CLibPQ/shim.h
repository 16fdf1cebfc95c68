#ifndef BULKHEAD_CLIBPQ_SHIM_H
#define BULKHEAD_CLIBPQ_SHIM_H

#include <libpq-fe.h>
#include <pthread.h>

// glibc declares this only under _GNU_SOURCE, which Swift's importer does not set.
extern int pthread_setname_np(pthread_t thread, const char *name);

#endif
