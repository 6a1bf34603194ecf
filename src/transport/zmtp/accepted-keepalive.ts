/** TCP keepalive for the connections that a server of ours accepts: inherited from the listening socket, or set by Node.js for each. */
import type { Server, Socket } from "node:net";
import type { Keepalive } from "../keepalive.ts";

/** Connections that the system accepted before keepalive was set reach us within this time. */
const earlyConnectionMs = 1_000;

type SetKeepalive = (server: Server, keepalive: Keepalive) => boolean;

export class AcceptedKeepalive {
  readonly #keepalive: Keepalive;
  readonly #set: SetKeepalive;
  /** From this time on connections inherit the listening socket's keepalive; the system may have accepted earlier ones without it. */
  #inheritsFromMs = Number.POSITIVE_INFINITY;

  private constructor(keepalive: Keepalive, set: SetKeepalive) {
    this.#keepalive = keepalive;
    this.#set = set;
  }

  static async load(keepalive: Keepalive): Promise<AcceptedKeepalive> {
    return new AcceptedKeepalive(keepalive, await loadKeepalive());
  }

  /** To be called as soon as the server listens. */
  listens(server: Server): void {
    if (this.#set(server, this.#keepalive)) this.#inheritsFromMs = performance.now() + earlyConnectionMs;
  }

  /** To be called for each connection. */
  accepts(socket: Socket): void {
    if (performance.now() >= this.#inheritsFromMs) return;
    const { isOn, idleSeconds } = this.#keepalive;
    socket.setKeepAlive(isOn, Math.max(0, idleSeconds) * 1_000);
  }
}

/** Loaded only when needed, because it uses a system library that some systems do not have. */
async function loadKeepalive(): Promise<SetKeepalive> {
  try {
    return (await import("../keepalive.ts")).setKeepalive;
  } catch (error) {
    process.emitWarning(`tcp_keepalive_cnt and tcp_keepalive_intvl have no effect: ${(error as Error).message}`);
    return () => false;
  }
}
