/** Which versions of nats-server a cluster can be on. Pure. */

/** Streams with the clients' API that we use, and the fixes without which acknowledged messages were lost. Debian's 2.9.10 is older. */
export const versionMin = "2.11.0";

export function isNewEnough(version: string): boolean {
  return version.localeCompare(versionMin, "en", { numeric: true }) >= 0;
}
