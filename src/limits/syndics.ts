/** Bounds of lower masters (syndics): of what one may send, and of what it adds to a job. */

/** Jobs in one `_syndic_return`: a syndic gathers half a second of returns, or all since the master above was away. Further ones are dropped and counted. */
export const syndicJobsMax = 10_000;
/** Returns in one `_syndic_return`: each costs a worker some 10 µs, and a batch must end within `workerTaskTimeoutMs`. Further ones are dropped and counted. */
export const syndicReturnsMax = 100_000;
/** Events in one request of a syndic, which forwards the bus of a whole master twice a second. Further ones are dropped and counted. */
export const syndicEventsMax = 20_000;
/** Bytes of events that one request of a syndic fires; twice `max_event_size` if that is more. Further ones are dropped and counted. */
export const syndicEventBytesMax = 32 * 1024 * 1024;
/** Minions of one job, those of lower masters included: two full fleets. Lists of lower masters beyond it are cut and counted. */
export const jobMinionsBelowMax = 200_000;
