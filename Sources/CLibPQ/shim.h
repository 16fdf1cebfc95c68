#ifndef BULKHEAD_CLIBPQ_SHIM_H
#define BULKHEAD_CLIBPQ_SHIM_H

#include <libpq-fe.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>

// glibc declares this only under _GNU_SOURCE, which Swift's importer does not set.
extern int pthread_setname_np(pthread_t thread, const char *name);

// Character constants, which Swift's importer leaves out.
enum {
    BULKHEAD_DIAG_SQLSTATE = PG_DIAG_SQLSTATE,
    BULKHEAD_DIAG_MESSAGE = PG_DIAG_MESSAGE_PRIMARY,
    BULKHEAD_DIAG_DETAIL = PG_DIAG_MESSAGE_DETAIL,
    BULKHEAD_DIAG_HINT = PG_DIAG_MESSAGE_HINT,
    BULKHEAD_DIAG_CONTEXT = PG_DIAG_CONTEXT,
    BULKHEAD_DIAG_SCHEMA = PG_DIAG_SCHEMA_NAME,
    BULKHEAD_DIAG_TABLE = PG_DIAG_TABLE_NAME,
    BULKHEAD_DIAG_COLUMN = PG_DIAG_COLUMN_NAME,
    BULKHEAD_DIAG_CONSTRAINT = PG_DIAG_CONSTRAINT_NAME,
};

#endif
