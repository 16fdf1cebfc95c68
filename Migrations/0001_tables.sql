create schema bulkhead;
