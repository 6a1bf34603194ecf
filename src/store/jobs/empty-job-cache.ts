/** A job cache without jobs. Readers get it if no master has made a job cache yet. */

import { storeFailed } from "../disk/store-error.ts";
import type { JobCache } from "./job-cache.ts";

export const emptyJobCache: JobCache = {
  keepJobs: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  keepNewJob: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  addMinions: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  keepReturns: () => Promise.reject(storeFailed("the store is open for reading only", undefined)),
  whichReturned: () => Promise.resolve([]),
  unkeptJobs: () => Promise.resolve([]),
  trim: ({ olderThanJid }) => Promise.resolve({ removed: 0, hasMore: false, olderThanJid }),
  close: () => Promise.resolve(),
  job: () => Promise.resolve(undefined),
  request: () => Promise.resolve(undefined),
  returns: () => Promise.resolve({ returns: [], hasMore: false }),
  returnOf: () => Promise.resolve(undefined),
  endTime: () => Promise.resolve(undefined),
  list: () => Promise.resolve([]),
  find: () => Promise.resolve([]),
};
