/** All returns of a job at once, for tests with few of them. */
import { allReturns, type JobCacheReader, type StoredReturn } from "../../src/store/jobs/job-cache.ts";

export async function returnsIn(jobs: Pick<JobCacheReader, "returns">, jid: string): Promise<StoredReturn[]> {
  const found: StoredReturn[] = [];
  for await (const stored of allReturns(jobs, jid)) found.push(stored);
  return found;
}
