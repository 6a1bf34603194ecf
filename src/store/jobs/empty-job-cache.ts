/** A job cache that isn't there: what readers get where no master has stored a job yet. */

import { storeFailed } from "../disk/store-error.ts";
import type { JobCache } from "./job-cache.ts";

export const emptyJobCache: JobCache = {
  putReturns: () => Promise.reject(storeFailed("opened for reading", undefined)),
  putLoad: () => Promise.reject(storeFailed("opened for reading", undefined)),
  putLoads: () => Promise.reject(storeFailed("opened for reading", undefined)),
  addMinions: () => Promise.reject(storeFailed("opened for reading", undefined)),
  getLoad: () => undefined,
  getRequest: () => undefined,
  getReturns: () => [],
  getReturn: () => undefined,
  whichReturned: () => [],
  listJids: () => [],
  findJids: () => [],
  getEndTime: () => undefined,
  noCacheJids: () => [],
  cutFor: () => undefined,
  trim: () => Promise.resolve(0),
  close: () => Promise.resolve(),
};
