/** Established TCP connections as the kernel lists them, independent of both programs' own counts. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** State column of an established connection in /proc/net/tcp. */
const established = "01";

type Row = { readonly local: string; readonly remote: string; readonly inode: string };

/** The kernel returns the table in pieces while it changes, so a row may come twice or be missing. Each row is looked for several times. */
const readings = 3;

function establishedRows(): Row[] {
  const rows = new Map<string, Row>();
  for (let reading = 0; reading < readings; reading += 1) {
    for (const file of ["/proc/net/tcp", "/proc/net/tcp6"]) {
      for (const line of readFileSync(file, "utf8").split("\n").slice(1)) {
        const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
        if (state !== established || local === undefined || remote === undefined || inode === undefined) continue;
        rows.set(`${local} ${remote}`, { local, remote, inode });
      }
    }
  }
  return [...rows.values()];
}

/** The end of an address in /proc/net/tcp. */
function portSuffix(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Connections whose local port is `port`. A connection within this machine counts once, at its server. */
export function establishedConnections(port: number): number {
  return establishedRows().filter(({ local }) => local.endsWith(portSuffix(port))).length;
}

/** Those of them whose other end is a socket of one of the processes. */
export function connectionsOf(clientProcessIds: readonly number[], port: number): number {
  const rows = establishedRows();
  const inodes = new Set(clientProcessIds.flatMap(socketInodes));
  const clientEnds = new Set(rows.filter(({ inode }) => inodes.has(inode)).map(({ local }) => local));
  return rows.filter(({ local, remote }) => local.endsWith(portSuffix(port)) && clientEnds.has(remote)).length;
}

function socketInodes(processId: number): string[] {
  const folder = `/proc/${processId}/fd`;
  return readdirSync(folder).flatMap((descriptor) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${descriptor}`))?.[1] ?? [];
    } catch (error) {
      // The socket was closed after the directory was listed.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  });
}
