/** A point's `network`, from the bytes that the generator's connections sent and received. */
import type { Traffic } from "../../fleet/storm/connection.ts";
import type { Network } from "../../results/schema.ts";

/** `operations`: the divisor of the CPU time. */
export function networkOf({ sentBytes, receivedBytes }: Traffic, operations: number): Network {
  const divisor = Math.max(1, operations);
  return {
    toMasterBytes: sentBytes,
    fromMasterBytes: receivedBytes,
    toMasterBytesPerOperation: sentBytes / divisor,
    fromMasterBytesPerOperation: receivedBytes / divisor,
  };
}
