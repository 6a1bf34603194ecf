/** A job cache without jobs: what readers get before a master has stored one. */

import { storeFailed } from "../disk/store-error.ts";
import type { JobStore } from "./job-cache.ts";

export const emptyJobCache: JobStore = {
  keepJobs: () => Promise.reject(storeFailed("opened for reading", undefined)),
  keepNewJob: () => Promise.reject(storeFailed("opened for reading", undefined)),
  keepReturns: () => Promise.reject(storeFailed("opened for reading", undefined)),
  whichReturned: () => Promise.resolve([]),
  unkeptJobs: () => Promise.resolve([]),
  trim: ({ olderThanJid }) => Promise.resolve({ removed: 0, hasMore: false, olderThanJid }),
  close: () => Promise.resolve(),
  job: () => undefined,
  request: () => undefined,
  returns: () => [],
  returnOf: () => undefined,
  endTime: () => undefined,
  list: () => [],
  find: () => [],
};
