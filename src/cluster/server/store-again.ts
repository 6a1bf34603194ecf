/**
 * Gives a member's server its store back: a server whose disk is full turns its store off and never opens it again by itself. Once the disk has room, the
 * server is started again, and takes what it missed from the others.
 */
import { statfs } from "node:fs/promises";
import { clusterStoreAgainMs, clusterStoreRoomBytes } from "../../limits.ts";

export type StoreAgainOptions = {
  /** Of the server's store. */
  readonly directory: string;
  /** Ends the server, which its watcher then starts. */
  readonly endServer: () => void;
  /** Tests use less. */
  readonly roomBytes?: number;
  readonly againMs?: number;
};

export class StoreAgain {
  readonly #options: StoreAgainOptions;
  /** By `performance.now()`. */
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor(options: StoreAgainOptions) {
    this.#options = options;
  }

  /**
   * To call while the store is off. Not more often than each `clusterStoreAgainMs` does it end the server: its disk may fill again at once.
   *
   * @returns whether the server is started again now
   * @throws the system's error if the disk cannot be asked
   */
  async mend(): Promise<boolean> {
    const { directory, endServer, roomBytes = clusterStoreRoomBytes, againMs = clusterStoreAgainMs } = this.#options;
    const nowMs = performance.now();
    if (nowMs - this.#latestMs < againMs) return false;
    const { bavail, bsize } = await statfs(directory);
    if (bavail * bsize < roomBytes) return false;
    this.#latestMs = nowMs;
    endServer();
    return true;
  }
}
