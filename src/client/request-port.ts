/** The request port of the master of this machine: where it is, and whether anything listens there. */
import { createConnection } from "node:net";
import type { MasterConfig } from "../config/load.ts";
import { SaltworksError } from "../errors.ts";
import { requestConnectTimeoutMs } from "../limits.ts";
import { notContactedText } from "./texts.ts";

/** Where the request port of the master of this machine is: an interface that means all is reached by loopback. */
export function requestEndpoint(config: Pick<MasterConfig, "interface" | "ret_port">): string {
  const address = config.interface;
  const host = address === "0.0.0.0" || address === "" ? "127.0.0.1" : address === "::" ? "::1" : address;
  return `tcp://${host.includes(":") ? `[${host}]` : host}:${config.ret_port}`;
}

/**
 * Connects and leaves again; ZeroMQ would try for as long as an answer may take. Users of an eauth system may not reach the event bus, which
 * tells the same.
 *
 * @throws SaltworksError MASTER_UNREACHABLE if nothing listens there or it does not take the connection in time
 */
export function knock(config: Pick<MasterConfig, "interface" | "ret_port">): Promise<void> {
  const endpoint = requestEndpoint(config);
  const { hostname, port } = new URL(endpoint);
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
    socket.setTimeout(requestConnectTimeoutMs, () => socket.destroy(new Error("the connection takes too long")));
    socket.once("error", (cause) =>
      reject(new SaltworksError("MASTER_UNREACHABLE", notContactedText, { endpoint }, { cause })),
    );
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
  });
}
