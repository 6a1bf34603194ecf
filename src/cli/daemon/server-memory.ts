/** The memory that a member's `nats-server` may have. */
import { totalmem } from "node:os";
import {
  clusterServerMemoryBytesMax,
  clusterServerMemoryCollectedShare,
  clusterServerMemoryShareMax,
} from "../../limits.ts";

export type ServerMemory = {
  /** It ends when it asks for more. */
  readonly bytesMax: number;
  /** What to add to its environment: from this size on Go collects more often, so that it meets the bound with data only and not with garbage. */
  readonly environment: Readonly<Record<string, string>>;
};

/**
 * @param constrainedBytes what the machine lets this process and its children have, as in a container; 0 without such a bound
 * @param environment the operator's, whose own GOMEMLIMIT counts
 */
export function serverMemory(
  machineBytes = totalmem(),
  constrainedBytes = process.constrainedMemory(),
  { GOMEMLIMIT: operators }: NodeJS.ProcessEnv = process.env,
): ServerMemory {
  const haveBytes = Math.min(machineBytes, constrainedBytes || Number.POSITIVE_INFINITY);
  const bytesMax = Math.min(clusterServerMemoryBytesMax, Math.floor(haveBytes * clusterServerMemoryShareMax));
  const collectedBytes = Math.floor(bytesMax * clusterServerMemoryCollectedShare);
  return { bytesMax, environment: operators === undefined ? { GOMEMLIMIT: String(collectedBytes) } : {} };
}
