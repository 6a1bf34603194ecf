/** Execution module `status`: load, memory, disks, processes and connection of this machine. Source: Salt 3007's `status`, docs/functions.md. */

import { lookup } from "node:dns/promises";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { isFileError } from "../machine/file-error.ts";
import { runProgram } from "../machine/run-program.ts";
import { pingMaster } from "../minion/master-ping.ts";
import { kernelFunctions } from "./status-kernel.ts";
import { processFunctions } from "./status-processes.ts";
import { establishedConnections } from "./tcp-connections.ts";

const timeFormat = "%A, %d. %B %Y %I:%M%p";

const connectionFunctions: ModuleFunctions = {
  "status.master": {
    ...signature("master=None, connected=True"),
    doc: describe(
      "Whether this machine is connected to a master; None without a name.",
      "status.master salt.example.com",
    ),
    run: (context, args) => isConnected(context, argument(args, "master")),
  },
  "status.ping_master": {
    ...signature("master"),
    doc: describe("Whether a master answers.", "status.ping_master salt.example.com"),
    run: async (context, args) => {
      const master = argument(args, "master");
      return isTrue(master) ? await pingMaster(context.config, strOf(master)) : false;
    },
  },
  "status.time": {
    params: [{ name: "format", default: timeFormat }],
    pythonName: "time_",
    doc: describe("The local time, in a format of strftime.", "status.time", "status.time '%s'"),
    run: async (_, args) => {
      const { stdout } = await runProgram("date", [`+${strOf(argument(args, "format"))}`], { LC_ALL: "C" });
      return stdout.replace(/\n$/, "");
    },
  },
};

async function isConnected(context: CallContext, master: Value): Promise<Encodable> {
  if (!isTrue(master)) return null;
  const addresses = await addressesOf(strOf(master));
  if (addresses.length === 0) return null;
  const port = context.config.opts.get("publish_port") ?? 4505;
  const remotes = establishedConnections().filter(({ remotePort }) => remotePort === port);
  return remotes.some(({ remoteAddress }) => addresses.includes(remoteAddress));
}

async function addressesOf(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    if (isFileError(error)) return [];
    throw error;
  }
}

const summaryParts = [
  "cpuinfo",
  "cpustats",
  "diskstats",
  "diskusage",
  "loadavg",
  "meminfo",
  "netdev",
  "netstats",
  "uptime",
  "vmstats",
  "w",
];

const summaryFunctions: ModuleFunctions = {
  "status.all_status": {
    ...signature(""),
    doc: describe("All of this machine's status in one map.", "status.all_status"),
    run: async (context) => {
      const all = new Map<Value, Encodable>();
      for (const part of summaryParts) all.set(part, await context.callFunction(`status.${part}`));
      return all;
    },
  },
  "status.custom": {
    ...signature(""),
    doc: describe(
      "Values that the configuration selects: settings such as `status.loadavg: [1-min]` name a function and members of its result.",
      "status.custom",
    ),
    run: customStatus,
  },
};

async function customStatus(context: CallContext): Promise<Encodable> {
  const settings = await context.callFunction("config.dot_vals", ["status"]);
  const picked = new Map<Value, Encodable>();
  for (const [key, members] of settings instanceof Map ? settings : []) {
    const fun = strOf(key).split(".").slice(0, -1).join(".");
    if (fun === "status.custom" || !context.functions.has(fun) || !Array.isArray(members)) continue;
    const result = await context.callFunction(fun);
    for (const member of members) picked.set(member, memberOf(result, strOf(member)) ?? "UNKNOWN");
  }
  return picked;
}

function memberOf(result: Encodable, name: string): Encodable {
  if (result instanceof Map) return result.get(name);
  return typeof result === "object" && result !== null ? (result as { [name: string]: Encodable })[name] : undefined;
}

export const statusModule: ModuleFunctions = {
  ...kernelFunctions,
  ...processFunctions,
  ...connectionFunctions,
  ...summaryFunctions,
};
