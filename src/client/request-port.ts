/** The request port of this machine's master: its endpoint, and whether a program listens there. */
import { createConnection } from "node:net";
import type { MasterConfig } from "../config/load.ts";
import { SaltworksError } from "../errors.ts";
import { requestConnectTimeoutMs } from "../limits.ts";
import { notContactedText } from "./texts.ts";

/** The endpoint of this machine's master: the loopback address if the master listens on all interfaces. */
export function requestEndpoint(config: Pick<MasterConfig, "interface" | "ret_port">): string {
  const address = config.interface;
  const host = address === "0.0.0.0" || address === "" ? "127.0.0.1" : address === "::" ? "::1" : address;
  return `tcp://${host.includes(":") ? `[${host}]` : host}:${config.ret_port}`;
}

/** Host and port of an endpoint. */
export function requestAddress(endpoint: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(endpoint);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/**
 * Connects by TCP once and closes, because ZeroMQ would retry until the reply is overdue. For users of an
 * eauth system, who may not open the event bus.
 *
 * @throws SaltworksError MASTER_UNREACHABLE if no program accepts the connection in time
 */
export function knock(config: Pick<MasterConfig, "interface" | "ret_port">): Promise<void> {
  const endpoint = requestEndpoint(config);
  const address = requestAddress(endpoint);
  return new Promise((resolve, reject) => {
    const socket = createConnection(address);
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
