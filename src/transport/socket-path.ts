/** Claims paths of Unix sockets: refuses a path that is too long, in use or not a socket, and removes the socket of a dead process. */
import { lstat, unlink } from "node:fs/promises";
import { createConnection } from "node:net";
import { SaltworksError } from "../errors.ts";
import { socketPathBytesMax } from "../limits.ts";

/**
 * Path of the socket for all programs but Salt's, beside Salt's socket. Its subscribers read frames of one kind, so that no process need be
 * examined for its release. The name is as long as that of Salt's socket, so that it fits `sockaddr_un` where Salt's does.
 *
 * @returns undefined if `pubPath` does not have Salt's name
 */
export function ownPathOf(pubPath: string): string | undefined {
  return pubPath.endsWith(pubEnding) ? `${pubPath.slice(0, -pubEnding.length)}own.ipc` : undefined;
}

const pubEnding = "pub.ipc";

/**
 * Clears `path`, so that a server may listen there.
 *
 * @throws SaltworksError MASTER_RUNNING if a process answers on the path, CONFIG_INVALID if it is too long or holds another kind of file
 */
export async function claimSocketPath(path: string): Promise<void> {
  if (Buffer.byteLength(path) > socketPathBytesMax) {
    throw new SaltworksError(
      "CONFIG_INVALID",
      `${path} is too long for a socket (${socketPathBytesMax} bytes): choose a shorter sock_dir`,
      { path, max: socketPathBytesMax },
    );
  }
  const kind = await kindOf(path);
  if (kind === "nothing") return;
  if (kind === "other")
    throw new SaltworksError("CONFIG_INVALID", `sock_dir: ${path} exists and is not a socket`, { path });
  if (await isAnswered(path)) {
    throw new SaltworksError("MASTER_RUNNING", `sock_dir: another process already listens on ${path} (EADDRINUSE)`, {
      path,
    });
  }
  await unlink(path);
}

async function kindOf(path: string): Promise<"nothing" | "socket" | "other"> {
  try {
    return (await lstat(path)).isSocket() ? "socket" : "other";
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "nothing";
    throw error;
  }
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createConnection(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", (error) => {
      const errno = errnoOf(error);
      if (errno === "ECONNREFUSED" || errno === "ENOENT") resolve(false);
      else if (errno === "EAGAIN" || errno === "EACCES") resolve(true);
      else reject(error);
    });
  });
}

/** The system's name of a failed call, such as `ENOENT`; undefined for other errors. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
