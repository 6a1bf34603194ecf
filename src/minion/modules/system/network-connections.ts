/** Execution module `network`: connections and neighbours of this machine, and whether another host answers. */

import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { runProgram } from "../machine/run-program.ts";
import { establishedConnections } from "./tcp-connections.ts";

const neighbours = {
  ...signature(""),
  pythonName: "ip_neighs",
  doc: describe("IPv4 neighbours by their hardware address.", "network.ip_neighs"),
  run: () => neighbourMap("."),
};
const neighbours6 = {
  ...signature(""),
  pythonName: "ip_neighs6",
  doc: describe("IPv6 neighbours by their hardware address.", "network.ip_neighs6"),
  run: () => neighbourMap(":"),
};

export const connectionFunctions: ModuleFunctions = {
  "network.active_tcp": {
    ...signature(""),
    doc: describe("The established TCP connections of this machine, numbered.", "network.active_tcp"),
    run: () => {
      const connections = establishedConnections();
      return new Map(
        connections.map(({ localAddress, localPort, remoteAddress, remotePort }, index): [Value, Encodable] => [
          index,
          { local_addr: localAddress, local_port: localPort, remote_addr: remoteAddress, remote_port: remotePort },
        ]),
      );
    },
  },
  "network.ip_neighs": neighbours,
  "network.ipneighs": neighbours,
  "network.ip_neighs6": neighbours6,
  "network.ipneighs6": neighbours6,
  "network.ping": {
    ...signature("host, timeout=False, return_boolean=False"),
    doc: describe(
      "Pings a host four times.",
      "network.ping archlinux.org",
      "network.ping archlinux.org return_boolean=True",
    ),
    run: async (_, args) => {
      const host = strOf(argument(args, "host"))
        .replace(/[^0-9A-Za-z_.:-]/g, "")
        .replace(/^-+/, "");
      const timeout = argument(args, "timeout");
      const wait = isTrue(timeout) ? ["-W", strOf(timeout)] : [];
      const { exitCode, stdout, stderr } = await runProgram("ping", [...wait, "-c", "4", host]);
      return isTrue(argument(args, "return_boolean")) ? exitCode === 0 : (stdout + stderr).trimEnd();
    },
  },
};

/** Neighbours by hardware address, without those whose hardware address is unknown. */
async function neighbourMap(mark: "." | ":"): Promise<Encodable> {
  const { stdout } = await runProgram("ip", ["neigh", "show"]);
  const rows = stdout.split("\n").map((line) => line.trim().split(/\s+/));
  const known = rows.filter((row) => row.length >= 5 && (row[0] ?? "").includes(mark));
  return new Map(known.map((row): [Value, Value] => [row[4] ?? "", row[0] ?? ""]));
}
