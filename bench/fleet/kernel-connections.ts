/** Established TCP connections of a local port as the kernel lists them: what is really there, whatever either side counts. */
import { readFileSync } from "node:fs";

/** State column of an established connection in /proc/net/tcp. */
const established = "01";

/** Rows whose local end is `port`, so that a connection within this machine counts once: on its server's side. */
export function establishedConnections(port: number): number {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  let count = 0;
  for (const file of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const row of readFileSync(file, "utf8").split("\n").slice(1)) {
      const [, local, , state] = row.trim().split(/\s+/);
      if (state === established && local?.endsWith(`:${wanted}`)) count += 1;
    }
  }
  return count;
}
