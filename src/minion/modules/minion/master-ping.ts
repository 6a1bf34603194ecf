/** Whether a master answers the unencrypted request `ping`, sent over a separate connection. Source: docs/protocol.md section 7.2. */
import { isIPv6 } from "node:net";
import type { MinionConfig } from "../../../config/load.ts";
import { SaltworksError } from "../../../errors.ts";
import { RequestChannel } from "../../../transport/request-channel.ts";
import { encodeClearRequest } from "../../../wire/request.ts";

/** @param master - `host` or `host:port`; without a port the configured one */
export async function pingMaster(config: MinionConfig, master: string): Promise<boolean> {
  const [, host = master, port = String(config.master_port)] =
    (isIPv6(master) ? null : /^\[?(.*?)\]?:(\d+)$/.exec(master)) ?? [];
  const channel = new RequestChannel({
    endpoint: `tcp://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    timeoutMs: config.auth_timeout * 1_000,
    tries: 1,
  });
  try {
    await channel.request(encodeClearRequest({ cmd: "ping" }, 2));
    return true;
  } catch (error) {
    if (error instanceof SaltworksError || (error instanceof Error && "code" in error)) return false;
    throw error;
  } finally {
    channel.close();
  }
}
